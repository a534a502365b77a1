// Checks whether one rendering begins with another, so that a prompt cache would hit.
// Implements wire 14.
import type { PromptSegment } from '@toolshelf/core/internal'

/** The result of a comparison: if the prefix broke, the index, the segment before and the segment now. */
type PrefixCheck =
  | { extends: true }
  | { extends: false; at: number; expected: PromptSegment; found: PromptSegment | undefined }

/**
 * Compares two renderings; a prompt cache holds where the second begins with the whole first.
 *
 * @example
 * expect(extendsPrefix(renderRequest(previous), renderRequest(next))).toEqual({ extends: true })
 */
export function extendsPrefix(
  previous: readonly PromptSegment[],
  next: readonly PromptSegment[],
): PrefixCheck {
  for (const [at, expected] of previous.entries()) {
    const found = next[at]
    if (found?.kind !== expected.kind || found.text !== expected.text) {
      return { extends: false, at, expected, found }
    }
  }
  return { extends: true }
}
