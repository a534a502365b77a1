// Defines the type of an environment, so that pure code does not read the process.

/** Environment variables by name, such as `process.env`. */
export type Environment = { readonly [name: string]: string | undefined }
