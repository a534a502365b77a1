// Decides which tools that ask to be always loaded must be searched for all the same: what a server marks itself has a
// budget, and what a person configured ends where no client could read the list any more (H9).
import { estimateTokens } from '../../core/index.ts'
import type { ListedTool, ServerConfig } from '../types.ts'

/** How much may be always loaded. */
export type AlwaysLoadLimits = {
  /** On the word of one server: its `_meta["anthropic/alwaysLoad"]`. */
  readonly toolsPerServer: number
  readonly tokensPerServer: number
  /** On the word of all servers together. */
  readonly tools: number
  readonly tokens: number
  /** In all, also where a person's configuration says so: characters of JSON. */
  readonly totalCharacters: number
}

export const alwaysLoadLimits: AlwaysLoadLimits = {
  toolsPerServer: 10,
  tokensPerServer: 5000,
  tools: 30,
  tokens: 15_000,
  totalCharacters: 3_000_000,
}

/** A server with the tools that it shows now. */
export type Offering = { readonly config: ServerConfig; readonly tools: readonly ListedTool[] }

export type Refusal = {
  /** Own names of the tools that are searched for, whatever their marks say. */
  readonly tools: ReadonlySet<string>
  /** Why, and what to do; undefined where it is what the person configured. */
  readonly reason: string | undefined
}

/** The refusals by server. Servers come in the order of the configuration, so that the answer is always the same. */
export function refuseMarks(
  offerings: readonly Offering[],
  limits: AlwaysLoadLimits = alwaysLoadLimits,
): ReadonlyMap<string, Refusal> {
  const ofServers = createBudget(limits.tools, limits.tokens)
  const inAll = createBudget(Number.POSITIVE_INFINITY, limits.totalCharacters)
  const refusals = new Map<string, Refusal>()
  for (const { config, tools } of offerings) {
    const ofServer = createBudget(limits.toolsPerServer, limits.tokensPerServer)
    const refused = new Set<string>()
    let isOver = false
    for (const tool of tools) {
      const wish = wishOf(tool, config)
      if (wish === undefined) continue
      const { tokens, characters } = measure(tool)
      const budgets = wish === 'server' ? [ofServer, ofServers] : []
      const fits = budgets.every((budget) => budget.has(tokens)) && inAll.has(characters)
      if (fits && wish !== 'overruled') {
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
  return `${count} of its tools ask to be always loaded beyond the limit and are searched for instead; "alwaysLoad" at the server says true for all or false for none`
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

const MARK = 'anthropic/alwaysLoad'

/** Who wants the tool to be always loaded; undefined when nobody does. */
function wishOf(
  { name, _meta }: ListedTool,
  { alwaysLoad, tools }: ServerConfig,
): 'person' | 'server' | 'overruled' | undefined {
  const configured = Object.hasOwn(tools, name) ? tools[name]?.alwaysLoad : undefined
  const mark = typeof _meta === 'object' && _meta !== null ? _meta[MARK] : undefined
  if (configured === false || (configured === undefined && mark === false)) return undefined
  if (configured === true || alwaysLoad === true) return 'person'
  if (mark !== true) return undefined
  return alwaysLoad === false ? 'overruled' : 'server'
}

type Size = { readonly tokens: number; readonly characters: number }

const sizes = new WeakMap<ListedTool, Size>()

/** What it costs the model, and the whole list. */
function measure(tool: ListedTool): Size {
  let size = sizes.get(tool)
  if (!size) {
    const { name, description, inputSchema } = tool
    const tokens = estimateTokens(JSON.stringify({ name, description, inputSchema }))
    size = { tokens, characters: JSON.stringify(tool).length }
    sizes.set(tool, size)
  }
  return size
}
