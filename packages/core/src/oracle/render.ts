// Renders what the model sees of a request, and counts it.
// Implements W1.
import { tokensFor } from '../tokens.ts'
import { readingOf } from './size.ts'
import { type PromptSegment, walkRequest } from './walk.ts'

/**
 * Renders tools, system and the conversation, with each loaded definition at the place that loaded it.
 *
 * @example
 * const read = renderRequest(prepared.request).map(({ kind, text }) => `${kind}: ${text}`)
 */
export function renderRequest(request: unknown): PromptSegment[] {
  const { tools, scaffold, system, steps } = walkRequest(request)
  return [...tools, ...scaffold, ...system, ...steps.flatMap((step) => step.segments)]
}

/** Returns the tools whose definitions are visible at the end of the request, in the order in which they appeared. */
export function visibleTools(request: unknown): string[] {
  return [...walkRequest(request).visible.keys()]
}

/** Estimates the tokens of what the model reads, from its length. */
export function countTokens(request: unknown): number {
  return tokensFor(readingOf(request).characters)
}
