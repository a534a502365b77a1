// The student's side of the data: which tokens get a row, texts as lists of rows, the rows' first values.
import { forward, TEACHER_DIMENSIONS } from './teacher.mjs'

const WRITTEN = /^(##)?[a-z0-9]+$/
const BATCH = 32

/** Tokens of Latin letters and digits, in the teacher's order: what is left out has no meaning for the table. */
export function chooseTokens(vocabulary) {
  return [...vocabulary]
    .filter(([token]) => WRITTEN.test(token))
    .map(([token, number]) => ({ token, number }))
}

/** text → row numbers; what has no row is left out. */
export function rowTokenizer(teacher, tokens) {
  const rowOf = new Map(tokens.map(({ number }, row) => [number, row]))
  return (text) => {
    const rows = []
    for (const number of teacher.tokenize(text)) {
      const row = rowOf.get(number)
      if (row !== undefined) rows.push(row)
    }
    return rows
  }
}

/** Computes the teacher's vector of each token alone, where the rows start. */
export async function singleVectors(teacher, tokens) {
  const start = teacher.vocabulary.get('[CLS]')
  const end = teacher.vocabulary.get('[SEP]')
  const vectors = new Float32Array(tokens.length * TEACHER_DIMENSIONS)
  for (let from = 0; from < tokens.length; from += BATCH) {
    const lists = tokens.slice(from, from + BATCH).map(({ number }) => [start, number, end])
    vectors.set(await forward(teacher, lists), from * TEACHER_DIMENSIONS)
  }
  return vectors
}

/** First rows: the projected single vectors, longer the rarer the token (the vocabulary is sorted by frequency). */
export function startRows(projected, tokens, dimensions) {
  const rows = Float32Array.from(projected)
  tokens.forEach((_, row) => {
    const weight = Math.log(2 + row) / Math.log(2 + tokens.length)
    for (let i = row * dimensions; i < (row + 1) * dimensions; i++) rows[i] *= weight
  })
  return rows
}
