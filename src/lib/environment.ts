// The type of an environment, so that pure code need not read the process.

/** Environment variables by name, such as `process.env`. */
export type Environment = { readonly [name: string]: string | undefined }
