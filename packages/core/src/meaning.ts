// The table of meanings, made by `npm run distil`: a vector for each word piece. For `createRankers`. In the published package
// this door is a module that holds the table itself, for every runtime and bundler (scripts/build/tables.mjs).
import { readFile } from 'node:fs/promises'

/** Returns the bytes of the table. */
export async function meaning(): Promise<Uint8Array> {
  return readFile(new URL('../data/meaning.bin', import.meta.url))
}
