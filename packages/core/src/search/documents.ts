// Builds documents from tools: terms with their strengths, in compact arrays. A document depends only on its tool, so an
// update copies the documents of unchanged tools.
import type { PoolTool } from '../types.ts'
import { type Analyser, analyse } from './analyse.ts'

/** The terms of all documents, one after the other. */
export type Documents = {
  readonly count: number
  /** Where each document's postings begin; has one more entry than there are documents. */
  readonly starts: Uint32Array
  readonly terms: Uint32Array
  readonly values: Uint16Array
  /** The number of words in each document's tool name and server name. */
  readonly nameSizes: Uint8Array
  readonly serverSizes: Uint8Array
}

/** Documents that are being written: `document` of them are finished, with `size` postings. */
type Draft = {
  readonly starts: Uint32Array
  readonly nameSizes: Uint8Array
  readonly serverSizes: Uint8Array
  terms: Uint32Array
  values: Uint16Array
  size: number
  document: number
}

/** Creates a draft for `count` documents, with room for the expected number of postings. */
export function createDraft(count: number, expected = count * 24): Draft {
  const room = Math.max(256, expected)
  return {
    starts: new Uint32Array(count + 1),
    nameSizes: new Uint8Array(count),
    serverSizes: new Uint8Array(count),
    terms: new Uint32Array(room),
    values: new Uint16Array(room),
    size: 0,
    document: 0,
  }
}

/** Appends the document of a tool. */
export function addTool(draft: Draft, tool: PoolTool, analyser: Analyser): void {
  analyse(analyser, tool)
  reserve(draft, analyser.size)
  const { terms, values } = draft
  for (let index = 0; index < analyser.size; index++) {
    terms[draft.size] = analyser.terms[index]!
    values[draft.size++] = analyser.values[index]!
  }
  draft.nameSizes[draft.document] = analyser.nameSize
  draft.serverSizes[draft.document] = analyser.serverSize
  draft.starts[++draft.document] = draft.size
}

/** Copies documents from other ones with the same vocabulary, from `first` up to `last`. */
export function copyDocuments(draft: Draft, from: Documents, first: number, last: number): void {
  const begin = from.starts[first]!
  const end = from.starts[last + 1]!
  reserve(draft, end - begin)
  draft.terms.set(from.terms.subarray(begin, end), draft.size)
  draft.values.set(from.values.subarray(begin, end), draft.size)
  draft.nameSizes.set(from.nameSizes.subarray(first, last + 1), draft.document)
  draft.serverSizes.set(from.serverSizes.subarray(first, last + 1), draft.document)
  for (let source = first; source <= last; source++)
    draft.starts[++draft.document] = draft.size + from.starts[source + 1]! - begin
  draft.size += end - begin
}

/** Returns the finished documents, without the unused room. */
export function finish({ starts, terms, values, size, nameSizes, serverSizes }: Draft): Documents {
  const count = nameSizes.length
  return { count, starts, terms: terms.slice(0, size), values: values.slice(0, size), nameSizes, serverSizes }
}

function reserve(draft: Draft, more: number): void {
  const { terms, values, size } = draft
  if (size + more <= terms.length) return
  const room = Math.max(size + more, Math.ceil(terms.length * 1.5))
  draft.terms = new Uint32Array(room)
  draft.values = new Uint16Array(room)
  draft.terms.set(terms)
  draft.values.set(values)
}
