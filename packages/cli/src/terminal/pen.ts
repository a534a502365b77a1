// Formats text for a terminal with widths, colours and bars, or in plain characters.

/** Formats text for one terminal. */
export type Pen = {
  readonly width: number
  readonly bold: Paint
  readonly dim: Paint
  readonly red: Paint
  readonly yellow: Paint
  readonly green: Paint
  readonly blue: Paint
  readonly marks: Marks
  /** Returns a bar of at most this many columns that shows `value` relative to `max`. */
  readonly bar: (value: number, max: number, columns: number) => string
  /** Cuts a text to at most this many columns, with a mark at the end. */
  readonly fit: (text: string, columns: number) => string
}

type Paint = (text: string) => string

/** Symbols in front of lines. */
type Marks = {
  readonly good: string
  readonly error: string
  readonly warning: string
  readonly note: string
  readonly off: string
  readonly remedy: string
  readonly line: string
  readonly about: string
}

/** What a terminal can show. */
export type Look = {
  readonly width: number
  /** Whether to use no colours, and only ASCII in Toolshelf's own output. */
  readonly isPlain: boolean
  readonly isColoured?: boolean
}

export function createPen({ width, isPlain, isColoured = !isPlain }: Look): Pen {
  const paint = (code: number): Paint =>
    isColoured ? (text) => (text === '' ? '' : `\u001b[${code}m${text}\u001b[0m`) : (text) => text
  return {
    width,
    bold: paint(1),
    dim: paint(2),
    red: paint(31),
    yellow: paint(33),
    green: paint(32),
    blue: paint(36),
    marks: isPlain ? plainMarks : marks,
    bar: isPlain ? plainBar : blockBar,
    fit: (text, columns) => fit(text, columns, isPlain ? '..' : '…'),
  }
}

const marks: Marks = {
  good: '●',
  error: '✗',
  warning: '▲',
  note: '·',
  off: '○',
  remedy: '→',
  line: '─',
  about: '≈',
}
const plainMarks: Marks = {
  good: '+',
  error: 'x',
  warning: '!',
  note: '-',
  off: 'o',
  remedy: '->',
  line: '-',
  about: '~',
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** Returns a bar in which any value above zero is visible. */
function blockBar(value: number, max: number, columns: number): string {
  if (value <= 0 || max <= 0) return ''
  const eighths = Math.max(1, Math.round(Math.min(1, value / max) * columns * 8))
  return '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8]
}

function plainBar(value: number, max: number, columns: number): string {
  if (value <= 0 || max <= 0) return ''
  return '#'.repeat(Math.max(1, Math.round(Math.min(1, value / max) * columns)))
}

/** Cuts a text to at most this many columns, with `end` if it was cut. */
export function fit(text: string, columns: number, end = '…'): string {
  if (columnsOf(text) <= columns) return text
  const room = columns - end.length
  let cut = ''
  let used = 0
  for (const { segment } of graphemes(text)) {
    used += columnsOf(segment)
    if (used > room) break
    cut += segment
  }
  return `${cut.trimEnd()}${end}`
}

/** Cuts a text in the middle, so that both of its ends remain. */
export function fitMiddle(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text
  const start = fit(text, Math.ceil(columns / 2))
  let end = ''
  for (const { segment } of [...graphemes(text)].reverse()) {
    if (columnsOf(start) + columnsOf(segment + end) > columns) break
    end = segment + end
  }
  return start + end
}

/** Wraps the text to lines of at most this many columns, between words if possible. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ').flatMap((word) => pieces(word, columns))) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && columnsOf(longer) > columns) {
      lines.push(line)
      line = word
    } else line = longer
  }
  return line === '' ? lines : [...lines, line]
}

function pieces(word: string, columns: number): string[] {
  const starts = [0, ...rowStarts(word, columns)]
  return starts.map((start, index) => word.slice(start, starts[index + 1]))
}

/** Returns where the second and later rows begin in a word that is wider than a row. */
export function rowStarts(word: string, columns: number): number[] {
  if (columns < 1 || columnsOf(word) <= columns) return []
  const starts: number[] = []
  if (isAscii(word)) {
    for (let start = columns; start < word.length; start += columns) starts.push(start)
    return starts
  }
  let used = 0
  for (const { segment, index } of graphemes(word)) {
    const more = columnsOf(segment)
    const isNext = used > 0 && used + more > columns
    if (isNext) starts.push(index)
    used = isNext ? more : used + more
  }
  return starts
}

/** Pads a text on the left, counting terminal columns. */
export function padStart(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - columnsOf(text))) + text
}

/** Pads a text on the right, counting terminal columns. */
export function padEnd(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - columnsOf(text)))
}

let segmenter: Intl.Segmenter | undefined

/** Splits a text into user-perceived characters. Created on first use, because loading its data takes 10 ms. */
function graphemes(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  return segmenter.segment(text)
}

const WIDE =
  /\p{Emoji_Presentation}|\uFE0F|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303F\uFF01-\uFF60]/u

/** Returns whether each character is visible and takes one column. */
const isAscii = (text: string) => !/[^ -~]/.test(text)

/** Returns the columns that a text takes, without colour codes; wide characters take two. */
export function columnsOf(text: string): number {
  if (isAscii(text)) return text.length
  let columns = 0
  for (const { segment } of graphemes(text.replace(COLOUR, ''))) columns += WIDE.test(segment) ? 2 : 1
  return columns
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const COLOUR = /\u001b\[\d+m/g

/** Removes control characters; keeps line breaks. */
export function printable(text: string): string {
  return text.replace(/[^\P{C}\n\t]/gu, '?')
}

/** Returns the colour's name, or undefined if colours are disabled. */
export function colour(name: string): string | undefined {
  return process.env.NO_COLOR ? undefined : name
}

/** Formats a number with thousands separators. */
export function count(value: number): string {
  return value.toLocaleString('en-US').replace('-', '−')
}

/** Formats a number with its noun: `1 tool`, `2 tools`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** Formats a share as a percentage with one decimal. */
export function percent(share: number): string {
  return share > 0 && share < 0.0005 ? '< 0.1 %' : `${(100 * share).toFixed(1)} %`
}

/** Formats milliseconds as `250 ms` or `1.5 s`; an empty text for null. */
export function duration(milliseconds: number | null): string {
  if (milliseconds === null) return ''
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`
}

/** Cleans all strings in plain data so that they can neither control a terminal nor hide or reverse other text. */
export function harmlessData<Data>(data: Data): Data {
  return JSON.parse(JSON.stringify(data), (key, value) => {
    if (typeof value !== 'string') return value
    return key === 'stderr' ? linesOf(value).join('\n') : printableLine(value)
  })
}

/** Returns untrusted text on one line, without invisible characters. */
export function printableLine(text: string): string {
  const words = text
    .toWellFormed()
    .replace(ESCAPE_SEQUENCE, '')
    .replace(/\p{Cf}/gu, '')
    // Matches single characters, because a repetition over millions of them would overflow the engine's stack.
    .split(/[\s\p{Cc}\p{Zl}\p{Zp}]/u)
  return words.filter((word) => word !== '').join(' ')
}

/** Returns the non-empty lines of a process's output. */
export function linesOf(text: string): string[] {
  return text
    .split(/\r\n|\r|\n/)
    .map(printableLine)
    .filter((line) => line !== '')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const ESCAPE_SEQUENCE = /(?:\u001b\[|\u009b)[\d;?]*[ -/]*[@-~]/g
