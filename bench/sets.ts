// Catalogues with queries, a folder each: tools.jsonl and queries.jsonl. They are not part of the project.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PoolTool, Tool } from '../packages/core/src/index.ts'
import { type EvaluationQuery, poolTools } from '../packages/core/src/search/evaluate.ts'
import { FILLER_WORDS, STOP_WORDS, searchFields, splitWords } from '../packages/core/src/search/words.ts'

export type QuerySet = {
  readonly name: string
  readonly tools: readonly PoolTool[]
  readonly queries: readonly EvaluationQuery[]
  /** The same, cut to the two to four most telling words. */
  readonly short: readonly EvaluationQuery[]
}

/** Reads the sets of a folder, each with at most this many queries, evenly spaced. */
export function readSets(folder: string, most: number): QuerySet[] {
  return readdirSync(folder)
    .sort()
    .filter((name) => existsSync(join(folder, name, 'queries.jsonl')))
    .map((name) =>
      createSet(
        name,
        readLines<Tool>(join(folder, name, 'tools.jsonl')),
        readLines<EvaluationQuery>(join(folder, name, 'queries.jsonl')),
        most,
      ),
    )
}

/** Returns a set with at most this many of the queries, evenly spaced. */
export function createSet(
  name: string,
  definitions: readonly Tool[],
  all: readonly EvaluationQuery[],
  most: number,
): QuerySet {
  const tools = poolTools(definitions)
  const step = Math.max(1, Math.ceil(all.length / most))
  const queries = all.filter((_, index) => index % step === 0)
  return { name, tools, queries, short: shorten(queries, tools) }
}

function readLines<Item>(path: string): Item[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Item)
}

/** Keeps the rarest words that some tool has, in their order. The answers are not looked at. */
function shorten(queries: readonly EvaluationQuery[], tools: readonly PoolTool[]): EvaluationQuery[] {
  const counts = new Map<string, number>()
  for (const tool of tools)
    for (const word of new Set(searchFields(tool).flat().flatMap(splitWords)))
      counts.set(word, (counts.get(word) ?? 0) + 1)
  const isTelling = (word: string) => counts.has(word) && !STOP_WORDS.has(word) && !FILLER_WORDS.has(word)
  return queries.map((query) => {
    const words = [...new Set(splitWords(query.query))].filter(isTelling)
    const kept = Math.min(4, Math.max(2, Math.round(words.length / 3)))
    const rarest = new Set([...words].sort((a, b) => counts.get(a)! - counts.get(b)!).slice(0, kept))
    const text = words.filter((word) => rarest.has(word)).join(' ')
    return { ...query, query: text === '' ? query.query : text }
  })
}
