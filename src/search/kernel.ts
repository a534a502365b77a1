// Many vectors of signed bytes and their dot products with one: WebAssembly SIMD where there is, else plain numbers.
// Both give the same results to the last bit: sums of integers are exact, and the two roundings after are the same.

export interface Dense {
  readonly count: number
  /** Appends a vector; answers its row. */
  add(vector: Float32Array): number
  /** Dot products of all rows with the query, in order. Valid until the next call. */
  scores(query: Float32Array): Float32Array
  /** Replaces all rows by copies of another's, in the given order. */
  copyFrom(other: Dense, rows: ArrayLike<number>): void
  /** The rows as they are kept, four signed bytes a number, and what one step of each is worth. Valid until the next `add`. */
  kept(): { readonly codes: Int32Array; readonly scales: Float32Array }
}

/** Where things lie in the memory, in bytes, for rows of `width` numbers. */
interface Layout {
  readonly capacity: number
  readonly codes: number
  readonly scales: number
  readonly scores: number
  readonly size: number
}

type Scan = (layout: Layout, count: number, factor: number) => void

interface Memory {
  readonly buffer: ArrayBuffer
  readonly scan: Scan
}

/** What is used of the global `WebAssembly`; the language's own types do not know it. */
interface Assembly {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Memory: new (descriptor: { initial: number }) => { readonly buffer: ArrayBuffer }
  readonly Instance: new (
    module: object,
    imports: object,
  ) => { readonly exports: { readonly scan: (...numbers: number[]) => void } }
}

interface Globals {
  readonly WebAssembly: Assembly
  readonly atob: (text: string) => string
}

/** Made by scripts/distil/kernel.mjs, which is its readable source. */
export const KERNEL =
  'AGFzbQEAAAABCwFgB39/f39/f30AAhABBGhvc3QGbWVtb3J5AgABAwIBAAcIAQRzY2FuAAAKvgUBuwUCBH8HeyAEQQRPBEADQP0MAAAAAAAAAAAA' +
  'AAAAAAAAACEO/QwAAAAAAAAAAAAAAAAAAAAAIQ/9DAAAAAAAAAAAAAAAAAAAAAAhEP0MAAAAAAAAAAAAAAAAAAAAACERIAEgBWohCCAIIAVqIQkg' +
  'CSAFaiEKQQAhBwNAIAAgB2r9AAAAIg39hwEhCyAN/YgBIQwgASAHav0AAAAiDf2HASAL/boBIA39iAEgDP26Af2uASAO/a4BIQ4gCCAHav0AAAAi' +
  'Df2HASAL/boBIA39iAEgDP26Af2uASAP/a4BIQ8gCSAHav0AAAAiDf2HASAL/boBIA39iAEgDP26Af2uASAQ/a4BIRAgCiAHav0AAAAiDf2HASAL' +
  '/boBIA39iAEgDP26Af2uASAR/a4BIREgB0EQaiIHIAVJDQALIAMgDv0bACAO/RsBaiAO/RsCaiAO/RsDarIgAioCAJQgBpQ4AgAgAyAP/RsAIA/9' +
  'GwFqIA/9GwJqIA/9GwNqsiACKgIElCAGlDgCBCADIBD9GwAgEP0bAWogEP0bAmogEP0bA2qyIAIqAgiUIAaUOAIIIAMgEf0bACAR/RsBaiAR/RsC' +
  'aiAR/RsDarIgAioCDJQgBpQ4AgwgASAFaiEBIAEgBWohASABIAVqIQEgASAFaiEBIAJBEGohAiADQRBqIQMgBEEEayIEQQRPDQALCyAEBEADQP0M' +
  'AAAAAAAAAAAAAAAAAAAAACEOQQAhBwNAIAAgB2r9AAAAIg39hwEhCyAN/YgBIQwgASAHav0AAAAiDf2HASAL/boBIA39iAEgDP26Af2uASAO/a4B' +
  'IQ4gB0EQaiIHIAVJDQALIAMgDv0bACAO/RsBaiAO/RsCaiAO/RsDarIgAioCAJQgBpQ4AgAgASAFaiEBIAJBBGohAiADQQRqIQMgBEEBayIEDQAL' +
  'Cws='

const PAGE = 65_536
const FIRST_CAPACITY = 64
const LARGEST = 127

