// Defines suspicious phrases, and finds them in many texts at once.
import { excerpt, plain, type SuspicionKind, type TextFinding } from './suspicion.ts'

/** A suspicious phrase: any of `patterns`, if each of `near` occurs close to it. */
export type Phrase = {
  readonly level: TextFinding['level']
  readonly message: string
  readonly patterns: readonly RegExp[]
  /** Each must occur in the same text, at most `NEAR` characters away. */
  readonly near?: readonly RegExp[]
}

const NEAR = 200

/**
 * Builds a pattern over plain lower-case text. It must run in linear time: bounded gaps, no nested repetition.
 */
export function words(parts: TemplateStringsArray, ...values: readonly string[]): RegExp {
  return new RegExp(String.raw(parts, ...values), 'g')
}

/** A mail address, URL, telephone number or wallet; not one given as an example. */
export const ADDRESS = String.raw`(?<!(?:e\.g\.|such as|example|like)[,:]? ?.?)(?:(?<![\w.+-])[\w.+-]{1,60}@[\w-]{1,60}\.\w|https?://|(?<!\w)\+\d[\d -]{7,15}|\b0x[0-9a-f]{10})`

/** Texts joined by line breaks: a pattern runs once for all of them, and never matches across two. */
export type JoinedTexts = { readonly whole: string; readonly lines: readonly Line[] }

type Line = { readonly where: string; readonly text: string; readonly start: number; readonly end: number }

/** Joins texts into one, and remembers where each of them starts and ends. */
export function joinTexts(texts: readonly { readonly where: string; readonly text: string }[]): JoinedTexts {
  let start = 0
  const lines = texts.map(({ where, text }): Line => {
    const line = plain(text)
    const lower = line.toLowerCase()
    const end = start + lower.length
    const found = { where, text: lower.length === line.length ? line : lower, start, end }
    start = end + 1
    return found
  })
  return { whole: lines.map(({ text }) => text.toLowerCase()).join('\n'), lines }
}

/** Returns the first match of each phrase in each text. */
export function findPhrases(
  kind: SuspicionKind,
  phrases: readonly Phrase[],
  { whole, lines }: JoinedTexts,
): TextFinding[] {
  return phrases.flatMap(({ level, message, patterns, near = [] }) => {
    const found = new Map<Line, TextFinding>()
    for (const pattern of patterns)
      for (const { line, start, end } of find(pattern, near, whole, lines))
        if (!found.has(line)) {
          const shown = excerpt(line.text, start - line.start, end - line.start)
          found.set(line, { kind, level, where: line.where, message, excerpt: shown })
        }
    return [...found.values()]
  })
}

/** Yields matches. Those that are close together share their context, so that hostile text is not read many times. */
function* find(
  pattern: RegExp,
  near: readonly RegExp[],
  whole: string,
  lines: readonly Line[],
): Generator<{ line: Line; start: number; end: number }> {
  if (whole.search(pattern) < 0) return
  let current = 0
  let next = 0
  for (const { index: start, 0: match } of whole.matchAll(pattern)) {
    if (start < next) continue
    while (lines[current]!.end < start) current++
    const line = lines[current]!
    const end = start + match.length
    const around = whole.slice(Math.max(line.start, start - NEAR), Math.min(line.end, end + NEAR))
    const isNear = near.every((other) => around.search(other) >= 0)
    if (isNear) yield { line, start, end }
    next = isNear ? line.end : start + NEAR / 2
  }
}
