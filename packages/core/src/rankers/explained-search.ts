// Searches as the search tool does, with the scores of the ranker, and explains why each hit was found: for
// `toolshelf search` and the inspector.

import { oncePer } from '../lib/objects.ts'
import type { Rank } from '../query.ts'
import { find } from '../query.ts'
import { explainWords, type ScorePart, type WordMatch } from '../search/explain.ts'
import { isMostlyLatin, type Translation } from '../search/language.ts'
import { createLexicalIndex, type LexicalIndex } from '../search/lexical.ts'
import type { PoolTool } from '../types.ts'
import { engine } from './engine.ts'

/** A tool that a search found. */
export type FoundTool = { readonly tool: PoolTool; readonly score: number }
/** The result of a search with scores. */
export type FoundTools = {
  readonly hits: readonly FoundTool[]
  readonly matched: number
  /** Names in the query that no tool has, with the most similar ones. */
  readonly unknown: readonly { readonly name: string; readonly near: readonly string[] }[]
  /** Why the ranker failed, if it did; the hits then come from the fallback. */
  readonly failure: unknown
}

/** Searches with the query forms of ToolSearch (+required, select:, full names), and returns the ranker's scores. */
export async function findWithScores(
  rank: Rank,
  tools: readonly PoolTool[],
  query: string,
  { limit, notify }: { readonly limit: number; readonly notify: (message: string) => void },
): Promise<FoundTools> {
  const scores = new Map<PoolTool, number>()
  let failure: unknown
  const recorded: Rank = async (...input) => {
    try {
      const ranking = await rank(...input)
      for (const { tool, score } of ranking.hits) scores.set(tool, score)
      return ranking
    } catch (error) {
      failure = error
      throw error
    }
  }
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const partition = {
    pool: { tools, byName },
    immediate: [],
    deferred: tools,
    deferredNames: new Set(byName.keys()),
  }
  const { tools: found, matched, unknown } = await find(query, limit, partition, { rank: recorded, notify })
  return { hits: found.map((tool) => ({ tool, score: scores.get(tool) ?? 0 })), matched, unknown, failure }
}

/** Why a tool was found: its words that matched the query, and the parts of its score. */
export type Why = { readonly words: readonly WordMatch[]; readonly parts: readonly ScorePart[] }

/** Explanations of all hits of a search. */
export type SearchExplanation = {
  /** The English words that were searched for as well, for a query in another language. */
  readonly translation: Translation | undefined
  readonly whys: ReadonlyMap<PoolTool, Why>
}

/** The rankers whose hits can be explained. */
export const EXPLAINED_RANKERS: readonly string[] = ['hybrid', 'lexical']

/** Returns the matched words of each hit and, if meaning counts too, the parts of its score without an encoder of the host. */
export async function explainHits(
  tools: readonly PoolTool[],
  query: string,
  hits: readonly PoolTool[],
  ranker: string,
): Promise<SearchExplanation> {
  const index = indexFor(tools)
  if (ranker === 'lexical') return { translation: undefined, whys: whysOf(index, [query], hits, new Map()) }
  const translation = await engine.translate(index, query)
  // Text that is neither translated nor Latin is ranked by words alone.
  const hasParts = translation !== undefined || isMostlyLatin(query)
  const parts = hasParts ? await engine.explain(index, translation?.text ?? query, hits) : new Map()
  return { translation, whys: whysOf(index, translation ? [query, translation.text] : [query], hits, parts) }
}

const indexFor = oncePer((tools: readonly PoolTool[]) => createLexicalIndex(tools))

function whysOf(
  index: LexicalIndex,
  texts: readonly string[],
  hits: readonly PoolTool[],
  parts: ReadonlyMap<PoolTool, ScorePart[]>,
): Map<PoolTool, Why> {
  const explain = texts.map((text) => explainWords(index, text))
  const whyOf = (tool: PoolTool) => ({
    words: explain.flatMap((wordsOf) => wordsOf(tool)),
    parts: parts.get(tool) ?? [],
  })
  return new Map(hits.map((tool) => [tool, whyOf(tool)]))
}

/** Returns what a part of a score is called, in two or three words; docs/search.md says what each means. */
export function scorePartLabel(name: ScorePart['name']): string {
  return LABELS[name] ?? name
}

const LABELS: { readonly [part in ScorePart['name']]?: string } = {
  wordsLead: 'word match',
  queryCoverage: 'query words found',
  nameCoverage: 'name words asked',
  serverCoverage: 'server named',
  nearWordsLead: 'similar words',
  meaning: 'similar meaning',
  meaningLead: 'closest meaning',
  both: 'words and meaning',
  unsureMeaning: 'meaning without words',
  action: 'right action',
}
