// Makes the modules that hold the tables of the core, in place of the files that its sources read: text is what every runtime
// and every bundler takes along.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliDecompressSync, deflateRawSync } from 'node:zlib'

/** Writes the modules `meaning.js` and `bridge.js`, and beside each one with its text. */
export async function writeTables({ data, dist }) {
  const [meaning, bridge] = await Promise.all(
    ['meaning.bin', 'bridge.bin'].map((name) => readFile(join(data, name))),
  )
  await Promise.all(
    Object.entries({ meaning, bridge: brotliDecompressSync(bridge) }).flatMap(([name, bytes]) => {
      const packed = deflateRawSync(bytes, { level: 9, memLevel: 9 })
      const text = Buffer.from(`${START}${asText(packed)}"\n`)
      return [
        writeFile(join(dist, `${name}.text.js`), text),
        writeFile(join(dist, `${name}.js`), moduleOf(name, packed.length, text.length)),
      ]
    }),
  )
}

const START = 'export const text = "'

function moduleOf(name, length, size) {
  return `const UNSAFE = ${JSON.stringify(UNSAFE)}
${unpack}
/** Returns the bytes of the table. */
export const ${name} = async () => {
  const { getBuiltinModule } = globalThis.process ?? {}
  // Node reads the text from its file several times as fast as it compiles it. A bundle has no such file. Deno would ask.
  if (getBuiltinModule && !globalThis.Deno) {
    try {
      const here = import.meta.url
      const file = await getBuiltinModule('fs').promises.readFile(new URL('${name}.text.js', here))
      if (file.length === ${size}) return await unpack(file.subarray(${START.length}), ${length})
    } catch {}
  }
  const { text } = await import('./${name}.text.js')
  return unpack(new TextEncoder().encode(text), ${length})
}
`
}

/** Characters that a string in a script cannot hold as they are, or that not every tool expects there: \ " \r \n and NUL. */
const UNSAFE = [92, 34, 13, 10, 0]

/**
 * Seven bits to a character, which takes one byte of the file. In place of an unsafe one stands a character of two bytes that
 * holds up to five bits more: 15 % more bytes than the table, where base64 takes 33 %.
 */
function asText(bytes) {
  const characters = []
  let at = 0
  const bitsFrom = (count) => {
    const [byte, shift] = [at >> 3, at & 7]
    const pair = ((bytes[byte] ?? 0) << 8) | (bytes[byte + 1] ?? 0)
    at += count
    return (pair >> (16 - shift - count)) & ((1 << count) - 1)
  }
  while (at < 8 * bytes.length) {
    const character = bitsFrom(7)
    const place = UNSAFE.indexOf(character)
    if (place < 0) characters.push(character)
    else characters.push(place < 3 ? 128 + 32 * place + bitsFrom(5) : 224 + 16 * (place - 3) + bitsFrom(4))
  }
  return Buffer.from(characters).toString('latin1')
}

/** The second half of each module. */
const unpack = `
// Other work may run after a few milliseconds.
const pause = () => new Promise((resolve) => (globalThis.setImmediate ?? queueMicrotask)(resolve))
function read(characters, packed, state) {
  const end = Math.min(packed.length, state.to + 300_000)
  let { from, to, bits, count } = state
  while (to < end) {
    const first = characters[from++]
    if (first < 128) {
      bits = (bits << 7) | first
      count += 7
    } else {
      const more = (((first & 3) << 6) | (characters[from++] & 63)) - 128
      const size = more < 96 ? 5 : 4
      const place = more < 96 ? more >> 5 : 3 + ((more - 96) >> 4)
      bits = (((bits << 7) | UNSAFE[place]) << size) | (more & ((1 << size) - 1))
      count += 7 + size
    }
    while (count >= 8 && to < end) packed[to++] = bits >> (count -= 8)
  }
  Object.assign(state, { from, to, bits, count })
}
async function unpack(characters, length) {
  const packed = new Uint8Array(length)
  const state = { from: 0, to: 0, bits: 0, count: 0 }
  for (read(characters, packed, state); state.to < length; read(characters, packed, state)) await pause()
  // Several times as fast, where it is there.
  const zlib = globalThis.process?.getBuiltinModule?.('zlib')
  if (zlib?.inflateRaw)
    return new Promise((resolve, reject) =>
      zlib.inflateRaw(packed, { chunkSize: 1 << 20 }, (error, bytes) => (error ? reject(error) : resolve(bytes))),
    )
  const { readable, writable } = new DecompressionStream('deflate-raw')
  const writer = writable.getWriter()
  const written = writer.write(packed).then(() => writer.close())
  const chunks = []
  const reader = readable.getReader()
  for (let step = await reader.read(); !step.done; step = await reader.read()) chunks.push(step.value)
  await written
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0))
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}
`
