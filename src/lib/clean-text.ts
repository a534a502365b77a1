// Removes characters from untrusted text that could control a terminal, hide content or imitate Toolshelf's own markup.
// Text without such characters comes back unchanged, so that prompts keep their bytes.
// biome-ignore-all lint/suspicious/noControlCharactersInRegex: they are what is looked for
// biome-ignore-all lint/suspicious/noMisleadingCharacterClass: each character counts for itself
// Implements H9.

/** A kind of character that `cleanText` removes or changes. */
export type UnsafeKind = 'control' | 'direction' | 'invisible' | 'tags' | 'surrogate' | 'mark'

/**
 * Returns the text without terminal sequences, control characters, characters that change the writing direction,
 * invisible characters and lone surrogates, and with `<` replaced by `‹` where it starts one of Toolshelf's own tags.
 * Keeps what scripts and emoji need: joiners between letters that join, direction marks beside right-to-left letters,
 * variation selectors, flags.
 */
export function cleanText(text: string): string {
  return SUSPECT.test(text) ? clean(text, () => {}) : text
}

/** Cleans a name or value that must be repeated exactly: changes only hidden tag characters and Toolshelf's own tags. */
export function cleanValue(text: string): string {
  return SUSPECT.test(text)
    ? withoutMarks(
        withoutTags(text, () => {}),
        () => {},
      )
    : text
}

/** Returns the kinds of characters that `cleanText` would remove or change, each once; empty for clean text. */
export function unsafeKinds(text: string): readonly UnsafeKind[] {
  const kinds = new Set<UnsafeKind>()
  if (SUSPECT.test(text)) clean(text, (kind) => kinds.add(kind))
  return [...kinds]
}

/** Any character that may need cleaning. Nearly every text has none, and is returned after this one test. */
const SUSPECT =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff<\uff1c\ufe64]|\r(?!\n)/

type Note = (kind: UnsafeKind) => void

function clean(text: string, note: Note): string {
  const steps = [wellFormed, withoutControls, withoutTags, withoutInvisible, withoutMarks]
  return steps.reduce((cleaned, step) => step(cleaned, note), text)
}

function wellFormed(text: string, note: Note): string {
  if (text.isWellFormed()) return text
  note('surrogate')
  return text.toWellFormed()
}

/** Terminal escape sequences, including their text, which a terminal does not show. */
const TERMINAL_SEQUENCES =
  /(?:\u001b\[|\u009b)[\d;:?<=>]*[ -/]*[@-~]?|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/g
const BREAKS = /\r(?!\n)|[\u000b\u000c\u0085\u2028\u2029]/g
const CONTROLS = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\ufff9-\ufffb]/g

function withoutControls(text: string, note: Note): string {
  const cleaned = text.replace(TERMINAL_SEQUENCES, '').replace(BREAKS, '\n').replace(CONTROLS, '')
  if (cleaned !== text) note('control')
  return cleaned
}

/** Tag characters: invisible copies of ASCII. Only flags of subdivisions, such as Scotland, need them. */
const TAGS =
  /(\u{1F3F4}[\u{E0061}-\u{E007A}]{2}[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]{1,3}\u{E007F})|[\u{E0000}-\u{E007F}]/gu

function withoutTags(text: string, note: Note): string {
  return text.replace(TAGS, (_, flag?: string) => {
    if (flag === undefined) note('tags')
    return flag ?? ''
  })
}

/**
 * Runs of invisible characters. The repetition is bounded, because millions of them would overflow the stack of the
 * engine.
 */
const INVISIBLE =
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\u{1D173}-\u{1D17A}\u{E0080}-\u{E0FFF}]{1,1000}/gu
/** A direction mark is kept if right-to-left letters are within this many characters. */
const NEAR = 20
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

function withoutInvisible(text: string, note: Note): string {
  return text.replace(INVISIBLE, (run, at: number) => {
    const before = lastOf(text.slice(Math.max(0, at - 2), at))
    const after = firstOf(text.slice(at + run.length, at + run.length + 2))
    const around = text.slice(Math.max(0, at - NEAR), at + run.length + NEAR)
    if (isNeeded(run, before, after, around)) return run
    note(TURNING.test(run) ? 'direction' : 'invisible')
    return ''
  })
}

function lastOf(text: string): string {
  return [...text].at(-1) ?? ''
}

function firstOf(text: string): string {
  return [...text][0] ?? ''
}

const JOINING =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]/u
const UNSPACED =
  /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}\p{Script=Javanese}]/u
const RIGHT_TO_LEFT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u
const isEmoji = (character: string) => /[\p{Emoji}\p{Emoji_Modifier}\u20e3]/u.test(character)
const isPicture = (character: string) => /\p{Extended_Pictographic}/u.test(character)

/**
 * Invisible characters that scripts and emoji need, and where. Only single ones are kept: a run of them may encode a
 * message.
 */
const NEEDS: readonly (readonly [RegExp, (before: string, after: string, around: string) => boolean])[] = [
  [/^\ufe0f?\u200d$/, (before, after) => isEmoji(before) && isPicture(after)],
  [/^[\ufe0e\ufe0f]$/, (before) => isEmoji(before) || isPicture(before) || /\p{S}/u.test(before)],
  [
    /^[\ufe00-\ufe0d\u{E0100}-\u{E01EF}]$/u,
    (before) => /[\p{Script=Han}\p{Sm}\p{Script=Myanmar}]/u.test(before),
  ],
  [
    /^[\u200c\u200d]$/,
    (before, after) => JOINING.test(before) && (JOINING.test(after) || !/\p{L}/u.test(after)),
  ],
  [/^\u200b$/, (before, after) => UNSPACED.test(before) && UNSPACED.test(after)],
  [/^[\u200e\u200f\u061c]$/, (_, __, around) => RIGHT_TO_LEFT.test(around)],
  [/^[\u180b-\u180f]$/, (before) => /\p{Script=Mongolian}/u.test(before)],
]

function isNeeded(run: string, before: string, after: string, around: string): boolean {
  return NEEDS.some(([form, isRight]) => form.test(run) && isRight(before, after, around))
}

/** Tags with which Toolshelf or the API addresses the model. */
const MARK =
  /^[\s/\\]*(?:antml:|(?:system[-_]reminder|system|available[-_]deferred[-_]tools|available[-_]skills|loaded[-_]tools|shelved[-_]result|functions?|function[-_](?:calls?|results?))(?=[\s/>:]|$))|^\|[a-z_]{2,30}\|>/i
const MAX_MARK_LENGTH = 60

function withoutMarks(text: string, note: Note): string {
  return text.replace(/[<\uff1c\ufe64]/g, (sign, at: number) => {
    if (!MARK.test(text.slice(at + 1, at + MAX_MARK_LENGTH).normalize('NFKC'))) return sign
    note('mark')
    return '‹'
  })
}
