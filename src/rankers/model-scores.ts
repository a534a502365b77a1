// Cosine similarities of a query with the tools, by the sentence encoder: of all tools, or of those it has embedded so far.
//
// A search never waits for tools to be embedded, nor for the model to load: it goes on with the vectors there are. Those of
// the tools that recent searches found are computed first, the rest in the background.
//
// The encoder supports Latin script only and would turn other text into noise, so it never gets any: a query in another
// script has no cosines. A tool without a vector, not embedded yet or without Latin text, gets 0: of it, the fusion
// assumes what its words say (S18).
// Implements S18.

import type { PoolTool } from '../core/index.ts'
import { type Embedder, type EmbedProgress, floatsOf } from '../embed/index.ts'
import { splitName } from '../lib/index.ts'
import { createDense, type Dense } from '../search/index.ts'

export type ModelScores = {
  /** Scores in the order of the tools; undefined if none is embedded yet, the query is not Latin, or the model is busy. */
  scores(tools: readonly PoolTool[], query: string): Promise<Float32Array | undefined>
  /** Embeds these tools, the hits of a search, ahead of all others. */
  readFirst(tools: readonly PoolTool[]): void
  /** Resolves when every tool is embedded; false if the encoder is unavailable. */
  ready(tools: readonly PoolTool[], progress?: EmbedProgress): Promise<boolean>
}

/** Milliseconds that a search waits for the vector of its query, with the model in memory. */
const QUERY_TIMEOUT_MS = 400
const DIMENSIONS = 384
const LONGEST_DESCRIPTION = 400
/** Hits of recent searches that are embedded ahead of the rest. */
const MOST_RECENT = 400

export function createModelScores(embedder: Embedder, timeoutMs = QUERY_TIMEOUT_MS): ModelScores {
  const tables = new WeakMap<readonly PoolTool[], Table>()
  /** The newest last. */
  const recent = new Set<string>()
  const tableOf = (tools: readonly PoolTool[]) => {
    const known = tables.get(tools)
    if (known && (known.isWhole || known.version === embedder.version)) return known.vectors
    const table: Table = { version: embedder.version, isWhole: false, vectors: readVectors(embedder, tools) }
    void table.vectors.then((vectors) => {
      table.isWhole = vectors.isWhole
    })
    tables.set(tools, table)
    return table.vectors
  }
  return {
    async scores(tools, query) {
      const text = readablePart(query)
      if (embedder.state.status === 'unavailable' || text === '') return undefined
      if (!embedder.isLoaded) embedder.wake()
      const { count, dense } = await tableOf(tools)
      if (count === 0 || !embedder.isLoaded) return undefined
      const vector = await soon(embedder.embedQuery(text), timeoutMs)
      return vector && dense.scores(vector).slice()
    },
    readFirst(tools) {
      for (const text of tools.map(documentOf).toReversed()) {
        recent.delete(text)
        if (text !== '') recent.add(text)
      }
      for (const oldest of recent) {
        if (recent.size <= MOST_RECENT) break
        recent.delete(oldest)
      }
      const texts = [...recent].reverse()
      const vectors = embedder.vectors(texts)
      const missing = texts.filter((_, index) => vectors[index] === undefined)
      if (missing.length > 0) embedder.prepare(missing)
    },
    async ready(tools, progress) {
      embedder.prepare(tools.map(documentOf).filter((text) => text !== ''))
      await embedder.ready(progress)
      return (await tableOf(tools)).isWhole && (await embedder.embedQuery('ready')) !== undefined
    },
  }
}

/** The vectors of a tool list, as of a version of the embedder. */
type Table = { readonly version: number; isWhole: boolean; readonly vectors: Promise<ToolVectors> }

type ToolVectors = {
  /** How many tools have a vector. */
  readonly count: number
  /** Whether all have one that can have one. */
  readonly isWhole: boolean
  readonly dense: Dense
}

/** Tools to look up before yielding to the event loop. */
const LOOKUPS = 200

/** Reads the vectors that there are; missing ones are computed in the background. */
async function readVectors(embedder: Embedder, tools: readonly PoolTool[]): Promise<ToolVectors> {
  const dense = createDense(DIMENSIONS)
  const none = new Float32Array(DIMENSIONS)
  const missing: string[] = []
  let count = 0
  for (let start = 0; start < tools.length; start += LOOKUPS) {
    if (start > 0) await new Promise((resolve) => setImmediate(resolve))
    const texts = tools.slice(start, start + LOOKUPS).map(documentOf)
    for (const [index, vector] of embedder.vectors(texts).entries()) {
      dense.add(vector ? floatsOf(vector) : none)
      if (vector) count++
      else if (texts[index] !== '') missing.push(texts[index]!)
    }
  }
  if (missing.length > 0) embedder.prepare(missing)
  return { count, isWhole: missing.length === 0, dense }
}

const documents = new WeakMap<PoolTool, string>()

/** The text to embed for a tool: its name as words, its description, and its argument names. */
function documentOf(entry: PoolTool): string {
  let text = documents.get(entry)
  if (text === undefined) {
    const schema = (entry.tool.input_schema ?? entry.tool.inputSchema) as
      | { properties?: object }
      | null
      | undefined
    const names = Object.keys(schema?.properties ?? {}).map((name) => splitName(name).join(' '))
    const description = String(entry.tool.description ?? '').slice(0, LONGEST_DESCRIPTION)
    text = [splitName(entry.name).join(' '), description, names.join(', ')]
      .map(readablePart)
      .filter((part) => part !== '')
      .join('. ')
    documents.set(entry, text)
  }
  return text
}

/** Removes words in other scripts; returns an empty string if no word is left. */
function readablePart(text: string): string {
  const readable = text.replace(/(?:(?!\p{Script=Latin})\p{L}\p{M}*)+/gu, ' ')
  return readable === text || /\p{L}/u.test(readable) ? readable.trim() : ''
}

async function soon<Value>(promise: Promise<Value>, milliseconds: number): Promise<Value | undefined> {
  let handle: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<undefined>((resolve) => {
    handle = setTimeout(resolve, milliseconds, undefined)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(handle)
  }
}
