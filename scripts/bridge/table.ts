// Writes the language table; packages/core/src/search/language.ts reads it.
import { BRIDGE_HEADER, BRIDGE_MAGIC, DIRECTORY_ENTRY } from '../../packages/core/src/search/language.ts'

export type Entry = {
  readonly word: string
  /** The logarithm of its count to the base of two. */
  readonly frequency: number
  /** English words, likeliest first. */
  readonly targets: readonly string[]
}

const MAX_WORD_BYTES = 255

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
  const blocks: [string, number, Uint8Array][] = [['en', words.length, blockOf(words, numbers)]]
  for (const [language, entries] of languages)
    blocks.push([language, entries.length, blockOf(sorted(entries), numbers)])
  return joined(blocks)
}

function sorted(entries: readonly Entry[]): Entry[] {
  return [...entries].sort((a, b) => (a.word < b.word ? -1 : a.word > b.word ? 1 : 0))
}

function blockOf(entries: readonly Entry[], numbers: ReadonlyMap<string, number>): Uint8Array {
  const columns: number[][] = [[], [], [], [], [], []]
  const rests: Uint8Array[] = []
  let before: Uint8Array = new Uint8Array(0)
  for (const { word, frequency, targets } of entries) {
    const bytes = new TextEncoder().encode(word)
    if (bytes.length > MAX_WORD_BYTES) throw new Error(`"${word}" has more than ${MAX_WORD_BYTES} bytes.`)
    let shared = 0
    while (shared < bytes.length && shared < before.length && bytes[shared] === before[shared]) shared++
    columns[0]?.push(shared)
    columns[1]?.push(bytes.length - shared)
    columns[2]?.push(Math.min(255, Math.max(0, Math.round(frequency))))
    columns[3]?.push(targets.length)
    for (const target of targets) {
      const number = numbers.get(target) ?? 0
      columns[4]?.push(number & 255)
      columns[5]?.push(number >> 8)
    }
    rests.push(bytes.subarray(shared))
    before = bytes
  }
  return Uint8Array.from([...columns.flat(), ...rests.flatMap((rest) => [...rest])])
}

function joined(blocks: readonly [string, number, Uint8Array][]): Uint8Array {
  const start = BRIDGE_HEADER + blocks.length * DIRECTORY_ENTRY
  const size = blocks.reduce((sum, [, , block]) => sum + block.length, start)
  const bytes = new Uint8Array(size)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, BRIDGE_MAGIC, true)
  view.setUint32(4, blocks.length, true)
  let at = start
  for (const [index, [code, words, block]] of blocks.entries()) {
    const entry = BRIDGE_HEADER + index * DIRECTORY_ENTRY
    bytes.set(new TextEncoder().encode(code.slice(0, 8)), entry)
    view.setUint32(entry + 8, words, true)
    view.setUint32(entry + 12, at, true)
    view.setUint32(entry + 16, block.length, true)
    bytes.set(block, at)
    at += block.length
  }
  return bytes
}
