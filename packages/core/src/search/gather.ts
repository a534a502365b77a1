// Finds candidate documents, the first stage of a lexical search. Scans the postings term by term, rarest first; once
// the remaining terms cannot lift a new document into the top results, it updates only documents already found.
import { STRENGTH_STEPS } from './analyse.ts'
import type { Group, QueryPlan } from './plan.ts'
import type { Postings } from './postings.ts'

/** Buffers for one search at a time, shared by an index and all indexes updated from it. */
export type Space = {
  scores: Float32Array
  best: Float32Array
  stamps: Uint32Array
  touched: Uint32Array
  stamp: number
  heap: Float32Array
  heapDocuments: Uint32Array
}

/** Creates empty buffers. */
export function createSpace(): Space {
  return {
    scores: new Float32Array(0),
    best: new Float32Array(0),
    stamps: new Uint32Array(0),
    touched: new Uint32Array(0),
    stamp: 0,
    heap: new Float32Array(64),
    heapDocuments: new Uint32Array(64),
  }
}

const SLACK = 1e-3

/** Finds the `max` strongest documents, best first: in `space.heapDocuments`, with their scores in `space.heap`. */
export function gather(
  plan: QueryPlan,
  postings: Postings,
  count: number,
  max: number,
  space: Space,
): number {
  makeRoom(space, count, max)
  const groups = [...plan.groups].sort((a, b) => b.bound - a.bound)
  let remaining = 0
  for (const { bound } of groups) remaining += bound
  let found = 0
  let isClosed = false
  for (const group of groups) {
    if (found >= max && group.length > found) {
      const min = leastOfBest(space, found, max)
      if (remaining + SLACK < min) isClosed = true
      if (isClosed) found = dropHopeless(space, found, min - remaining - SLACK)
    }
    if (!isClosed) found = scan(group, postings, space, found)
    else if (group.length > found * 16) probe(group, postings, space, found)
    else follow(group, postings, space)
    remaining -= group.bound
  }
  return takeBest(space, found, max)
}

function makeRoom(space: Space, count: number, max: number): void {
  if (space.scores.length < count) {
    const length = Math.ceil(count * 1.2)
    space.scores = new Float32Array(length)
    space.best = new Float32Array(length)
    space.stamps = new Uint32Array(length)
    space.touched = new Uint32Array(length)
    space.stamp = 0
  }
  if (space.heap.length < max) {
    space.heap = new Float32Array(max)
    space.heapDocuments = new Uint32Array(max)
  }
  if (space.stamp > 0xfff00000) {
    space.stamps.fill(0)
    space.stamp = 0
  }
}

/** Adds a group with one term to every document that has it. */
function scanOne(group: Group, { documents, values, starts }: Postings, space: Space, found: number): number {
  const { scores, touched } = space
  const { term, gain } = group.alternatives[0]!
  const factor = gain / STRENGTH_STEPS
  const end = starts[term + 1]!
  let size = found
  for (let index = starts[term]!; index < end; index++) {
    const document = documents[index]!
    const score = scores[document]!
    if (score === 0) touched[size++] = document
    scores[document] = score + factor * (values[index]! >> 2)
  }
  return size
}

/** Adds a group to every document that has any of its terms, with the best of them. */
function scan(group: Group, postings: Postings, space: Space, found: number): number {
  if (group.alternatives.length === 1) return scanOne(group, postings, space, found)
  const { documents, values, starts } = postings
  const { scores, best, stamps, touched } = space
  const stamp = ++space.stamp
  let size = found
  let isFirst = true
  for (const { term, gain } of group.alternatives) {
    const factor = gain / STRENGTH_STEPS
    const end = starts[term + 1]!
    for (let index = starts[term]!; index < end; index++) {
      const document = documents[index]!
      const score = scores[document]!
      const value = factor * (values[index]! >> 2)
      if (score === 0) touched[size++] = document
      if (isFirst || stamps[document] !== stamp) {
        scores[document] = score + value
      } else if (value > best[document]!) {
        scores[document] = score + value - best[document]!
      } else continue
      stamps[document] = stamp
      best[document] = value
    }
    isFirst = false
  }
  return size
}

/** Like `scan`, but only for documents already found. */
function follow(group: Group, { documents, values, starts }: Postings, space: Space): void {
  const { scores, best, stamps } = space
  const stamp = ++space.stamp
  for (const { term, gain } of group.alternatives) {
    const factor = gain / STRENGTH_STEPS
    const end = starts[term + 1]!
    for (let index = starts[term]!; index < end; index++) {
      const document = documents[index]!
      const score = scores[document]!
      if (score === 0) continue
      const value = factor * (values[index]! >> 2)
      const had = stamps[document] === stamp ? best[document]! : 0
      if (value <= had) continue
      scores[document] = score + value - had
      stamps[document] = stamp
      best[document] = value
    }
  }
}

