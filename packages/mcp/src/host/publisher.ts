// Puts the tools of all servers on one shelf: keeps the objects of unchanged tools, and enforces the limits for
// always-loaded tools.
// Implements H9.
import { isDeepStrictEqual } from 'node:util'
import type { Shelf, Tool } from '@toolshelf/core'
import { definitionTokens } from '@toolshelf/core/internal'
import { createYieldBySize } from '@toolshelf/core/internal/node'
import { isAllowed } from '../config/rules.ts'
import type { ListedTool, ServerConfig, ToolProblem } from '../types.ts'

type PublisherOptions = {
  readonly shelf: Shelf
  readonly limits: AlwaysLoadLimits
  readonly notify: (message: string) => void
  /** Called when the shelf has new tools of this server. */
  readonly onTools: (server: string) => void
}

export type Publisher = ReturnType<typeof createPublisher>

type Entry = {
  readonly config: ServerConfig
  readonly tools: readonly ListedTool[]
  readonly shelved: ReadonlyMap<string, Tool>
  readonly refusal: AlwaysLoadRefusal
}

export function createPublisher(
  servers: readonly ServerConfig[],
  { shelf, limits, notify, onTools }: PublisherOptions,
) {
  const entries = new Map<string, Entry>(servers.map((config) => [config.name, emptyEntry(config)]))
  let working: Promise<void> = Promise.resolve()

  function inTurn(task: () => Promise<void>): Promise<void> {
    const done = working.then(task)
    working = done.catch(() => {})
    return done
  }

  async function publishNow(config: ServerConfig, tools: readonly ListedTool[]): Promise<void> {
    const known = entries.get(config.name)
    // The server may have been reconfigured or removed meanwhile.
    if (known?.config !== config) return
    entries.set(config.name, { ...known, tools })
    await shelveChanged(new Set([config.name]))
  }

  /** Updates these servers on the shelf, and those whose limits have changed. */
  async function shelveChanged(changed: ReadonlySet<string>): Promise<void> {
    for (const [server, refusal] of refuseMarks([...entries.values()], limits)) {
      const entry = entries.get(server)
      if (entry && (changed.has(server) || !isSameRefusal(entry.refusal, refusal)))
        await shelve(entry, refusal)
    }
  }

  async function arrangeNow(configs: readonly ServerConfig[]): Promise<void> {
    const before = new Map(entries)
    entries.clear()
    const changed = new Set<string>()
    for (const config of configs) {
      const known = before.get(config.name) ?? emptyEntry(config)
      before.delete(config.name)
      if (known.config !== config) changed.add(config.name)
      const isSameProgram = isDeepStrictEqual(known.config.transport, config.transport)
      const tools = isSameProgram ? known.tools.filter(({ name }) => isAllowed(name, config)) : []
      entries.set(config.name, { ...known, config, tools })
    }
    for (const server of before.keys()) shelf.remove({ server })
    await shelveChanged(changed)
  }

  async function shelve(before: Entry, refusal: AlwaysLoadRefusal): Promise<void> {
    const { name: server } = before.config
    const next = { ...before, refusal }
    const shelved = await toShelved(next, before.shelved, shelf)
    entries.set(server, { ...next, shelved })
    if (refusal.reason && !before.refusal.reason) notify(`server "${server}": ${refusal.reason}`)
    if (isSame(shelved, before.shelved)) return
    shelf.replace(server, [...shelved.values()])
    onTools(server)
  }

  return {
    /** Replaces a server's tools on the shelf; resolves when they are there. */
    publish: (config: ServerConfig, tools: readonly ListedTool[]) => inTurn(() => publishNow(config, tools)),
    /** Sets the configured servers and their order; removes the tools of all others. */
    arrange: (configs: readonly ServerConfig[]) => inTurn(() => arrangeNow(configs)),
    /** Returns the limits that apply to a server's tools. */
    problems(server: string): ToolProblem[] {
      const reason = entries.get(server)?.refusal.reason
      return reason === undefined ? [] : [{ tool: 'all', kind: 'limited', message: reason }]
    },
  }
}

function emptyEntry(config: ServerConfig): Entry {
  return { config, tools: [], shelved: new Map(), refusal: { tools: new Set(), reason: undefined } }
}

async function toShelved(
  { config, tools, refusal }: Entry,
  before: ReadonlyMap<string, Tool>,
  shelf: Shelf,
): Promise<ReadonlyMap<string, Tool>> {
  const shelved = new Map<string, Tool>()
  const yieldBySize = createYieldBySize()
  for (const listed of tools) {
    const tool = toShelvedTool(listed, config, refusal.tools.has(listed.name))
    const known = before.get(listed.name)
    const json = JSON.stringify(tool)
    const isKnown = known && JSON.stringify(known) === json
    if (!isKnown) shelf.readAhead(tool)
    shelved.set(listed.name, isKnown ? known : tool)
    await yieldBySize(json.length)
  }
  return shelved
}

function isSame(one: ReadonlyMap<string, Tool>, other: ReadonlyMap<string, Tool>): boolean {
  if (one.size !== other.size) return false
  for (const [name, tool] of one) if (other.get(name) !== tool) return false
  return true
}

function isSameRefusal(one: AlwaysLoadRefusal, other: AlwaysLoadRefusal): boolean {
  return one.tools.size === other.tools.size && [...one.tools].every((name) => other.tools.has(name))
}

/** A tool on the shelf, with its original definition. */
export type ShelvedTool = Tool & { readonly listed: ListedTool }

/**
 * Converts a listed tool for the shelf. Its ranking hints and marks come from the configuration, and from `_meta` only
 * within limits: a server must not promote its own tools.
 * @param isRefused - Whether it is not always loaded despite its marks (`AlwaysLoadRefusal`).
 */
export function toShelvedTool(
  listed: ListedTool,
  { name: server, tools }: ServerConfig,
  isRefused = false,
): ShelvedTool {
  const { name, description, inputSchema, annotations, _meta } = listed
  const {
    alwaysLoad: configured,
    hint,
    resultBudget,
  } = (Object.hasOwn(tools, name) ? tools[name] : undefined) ?? {}
  const alwaysLoad = isRefused ? false : configured
  return {
    name,
    server,
    listed,
    ...(description !== undefined ? { description } : {}),
    inputSchema,
    ...(typeof annotations === 'object' && annotations !== null ? { annotations } : {}),
    ...(typeof _meta === 'object' && _meta !== null ? { _meta } : {}),
    ...(alwaysLoad !== undefined ? { alwaysLoad } : {}),
    ...(hint !== undefined ? { searchHint: hint } : {}),
    ...(resultBudget !== undefined ? { resultBudget } : {}),
  }
}

/** Limits for always-loaded tools. */
export const alwaysLoadLimits = {
  /** Tools that one server marks with `_meta["anthropic/alwaysLoad"]`. */
  toolsPerServer: 10,
  /** Tokens of these tools. */
  tokensPerServer: 5000,
  /** Tools that all servers together mark. */
  tools: 30,
  /** Tokens of these tools. */
  tokens: 15_000,
  /** Characters of JSON in total, including what the user configured. */
  totalCharacters: 3_000_000,
}

export type AlwaysLoadLimits = Readonly<typeof alwaysLoadLimits>

type ServerTools = { readonly config: ServerConfig; readonly tools: readonly ListedTool[] }

/** The tools of a server that are not always loaded despite their marks. */
type AlwaysLoadRefusal = {
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
