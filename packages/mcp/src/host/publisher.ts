// Puts the tools of all servers on one shelf: keeps the objects of unchanged tools, and enforces the limits for
// always-loaded tools.
import { isDeepStrictEqual } from 'node:util'
import type { Shelf, Tool } from '@toolshelf/core'
import { createYieldBySize } from '@toolshelf/core/internal/node'
import { isAllowed } from '../config/rules.ts'
import type { ListedTool, ServerConfig, ToolProblem } from '../types.ts'
import { type AlwaysLoadLimits, type AlwaysLoadRefusal, refuseMarks } from './always-load.ts'

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
 * @param isRefused - Whether it is not always loaded despite its marks (always-load.ts).
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
