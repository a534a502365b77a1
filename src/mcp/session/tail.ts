// Keeps the last lines that a process wrote to stderr, and the one that names its error: bounded, and safe to show.
import { cleanText } from '../../lib/index.ts'
import { lastLinesWithError } from '../protocol/index.ts'

/** The last lines of an output. */
export type Tail = { add(chunk: Buffer): void; text(): string }

const MAX_CHARACTERS = 8_192
const MAX_LINES = 20
/** Bytes to keep in front of what is shown, so that a secret that begins there is still found whole. */
const MARGIN = 8_192

/** Creates an empty tail; `redact` hides secrets before cutting, since otherwise half of one could remain. */
export function createTail(redact: (text: string) => string = (text) => text): Tail {
  let kept: Buffer = Buffer.alloc(0)
  let isCut = false
  return {
    add(chunk) {
      const all = Buffer.concat([kept, chunk.subarray(-(MAX_CHARACTERS + MARGIN))])
      isCut ||= all.length > MAX_CHARACTERS + MARGIN || chunk.length > MAX_CHARACTERS + MARGIN
      kept = all.subarray(-(MAX_CHARACTERS + MARGIN))
    },
    text() {
      const shown = redact(cleanText(kept.toString('utf8')).replaceAll('\ufffd', '').trim())
      const lines = (isCut ? shown.slice(MARGIN / 2) : shown).slice(-MAX_CHARACTERS).split('\n')
      return lastLinesWithError(lines, MAX_LINES).join('\n')
    },
  }
}
