// Implements the ranker `model`: `hybrid` finds candidates, and the sentence encoder's cosines with the query rank them
// again.
//
// A search never waits for tools to be embedded, nor for the model to load: unless all its candidates have vectors, it
// ranks as `hybrid` does. Vectors of the candidates of recent searches are computed first, then those of all other
// tools.
//
// The encoder supports Latin script only and would turn other text into noise, so it never gets any: a query in another
// script is ranked without it, and a tool without Latin text gets the cosine 0, which the fusion replaces by the lexical
// score (S18).
// Implements S18.
import { AsyncLocalStorage } from 'node:async_hooks'
import { dropOldest, oncePer } from '../lib/objects.ts'
import { splitName } from '../names.ts'
import type { Rank } from '../query.ts'
import type { ModelParts, ModelRank } from '../rankers/engine.ts'
import { withTimeout } from '../schedule.ts'
import type { HybridParts } from '../search/hybrid.ts'
import type { PoolTool } from '../types.ts'
import { createEmbedder, type Embedder } from './embedder.ts'

/** Options of `createModelRank`. */
type ModelRankOptions = {
  readonly embedder: Embedder
  /** Creates `hybrid` with a function that returns the encoder's cosines, 0 for a tool without one. */
  readonly createHybrid: (model: NonNullable<HybridParts['model']>) => Rank
  /** Milliseconds that a search waits for the vector of its query, with the model in memory. */
  readonly timeoutMs?: number
}

const QUERY_TIMEOUT_MS = 400
/** Characters of a tool's text that are embedded, about 64 tokens: each costs about a millisecond of CPU. */
const MAX_TEXT_LENGTH = 270
/** More candidates do not rank better: 74.5 nDCG@10 on metatool with 20 as with all. */
const CANDIDATES = 20
/** Candidates of recent searches that are embedded ahead of the rest. */
const MAX_RECENT = 400

/** The ranker `model` with the encoder that is installed. */
export function openModel({ createHybrid, notify }: ModelParts): ModelRank {
  return createModelRank({ embedder: createEmbedder({ notify }), createHybrid })
}

/** Creates the ranker `model`. */
export function createModelRank(options: ModelRankOptions): ModelRank {
  const { embedder, timeoutMs = QUERY_TIMEOUT_MS } = options
  /** Passes a search's cosines to the fusion; other searches may run at the same time. */
  const cosines = new AsyncLocalStorage<ReadonlyMap<PoolTool, number>>()
  const hybrid = options.createHybrid(async (tools) => {
    const known = cosines.getStore()
    if (!known) return undefined
    const scores = new Float32Array(tools.length)
    for (let place = 0; place < tools.length; place++) scores[place] = known.get(tools[place]!) ?? 0
    return scores
  })
  const reader = createReader(embedder)
  const ready: ModelRank['ready'] = async (tools, progress) => {
    const texts = tools.map(documentOf).filter((text) => text !== '')
    embedder.prepare(texts)
    await embedder.ready(progress)
    const isRead = embedder.vectors(texts).every((vector) => vector !== undefined)
    return isRead && (await embedder.embedQuery('ready')) !== undefined
  }
  /** Ranks after `read`, which embeds the candidates or starts to. */
  const rankAfter =
    (
      read: (candidates: readonly PoolTool[], tools: readonly PoolTool[]) => unknown,
      longestMs?: number,
    ): Rank =>
    async (tools, query, limit) => {
      const maxCandidates = Math.max(limit, CANDIDATES)
      const found = await hybrid(tools, query, maxCandidates)
      const candidates = found.hits.slice(0, CANDIDATES).map(({ tool }) => tool)
      await read(candidates, tools)
      const known = await cosinesOf(embedder, candidates, query, longestMs)
      const ranked = known ? await cosines.run(known, async () => hybrid(tools, query, maxCandidates)) : found
      return { ...ranked, hits: ranked.hits.slice(0, limit) }
    }
  return {
    rank: rankAfter(reader.read, timeoutMs),
    patient: (progress) => rankAfter((candidates) => ready(candidates, progress)),
    ready,
  }
}

/** Embeds tools in the background: the candidates of recent searches first, then a whole list. */
function createReader(embedder: Embedder) {
  /** The newest last. */
  const recent = new Set<string>()
  /** The embedder's version when all tools of a list were queued. */
  const queued = new WeakMap<readonly PoolTool[], number>()
  const missing = (texts: readonly string[]) => {
    const vectors = embedder.vectors(texts)
    return texts.filter((text, index) => text !== '' && vectors[index] === undefined)
  }
  return {
    read(candidates: readonly PoolTool[], tools: readonly PoolTool[]): void {
      if (embedder.state.status === 'unavailable') return
      for (const text of candidates.map(documentOf).toReversed()) {
        recent.delete(text)
        recent.add(text)
      }
      dropOldest(recent, MAX_RECENT)
      if (embedder.state.status !== 'working' && queued.get(tools) !== embedder.version) {
        queued.set(tools, embedder.version)
        embedder.prepare(tools.map(documentOf).filter((text) => text !== ''))
      }
      const first = missing([...recent].reverse())
      if (first.length > 0) embedder.prepare(first)
    },
  }
}

/**
 * Returns the cosines of candidates with a query; undefined if one of them is not embedded yet, the query is not Latin, or
 * the model is not in memory or busy.
 */
async function cosinesOf(
  embedder: Embedder,
  candidates: readonly PoolTool[],
  query: string,
  timeoutMs: number | undefined,
): Promise<ReadonlyMap<PoolTool, number> | undefined> {
  const text = readablePart(query)
  if (embedder.state.status === 'unavailable' || text === '' || candidates.length === 0) return undefined
  if (!embedder.isLoaded) embedder.wake()
  const texts = candidates.map(documentOf)
  const vectors = embedder.vectors(texts)
  if (!embedder.isLoaded || vectors.some((vector, index) => !vector && texts[index] !== '')) return undefined
  const asking = embedder.embedQuery(text)
  const asked = await (timeoutMs === undefined
    ? asking
    : withTimeout(asking, timeoutMs, 'too slow').catch(() => undefined))
  if (!asked) return undefined
  const cosine = ({ codes, scale }: { codes: Int8Array; scale: number }) =>
    codes.reduce((sum, code, index) => sum + code * (asked[index] ?? 0), 0) * scale
  return new Map(
    candidates.map((tool, index) => {
      const vector = vectors[index]
      return [tool, vector ? cosine(vector) : 0]
    }),
  )
}

/** Returns the text to embed for a tool: its name as words, its description, and its argument names. */
const documentOf = oncePer((entry: PoolTool): string => {
  const { input_schema, inputSchema, description = '' } = entry.tool
  const schema = (input_schema ?? inputSchema) as { properties?: object } | null | undefined
  const names = Object.keys(schema?.properties ?? {}).map((name) => splitName(name).join(' '))
  const start = String(description).slice(0, 2 * MAX_TEXT_LENGTH)
  return [splitName(entry.name).join(' '), start, names.join(', ')]
    .map(readablePart)
    .filter((part) => part !== '')
    .join('. ')
    .slice(0, MAX_TEXT_LENGTH)
})

/** Removes words in other scripts, which the encoder cannot read (S18); returns an empty string if no word is left. */
function readablePart(text: string): string {
  const readable = text.replace(/(?:(?!\p{Script=Latin})\p{L}\p{M}*)+/gu, ' ')
  return readable === text || /\p{L}/u.test(readable) ? readable.trim() : ''
}
