// Builds documents from tools: terms with their strengths, in compact arrays. A document depends only on its tool, so an
// update copies the documents of unchanged tools.
import type { PoolTool } from '../core/index.ts'
import { type Analyser, analyse } from './analyse.ts'

export type Documents = {
  readonly count: number
  /** Where each document's postings begin; one more than there are documents. */
  readonly starts: Uint32Array
  readonly terms: Uint32Array
  readonly values: Uint16Array
  /** How many words the name and the server have. */
  readonly nameSizes: Uint8Array
  readonly serverSizes: Uint8Array
}

/** Documents being written: `document` are finished, with `size` postings. */
export type Draft = {
  readonly starts: Uint32Array
  readonly nameSizes: Uint8Array
  readonly serverSizes: Uint8Array
  terms: Uint32Array
  values: Uint16Array
  size: number
  document: number
}

/** A draft for so many documents, with room for as many postings as are expected. */
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

/** Takes documents, from the first to the last, over from others with the same vocabulary. */
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
