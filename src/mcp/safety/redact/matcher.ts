// Finds many literal texts in one pass, whatever their case, also where line breaks or invisible characters part them.

export type Pattern = {
  readonly text: string
  /** Base64 means something else in another case; the whole run of its characters is taken. */
  readonly isBase64?: boolean
}

export type Range = { readonly start: number; readonly end: number }

/** Finds the ranges of a text that hold a pattern, in order, joined where they touch. */
export type Matcher = (text: string) => readonly Range[]

/** Of characters: the table below is looked up by so many. */
const PREFIX = 3
const SLOTS = 1 << 16

export function createMatcher(patterns: readonly Pattern[]): Matcher {
  const bySlot = new Map<number, { readonly folded: string; readonly pattern: Pattern }[]>()
  const isUsed = new Uint8Array(SLOTS)
  for (const pattern of patterns) {
    const folded = lower(fold(pattern.text).text)
    if (folded.length < PREFIX) continue
    const slot = slotAt(folded, 0)
    isUsed[slot] = 1
    const others = bySlot.get(slot)
    if (others) others.push({ folded, pattern })
    else bySlot.set(slot, [{ folded, pattern }])
  }
  if (bySlot.size === 0) return () => []
  return (text) => {
    const { text: whole, positions } = fold(text)
    const read = lower(whole)
    const found: Range[] = []
    for (let at = 0; at + PREFIX <= read.length; at++) {
      const slot = slotAt(read, at)
      if (isUsed[slot] === 0) continue
      for (const { folded, pattern } of bySlot.get(slot) ?? []) {
        if (!read.startsWith(folded, at)) continue
        if (!pattern.isBase64) found.push({ start: at, end: at + folded.length })
        else if (whole.startsWith(pattern.text, at)) found.push(widened(whole, at, at + folded.length))
      }
    }
    return joined(found).map(({ start, end }) => ({
      start: positions ? positions[start]! : start,
      end: positions ? positions[end - 1]! + 1 : end,
    }))
  }
}

function slotAt(text: string, at: number): number {
  return ((text.charCodeAt(at) * 31 + text.charCodeAt(at + 1)) * 31 + text.charCodeAt(at + 2)) & (SLOTS - 1)
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

/** Terminal sequences, line breaks with their indentation, control and invisible characters. */
const PARTING =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /\u001b\[[\d;?]*[ -/]*[@-~]|[ \t]*[\r\n]+[ \t]*|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/** The text without what may part a secret, and where each of its characters stood; no positions if nothing was. */
function fold(text: string): { readonly text: string; readonly positions: readonly number[] | undefined } {
  if (text.search(PARTING) < 0) return { text, positions: undefined }
  const positions: number[] = []
  let kept = ''
  let from = 0
  const keep = (end: number) => {
    for (let at = from; at < end; at++) positions.push(at)
    kept += text.slice(from, end)
  }
  for (const match of text.matchAll(PARTING)) {
    keep(match.index)
    from = match.index + match[0].length
  }
  keep(text.length)
  return { text: kept, positions }
}

/** Lower case, character by character: some letters would become two. */
function lower(text: string): string {
  const folded = text.toLowerCase()
  return folded.length === text.length
    ? folded
    : Array.from({ length: text.length }, (_, at) => {
        const one = text[at]!.toLowerCase()
        return one.length === 1 ? one : text[at]
      }).join('')
}