/** `plain` asks for the way without WebAssembly. */
export function createDense(dimensions: number, { plain = false } = {}): Dense {
  const width = Math.ceil(dimensions / 16) * 16
  const allocate = plain ? plainMemory : fastMemory
  let layout = layoutOf(FIRST_CAPACITY, width)
  let memory = allocate(layout, width)
  let count = 0

  const grow = (): void => {
    const next = layoutOf(layout.capacity * 2, width)
    const larger = allocate(next, width)
    const bytes = new Uint8Array(larger.buffer)
    bytes.set(new Uint8Array(memory.buffer, layout.codes, count * width), next.codes)
    bytes.set(new Uint8Array(memory.buffer, layout.scales, count * 4), next.scales)
    layout = next
    memory = larger
  }

  return {
    get count() {
      return count
    },
    add(vector) {
      if (count === layout.capacity) grow()
      const codes = new Int8Array(memory.buffer, layout.codes + count * width, dimensions)
      new Float32Array(memory.buffer, layout.scales)[count] = quantize(vector, codes)
      return count++
    },
    kept: () => ({
      codes: new Int32Array(memory.buffer, layout.codes, (count * width) / 4),
      scales: new Float32Array(memory.buffer, layout.scales, count),
    }),
    copyFrom(other, rows) {
      count = 0
      while (layout.capacity < rows.length) grow()
      count = rows.length
      const from = other.kept()
      const codes = new Int32Array(memory.buffer, layout.codes, (count * width) / 4)
      const scales = new Float32Array(memory.buffer, layout.scales, count)
      const step = width / 4
      for (let to = 0; to < count; to++) {
        const row = rows[to]!
        scales[to] = from.scales[row]!
        for (let i = 0; i < step; i++) codes[to * step + i] = from.codes[row * step + i]!
      }
    },
    scores(query) {
      const factor = quantize(query, new Int8Array(memory.buffer, 0, dimensions))
      memory.scan(layout, count, factor)
      return new Float32Array(memory.buffer, layout.scores, count)
    },
  }
}

function layoutOf(capacity: number, width: number): Layout {
  const codes = width
  const scales = codes + capacity * width
  const scores = scales + capacity * 4
  return { capacity, codes, scales, scores, size: scores + capacity * 4 }
}

/** Rounds the vector to signed bytes; answers what one step is worth. */
function quantize(vector: Float32Array, codes: Int8Array): number {
  let largest = 0
  for (let i = 0; i < codes.length; i++) {
    const size = Math.abs(vector[i]!)
    if (size > largest) largest = size
  }
  const steps = largest > 0 ? LARGEST / largest : 0
  for (let i = 0; i < codes.length; i++) codes[i] = Math.round(vector[i]! * steps)
  return Math.fround(largest / LARGEST)
}

function plainMemory(layout: Layout, width: number): Memory {
  const buffer = new ArrayBuffer(layout.size)
  const codes = new Int8Array(buffer)
  const scan: Scan = ({ codes: from, scales, scores }, count, factor) => {
    const scaleOf = new Float32Array(buffer, scales, count)
    const scoreOf = new Float32Array(buffer, scores, count)
    for (let row = 0; row < count; row++) {
      const at = from + row * width
      let sum = 0
      for (let i = 0; i < width; i++) sum += codes[i]! * codes[at + i]!
      scoreOf[row] = Math.fround(sum * scaleOf[row]!) * factor
    }
  }
  return { buffer, scan }
}

function fastMemory(layout: Layout, width: number): Memory {
  const kernel = compiled()
  if (kernel === undefined) return plainMemory(layout, width)
  try {
    const memory = new kernel.assembly.Memory({ initial: Math.ceil(layout.size / PAGE) })
    const { scan } = new kernel.assembly.Instance(kernel.module, { host: { memory } }).exports
    return {
      buffer: memory.buffer,
      scan: ({ codes, scales, scores }, count, factor) =>
        scan(0, codes, scales, scores, count, width, factor),
    }
  } catch {
    return plainMemory(layout, width) // so many memories are held that no further one can be reserved
  }
}

let kernelOnce: { assembly: Assembly; module: object } | undefined | false

/** The compiled kernel; undefined where WebAssembly, or its SIMD, is missing or forbidden. */
function compiled(): { assembly: Assembly; module: object } | undefined {
  if (kernelOnce === undefined) {
    try {
      const { WebAssembly: assembly, atob } = globalThis as unknown as Globals
      kernelOnce = { assembly, module: new assembly.Module(Uint8Array.from(atob(KERNEL), codeOf)) }
    } catch {
      kernelOnce = false
    }
  }
  return kernelOnce === false ? undefined : kernelOnce
}

function codeOf(character: string): number {
  return character.charCodeAt(0)
}
