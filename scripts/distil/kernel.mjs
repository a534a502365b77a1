// Assembles the WebAssembly kernel of packages/core/src/search/vectors.ts and prints it as base64. Readable source of those bytes.
// Run: node scripts/distil/kernel.mjs
//
// A row has two signed bytes a number of 16 bits: x = low + 256 · high, so that one multiplication by x gives the high
// byte's product and one by x << 8 the low one's, both times 256, and no byte is widened. What the low byte adds to the
// high one's product is part of the row's rounding (pack in vectors.ts). The query has 16 bits a number: of each sixteen
// first the eight for the low bytes, then the eight for the high ones.
//
// scan(query, codes, gains, scores, count, width, factor, offsets, shift):
//   for each row: scores[row] = f32(256 · row · query) · gains[row] · factor − shift · offsets[row]
// scanRows(query, codes, gains, scores, count, width, factor, rows):
//   the same without offsets for the rows whose numbers are listed at `rows`, in their order
//
// Four rows at a time: rows, gains, scores and lists have room for a multiple of four. Width is a multiple of 16.

const I32 = 0x7f
const F32 = 0x7d
const V128 = 0x7b
const EMPTY = 0x40

const [QUERY, CODES, GAINS, SCORES, COUNT, WIDTH, FACTOR, OFFSETS, SHIFT] = Array(9).keys()
const ROWS = OFFSETS

/** Locals follow the parameters, of which the two functions have a different number. */
const localsAfter = (parameters) => {
  const [AT, PLACE, ROW0, ROW1, ROW2, ROW3, LOW, HIGH, SIXTEEN, SUM0, SUM1, SUM2, SUM3] = Array.from(
    { length: 13 },
    (_, index) => parameters + index,
  )
  return { AT, PLACE, rows: [ROW0, ROW1, ROW2, ROW3], LOW, HIGH, SIXTEEN, sums: [SUM0, SUM1, SUM2, SUM3] }
}
const LOCAL_TYPES = [2, 6, I32, 7, V128]

const get = (local) => [0x20, local]
const set = (local) => [0x21, local]
const tee = (local) => [0x22, local]
const constant = (value) => [0x41, value]
const add = [0x6a]
const subtract = [0x6b]
const multiply = [0x6c]
const shiftLeft = [0x74]
const less = [0x49]
const loop = (...body) => [0x03, EMPTY, ...body.flat(), 0x0b]
const when = (...body) => [0x04, EMPTY, ...body.flat(), 0x0b]
const repeat = [0x0d, 0]
const loadNumber = (offset) => [0x28, 2, offset]
const simd = (code, ...rest) => [0xfd, ...unsigned(code), ...rest]
const load = (offset) => simd(0, 0, offset)
const store = simd(0x0b, 0, 0)
const loadLane = (lane) => simd(0x56, 2, 0, lane)
const zeros = simd(0x0c, ...Array(16).fill(0))
const shiftWords = simd(0x8b)
const addNumbers = simd(0xae)
const dotProduct = simd(0xba)
const toFloats = simd(0xfa)
const spread = simd(0x13)
const multiplyFloats = simd(0xe6)
const subtractFloats = simd(0xe5)
/** Four of the eight 32-bit numbers of two vectors. */
const choose = (...numbers) =>
  simd(0x0d, ...numbers.flatMap((number) => [0, 1, 2, 3].map((byte) => 4 * number + byte)))

/** Reads sixteen numbers of the query. */
const readQuery = ({ AT, PLACE, LOW, HIGH }) => [
  ...[
    ...get(QUERY),
    ...get(AT),
    ...constant(1),
    ...shiftLeft,
    ...add,
    ...tee(PLACE),
    ...load(0),
    ...set(LOW),
  ],
  ...[...get(PLACE), ...load(16), ...set(HIGH)],
]

/** sum += the products of the query's sixteen numbers and a row's, added in fours. */
const addProducts = (row, sum, { AT, LOW, HIGH, SIXTEEN }) => [
  ...[...get(row), ...get(AT), ...add, ...load(0), ...tee(SIXTEEN), ...get(HIGH), ...dotProduct],
  ...[...get(SIXTEEN), ...constant(8), ...shiftWords, ...get(LOW), ...dotProduct],
  ...[...addNumbers, ...get(sum), ...addNumbers, ...set(sum)],
]

