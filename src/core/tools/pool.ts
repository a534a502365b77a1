// Builds the pool: all current tools, with unique names, in a stable order.
// Implements D3, D4, D10, S15, H3.

import { MCP_PREFIX, quote } from '../../lib/index.ts'
import { ShelfError } from '../errors.ts'
import type { Pool, PoolTool, Tool } from '../types.ts'
import { buildDefinition, type DefinitionLimits } from './definition.ts'
import { clashName, isExact, mcpName, serverOfName } from './names.ts'

/** Options of `buildPool`. */
export type PoolOptions = Partial<DefinitionLimits> & {
  /** Names of the shelf's own tools, which no tool of the host may have. */
  readonly reserved: readonly string[]
  readonly warn: (message: string) => void
  /** Prefix in front of an MCP tool's server. Default: `mcp__`. */
  readonly namePrefix?: string
  /** Sends names and fields unchanged; throws for a name that no back-end accepts. */
  readonly exactNames?: boolean
  /** The tool that first got each name; it keeps the name, even while it is removed. */
  readonly holders?: ReadonlyMap<string, PoolTool>
}

/** Builds the pool of these tools. */
export function buildPool(tools: readonly Tool[], options: PoolOptions): Pool {
  const owned = dropRepeats(
    tools.map((tool) => ownerOf(tool, options)),
    options,
  )
  const names = nameAll(owned, options)
  const byName = new Map<string, PoolTool>()
  owned.forEach((one, index) => {
    const name = names[index] ?? one.original
    byName.set(name, enter(one, name, options))
  })
  return { tools: [...byName.values()], byName }
}

/** Builds a tool's definition in advance of `buildPool`. */
export function readAhead(tool: Tool, options: PoolOptions): void {
  const owned = ownerOf(tool, options)
  if (owned.server !== undefined || options.exactNames) enter(owned, owned.wish, options)
}

/** Returns a tool's server, which may come from its full name. */
export function serverOf(tool: Tool): string | undefined {
  return tool.server ?? serverOfName(tool.name)
}

type Owned = {
  readonly tool: Tool
  readonly server: string | undefined
  readonly original: string
  /** The prefix in front of its server; undefined if the name stays as it is. */
  readonly prefix: string | undefined
  /** Its name, unless another tool has it. */
  readonly wish: string
  /** Identifies the tool by its server and own name. */
  readonly key: string
}

const owners = new WeakMap<Tool, Owned>()

/** Computed once per tool, because a pool is rebuilt whenever a server changes. */
function ownerOf(tool: Tool, { namePrefix = MCP_PREFIX, exactNames = false }: PoolOptions): Owned {
  checkTool(tool)
  const server = serverOf(tool)
  const isRenamed = server !== undefined && !exactNames
  const prefix = isRenamed ? namePrefix : undefined
  const known = owners.get(tool)
  if (known && known.server === server && known.original === tool.name && known.prefix === prefix)
    return known
  const wish = isRenamed ? mcpName(server, tool.name, namePrefix) : tool.name
  const key = JSON.stringify([server ?? null, tool.name])
  const owned = { tool, server, original: tool.name, prefix, wish, key }
  owners.set(tool, owned)
  return owned
}

/** Throws for a tool that is not an object with a name. */
export function checkTool(tool: Tool): void {
  if (typeof tool !== 'object' || tool === null || typeof tool.name !== 'string' || tool.name === '') {
    const message = `a tool must be an object with a name, but was ${quote(tool)}. Remove it or give it a name.`
    throw new ShelfError('BAD_TOOL', message, tool)
  }
}

/** Keeps the first of two equal tools of a server; throws for two built-ins with one name (D10). */
function dropRepeats(owned: readonly Owned[], options: PoolOptions): Owned[] {
  const seen = new Map<string, number>()
  return owned.filter(({ server, original, key }, index) => {
    const first = seen.get(key)
    if (first === undefined) return Boolean(seen.set(key, index))
    if (server !== undefined)
      options.warn(`server "${server}" lists "${original}" twice; the first one is kept.`)
    else throw duplicate(original, `built-in number ${first + 1}`, `built-in number ${index + 1}`)
    return false
  })
}

/**
 * Names all tools. Built-ins keep their names; among MCP tools whose names clash, the one with exactly this name keeps
 * it.
 */
