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

const [QUERY, CODES, SCALES, SCORES, COUNT, DIMENSIONS, FACTOR, AT, ROW1, ROW2, ROW3] = Array(11).keys()
const [LOW, HIGH, SIXTEEN, SUM0, SUM1, SUM2, SUM3] = Array.from({ length: 7 }, (_, index) => index + 11)

const get = (local) => [0x20, local]
const set = (local) => [0x21, local]
const tee = (local) => [0x22, local]
const constant = (value) => [0x41, value]
const add = [0x6a]
const subtract = [0x6b]
const less = [0x49]
const atLeast = [0x4f]
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
const loadFloat = (offset) => [0x2a, 2, offset]
const storeFloat = (offset) => [0x38, 2, offset]
const toFloat = [0xb2]
const multiply = [0x94]

/** Reads 16 numbers of the query and widens them to 16 bits. */
const readQuery = [
  ...[...get(QUERY), ...get(AT), ...add, ...loadVector, ...tee(SIXTEEN), ...widenLow, ...set(LOW)],
  ...[...get(SIXTEEN), ...widenHigh, ...set(HIGH)],
]

/** sum += the products of the query's 16 numbers and a row's, added in pairs. */
const addProducts = (row, sum) => [
  ...[
    ...get(row),
    ...get(AT),
    ...add,
    ...loadVector,
    ...tee(SIXTEEN),
    ...widenLow,
    ...get(LOW),
    ...dotProduct,
  ],
  ...[...get(SIXTEEN), ...widenHigh, ...get(HIGH), ...dotProduct],
  ...[...addVectors, ...get(sum), ...addVectors, ...set(sum)],
]

/** scores[row + offset / 4] from the four lanes of a sum. */
const storeScore = (sum, offset) => [
  ...get(SCORES),
  ...[0, 1, 2, 3].flatMap((index) => [...get(sum), ...lane(index), ...(index > 0 ? add : [])]),
  ...toFloat,
  ...[...get(SCALES), ...loadFloat(offset), ...multiply],
  ...[...get(FACTOR), ...multiply, ...storeFloat(offset)],
]

/** Scores neighbouring rows, so that the query is read and widened once for all of them. */
const scoreRows = (rows, sums) => [
  ...sums.flatMap((sum) => [...zeroVector, ...set(sum)]),
  ...rows.slice(1).flatMap((row, index) => [...get(rows[index]), ...get(DIMENSIONS), ...add, ...set(row)]),
  ...constant(0),
  ...set(AT),
  ...loop(
    readQuery,
    ...rows.map((row, index) => addProducts(row, sums[index])),
    ...[get(AT), constant(16), add, tee(AT), get(DIMENSIONS), less, repeat],
  ),
  ...sums.flatMap((sum, index) => storeScore(sum, 4 * index)),
]

const advance = (local, by) => [...get(local), ...by, ...add, ...set(local)]

/** Moves past rows that are scored; the counter stays on the stack. */
const advanceRows = (count) => [
  ...Array(count)
    .fill(advance(CODES, get(DIMENSIONS)))
    .flat(),
  ...[...advance(SCALES, constant(4 * count)), ...advance(SCORES, constant(4 * count))],
  ...[...get(COUNT), ...constant(count), ...subtract, ...tee(COUNT)],
]

/** Four rows at a time, then the rest one by one. */
const body = [
  ...[...get(COUNT), ...constant(4), ...atLeast],
  ...when(
    loop(
      scoreRows([CODES, ROW1, ROW2, ROW3], [SUM0, SUM1, SUM2, SUM3]),
      advanceRows(4),
      constant(4),
      atLeast,
      repeat,
    ),
  ),
  ...get(COUNT),
  ...when(loop(scoreRows([CODES], [SUM0]), advanceRows(1), repeat)),
  0x0b,
]

const locals = [2, 4, I32, 7, V128]
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
