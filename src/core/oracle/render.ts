// What the model sees of a request, and how much that is.
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

const CHARACTERS_PER_TOKEN = 2.9

/** An estimate: what the model sees, by length. */
export function countTokens(request: unknown): number {
  const characters = render(request).reduce((sum, segment) => sum + segment.text.length, 0)
  return Math.ceil(characters / CHARACTERS_PER_TOKEN)
}
