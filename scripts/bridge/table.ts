// Writes the language table; packages/core/src/search/language.ts reads it.
import { BRIDGE_HEADER, BRIDGE_MAGIC, DIRECTORY_ENTRY } from '../../packages/core/src/search/language.ts'

export type Entry = {
  readonly word: string
  /** The logarithm of its count to the base of two. */
  readonly frequency: number
  /** English words, likeliest first. */
  readonly targets: readonly string[]
}

const MAX_WORD_LENGTH = 255

/** The bytes of a table, before compression. English words that are only targets may have no entry of their own. */
export function writeTable(
  english: readonly Entry[],
  languages: ReadonlyMap<string, readonly Entry[]>,
): Uint8Array {
  const all = new Map(english.map((entry) => [entry.word, { ...entry, targets: [] as string[] }]))
  for (const entries of languages.values())
    for (const { targets } of entries)
      for (const word of targets) if (!all.has(word)) all.set(word, { word, frequency: 0, targets: [] })
  const words = sorted([...all.values()])
  const numbers = new Map(words.map(({ word }, number) => [word, number]))
  const blocks = [...new Map([['en', words], ...languages])].map(([code, entries]) => ({
    code,
    columns: columnsOf(sorted(entries), numbers),
  }))
  return joined(blocks)
}

function sorted(entries: readonly Entry[]): Entry[] {
  return [...entries].sort((a, b) => (a.word < b.word ? -1 : a.word > b.word ? 1 : 0))
}

type Columns = ReturnType<typeof columnsOf>

/** In the order of the file. */
function columnsOf(entries: readonly Entry[], numbers: ReadonlyMap<string, number>) {
  const columns = {
    ...{ shared: [] as number[], frequencies: [] as number[], counts: [] as number[] },
    ...{ lows: [] as number[], highs: [] as number[], rests: [] as number[] },
  }
  let before = ''
  for (const { word, frequency, targets } of entries) {
    if (word.length > MAX_WORD_LENGTH)
      throw new Error(`"${word}" has more than ${MAX_WORD_LENGTH} characters.`)
    let shared = 0
    while (shared < word.length && word[shared] === before[shared]) shared++
    // A pair of surrogates is one character.
    if (/[\udc00-\udfff]/.test(word[shared] ?? '')) shared--
    columns.shared.push(shared)
    columns.frequencies.push(Math.min(255, Math.max(0, Math.round(frequency))))
    columns.counts.push(targets.length)
    for (const target of targets) {
      const number = numbers.get(target) ?? 0
      columns.lows.push(number & 255)
      columns.highs.push(number >> 8)
    }
    columns.rests.push(...new TextEncoder().encode(`${word.slice(shared)}\n`))
    before = word
  }
  return columns
}

function joined(blocks: readonly { readonly code: string; readonly columns: Columns }[]): Uint8Array {
  const head = new Uint8Array(BRIDGE_HEADER + blocks.length * DIRECTORY_ENTRY)
  const view = new DataView(head.buffer)
  view.setUint32(0, BRIDGE_MAGIC, true)
  view.setUint32(4, blocks.length, true)
  for (const [index, { code, columns }] of blocks.entries()) {
    const entry = BRIDGE_HEADER + index * DIRECTORY_ENTRY
    head.set(new TextEncoder().encode(code.slice(0, 8)), entry)
    const { counts, lows, rests } = columns
    for (const [place, { length }] of [counts, lows, rests].entries())
      view.setUint32(entry + 8 + 4 * place, length, true)
  }
  const names = ['shared', 'frequencies', 'counts', 'lows', 'highs', 'rests'] as const
  const parts = names.flatMap((name) => blocks.map(({ columns }) => columns[name]))
  return Uint8Array.from([head, ...parts].flatMap((part) => [...part]))
}
