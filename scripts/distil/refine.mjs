// Refines finished rows by a second teacher, whose space may be another: within a batch of texts, the texts that the teacher
// finds alike shall be alike for the rows. Pairs of requests and operations are drawn together at the same time.
import { addScaled, contrast, contrastRoom, dot, place, throughNorm } from './contrast.mjs'
import { addGradient, move, startState } from './fit.mjs'
import { chance } from './words.mjs'

const STEPS = 250
const RATE = 0.0015
const TEXT_BATCH = 384
const TEXT_WEIGHT = 2
const TEMPERATURE = 0.1

/** How many pairs of each source go into a batch. */
const PAIR_SHARES = { interfaces: 192, requests: 96, questions: 64 }
const PAIR_BATCH = Object.values(PAIR_SHARES).reduce((sum, size) => sum + size, 0)

/**
 * `texts`: lists of row numbers; `vectors`: the teacher's unit vectors of them, centred, `width` numbers each; `pairs`:
 * by source, each two lists of row numbers and a key; `rows`: changed in place.
 */
export function refineRows({ texts, vectors, width, rows, dimensions, pairs, report }) {
  const random = chance(13)
  const state = startState(rows, dimensions)
  const pairRoom = contrastRoom(PAIR_BATCH, dimensions)
  const textRoom = likenessRoom(dimensions)
  const addText = (tokens, gradient) => addGradient(state, tokens, gradient)
  const draw = (list) => list[Math.floor(random() * list.length)]
  let loss = 0
  for (let step = 1; step <= STEPS; step++) {
    const drawn = Object.entries(PAIR_SHARES).flatMap(([source, size]) =>
      Array.from({ length: size }, () => draw(pairs[source])),
    )
    contrast(pairRoom, drawn, rows, dimensions, 1, addText)
    const batch = distinctNumbers(TEXT_BATCH, texts.length, random)
    loss += matchLikeness(textRoom, batch, { texts, vectors, width, rows, dimensions }, addText)
    move(state, RATE * (1 - step / STEPS) + RATE * 0.01)
    if (step % 50 !== 0) continue
    report(step, STEPS, loss / 50)
    loss = 0
  }
}

function likenessRoom(dimensions) {
  const matrix = () => new Float32Array(TEXT_BATCH * TEXT_BATCH)
  const vectors = () => new Float32Array(TEXT_BATCH * dimensions)
  const side = { vectors: vectors(), norms: new Float32Array(TEXT_BATCH), gradient: vectors() }
  return { side, wished: matrix(), found: matrix() }
}

/** Adds the gradient of the cross-entropy between the teacher's and the rows' likeness of texts; returns its mean. */
function matchLikeness({ side, wished, found }, batch, source, addText) {
  const { texts, vectors, width, rows, dimensions } = source
  const size = batch.length
  batch.forEach((text, index) => {
    place(side, index, texts[text], rows, dimensions)
  })
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < i; j++) {
      const taught = dot(vectors, batch[i] * width, vectors, batch[j] * width, width)
      const own = dot(side.vectors, i * dimensions, side.vectors, j * dimensions, dimensions)
      wished[i * size + j] = wished[j * size + i] = Math.exp((taught - 1) / TEMPERATURE)
      found[i * size + j] = found[j * size + i] = Math.exp((own - 1) / TEMPERATURE)
    }
  }
  normalizeRows(wished, size)
  normalizeRows(found, size)
  side.gradient.fill(0)
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      const error = found[i * size + j] - wished[i * size + j] + found[j * size + i] - wished[j * size + i]
      addScaled(side.gradient, i * dimensions, side.vectors, j * dimensions, error, dimensions)
    }
  }
  batch.forEach((text, index) => {
    addText(texts[text], throughNorm(side, index, TEXT_WEIGHT, dimensions))
  })
  let loss = 0
  for (let i = 0; i < size * size; i++) if (wished[i] > 0) loss -= wished[i] * Math.log(found[i] || 1e-9)
  return loss / size
}

/** Makes each row of a square matrix sum up to 1; a text is not compared with itself. */
function normalizeRows(matrix, size) {
  for (let i = 0; i < size; i++) {
    matrix[i * size + i] = 0
    let sum = 0
    for (let j = 0; j < size; j++) sum += matrix[i * size + j]
    for (let j = 0; j < size; j++) matrix[i * size + j] /= sum
  }
}

function distinctNumbers(count, below, random) {
  const numbers = new Set()
  while (numbers.size < count) numbers.add(Math.floor(random() * below))
  return [...numbers]
}