/** Leaves the numbers that two vectors hold in their lanes half added up: first, second, first, second. */
const addHalves = (first, second) => [
  ...[...get(first), ...get(second), ...choose(0, 4, 1, 5)],
  ...[...get(first), ...get(second), ...choose(2, 6, 3, 7), ...addNumbers],
]

/** Leaves the dot products of four rows with the query, times 256, as floats. */
const dotProducts = (locals) => [
  ...locals.sums.flatMap((sum) => [...zeros, ...set(sum)]),
  ...[...constant(0), ...set(locals.AT)],
  ...loop(
    readQuery(locals),
    ...locals.rows.map((row, index) => addProducts(row, locals.sums[index], locals)),
    ...[get(locals.AT), constant(16), add, tee(locals.AT), get(WIDTH), less, repeat],
  ),
  ...[...addHalves(locals.sums[0], locals.sums[1]), ...set(locals.LOW)],
  ...[...addHalves(locals.sums[2], locals.sums[3]), ...set(locals.HIGH)],
  ...[...get(locals.LOW), ...get(locals.HIGH), ...choose(0, 1, 4, 5)],
  ...[...get(locals.LOW), ...get(locals.HIGH), ...choose(2, 3, 6, 7), ...addNumbers, ...toFloats],
]

const times = (local) => [...get(local), ...spread, ...multiplyFloats]
const advance = (local, by) => [...get(local), ...by, ...add, ...set(local)]

/** Runs the body for four rows after four, as long as the count lasts. */
const forFours = (...body) => [
  ...get(COUNT),
  ...when(
    loop(...body, advance(SCORES, constant(16)), get(COUNT), constant(4), subtract, tee(COUNT), repeat),
  ),
  0x0b,
]

const all = localsAfter(9)
const scan = forFours(
  [...get(CODES), ...set(all.rows[0])],
  ...all.rows.slice(1).map((row, index) => [...get(all.rows[index]), ...get(WIDTH), ...add, ...set(row)]),
  get(SCORES),
  dotProducts(all),
  [...get(GAINS), ...load(0), ...multiplyFloats, ...times(FACTOR)],
  [...get(OFFSETS), ...load(0), ...times(SHIFT), ...subtractFloats, ...store],
  [...get(all.rows[3]), ...get(WIDTH), ...add, ...set(CODES)],
  [...advance(GAINS, constant(16)), ...advance(OFFSETS, constant(16))],
)

const some = localsAfter(8)
const scanRows = forFours(
  ...some.rows.map((row, index) => [
    ...[...get(CODES), ...get(ROWS), ...loadNumber(4 * index), ...get(WIDTH), ...multiply, ...add],
    ...set(row),
  ]),
  get(SCORES),
  dotProducts(some),
  [...zeros, ...set(some.SIXTEEN)],
  ...some.rows.map((_, index) => [
    ...[...get(GAINS), ...get(ROWS), ...loadNumber(4 * index), ...constant(2), ...shiftLeft, ...add],
    ...[...get(some.SIXTEEN), ...loadLane(index), ...set(some.SIXTEEN)],
  ]),
  [...get(some.SIXTEEN), ...multiplyFloats, ...times(FACTOR), ...store],
  advance(ROWS, constant(16)),
)

const bytes = Uint8Array.from([
  ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...section(1, [
    2,
    ...[0x60, ...list([I32, I32, I32, I32, I32, I32, F32, I32, F32]), 0],
    ...[0x60, ...list([I32, I32, I32, I32, I32, I32, F32, I32]), 0],
  ]),
  ...section(2, [1, ...text('host'), ...text('memory'), 2, 0, 1]),
  ...section(3, [2, 0, 1]),
  ...section(7, [2, ...text('scan'), 0, 0, ...text('scanRows'), 0, 1]),
  ...section(10, [2, ...list([...LOCAL_TYPES, ...scan]), ...list([...LOCAL_TYPES, ...scanRows])]),
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
