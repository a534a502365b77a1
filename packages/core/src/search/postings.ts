// Builds the inverted index: for each term, the documents that contain it, in order. Takes two linear passes.
import type { Documents } from './documents.ts'

/** The documents of every term, one term after the other. */
export type Postings = {
  /** Where each term's postings begin; has one more entry than there are terms. */
  readonly starts: Uint32Array
  readonly documents: Uint32Array
  readonly values: Uint16Array
  /** The strongest posting of each term. */
  readonly strongest: Uint16Array
}

/** Builds the postings of documents. */
export function invert(from: Documents, termCount: number): Postings {
  const starts = new Uint32Array(termCount + 1)
  const { terms, values: sourceValues } = from
  for (let index = 0; index < terms.length; index++) starts[terms[index]! + 1]!++
  for (let term = 0; term < termCount; term++) starts[term + 1]! += starts[term]!
  const next = starts.slice()
  const documents = new Uint32Array(terms.length)
  const values = new Uint16Array(terms.length)
  const strongest = new Uint16Array(termCount)
  for (let document = 0; document < from.count; document++) {
    const end = from.starts[document + 1]!
    for (let index = from.starts[document]!; index < end; index++) {
      const term = terms[index]!
      const place = next[term]!++
      const value = sourceValues[index]!
      documents[place] = document
      values[place] = value
      if (value > strongest[term]!) strongest[term] = value
    }
  }
  return { starts, documents, values, strongest }
}

/** Returns how many documents have a term. */
export function countOf({ starts }: Postings, term: number): number {
  return term >= 0 && term + 1 < starts.length ? starts[term + 1]! - starts[term]! : 0
}
