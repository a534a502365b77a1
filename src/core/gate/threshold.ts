// Implements the automatic threshold (T): decides whether the deferrable tools are large enough to defer.
// Implements T1, T2, T3, T4, T5.
import { dropOldest, hash } from '../../lib/index.ts'
import type { Settings } from '../options.ts'
import type { Context } from '../state.ts'
import { MIN_CHARACTERS_PER_TOKEN } from '../tokens.ts'
import type { PoolTool, ThresholdCheck, ToolPartition } from '../types.ts'

/** Token counts by pool content and model, shared by all conversations of a shelf. */
export type Counts = Map<string, Promise<number | undefined>>

const PREAMBLE = 500
const MAX_COUNTS = 8

/** Compares the tools with the threshold (T1): by the host's counter, or by characters if that fails (T4). */
export async function checkThreshold(context: Context): Promise<ThresholdCheck> {
  const tokens = Math.floor((context.contextWindow * context.mode.percent) / 100)
  const counted = await countOnce(context)
  if (counted !== undefined) {
    return { count: counted, method: 'counter', threshold: tokens, reached: counted >= tokens }
  }
  const count = charactersOf(context.partition)
  const threshold = Math.floor(tokens * MIN_CHARACTERS_PER_TOKEN)
  return { count, method: 'estimate', threshold, reached: count >= threshold }
}

/** Estimates whether the deferrable tools take at least this percentage of the context window. */
export function reachesShare(partition: ToolPartition, contextWindow: number, percent: number): boolean {
  const threshold = Math.floor(Math.floor((contextWindow * percent) / 100) * MIN_CHARACTERS_PER_TOKEN)
  let sum = 0
  for (const entry of partition.deferred) {
    sum += charactersOfTool(entry)
    if (sum >= threshold) return true
  }
  return sum >= threshold
}

/** Counts once per pool content; concurrent requests share the count, or its failure (T5). */
function countOnce({ partition, model, settings, counts }: Context): Promise<number | undefined> {
  const key = `${model}
${contentOf(partition)}`
  const known = counts.get(key)
  if (known) return known
  const counting = askCounter(partition, model, settings)
  counts.set(key, counting)
  dropOldest(counts, MAX_COUNTS)
  return counting
}

/** Counts all deferrable definitions together (T2); subtracts the API's preamble (T3). */
async function askCounter(
  partition: ToolPartition,
  model: string,
  settings: Settings,
): Promise<number | undefined> {
  const { countTokens, countTimeoutMs, timer } = settings
  if (!countTokens) return undefined
  const limit = timer?.(countTimeoutMs)
  try {
    const definitions = partition.deferred.map(({ definition }) => definition)
    const answer = Promise.resolve(countTokens(definitions, model))
    const count = await (limit ? Promise.race([answer, limit.over]) : answer)
    const isCount = typeof count === 'number' && Number.isFinite(count) && count >= 0
    return isCount ? Math.max(0, count - PREAMBLE) : undefined
  } catch {
    return undefined
  } finally {
    limit?.cancel()
  }
}

const contents = new WeakMap<ToolPartition, string>()

/** Returns a hash that differs if a name, a description or a schema differs. */
function contentOf(partition: ToolPartition): string {
  let content = contents.get(partition)
  if (content === undefined) {
    content = hash(partition.deferred.map(({ json }) => json).join('\n'))
    contents.set(partition, content)
  }
  return content
}

const characters = new WeakMap<PoolTool, number>()

function charactersOf(partition: ToolPartition): number {
  return partition.deferred.reduce((sum, entry) => sum + charactersOfTool(entry), 0)
}

function charactersOfTool(entry: PoolTool): number {
  let count = characters.get(entry)
  if (count === undefined) {
    const { name, description, input_schema } = entry.definition
    count = name.length + String(description ?? '').length + (JSON.stringify(input_schema) ?? '').length
    characters.set(entry, count)
  }
  return count
}
