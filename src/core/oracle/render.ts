// What the model sees of a request, and how much that is.
// Implements W1.
import { tokensFor } from '../tokens.ts'
import { readingOf } from './size.ts'
import { type Segment, walk } from './walk.ts'

/** Tools, system, then the conversation with every loaded definition at the place that loaded it. */
export function render(request: unknown): Segment[] {
  const { tools, scaffold, system, steps } = walk(request)
  return [...tools, ...scaffold, ...system, ...steps.flatMap((step) => step.segments)]
}

/** The tools whose definition is in sight at the end of the request, in the order they came into it. */
export function visibleTools(request: unknown): string[] {
  return [...walk(request).visible.keys()]
}

/** An estimate: what the model reads, by length. */
export function countTokens(request: unknown): number {
  return tokensFor(readingOf(request).characters)
}
