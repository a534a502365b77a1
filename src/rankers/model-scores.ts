// The quality tier as cosines: what a real sentence encoder says of a query and every tool, once it has read them all.
//
// The encoder knows Latin script only. It would turn any other text into noise, so it never reads one: a query in another
// script has no cosines, and a tool that has nothing else gets 0 (S18).

import type { PoolTool } from '../core/index.ts'
import { type Embedder, floatsOf } from '../embed/index.ts'
import { splitName } from '../lib/index.ts'
import { createDense, type Dense } from '../search/index.ts'

export type ModelScores = {
  /**
   * In the order of the tools; undefined until all of them are read, when the model cannot read the query, or when it
   * takes too long.
   */
  scores(tools: readonly PoolTool[], query: string): Promise<Float32Array | undefined>
  /** Until every tool is read; false when the tier cannot be used. */
  ready(tools: readonly PoolTool[]): Promise<boolean>
}

/** Milliseconds that a search waits for the model: without an answer by then it goes on without it. */
const PATIENCE = 400
const DIMENSIONS = 384
const LONGEST_DESCRIPTION = 400

export function createModelScores(embedder: Embedder, patience = PATIENCE): ModelScores {
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
      const vector = await soon(embedder.embedQuery(text), patience)
      return vector && dense.scores(vector).slice()
    },
    async ready(tools) {
      embedder.prepare(tools.map(documentOf).filter((text) => text !== ''))
      await embedder.ready()
      return (await tableOf(tools)) !== undefined && (await embedder.embedQuery('ready')) !== undefined
    },
  }
}

/** The vectors of a list of tools, as far as they were there when it was read. */
type Table = { readonly version: number; isWhole: boolean; readonly dense: Promise<Dense | undefined> }

/** Tools that are looked up before others get a turn. */
const LOOKUPS = 200

/** All vectors, or none: a table with holes would hide tools. What is missing is made in the background. */
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

/** What the model reads of a tool: its name in words, the description, the names of its arguments. */
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

/** The text without words of other scripts; nothing where no word is left. */
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
