// Embeds tools: a tool's vector is the weighted sum of its fields' vectors, computed once per tool.

import type { PoolTool } from '../core/index.ts'
import { splitName } from '../lib/index.ts'
import { searchFields } from './fields.ts'
import { createDense, type Dense } from './kernel.ts'
import type { Meaning } from './meaning.ts'
import { createToolSlices, runAtOnce, type Sliced } from './slices.ts'

/** In the order of FIELDS; enum values say little. */
const WEIGHTS = [0.7, 0.3, 0.7, 1, 0.3, 0.5, 0] as const
const LONGEST = [16, 16, 32, 48, 48, 100, 0] as const

const MOST_CLAUSES = 6

/** Fields that hold identifiers rather than sentences. */
const IDENTIFIERS = [true, true, false, false, true, false, true] as const

export type Vectors = {
  /** Makes the vectors of all tools; `scores` does it at once where this was not run. */
  prepare(tools: readonly PoolTool[]): Sliced<void>
  /** The dot products of a query with all tools, in their order. Valid until the next call. */
  scores(tools: readonly PoolTool[], query: string): Float32Array
}

export function createVectors(meaning: Meaning): Vectors {
  const vectors = new WeakMap<PoolTool, Float32Array>()
  const dense = new WeakMap<readonly PoolTool[], Dense>()
  const vectorOf = (tool: PoolTool) => {
    let vector = vectors.get(tool)
    if (!vector) {
      vector = toolVector(tool, meaning)
      vectors.set(tool, vector)
    }
    return vector
  }
  function* rowsOf(tools: readonly PoolTool[]): Sliced<Dense> {
    const known = dense.get(tools)
    if (known) return known
    const rows = createDense(meaning.dimensions)
    const isSliceOver = createToolSlices()
    for (const tool of tools) {
      rows.add(vectorOf(tool))
      if (isSliceOver(tool)) yield
    }
    dense.set(tools, rows)
    return rows
  }
  return {
    *prepare(tools) {
      yield* rowsOf(tools)
    },
    scores(tools, query) {
      return bestOfClauses(
        runAtOnce(rowsOf(tools)),
        clausesOf(query).map((clause) => meaning.embed(clause)),
      )
    },
  }
}

/** A long query may ask for several things: each of its clauses is looked for as well as the whole. */
function clausesOf(query: string): string[] {
  const clauses = query
    .split(/[.;!?\n]+|,? (?:and|then|und|et|y) /i)
    .filter((clause) => clause.split(/\s+/).length >= 4)
  return clauses.length > 1 ? [query, ...clauses.slice(0, MOST_CLAUSES)] : [query]
}

function bestOfClauses(rows: Dense, queries: readonly Float32Array[]): Float32Array {
  const [whole, ...clauses] = queries
  if (!whole || clauses.length === 0) return rows.scores(whole ?? new Float32Array(0))
  const best = rows.scores(whole).slice()
  for (const clause of clauses) {
    const scores = rows.scores(clause)
    for (let row = 0; row < best.length; row++)
      if ((scores[row] ?? 0) > (best[row] ?? 0)) best[row] = scores[row] ?? 0
  }
  return best
}

function toolVector(tool: PoolTool, meaning: Meaning): Float32Array {
  const sum = new Float32Array(meaning.dimensions)
  for (const [field, texts] of searchFields(tool).entries()) {
    const weight = WEIGHTS[field] ?? 0
    if (weight === 0 || texts.length === 0) continue
    const text = texts.map((one) => (IDENTIFIERS[field] ? splitName(one).join(' ') : one)).join('. ')
    const part = meaning.embed(text, LONGEST[field])
    for (let index = 0; index < sum.length; index++)
      sum[index] = (sum[index] ?? 0) + weight * (part[index] ?? 0)
  }
  const length = Math.hypot(...sum)
  return length > 0 ? sum.map((value) => value / length) : sum
}
