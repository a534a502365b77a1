// Limits the tools that are always loaded: tools that a server marks itself have a budget, and even tools that the user
// configured are limited to a list that clients can read (H9). The rest are found by searching.
// Implements H9.
import { definitionTokens } from '@toolshelf/core/internal'
import type { ListedTool, ServerConfig } from '../types.ts'

export type AlwaysLoadLimits = {
  /** Tools that one server marks with `_meta["anthropic/alwaysLoad"]`. Default: 10. */
  readonly toolsPerServer: number
  /** Tokens of these tools. Default: 5000. */
  readonly tokensPerServer: number
  /** Tools that all servers together mark. Default: 30. */
  readonly tools: number
  /** Tokens of these tools. Default: 15,000. */
  readonly tokens: number
  /** Characters of JSON in total, including what the user configured. Default: 3,000,000. */
  readonly totalCharacters: number
}

/** The default limits. */
export const alwaysLoadLimits: AlwaysLoadLimits = {
  toolsPerServer: 10,
  tokensPerServer: 5000,
  tools: 30,
  tokens: 15_000,
  totalCharacters: 3_000_000,
}

type ServerTools = { readonly config: ServerConfig; readonly tools: readonly ListedTool[] }

/** The tools of a server that are not always loaded despite their marks. */
export type AlwaysLoadRefusal = {
  /** Names of the tools on their server. */
  readonly tools: ReadonlySet<string>
  /** Why, and what to do; undefined if the user configured it. */
  readonly reason: string | undefined
}

/** Returns the refusals by server. Processes servers in the order of the configuration, so that the result is deterministic. */
export function refuseMarks(
  servers: readonly ServerTools[],
  limits: AlwaysLoadLimits = alwaysLoadLimits,
): ReadonlyMap<string, AlwaysLoadRefusal> {
  const ofServers = createBudget(limits.tools, limits.tokens)
  const inAll = createBudget(Number.POSITIVE_INFINITY, limits.totalCharacters)
  const refusals = new Map<string, AlwaysLoadRefusal>()
  for (const { config, tools } of servers) {
    const ofServer = createBudget(limits.toolsPerServer, limits.tokensPerServer)
    const refused = new Set<string>()
    let isOver = false
    for (const tool of tools) {
      const marker = markedBy(tool, config)
      if (marker === undefined) continue
      const { tokens, characters } = measure(tool)
      const budgets = marker === 'server' ? [ofServer, ofServers] : []
      const fits = budgets.every((budget) => budget.has(tokens)) && inAll.has(characters)
      if (fits && marker !== 'overruled') {
        for (const budget of budgets) budget.spend(tokens)
        inAll.spend(characters)
      } else refused.add(tool.name)
      isOver ||= !fits
    }
    refusals.set(config.name, { tools: refused, reason: isOver ? reasonFor(refused.size) : undefined })
  }
  return refusals
}

function reasonFor(count: number): string {
  return `${count} of its tools ask to be always loaded beyond the limit and are searched for instead; set "alwaysLoad" at the server to true for all or false for none`
}

function createBudget(tools: number, size: number) {
  let [toolsLeft, sizeLeft] = [tools, size]
  return {
    has: (one: number) => toolsLeft > 0 && one <= sizeLeft,
    spend(one: number) {
      toolsLeft--
      sizeLeft -= one
    },
  }
}

/** Returns who marked the tool as always loaded; undefined if nobody did. */
function markedBy(
  { name, _meta }: ListedTool,
  { alwaysLoad, tools }: ServerConfig,
): 'person' | 'server' | 'overruled' | undefined {
  const configured = Object.hasOwn(tools, name) ? tools[name]?.alwaysLoad : undefined
  const mark = typeof _meta === 'object' && _meta !== null ? _meta['anthropic/alwaysLoad'] : undefined
  if (configured === false || (configured === undefined && mark === false)) return undefined
  if (configured === true || alwaysLoad === true) return 'person'
  if (mark !== true) return undefined
  return alwaysLoad === false ? 'overruled' : 'server'
}

type Size = { readonly tokens: number; readonly characters: number }

const sizes = new WeakMap<ListedTool, Size>()

/** Returns the tokens that the tool costs the model, and its characters in the list. */
function measure(tool: ListedTool): Size {
  let size = sizes.get(tool)
  if (!size) {
    const { name, description, inputSchema } = tool
    const tokens = definitionTokens({
      json: JSON.stringify({ name, description, input_schema: inputSchema }),
    })
    size = { tokens, characters: JSON.stringify(tool).length }
    sizes.set(tool, size)
  }
  return size
}
