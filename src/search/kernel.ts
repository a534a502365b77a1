// Many vectors of signed bytes and their dot products with one: WebAssembly SIMD where there is, else plain numbers.
// Both give the same results to the last bit: sums of integers are exact, and the roundings after are the same.

export interface Dense {
  readonly count: number
  /** Appends a vector; answers its row. */
  add(vector: Float32Array): number
  /** Multiplies what `scores` gives for each row from now on; to be called once, when all rows are there. */
  stretch(factors: Float32Array): void
  /** Dot products of all rows with the query, less `shift`, stretched. In order. Valid until the next call. */
  scores(query: Float32Array, shift?: number): Float32Array
  /** Dot products of the rows with these numbers, each listed at most once, not stretched. Valid until the next call. */
  scoresOf(rows: Uint32Array, query: Float32Array): Float32Array
}

/** Where things lie in the memory, in bytes, for rows of `width` numbers. The query is at its beginning. */
interface Layout {
  readonly capacity: number
  readonly codes: number
  readonly gains: number
  readonly offsets: number
  readonly rows: number
  readonly scores: number
  readonly size: number
}

/** What the kernel's two functions do; `count` is a multiple of four. */
interface Memory {
  readonly buffer: ArrayBuffer
  scan(count: number, factor: number, shift: number): void
  scanRows(count: number, factor: number): void
}

/** What is used of the global `WebAssembly`; the language's own types do not know it. */
interface Assembly {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Memory: new (descriptor: { initial: number }) => { readonly buffer: ArrayBuffer }
  readonly Instance: new (
    module: object,
    imports: object,
  ) => { readonly exports: Readonly<Record<'scan' | 'scanRows', (...numbers: number[]) => void>> }
}

interface Globals {
  readonly WebAssembly: Assembly
  readonly atob: (text: string) => string
}

/** Made by scripts/distil/kernel.mjs, which is its readable source. */
export const KERNEL =
  'AGFzbQEAAAABGAJgCX9/f39/f31/fQBgCH9/f39/f31/AAIQAQRob3N0Bm1lbW9yeQIAAQMDAgABBxMCBHNjYW4AAAhzY2FuUm93cwABCpQJApkEAgZ/' +
  'B3sgBARAA0AgASELIAsgBWohDCAMIAVqIQ0gDSAFaiEOIAP9DAAAAAAAAAAAAAAAAAAAAAAhEv0MAAAAAAAAAAAAAAAAAAAAACET/QwAAAAAAAAAAAAA' +
  'AAAAAAAAIRT9DAAAAAAAAAAAAAAAAAAAAAAhFUEAIQkDQCAAIAlBAXRqIgr9AAAAIQ8gCv0AABAhECALIAlq/QAAACIRIBD9ugEgEUEI/YsBIA/9ugH9' +
  'rgEgEv2uASESIAwgCWr9AAAAIhEgEP26ASARQQj9iwEgD/26Af2uASAT/a4BIRMgDSAJav0AAAAiESAQ/boBIBFBCP2LASAP/boB/a4BIBT9rgEhFCAO' +
  'IAlq/QAAACIRIBD9ugEgEUEI/YsBIA/9ugH9rgEgFf2uASEVIAlBEGoiCSAFSQ0ACyASIBP9DQABAgMQERITBAUGBxQVFhcgEiAT/Q0ICQoLGBkaGwwN' +
  'Dg8cHR4f/a4BIQ8gFCAV/Q0AAQIDEBESEwQFBgcUFRYXIBQgFf0NCAkKCxgZGhsMDQ4PHB0eH/2uASEQIA8gEP0NAAECAwQFBgcQERITFBUWFyAPIBD9' +
  'DQgJCgsMDQ4PGBkaGxwdHh/9rgH9+gEgAv0AAAD95gEgBv0T/eYBIAf9AAAAIAj9E/3mAf3lAf0LAAAgDiAFaiEBIAJBEGohAiAHQRBqIQcgA0EQaiED' +
  'IARBBGsiBA0ACwsL9gQCBn8HeyAEBEADQCABIAcoAgAgBWxqIQogASAHKAIEIAVsaiELIAEgBygCCCAFbGohDCABIAcoAgwgBWxqIQ0gA/0MAAAAAAAA' +
  'AAAAAAAAAAAAACER/QwAAAAAAAAAAAAAAAAAAAAAIRL9DAAAAAAAAAAAAAAAAAAAAAAhE/0MAAAAAAAAAAAAAAAAAAAAACEUQQAhCANAIAAgCEEBdGoi' +
  'Cf0AAAAhDiAJ/QAAECEPIAogCGr9AAAAIhAgD/26ASAQQQj9iwEgDv26Af2uASAR/a4BIREgCyAIav0AAAAiECAP/boBIBBBCP2LASAO/boB/a4BIBL9' +
  'rgEhEiAMIAhq/QAAACIQIA/9ugEgEEEI/YsBIA79ugH9rgEgE/2uASETIA0gCGr9AAAAIhAgD/26ASAQQQj9iwEgDv26Af2uASAU/a4BIRQgCEEQaiII' +
  'IAVJDQALIBEgEv0NAAECAxAREhMEBQYHFBUWFyARIBL9DQgJCgsYGRobDA0ODxwdHh/9rgEhDiATIBT9DQABAgMQERITBAUGBxQVFhcgEyAU/Q0ICQoL' +
  'GBkaGwwNDg8cHR4f/a4BIQ8gDiAP/Q0AAQIDBAUGBxAREhMUFRYXIA4gD/0NCAkKCwwNDg8YGRobHB0eH/2uAf36Af0MAAAAAAAAAAAAAAAAAAAAACEQ' +
  'IAIgBygCAEECdGogEP1WAgAAIRAgAiAHKAIEQQJ0aiAQ/VYCAAEhECACIAcoAghBAnRqIBD9VgIAAiEQIAIgBygCDEECdGogEP1WAgADIRAgEP3mASAG' +
  '/RP95gH9CwAAIAdBEGohByADQRBqIQMgBEEEayIEDQALCws='

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
    bytes.set(new Uint8Array(memory.buffer, layout.gains, count * 4), next.gains)
    layout = next
    memory = larger
  }

  return {
    get count() {
      return count
    },
    add(vector) {
      if (count === layout.capacity) grow()
      const codes = new Int8Array(memory.buffer, layout.codes + count * width, width)
      new Float32Array(memory.buffer, layout.gains)[count] = pack(vector, codes)
      return count++
    },
    stretch(factors) {
      const gains = new Float32Array(memory.buffer, layout.gains, count)
      for (let row = 0; row < count; row++) gains[row]! *= factors[row]!
      new Float32Array(memory.buffer, layout.offsets, count).set(factors)
    },
    scores(query, shift = 0) {
      const factor = writeQuery(query, new Int16Array(memory.buffer, 0, width))
      memory.scan(inFours(count), factor, shift)
      return new Float32Array(memory.buffer, layout.scores, count)
    },
    scoresOf(rows, query) {
      const factor = writeQuery(query, new Int16Array(memory.buffer, 0, width))
      const list = new Uint32Array(memory.buffer, layout.rows, inFours(rows.length))
      list.set(rows)
      list.fill(0, rows.length)
      memory.scanRows(list.length, factor)
      return new Float32Array(memory.buffer, layout.scores, rows.length)
    },
  }
}

