// The table of languages, made by `npm run bridge`: words of 27 languages with the English words that they stand for. For
// `createRankers`. In the published package this door is a module that holds the table itself (scripts/build/tables.mjs).
import { readFile } from 'node:fs/promises'
import { brotliDecompressSync } from 'node:zlib'

/** The table has about 2 MB; one that unpacks to more is damaged. */
const MAX_BYTES = 16 * 1024 * 1024

/** Returns the bytes of the table. */
export async function bridge(): Promise<Uint8Array> {
  const packed = await readFile(new URL('../data/bridge.bin', import.meta.url))
  return brotliDecompressSync(packed, { maxOutputLength: MAX_BYTES })
}
