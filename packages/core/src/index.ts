// `@toolshelf/core`: core with a validator, a clock, the environment and a notifier.

import type { Environment } from './lib/objects.ts'
import type { Rank } from './query.ts'
import { type RankerName, rankers } from './rankers/rankers.ts'
import { type ResultOptions, resultSettings } from './result-stores.ts'
import { startTimer, turns } from './schedule.ts'
import { createPureShelf, type PureShelfOptions, type Shelf } from './shelf.ts'
import { ShelfError } from './types.ts'
import { validateInput } from './validate.ts'

export type { SearchOptions, SearchOutcome } from './answer.ts'
export type { Execute, ResolvedCall, RunOptions } from './calls.ts'
export { type Capabilities, defaultCapabilities } from './capabilities.ts'
export type { CompactOptions } from './compaction.ts'
export type { Trace, TraceListener } from './events.ts'
export { mcpName } from './names.ts'
export { applyPolicy, codingAgentPolicy, type ToolPolicy } from './policy.ts'
export { explainBreak } from './prefix.ts'
export type { Prepared } from './prepare.ts'
export { presentMessages } from './present.ts'
export type { Hit, Rank, Ranking } from './query.ts'
export {
  createRankers,
  type RankerName,
  type Rankers,
  rankers,
  type Tables,
} from './rankers/rankers.ts'
export { createMemoryResults } from './result-stores.ts'
export type { ResultStore } from './results.ts'
export { keepCapabilitiesFresh } from './schedule.ts'
export type { ForkOptions, Shelf } from './shelf.ts'
export { estimateTokens } from './tokens.ts'
export type {
  Decision,
  History,
  Message,
  PoolTool,
  RequestLike,
  ServerDetails,
  State,
  Tool,
  ToolResult,
  ToolSearchMode,
  ToolUse,
  WireName,
} from './types.ts'
export { ShelfError } from './types.ts'
export { validateInput } from './validate.ts'

/** Options of `createShelf`, all optional. `rank` is a function or the name of a ranker; default: `'hybrid'`. */
export type ShelfOptions = Omit<PureShelfOptions, 'rank' | 'results'> & {
  /** Orders tools by how well they fit a search: the name of a ranker, or a function. Default: `'hybrid'`. */
  readonly rank?: Rank | RankerName
  /** Keeps long results out of the context; `true` keeps them in memory, above 25,000 characters. Default: off. */
  readonly results?: ResultOptions | boolean
}

/**
 * Creates a shelf: keeps tools out of the model's context until it searches for them.
 *
 * @example
 * const shelf = createShelf({ tools, contextWindow: 200_000 })
 * const prepared = await shelf.prepare({ model, max_tokens: 1024, messages })
 * const reply = await client.messages.create(prepared.request, { headers: prepared.headers })
 * messages = [...prepared.history, { role: 'assistant', content: reply.content }]
 * // for each call of the reply:
 * const result = await shelf.run(call, { messages, execute: ({ name, input }) => myTools[name](input) })
 */
export function createShelf(options: ShelfOptions = {}): Shelf {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const { rank = 'hybrid', results = false } = options
  return createPureShelf({
    validate: validateInput,
    timer: startTimer,
    pause: turns.pause,
    environment: environment(),
    notify: (message) => console.warn(`toolshelf: ${message}`),
    ...given,
    rank: typeof rank === 'string' ? rankerNamed(rank) : rank,
    results: results === false ? undefined : resultSettings(results === true ? {} : results),
  })
}

/** The environment variables, where there are any. */
function environment(): Environment {
  return (globalThis as { process?: { env?: Environment } }).process?.env ?? {}
}

function rankerNamed(name: string): Rank {
  if (Object.hasOwn(rankers, name)) return rankers[name as RankerName]
  const known = Object.keys(rankers).join(', ')
  throw new ShelfError('BAD_OPTION', `option "rank" is "${name}"; use one of ${known}, or a function.`, name)
}
