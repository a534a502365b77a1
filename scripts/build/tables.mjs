// Makes the modules that hold the tables of the core, in place of the files that its sources read: text is what every runtime
// and every bundler takes along. Seven bits go into a character, so that nearly all of them are one byte of the file.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliDecompressSync, constants, deflateRawSync } from 'node:zlib'

/** Writes the modules `meaning.js` and `bridge.js`. */
export async function writeTables({ data, dist }) {
  const [meaning, bridge] = await Promise.all(
    ['meaning.bin', 'bridge.bin'].map((name) => readFile(join(data, name))),
  )
  await Promise.all([
    writeFile(join(dist, 'meaning.js'), moduleOf('meaning', meaning), 'latin1'),
    writeFile(join(dist, 'bridge.js'), moduleOf('bridge', brotliDecompressSync(bridge)), 'latin1'),
  ])
}

function moduleOf(name, bytes) {
  const packed = deflateRawSync(bytes, { level: 9, memLevel: 9, strategy: constants.Z_DEFAULT_STRATEGY })
  return `const text = ${quoted(inSevenBits(packed))}
${unpack}
/** Returns the bytes of the table. */
export const ${name} = () => unpack(text, ${packed.length})
`
}

/** Of each seven bytes, the low bits, and then the high ones together. */
function inSevenBits(bytes) {
  const characters = new Uint8Array(Math.ceil(bytes.length / 7) * 8)
  for (const [at, byte] of bytes.entries()) {
    const [group, place] = [Math.floor(at / 7) * 8, at % 7]
    characters[group + place] = byte & 127
    characters[group + 7] |= (byte >> 7) << place
  }
  return Buffer.from(characters).toString('latin1')
}

/** NUL is escaped too: not every tool that reads a script expects it. */
function quoted(text) {
  const escapes = { '\\': '\\\\', '"': '\\"', '\n': '\\n', '\r': '\\r' }
  return `"${text.replace(/[\\"\n\r]/g, (character) => escapes[character])}"`
}

/** The second half of each module. */
const unpack = `
async function unpack(text, length) {
  const characters = new TextEncoder().encode(text)
  const bytes = new Uint8Array(length + 7)
  for (let from = 0, to = 0; to < length; from += 8, to += 7) {
    const high = characters[from + 7]
    for (let place = 0; place < 7; place++) bytes[to + place] = characters[from + place] | (((high >> place) & 1) << 7)
  }
  const packed = bytes.subarray(0, length)
  // Several times as fast, where it is there.
  const zlib = globalThis.process?.getBuiltinModule?.('zlib')
  if (zlib?.inflateRawSync) return zlib.inflateRawSync(packed)
  const { readable, writable } = new DecompressionStream('deflate-raw')
  const writer = writable.getWriter()
  writer.write(packed).then(() => writer.close()).catch(() => {})
  const chunks = []
  const reader = readable.getReader()
  for (let step = await reader.read(); !step.done; step = await reader.read()) chunks.push(step.value)
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}
`
