// Finds many literal strings in one pass, case-insensitively, even if line breaks, terminal sequences or invisible
// characters split them.
// Implements H8.
import { INVISIBLE_CHARACTER, TERMINAL_SEQUENCES } from '../../lib/index.ts'

/** A string to find. */
export type Pattern = {
  readonly text: string
  /** Matched case-sensitively, and extended to the whole run of base64 characters around it. */
  readonly isBase64?: boolean
}

/** A range of a text. */
export type Range = { readonly start: number; readonly end: number }

/** Finds the ranges of a text that match a pattern, in order, merged if they touch. */
export type Matcher = (text: string) => readonly Range[]

/** Leading characters that select a slot of the lookup table; shorter patterns are never found. */
const PREFIX = 3
const SLOTS = 1 << 16

/** Creates a matcher for many patterns. */
export function createMatcher(patterns: readonly Pattern[]): Matcher {
  const find = createFinder(patterns.map((pattern) => ({ pattern, folded: fold(pattern.text).text })))
  // Wrapping a line at a blank inside a secret removes the blank, so secrets with blanks are also searched without any.
  const blanks = patterns.filter(({ text }) => /\s/.test(text))
  const findWithoutBlanks = createFinder(
    blanks.map((pattern) => ({ pattern, folded: fold(pattern.text, WITH_BLANKS).text })),
  )
  return (text) =>
    joined([
      ...(find?.(fold(text)) ?? []),
      ...(find && ESCAPE.test(text) ? find(fold(text, WITH_SEQUENCES)) : []),
      ...(findWithoutBlanks?.(fold(text, WITH_BLANKS)) ?? []),
    ])
}

type FoldedPattern = { readonly pattern: Pattern; readonly folded: string }

/** Finds patterns in a text that was folded in the same way; undefined if there are no patterns. */
function createFinder(patterns: readonly FoldedPattern[]): ((text: Folded) => Range[]) | undefined {
  const bySlot = new Map<number, FoldedPattern[]>()
  const isUsed = new Uint8Array(SLOTS)
  for (const { pattern, folded: written } of patterns) {
    const folded = lower(written)
    if (folded.length < PREFIX) continue
    const slot = slotOf(folded.charCodeAt(0), folded.charCodeAt(1), folded.charCodeAt(2))
    isUsed[slot] = 1
    const others = bySlot.get(slot)
    if (others) others.push({ folded, pattern })
    else bySlot.set(slot, [{ folded, pattern }])
  }
  if (bySlot.size === 0) return undefined
  return ({ text: whole, positions }) => {
    const read = lower(whole)
    const found: Range[] = []
    /** End of the last matched run of base64: matches inside it are skipped. */
    let taken = 0
    // The codes of the characters at `at` and after it; each is read once.
    let [first, second] = [read.charCodeAt(0), read.charCodeAt(1)]
    for (let at = 0; at + PREFIX <= read.length; at++) {
      const third = read.charCodeAt(at + 2)
      const slot = slotOf(first, second, third)
      first = second
      second = third
      if (isUsed[slot] === 0) continue
      for (const { folded, pattern } of bySlot.get(slot) ?? []) {
        if (!read.startsWith(folded, at)) continue
        if (!pattern.isBase64) found.push({ start: at, end: at + folded.length })
        else if (at >= taken && whole.startsWith(pattern.text, at)) {
          const run = widened(whole, at, at + folded.length)
          found.push(run)
          taken = run.end
        }
      }
    }
    return found.map(({ start, end }) => ({
      start: positions ? positions[start]! : start,
      end: positions ? positions[end - 1]! + 1 : end,
    }))
  }
}

function slotOf(first: number, second: number, third: number): number {
  return ((first * 31 + second) * 31 + third) & (SLOTS - 1)
}

const BASE64 = /[A-Za-z0-9+/=_-]/

function widened(text: string, start: number, end: number): Range {
  let [first, last] = [start, end]
  while (first > 0 && BASE64.test(text[first - 1]!)) first--
  while (last < text.length && BASE64.test(text[last]!)) last++
  return { start: first, end: last }
}

function joined(ranges: readonly Range[]): Range[] {
  const sorted = [...ranges].sort((a, b) => a.start - b.start)
  const merged: { start: number; end: number }[] = []
  for (const { start, end } of sorted) {
    const last = merged.at(-1)
    if (last && start <= last.end) last.end = Math.max(last.end, end)
    else merged.push({ start, end })
  }
  return merged
}

/** What may split a secret: colour codes, line breaks with the blanks after them, and invisible characters. */
const PARTING = new RegExp(
  `\\u001b\\[[\\d;?]*[ -/]*[@-~]|[\\r\\n]+[ \\t]*|${INVISIBLE_CHARACTER.source}`,
  'gu',
)
/**
 * `PARTING` and all other terminal sequences. Texts with escapes are searched both ways, because what looks like the end
 * of a sequence may be the first character of a secret.
 */
const WITH_SEQUENCES = new RegExp(`${TERMINAL_SEQUENCES.source}|${PARTING.source}`, 'gu')
/** `WITH_SEQUENCES` and all blanks. */
const WITH_BLANKS = new RegExp(`${WITH_SEQUENCES.source}|\\s`, 'gu')
// biome-ignore lint/suspicious/noControlCharactersInRegex: these begin terminal sequences
const ESCAPE = /[\u001b\u0090-\u009f]/

type Folded = { readonly text: string; readonly positions: readonly number[] | undefined }

/**
 * Removes what may split a secret, and returns the original position of each character; no positions if nothing was
 * removed.
 */
function fold(text: string, parting = PARTING): Folded {
  if (text.search(parting) < 0) return { text, positions: undefined }
  const positions: number[] = []
  let kept = ''
  let from = 0
  const keep = (end: number) => {
    for (let at = from; at < end; at++) positions.push(at)
    kept += text.slice(from, end)
  }
  for (const { 0: found, index } of text.matchAll(parting)) {
    keep(BREAK.test(found) ? endWithoutBlanks(text, from, index) : index)
    from = index + found.length
  }
  keep(text.length)
  return { text: kept, positions }
}

const BREAK = /^[\r\n]/

/** The end of a text without the blanks before a line break. A regular expression would take quadratic time. */
function endWithoutBlanks(text: string, from: number, end: number): number {
  let at = end
  while (at > from && (text[at - 1] === ' ' || text[at - 1] === '\t')) at--
  return at
}

/** Lower-cases a text without changing its length: a letter that would become two stays as it is. */
function lower(text: string): string {
  const folded = text.toLowerCase()
  return folded.length === text.length
    ? folded
    : Array.from({ length: text.length }, (_, at) => {
        const one = text[at]!.toLowerCase()
        return one.length === 1 ? one : text[at]
      }).join('')
}
