// IBM Model 1: learns from pairs of word lists how likely each word of one side is for a word of the other. No order of
// words, no randomness.

const ITERATIONS = 6

/**
 * Trains on `pairs`, lists [first, second] of word numbers. Returns two tables over the same cells: `there` is the probability of the
 * second word for the first one, `back` the other way. In both, word 0 is the empty word, which accounts for words without a counterpart.
 */
export function align(pairs) {
  const cells = createCells(pairs)
  return {
    ...cells,
    there: estimate(pairs, cells, 0),
    back: estimate(pairs, cells, 1),
  }
}

/** A number for every two words that occur in one pair, in the order in which they are visited. */
function createCells(pairs) {
  const numbers = new Map()
  const [firsts, seconds] = [[], []]
  const cellOf = (first, second) => {
    const key = first * 2 ** 24 + second
    let cell = numbers.get(key)
    if (cell === undefined) {
      cell = firsts.push(first) - 1
      seconds.push(second)
      numbers.set(key, cell)
    }
    return cell
  }
  let size = 0
  for (const [first, second] of pairs) size += (first.length + 1) * (second.length + 1)
  const visits = new Int32Array(size)
  let at = 0
  for (const [first, second] of pairs)
    for (const one of [0, ...first]) for (const other of [0, ...second]) visits[at++] = cellOf(one, other)
  return { firsts: Int32Array.from(firsts), seconds: Int32Array.from(seconds), visits }
}

/** Probabilities per cell: of the second word given the first (`direction` 0), or of the first given the second (1). */
function estimate(pairs, { firsts, seconds, visits }, direction) {
  const givens = direction === 0 ? firsts : seconds
  let table = new Float64Array(firsts.length).fill(1)
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    const counts = new Float64Array(table.length)
    let start = 0
    for (const [first, second] of pairs) {
      const [rows, columns] = [first.length + 1, second.length + 1]
      const [givenCount, sayCount] = direction === 0 ? [rows, columns] : [columns, rows]
      const [givenStep, sayStep] = direction === 0 ? [columns, 1] : [1, columns]
      for (let say = 1; say < sayCount; say++) {
        let sum = 0
        for (let given = 0; given < givenCount; given++)
          sum += table[visits[start + given * givenStep + say * sayStep]]
        if (sum === 0) continue
        for (let given = 0; given < givenCount; given++) {
          const cell = visits[start + given * givenStep + say * sayStep]
          counts[cell] += table[cell] / sum
        }
      }
      start += rows * columns
    }
    table = normalized(counts, givens)
  }
  return table
}

function normalized(counts, givens) {
  let words = 0
  for (const given of givens) words = Math.max(words, given + 1)
  const sums = new Float64Array(words)
  for (let cell = 0; cell < counts.length; cell++) sums[givens[cell]] += counts[cell]
  for (let cell = 0; cell < counts.length; cell++) if (counts[cell] > 0) counts[cell] /= sums[givens[cell]]
  return counts
}
