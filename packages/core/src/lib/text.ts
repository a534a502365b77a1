// Text: cut and quoted, cleaned of control and hidden characters where it is foreign, and read from HTML.
// biome-ignore-all lint/suspicious/noControlCharactersInRegex: they are what is looked for
// biome-ignore-all lint/suspicious/noMisleadingCharacterClass: each character counts for itself
// Implements H9.
import { fieldsOf, textOf } from './json.ts'

/** Returns a value for use in a message: short and on one line, strings in quotation marks. */
export function quote(value: unknown): string {
  const text =
    typeof value === 'string' ? `"${value}"` : typeof value === 'function' ? 'a function' : json(value)
  return oneLine(text, 80)
}

/**
 * Returns untrusted text on one line, cut to `limit` characters and without angle brackets, so that it cannot form tags.
 */
export function oneLine(text: unknown, limit: number): string {
  const line = cleanText(String(text).slice(0, limit * 4))
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/[<>]/g, '')
    .trim()
  return cut(line, limit)
}

/** Cuts a text to at most `limit` characters without splitting a surrogate pair. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  const end = /[\uD800-\uDBFF]/.test(text[limit - 2] ?? '') ? limit - 2 : limit - 1
  return `${text.slice(0, Math.max(0, end)).trimEnd()}…`
}

/** A server by name, and how many of its definitions changed since the user accepted them. */
type Changed = {
  readonly name: string
  readonly changes?: { readonly count: number; readonly isHeld: boolean } | undefined
}

/** Says to a model what servers changed, in our words only; empty if nothing did. */
export function aboutChanges(servers: readonly Changed[]): string {
  const named = (wantsHeld: boolean) =>
    servers
      .filter(({ changes }) => changes?.isHeld === wantsHeld)
      .map(({ name, changes }) => `${changes?.count} of ${oneLine(name, 60)}`)
      .slice(0, 20)
      .join(', ')
  const [held, used] = [named(true), named(false)]
  const sentences = [
    held && `Definitions that changed are held back until the user accepts them: ${held}.`,
    used && `Definitions changed since the user first saw them: ${used}.`,
  ]
  return sentences.filter(Boolean).join(' ')
}

/** Returns the message of a thrown value, which need not be an error. */
export function errorMessage(error: unknown): string {
  try {
    return textOf(fieldsOf(error).message) || String(error)
  } catch {
    return Object.prototype.toString.call(error)
  }
}

/** Whether an error of ours carries this code. A class says nothing of it: a user's tree may hold two copies of a package. */
export function hasCode<Coded extends Error & { readonly code: string }>(
  error: unknown,
  code: Coded['code'],
): error is Coded {
  return error instanceof Error && (error as Coded).code === code
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}

/** Writes characters that are invisible or control a terminal as escapes such as `\u{200b}`. */
export function spellOutInvisible(text: string): string {
  return text.replace(/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Co}|\p{Cs}|[\u{E0100}-\u{E01EF}]/gu, (character) =>
    /\s/.test(character) ? ' ' : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}

/** A kind of character that `cleanText` removes or changes. */
type UnsafeKind = 'control' | 'direction' | 'invisible' | 'tags' | 'surrogate' | 'mark'

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
  const ignore = () => {}
  return SUSPECT.test(text) ? withoutMarks(withoutTags(text, ignore), ignore) : text
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
    const before = [...text.slice(Math.max(0, at - 2), at)].at(-1) ?? ''
    const [after = ''] = text.slice(at + run.length, at + run.length + 2)
    const around = text.slice(Math.max(0, at - NEAR), at + run.length + NEAR)
    if (isNeeded(run, before, after, around)) return run
    note(TURNING.test(run) ? 'direction' : 'invisible')
    return ''
  })
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

const SILENT = new Set(['script', 'style', 'noscript', 'template', 'svg', 'head', 'iframe'])
const HTML_BREAKS =
  /^(p|div|section|article|header|footer|main|nav|aside|table|tr|ul|ol|dl|dt|dd|pre|blockquote|form|h[1-6]|br|hr|li|option|figure)$/