const inFours = (count: number) => Math.ceil(count / 4) * 4

function layoutOf(capacity: number, width: number): Layout {
  const codes = width * 2
  const gains = codes + capacity * width
  const list = capacity * 4
  const [offsets, rows, scores] = [gains + list, gains + 2 * list, gains + 3 * list]
  return { capacity, codes, gains, offsets, rows, scores, size: scores + list }
}

/**
 * Rounds a row to signed bytes; answers what one step is worth. Two bytes are read as one number of 16 bits, in which the
 * first counts as a fraction of the second: the second is rounded with that taken off.
 */
function pack(vector: Float32Array, codes: Int8Array): number {
  const largest = largestOf(vector)
  const steps = largest > 0 ? LARGEST / largest : 0
  for (let i = 0; i < vector.length; i += 2) {
    const low = Math.round(vector[i]! * steps)
    codes[i] = low
    codes[i + 1] = Math.round((vector[i + 1] ?? 0) * steps - (low & 255) / 256)
  }
  return largest / LARGEST
}

/** Writes the query as the kernel reads it, as finely as no sum can overflow; answers what one step is worth. */
function writeQuery(query: Float32Array, into: Int16Array): number {
  const finest = Math.floor(0xffff / into.length)
  const largest = largestOf(query)
  const steps = largest > 0 ? finest / largest : 0
  for (let i = 0; i < into.length; i++) into[placeInQuery(i)] = Math.round((query[i] ?? 0) * steps)
  return Math.fround(largest / finest / 256)
}

/** Of sixteen numbers, those of even places come first. */
const placeInQuery = (i: number) => (i & ~15) + ((i & 1) << 3) + ((i & 15) >> 1)

function largestOf(vector: Float32Array): number {
  let largest = 0
  for (let i = 0; i < vector.length; i++) {
    const size = Math.abs(vector[i]!)
    if (size > largest) largest = size
  }
  return largest
}

function plainMemory(layout: Layout, width: number): Memory {
  const buffer = new ArrayBuffer(layout.size)
  const query = new Int16Array(buffer, 0, width)
  const codes = new Int8Array(buffer, layout.codes, layout.capacity * width)
  const [gains, offsets, scores] = [layout.gains, layout.offsets, layout.scores].map(
    (from) => new Float32Array(buffer, from, layout.capacity),
  ) as [Float32Array, Float32Array, Float32Array]
  const rows = new Uint32Array(buffer, layout.rows, layout.capacity)
  const scoreOf = (row: number, factor: number) => {
    let sum = 0
    for (let i = 0; i < width; i += 2) {
      const [low, high] = [codes[row * width + i]!, codes[row * width + i + 1]!]
      sum += 256 * low * query[placeInQuery(i)]! + ((low & 255) + 256 * high) * query[placeInQuery(i + 1)]!
    }
    return Math.fround(Math.fround(Math.fround(sum) * gains[row]!) * factor)
  }
  return {
    buffer,
    scan(count, factor, shift) {
      for (let row = 0; row < count; row++)
        scores[row] = scoreOf(row, factor) - Math.fround(Math.fround(shift) * offsets[row]!)
    },
    scanRows(count, factor) {
      for (let place = 0; place < count; place++) scores[place] = scoreOf(rows[place]!, factor)
    },
  }
}

function fastMemory(layout: Layout, width: number): Memory {
  const kernel = compiled()
  if (kernel === undefined) return plainMemory(layout, width)
  try {
    const memory = new kernel.assembly.Memory({ initial: Math.ceil(layout.size / PAGE) })
    const { scan, scanRows } = new kernel.assembly.Instance(kernel.module, { host: { memory } }).exports
    const { codes, gains, offsets, rows, scores } = layout
    return {
      buffer: memory.buffer,
      scan: (count, factor, shift) => scan(0, codes, gains, scores, count, width, factor, offsets, shift),
      scanRows: (count, factor) => scanRows(0, codes, gains, scores, count, width, factor, rows),
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