/** Like `follow`, by looking up each document found: for long lists and few documents. */
function probe(group: Group, postings: Postings, space: Space, found: number): void {
  const { scores, touched } = space
  for (let at = 0; at < found; at++) {
    const document = touched[at]!
    let max = 0
    for (const { term, gain } of group.alternatives) {
      const index = placeOf(document, postings, term)
      if (index >= 0) max = Math.max(max, (gain * (postings.values[index]! >> 2)) / STRENGTH_STEPS)
    }
    scores[document]! += max
  }
}

function placeOf(document: number, { documents, starts }: Postings, term: number): number {
  let low = starts[term]!
  const end = starts[term + 1]!
  let high = end
  while (low < high) {
    const middle = (low + high) >>> 1
    if (documents[middle]! < document) low = middle + 1
    else high = middle
  }
  return low < end && documents[low] === document ? low : -1
}

/** Keeps the documents that can still reach the top results. */
function dropHopeless(space: Space, found: number, min: number): number {
  const { scores, touched } = space
  let kept = 0
  for (let at = 0; at < found; at++) {
    const document = touched[at]!
    if (scores[document]! >= min) touched[kept++] = document
    else scores[document] = 0
  }
  return kept
}

/** Returns the lowest of the `max` best scores so far. */
function leastOfBest({ scores, touched, heap }: Space, found: number, max: number): number {
  for (let at = 0; at < max; at++) heap[at] = scores[touched[at]!]!
  for (let at = (max >> 1) - 1; at >= 0; at--) sink(heap, at, max)
  for (let at = max; at < found; at++) {
    const score = scores[touched[at]!]!
    if (score <= heap[0]!) continue
    heap[0] = score
    sink(heap, 0, max)
  }
  return heap[0]!
}

function sink(heap: Float32Array, from: number, size: number): void {
  const value = heap[from]!
  let at = from
  for (;;) {
    let child = 2 * at + 1
    if (child >= size) break
    if (child + 1 < size && heap[child + 1]! < heap[child]!) child++
    if (heap[child]! >= value) break
    heap[at] = heap[child]!
    at = child
  }
  heap[at] = value
}

/** Moves the best documents to `heapDocuments` and their scores to `heap`, and resets the scores. */
function takeBest(space: Space, found: number, max: number): number {
  const { scores, touched, heap, heapDocuments } = space
  const taken = Math.min(found, max)
  for (let at = 0; at < taken; at++) {
    const document = touched[at]!
    heap[at] = scores[document]!
    heapDocuments[at] = document
    scores[document] = 0
  }
  if (found > taken) {
    for (let at = (taken >> 1) - 1; at >= 0; at--) sinkBoth(heap, heapDocuments, at, taken)
    for (let at = taken; at < found; at++) {
      const document = touched[at]!
      const score = scores[document]!
      scores[document] = 0
      if (score < heap[0]! || (score === heap[0] && document > heapDocuments[0]!)) continue
      heap[0] = score
      heapDocuments[0] = document
      sinkBoth(heap, heapDocuments, 0, taken)
    }
  }
  sortBest(heap, heapDocuments, taken)
  return taken
}

/** Restores the heap, with the worst document at the root: the lowest score or, among equals, the last. */
function sinkBoth(heap: Float32Array, documents: Uint32Array, from: number, size: number): void {
  const score = heap[from]!
  const document = documents[from]!
  let at = from
  for (;;) {
    let child = 2 * at + 1
    if (child >= size) break
    if (child + 1 < size && isWorse(heap, documents, child + 1, heap[child]!, documents[child]!)) child++
    if (!isWorse(heap, documents, child, score, document)) break
    heap[at] = heap[child]!
    documents[at] = documents[child]!
    at = child
  }
  heap[at] = score
  documents[at] = document
}

function isWorse(
  heap: Float32Array,
  documents: Uint32Array,
  at: number,
  score: number,
  document: number,
): boolean {
  return heap[at]! < score || (heap[at] === score && documents[at]! > document)
}

/** Sorts the best first; among equals the earlier document. */
function sortBest(heap: Float32Array, documents: Uint32Array, size: number): void {
  if (size > FEW) {
    sortMany(heap, documents, size)
    return
  }
  for (let from = 1; from < size; from++) {
    const score = heap[from]!
    const document = documents[from]!
    let at = from
    while (at > 0 && (heap[at - 1]! < score || (heap[at - 1] === score && documents[at - 1]! > document))) {
      heap[at] = heap[at - 1]!
      documents[at] = documents[at - 1]!
      at--
    }
    heap[at] = score
    documents[at] = document
  }
}

const FEW = 128

function sortMany(heap: Float32Array, documents: Uint32Array, size: number): void {
  const order = Array.from({ length: size }, (_, at) => ({ score: heap[at]!, document: documents[at]! }))
  order.sort((a, b) => b.score - a.score || a.document - b.document)
  for (let at = 0; at < size; at++) {
    heap[at] = order[at]!.score
    documents[at] = order[at]!.document
  }
}
