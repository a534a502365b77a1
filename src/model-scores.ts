// The quality tier as cosines: what a real sentence encoder says of a query and every tool, once it has read them all.

import type { PoolTool } from './core/index.ts'
import { splitName } from './core/tools/names.ts'
import { type Embedder, floatsOf } from './embed/embedder.ts'
import { createDense, type Dense } from './search/kernel.ts'

export type ModelScores = {
  /** In the order of the tools; undefined until all of them are read, or when the model takes too long. */
  scores(tools: readonly PoolTool[], query: string): Promise<Float32Array | undefined>
  /** Until every tool is read; false when the tier cannot be used. */
  ready(tools: readonly PoolTool[]): Promise<boolean>
}

/** Milliseconds that a search waits for the model to load; ten times that for its answer once it is there. */
const PATIENCE = 400
const DIMENSIONS = 384
const LONGEST_DESCRIPTION = 400

export function createModelScores(embedder: Embedder, patience = PATIENCE): ModelScores {
  const tables = new WeakMap<readonly PoolTool[], { version: number; dense: Dense | undefined }>()
  let isLoaded = false
  const tableOf = (tools: readonly PoolTool[]) => {
    const known = tables.get(tools)
    if (known && (known.dense || known.version === embedder.version)) return known.dense
    const dense = readTable(embedder, tools)
    tables.set(tools, { version: embedder.version, dense })
    return dense
  }
  return {
    async scores(tools, query) {
      if (embedder.state.status === 'unavailable') return undefined
      const dense = tableOf(tools)
      if (!dense) return undefined
      const asked = embedder.embedQuery(query)
      void asked.then(() => {
        isLoaded = true
      })
      const vector = await soon(asked, isLoaded ? patience * 10 : patience)
      return vector && dense.scores(vector).slice()
    },
    async ready(tools) {
      embedder.prepare(tools.map(documentOf))
      await embedder.ready()
      isLoaded = tableOf(tools) !== undefined && (await embedder.embedQuery('ready')) !== undefined
      return isLoaded
    },
  }
}

/** All vectors, or none: a table with holes would hide tools. What is missing is made in the background. */
function readTable(embedder: Embedder, tools: readonly PoolTool[]): Dense | undefined {
  const texts = tools.map(documentOf)
  const vectors = embedder.vectors(texts)
  const missing = texts.filter((_, index) => vectors[index] === undefined)
  if (missing.length > 0) {
    embedder.prepare(missing)
    return undefined
  }
  const dense = createDense(DIMENSIONS)
  for (const vector of vectors) if (vector) dense.add(floatsOf(vector))
  return dense
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
      .filter((part) => part !== '')
      .join('. ')
    documents.set(entry, text)
  }
  return text
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