const ENTITIES: { readonly [name: string]: string } = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  copy: '©',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  rsquo: '’',
  lsquo: '‘',
  rdquo: '”',
  ldquo: '“',
  middot: '·',
  bull: '•',
}

/** Returns the text of an HTML document, with Markdown-like headings, lists and links. */
export function readableText(html: string): string {
  const parts: string[] = []
  const lower = html.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  const links: string[] = []
  let at = 0
  while (at < html.length) {
    const open = html.indexOf('<', at)
    parts.push(entities(html.slice(at, open === -1 ? html.length : open).replace(/\s+/g, ' ')))
    if (open === -1) break
    if (html.startsWith('<!--', open)) {
      at = after(html, '-->', open)
      continue
    }
    const [, slash, name = ''] = /^<(\/?)([a-z][a-z0-9]*)/.exec(lower.slice(open, open + 20)) ?? []
    if (name === '' && !/^<[!?/]/.test(html.slice(open, open + 2))) {
      parts.push('<')
      at = open + 1
      continue
    }
    const end = after(html, '>', open)
    const isEnd = slash === '/'
    at = SILENT.has(name) && !isEnd ? after(lower, `</${name}`, end, '>') : end
    if (name === 'a') parts.push(isEnd ? (links.pop() ?? '') : remember(html.slice(open, end), links))
    else if (HTML_BREAKS.test(name)) parts.push(isEnd ? '\n' : startOf(name))
    else if (name === 'td' || name === 'th') parts.push(isEnd ? ' | ' : '')
  }
  return tidy(parts.join(''))
}

/** Returns the index after the next `mark`, or after the `then` that follows it; the end if there is none. */
function after(text: string, mark: string, from: number, then?: string): number {
  const found = text.indexOf(mark, from)
  if (found === -1) return text.length
  return then === undefined ? found + mark.length : after(text, then, found)
}

function remember(tag: string, links: string[]): string {
  const address = /\bhref\s*=\s*["']?([^"'\s>]+)/i.exec(tag)?.[1] ?? ''
  links.push(/^https?:/i.test(address) ? ` (${entities(address)})` : '')
  return ''
}

function startOf(name: string): string {
  if (name === 'li') return '\n- '
  return /^h[1-6]$/.test(name) ? `\n\n${'#'.repeat(Number(name[1]))} ` : '\n'
}

function entities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (whole, decimal, hex, name) => {
    const code = decimal ? Number(decimal) : hex ? Number.parseInt(hex, 16) : undefined
    if (code !== undefined) return code <= 0x10ffff ? String.fromCodePoint(code) : whole
    return (Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined) ?? whole
  })
}

function tidy(text: string): string {
  return text
    .split('\n')
    .map((line) => line.replace(/[ \t\u00a0]+/g, ' ').trim())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

type TextRange = { readonly start: number; readonly end: number }

/** Returns where the literals occur, in order; those that overlap are one range. */
export function literalRanges(text: string, literals: readonly string[]): TextRange[] {
  const found: TextRange[] = []
  for (const literal of literals) {
    if (literal === '') continue
    for (let at = text.indexOf(literal); at >= 0; at = text.indexOf(literal, at + 1))
      found.push({ start: at, end: at + literal.length })
  }
  const ranges: TextRange[] = []
  for (const { start, end } of found.sort((a, b) => a.start - b.start)) {
    const last = ranges.at(-1)
    if (last && start < last.end) ranges[ranges.length - 1] = { ...last, end: Math.max(last.end, end) }
    else ranges.push({ start, end })
  }
  return ranges
}

/** Replaces each range of literals by what `replacement` returns for its length. */
export function replaceLiterals(
  text: string,
  literals: readonly string[],
  replacement: (length: number) => string,
): string {
  let replaced = ''
  let from = 0
  for (const { start, end } of literalRanges(text, literals)) {
    replaced += text.slice(from, start) + replacement(end - start)
    from = end
  }
  return replaced + text.slice(from)
}
