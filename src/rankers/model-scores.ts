// Cosine similarities of a query with every tool, by the sentence encoder, once it has embedded all tools.
//
// The encoder supports Latin script only and would turn other text into noise, so it never gets any: a query in another
// script has no cosines, and a tool without Latin text gets 0 (S18).
// Implements S18.

import type { PoolTool } from '../core/index.ts'
import { type Embedder, floatsOf } from '../embed/index.ts'
import { splitName } from '../lib/index.ts'
import { createDense, type Dense } from '../search/index.ts'

export type ModelScores = {
  /**
   * Scores in the order of the tools; undefined if not all tools are embedded yet, the query is not Latin, or the model
   * takes too long.
   */
  scores(tools: readonly PoolTool[], query: string): Promise<Float32Array | undefined>
  /** Resolves when every tool is embedded; false if the encoder is unavailable. */
  ready(tools: readonly PoolTool[]): Promise<boolean>
}

/** Milliseconds that a search waits for the model before it continues without it. */
const QUERY_TIMEOUT_MS = 400
const DIMENSIONS = 384
const LONGEST_DESCRIPTION = 400

export function createModelScores(embedder: Embedder, timeoutMs = QUERY_TIMEOUT_MS): ModelScores {
  const tables = new WeakMap<readonly PoolTool[], Table>()
  const tableOf = (tools: readonly PoolTool[]) => {
    const known = tables.get(tools)
    if (known && (known.isWhole || known.version === embedder.version)) return known.dense
    const table: Table = { version: embedder.version, isWhole: false, dense: readTable(embedder, tools) }
    void table.dense.then((dense) => {
      table.isWhole = dense !== undefined
    })
    tables.set(tools, table)
    return table.dense
  }
  return {
    async scores(tools, query) {
      const text = readablePart(query)
      if (embedder.state.status === 'unavailable' || text === '') return undefined
      const dense = await tableOf(tools)
      if (!dense) return undefined
      const vector = await soon(embedder.embedQuery(text), timeoutMs)
      return vector && dense.scores(vector).slice()
    },
    async ready(tools) {
      embedder.prepare(tools.map(documentOf).filter((text) => text !== ''))
      await embedder.ready()
      return (await tableOf(tools)) !== undefined && (await embedder.embedQuery('ready')) !== undefined
    },
  }
}

/** The vectors of a tool list, as of a version of the embedder. */
type Table = { readonly version: number; isWhole: boolean; readonly dense: Promise<Dense | undefined> }

/** Tools to look up before yielding to the event loop. */
const LOOKUPS = 200

/** Returns all vectors or none, because a table with gaps would hide tools. Missing ones are computed in the background. */
async function readTable(embedder: Embedder, tools: readonly PoolTool[]): Promise<Dense | undefined> {
  const dense = createDense(DIMENSIONS)
  const missing: string[] = []
  for (let start = 0; start < tools.length; start += LOOKUPS) {
    if (start > 0) await new Promise((resolve) => setImmediate(resolve))
    const texts = tools.slice(start, start + LOOKUPS).map(documentOf)
    for (const [index, vector] of embedder.vectors(texts).entries()) {
      if (texts[index] === '') dense.add(new Float32Array(DIMENSIONS))
      else if (vector === undefined) missing.push(texts[index]!)
      else if (missing.length === 0) dense.add(floatsOf(vector))
    }
  }
  if (missing.length === 0) return dense
  embedder.prepare(missing)
  return undefined
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
