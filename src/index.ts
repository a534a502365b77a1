// The package's main entry: core with a validator, a clock, the environment and a notifier.
import { createPureShelf, type PureShelfOptions, type Rank, type Shelf, ShelfError } from './core/index.ts'
import { startTimer, turns } from './node/index.ts'
import { type ResultOptions, resultSettings } from './node/results/index.ts'
import { type RankerName, rankers } from './rankers/index.ts'
import { validateInput } from './validate/index.ts'

export {
  applyPolicy,
  type Capabilities,
  type CompactOptions,
  codingAgentPolicy,
  type Decision,
  defaultCapabilities,
  type Execute,
  estimateTokens,
  explainBreak,
  type ForkOptions,
  type History,
  type Hit,
  type Message,
  mcpName,
  type PoolTool,
  type Prepared,
  presentMessages,
  type Rank,
  type Ranking,
  type RequestLike,
  type ResolvedCall,
  type ResultStore,
  type RunOptions,
  type SearchOptions,
  type SearchOutcome,
  type ServerDetails,
  type Shelf,
  ShelfError,
  type State,
  type Tool,
  type ToolPolicy,
  type ToolResult,
  type ToolSearchMode,
  type ToolUse,
  type Trace,
  type TraceListener,
  type WireName,
} from './core/index.ts'
export {
  capabilitiesFromFile,
  capabilitiesFromUrl,
  keepCapabilitiesFresh,
} from './node/capabilities/index.ts'
export { createDiskResults, createMemoryResults } from './node/results/index.ts'
export { type RankerName, rankers, warmUpSearch } from './rankers/index.ts'
export { validateInput } from './validate/index.ts'

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
    environment: process.env,
    notify: (message) => console.warn(`toolshelf: ${message}`),
    ...given,
    rank: typeof rank === 'string' ? rankerNamed(rank) : rank,
    results: results === false ? undefined : resultSettings(results === true ? {} : results),
  })
}

function rankerNamed(name: string): Rank {
  if (Object.hasOwn(rankers, name)) return rankers[name as RankerName]
  const known = Object.keys(rankers).join(', ')
  throw new ShelfError('BAD_OPTION', `option "rank" is "${name}"; use one of ${known}, or a function.`, name)
}
