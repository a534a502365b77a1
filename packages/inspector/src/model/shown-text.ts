// Splits untrusted text into parts that can be shown: what would control a terminal, hide or reverse the direction of
// writing becomes a mark that says what it is.
// biome-ignore-all lint/suspicious/noControlCharactersInRegex: they are what is looked for
// biome-ignore-all lint/suspicious/noMisleadingCharacterClass: each character counts for itself
import { cut } from '@toolshelf/core/internal'

/** A part of a text. */
type TextPart = {
  readonly text: string
  /** What the mark stands for; undefined for plain text. */
  readonly mark?: string
}

/** A sequence that controls a terminal. */
const SEQUENCE =
  /(?:\u001b\[|\u009b)[\d;:?<=>]*[ -/]*[@-~]?|\u001b[\]PX^_][^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/u
/** Joiners that emoji and scripts need. */
const NEEDED =
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})|(?<=[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Malayalam}\p{Script=Sinhala}])[\u200c\u200d]/u
/** Characters that are invisible or reverse other text. Tabs and line breaks stay. */
const UNSHOWN =
  /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\u034f\u115f\u1160\u3164\uffa0\u{E0100}-\u{E01EF}]/u
const HIDDEN = new RegExp(
  `(?<sequence>${SEQUENCE.source})|(?=${UNSHOWN.source})(?!${NEEDED.source})[^]`,
  'gu',
)

const MAX_SEQUENCE_LENGTH = 40

/** Splits a text. Joined, the plain parts and the marked originals are the text. */
export function shownParts(text: string): readonly TextPart[] {
  const parts: TextPart[] = []
  let start = 0
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > start) parts.push({ text: text.slice(start, found.index) })
    parts.push({ text: found[0], mark: markOf(found[0], found.groups?.sequence !== undefined) })
    start = found.index + found[0].length
  }
  if (start < text.length) parts.push({ text: text.slice(start) })
  return parts
}

function markOf(text: string, isSequence: boolean): string {
  if (!isSequence) return codeOf(text)
  return `ESC${cut(text.slice(1).replace(/[\p{Cc}\p{Cf}]/gu, ''), MAX_SEQUENCE_LENGTH)}`
}

function codeOf(character: string): string {
  const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
  return `U+${code}`
}
