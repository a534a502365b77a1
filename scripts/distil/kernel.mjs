// Assembles the WebAssembly kernel of src/search/kernel.ts and prints it as base64. Readable source of those bytes.
// Run: node scripts/distil/kernel.mjs
//
// scan(query, codes, scales, scores, count, dimensions, factor):
//   for each row: scores[row] = (f32(Σ query[i] · codes[row][i]) · scales[row]) · factor
// query and codes are signed bytes, dimensions a multiple of 16, addresses in the imported memory.

const I32 = 0x7f
const F32 = 0x7d
const V128 = 0x7b
const EMPTY = 0x40

const [QUERY, CODES, SCALES, SCORES, COUNT, DIMENSIONS, FACTOR, AT, SUM, LEFT, RIGHT] = Array(11).keys()

const get = (local) => [0x20, local]
const set = (local) => [0x21, local]
const tee = (local) => [0x22, local]
const constant = (value) => [0x41, value]
const add = [0x6a]
const subtract = [0x6b]
const less = [0x49]
const loop = (...body) => [0x03, EMPTY, ...body.flat(), 0x0b]
const when = (...body) => [0x04, EMPTY, ...body.flat(), 0x0b]
const repeat = [0x0d, 0]
const simd = (code, ...rest) => [0xfd, ...unsigned(code), ...rest]
const loadVector = simd(0, 0, 0)
const zeroVector = simd(12, ...Array(16).fill(0))
const lane = (index) => simd(0x1b, index)
const widenLow = simd(0x87)
const widenHigh = simd(0x88)
const addVectors = simd(0xae)
const dotProduct = simd(0xba)
const loadFloat = [0x2a, 2, 0]
const storeFloat = [0x38, 2, 0]
const toFloat = [0xb2]
const multiply = [0x94]

/** SUM += the products of 16 numbers: both sides widened to 16 bits, multiplied, added in pairs. */
const sixteen = [
  ...get(QUERY),
  ...get(AT),
  ...add,
  ...loadVector,
  ...set(LEFT),
  ...get(CODES),
  ...get(AT),
  ...add,
  ...loadVector,
  ...set(RIGHT),
  ...[...get(LEFT), ...widenLow, ...get(RIGHT), ...widenLow, ...dotProduct],
  ...[...get(LEFT), ...widenHigh, ...get(RIGHT), ...widenHigh, ...dotProduct],
  ...addVectors,
  ...get(SUM),
  ...addVectors,
  ...set(SUM),
]

const oneRow = [
  ...zeroVector,
  ...set(SUM),
  ...constant(0),
  ...set(AT),
  ...loop(sixteen, get(AT), constant(16), add, tee(AT), get(DIMENSIONS), less, repeat),
  ...get(SCORES),
  ...[0, 1, 2, 3].flatMap((index) => [...get(SUM), ...lane(index), ...(index > 0 ? add : [])]),
  ...toFloat,
  ...get(SCALES),
  ...loadFloat,
  ...multiply,
  ...get(FACTOR),
  ...multiply,
  ...storeFloat,
]

const advance = (local, by) => [...get(local), ...by, ...add, ...set(local)]

const body = [
  ...get(COUNT),
  ...when(
    loop(
      oneRow,
      advance(CODES, get(DIMENSIONS)),
      advance(SCALES, constant(4)),
      advance(SCORES, constant(4)),
      get(COUNT),
      constant(1),
      subtract,
      tee(COUNT),
      repeat,
    ),
  ),
  0x0b,
]

const locals = [2, 1, I32, 3, V128]
const parameters = [I32, I32, I32, I32, I32, I32, F32]

const bytes = Uint8Array.from([
  ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...section(1, [1, 0x60, ...list(parameters), 0]),
  ...section(2, [1, ...text('host'), ...text('memory'), 2, 0, 1]),
  ...section(3, [1, 0]),
  ...section(7, [1, ...text('scan'), 0, 0]),
  ...section(10, [1, ...list([...locals, ...body])]),
])

console.log(Buffer.from(bytes).toString('base64'))

function section(number, content) {
  return [number, ...list(content)]
}

function list(content) {
  return [...unsigned(content.length), ...content]
}

function text(value) {
  return list([...Buffer.from(value)])
}

/** LEB128. */
function unsigned(value) {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)]
}
