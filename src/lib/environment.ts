/** Environment variables by name, such as `process.env`. */
export type Environment = { readonly [name: string]: string | undefined }
