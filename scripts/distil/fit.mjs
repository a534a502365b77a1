// Fits one row per token so that the sum of a text's rows points where the teacher's vector of the text points.
import { contrast, contrastRoom } from './contrast.mjs'
import { chance, shuffle } from './words.mjs'

const BATCH = 256
const PAIR_BATCH = 128
const MOMENTUM = 0.9
const MEMORY = 0.99

/**
 * Gradient descent on 1 − cosine (Adam, one second moment a row); only rows of seen tokens move, so that a
 * rare token stays near the teacher's vector of the token alone. A row's length is its weight: learned as well.
 *
 * `texts`: lists of row numbers; `targets`: unit vectors; `rows`: the start, changed in place. With each batch of texts
 * goes one of `pairs` (two lists of row numbers each), whose sides are drawn together with the weight `pairWeight`.
 */
export function fitRows({ texts, targets, rows, dimensions, pairs, pairWeight, epochs, rate, report }) {
  const random = chance(11)
  const state = startState(rows, dimensions)
  const room = contrastRoom(PAIR_BATCH, dimensions)
  const addText = (tokens, gradient) => addGradient(state, tokens, gradient)
  const order = texts.map((_, index) => index)
  const steps = Math.ceil(texts.length / BATCH) * epochs
  let step = 0
  for (let epoch = 0; epoch < epochs; epoch++) {
    shuffle(order, random)
    let cosines = 0
    for (let from = 0; from < order.length; from += BATCH) {
      const batch = order.slice(from, from + BATCH)
      for (const index of batch) {
        const target = targets.subarray(index * dimensions, (index + 1) * dimensions)
        cosines += accumulate(state, texts[index], target)
      }
      if (pairWeight > 0) {
        const drawn = Array.from({ length: PAIR_BATCH }, () => pairs[Math.floor(random() * pairs.length)])
        contrast(room, drawn, rows, dimensions, pairWeight, addText)
      }
      step++
      move(state, rate * (1 - step / steps) + rate * 0.01)
    }
    report(epoch + 1, cosines / order.length)
  }
}

function startState(rows, dimensions) {
  const count = rows.length / dimensions
  return {
    rows,
    dimensions,
    gradient: new Float32Array(rows.length),
    momentum: new Float32Array(rows.length),
    size: new Float32Array(count),
    moves: new Uint32Array(count),
    touched: new Set(),
    sum: new Float32Array(dimensions),
  }
}

/** Adds one text's gradient to its rows; returns its cosine. */
function accumulate(state, tokens, target) {
  const { rows, dimensions, sum } = state
  const squares = sumRows(rows, tokens, dimensions, sum)
  if (squares === 0) return 0
  const norm = Math.sqrt(squares)
  let dot = 0
  for (let i = 0; i < dimensions; i++) dot += sum[i] * target[i]
  const cosine = dot / norm
  const along = cosine / norm
  for (let i = 0; i < dimensions; i++) sum[i] = (along * sum[i] - target[i]) / norm
  addGradient(state, tokens, sum)
  return cosine
}

function addGradient({ touched, gradient, dimensions }, tokens, added) {
  for (const token of tokens) {
    touched.add(token)
    const from = token * dimensions
    for (let i = 0; i < dimensions; i++) gradient[from + i] += added[i]
  }
}

/** Adds up the tokens' rows into `sum`; returns the sum of its squares. */
export function sumRows(rows, tokens, dimensions, sum) {
  sum.fill(0)
  for (const token of tokens) {
    const from = token * dimensions
    for (let i = 0; i < dimensions; i++) sum[i] += rows[from + i]
  }
  let squares = 0
  for (let i = 0; i < dimensions; i++) squares += sum[i] * sum[i]
  return squares
}

function move(state, rate) {
  const { rows, dimensions, gradient, momentum, size, moves } = state
  for (const token of state.touched) {
    const from = token * dimensions
    let squares = 0
    for (let i = from; i < from + dimensions; i++) squares += gradient[i] * gradient[i]
    const age = ++moves[token]
    size[token] = MEMORY * size[token] + ((1 - MEMORY) * squares) / dimensions
    const spread = Math.sqrt(size[token] / (1 - MEMORY ** age)) + 1e-9
    const pace = rate / (spread * (1 - MOMENTUM ** age))
    for (let i = from; i < from + dimensions; i++) {
      momentum[i] = MOMENTUM * momentum[i] + (1 - MOMENTUM) * gradient[i]
      rows[i] -= pace * momentum[i]
      gradient[i] = 0
    }
  }
  state.touched.clear()
}

/** Mean cosine between the rows' sums and the targets. */
export function meanCosine({ texts, targets, rows, dimensions }) {
  const sum = new Float32Array(dimensions)
  let total = 0
  texts.forEach((tokens, index) => {
    const norm = Math.sqrt(sumRows(rows, tokens, dimensions, sum)) || 1
    for (let i = 0; i < dimensions; i++) total += (sum[i] * targets[index * dimensions + i]) / norm
  })
  return total / texts.length
}

/** The mean of the texts' unit vectors. */
export function meanVector(texts, rows, dimensions) {
  const mean = new Float32Array(dimensions)
  const sum = new Float32Array(dimensions)
  for (const tokens of texts) {
    const norm = Math.sqrt(sumRows(rows, tokens, dimensions, sum)) || 1
    for (let i = 0; i < dimensions; i++) mean[i] += sum[i] / norm / texts.length
  }
  return mean
}