function nameAll(owned: readonly Owned[], options: PoolOptions): string[] {
  if (options.exactNames) return owned.map((one) => hostName(one, options))
  const taken = new Set(
    owned.filter(({ server }) => server === undefined).map((one) => hostName(one, options)),
  )
  for (const name of options.reserved) taken.add(name)
  const { namePrefix: prefix = MCP_PREFIX, holders: known = new Map<string, PoolTool>() } = options
  const wishes = countWishes(owned)
  const holders = holdersOf(owned, taken, known, prefix)
  return owned.map((one) => {
    const { wish: name } = one
    if (one.server === undefined) return name
    const holder = holders.get(name)
    const isFree = !taken.has(name) && wishes.get(name) === 1 && !known.has(name)
    return holder === one || (isFree && holder === undefined)
      ? name
      : clashName(one.server, one.original, prefix, (taken) => wishes.has(taken))
  })
}

/** Returns the tools that keep their plain names: the previous holder, else the tool with exactly this name. */
function holdersOf(
  owned: readonly Owned[],
  taken: ReadonlySet<string>,
  previous: ReadonlyMap<string, PoolTool>,
  prefix: string,
): Map<string, Owned> {
  const holders = new Map<string, Owned>()
  for (const one of owned) {
    if (one.server === undefined) continue
    const before = previous.get(one.wish)
    if (before && before.server === one.server && before.original === one.original) holders.set(one.wish, one)
  }
  for (const one of owned) {
    if (one.server === undefined) continue
    const { wish: name } = one
    if (previous.has(name) || taken.has(name) || !isExact(name, one.server, one.original, prefix)) continue
    if (comesFirst(one, holders.get(name))) holders.set(name, one)
  }
  return holders
}

function countWishes(owned: readonly Owned[]): Map<string, number> {
  const wishes = new Map<string, number>()
  for (const { server, wish } of owned)
    if (server !== undefined) wishes.set(wish, (wishes.get(wish) ?? 0) + 1)
  return wishes
}

function comesFirst(one: Owned, other: Owned | undefined): boolean {
  return other === undefined || `${one.server}\n${one.original}` < `${other.server}\n${other.original}`
}

/** Returns the host's own name for a tool. Throws if it cannot be sent. */
function hostName({ original }: Owned, { reserved }: PoolOptions): string {
  if (reserved.includes(original)) throw duplicate(original, 'a tool of the shelf', 'a built-in of the host')
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(original)) {
    const remedy =
      'Use 1 to 128 letters, digits, "_" or "-"; an MCP tool with a `server` is renamed by the shelf.'
    throw new ShelfError(
      'BAD_TOOL_NAME',
      `no back-end accepts the tool name ${quote(original)}. ${remedy}`,
      original,
    )
  }
  return original
}

function duplicate(name: string, one: string, other: string): ShelfError {
  const remedy = "Rename one of them (the shelf's own by the options `searchTool` and `callTool`)."
  return new ShelfError(
    'DUPLICATE_TOOL',
    `two tools are named "${name}": ${one} and ${other}. ${remedy}`,
    name,
  )
}

const NO_LIMIT = Number.POSITIVE_INFINITY

type Memo = {
  readonly entry: PoolTool
  readonly description: unknown
  readonly schema: unknown
  readonly limits: DefinitionLimits
  readonly isTrimmed: boolean
}

const entered = new WeakMap<Tool, Memo>()

/** Returns the same entry for the same tool and name, unless its texts or schema were replaced meanwhile. */
function enter({ tool, server, original }: Owned, name: string, options: PoolOptions): PoolTool {
  const { description, searchHint } = tool
  const schema = tool.input_schema ?? tool.inputSchema
  const { descriptionLimit = NO_LIMIT, definitionLimit = NO_LIMIT } = options
  const limits = { descriptionLimit, definitionLimit }
  const isTrimmed = server !== undefined && !options.exactNames
  const hint = String(searchHint ?? '')
  const memo = entered.get(tool)
  const isSameForm = memo?.entry.name === name && memo.isTrimmed === isTrimmed && isSame(memo.limits, limits)
  const isSameText = memo?.description === description && memo?.schema === schema && memo?.entry.hint === hint
  if (memo && isSameForm && isSameText) return memo.entry
  const { definition, json, warning, isCleaned, names } = buildDefinition(tool, name, isTrimmed, limits)
  if (warning) options.warn(warning)
  // Uses the same message for all tools of a server, so that it is reported once.
  if (isCleaned)
    options.warn(
      `definitions of the server ${quote(server)} contained hidden characters or marks of Toolshelf, which were removed.`,
    )
  const entry = { name, tool, server, original, hint, definition, json, ...(names ? { names } : {}) }
  entered.set(tool, { entry, description, schema, limits, isTrimmed })
  return entry
}

function isSame(one: DefinitionLimits, other: DefinitionLimits): boolean {
  return one.descriptionLimit === other.descriptionLimit && one.definitionLimit === other.definitionLimit
}
