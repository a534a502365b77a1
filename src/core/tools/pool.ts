// The pool: every tool the host has now, under unique names, in a stable order.
// Implements D3, D4, D10, S15, H3.

import { MCP_PREFIX, quote } from '../../lib/index.ts'
import { ShelfError } from '../errors.ts'
import type { Pool, PoolTool, Tool } from '../types.ts'
import { buildDefinition, type DefinitionLimits } from './definition.ts'
import { clashName, isExact, mcpName, serverOfName } from './names.ts'

export type PoolOptions = Partial<DefinitionLimits> & {
  /** Names of the shelf's own tools: no tool of the host may take one. */
  readonly reserved: readonly string[]
  readonly warn: (message: string) => void
  /** In front of an MCP tool's server; `mcp__` if left out. */
  readonly namePrefix?: string
  /** Sends names and fields as given; a name that no back-end takes is an error. */
  readonly exactNames?: boolean
  /** Who was given a name keeps it, whoever comes later, also while it is away. */
  readonly holders?: ReadonlyMap<string, PoolTool>
}

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

/** Makes a tool's definition ahead of `buildPool`, which then finds it made. */
export function readAhead(tool: Tool, options: PoolOptions): void {
  const owned = ownerOf(tool, options)
  if (owned.server !== undefined || options.exactNames) enter(owned, owned.wish, options)
}

/** The server a tool belongs to, given or read from its full name. */
export function serverOf(tool: Tool): string | undefined {
  return tool.server ?? serverOfName(tool.name)
}

type Owned = {
  readonly tool: Tool
  readonly server: string | undefined
  readonly original: string
  /** What stands in front of its server; undefined where the name stays as given. */
  readonly prefix: string | undefined
  /** The name it gets unless another one has it. */
  readonly wish: string
  /** Differs for tools that differ in server or own name. */
  readonly key: string
}

const owners = new WeakMap<Tool, Owned>()

/** Made once per tool: a pool is built anew whenever any server changes. */
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

export function checkTool(tool: Tool): void {
  if (typeof tool !== 'object' || tool === null || typeof tool.name !== 'string' || tool.name === '') {
    const message = `a tool must be an object with a name, but was ${quote(tool)}. Remove it or give it a name.`
    throw new ShelfError('BAD_TOOL', message, tool)
  }
}

/** A server that lists one tool twice keeps the first; a host that registers one twice has made a mistake (D10). */
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

/** Built-ins keep their names. Among MCP tools whose names clash, the one spelled exactly so keeps it. */
function nameAll(owned: readonly Owned[], options: PoolOptions): string[] {
  if (options.exactNames) return owned.map((one) => givenName(one, options))
  const taken = new Set(
    owned.filter(({ server }) => server === undefined).map((one) => givenName(one, options)),
  )
  for (const name of options.reserved) taken.add(name)
  const { namePrefix: prefix = MCP_PREFIX, holders: given = new Map<string, PoolTool>() } = options
  const wishes = countWishes(owned)
  const holders = holdersOf(owned, taken, given, prefix)
  return owned.map((one) => {
    const { wish: name } = one
    if (one.server === undefined) return name
    const holder = holders.get(name)
    const isFree = !taken.has(name) && wishes.get(name) === 1 && !given.has(name)
    return holder === one || (isFree && holder === undefined)
      ? name
      : clashName(one.server, one.original, prefix, (taken) => wishes.has(taken))
  })
}

/** Who keeps a plain name: its holder before; else the one spelled exactly so. */
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

/** A name that is sent as the host gave it. */
function givenName({ original }: Owned, { reserved }: PoolOptions): string {
  if (reserved.includes(original)) throw duplicate(original, 'a tool of the shelf', 'a built-in of the host')
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(original)) {
    const remedy =
      'Use 1 to 128 letters, digits, "_" or "-"; an MCP tool with a `server` is renamed by the shelf.'
    throw new ShelfError(
      'BAD_TOOL_NAME',
      `no back-end takes the tool name ${quote(original)}. ${remedy}`,
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

/** The same tool under the same name is the same entry, unless its text or schema was replaced meanwhile. */
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
  // The same message for all tools of a server, so that it is said once.
  if (isCleaned)
    options.warn(
      `definitions of the server ${quote(server)} hold hidden characters or marks of ours; they are used without.`,
    )
  const entry = { name, tool, server, original, hint, definition, json, ...(names ? { names } : {}) }
  entered.set(tool, { entry, description, schema, limits, isTrimmed })
  return entry
}

function isSame(one: DefinitionLimits, other: DefinitionLimits): boolean {
  return one.descriptionLimit === other.descriptionLimit && one.definitionLimit === other.definitionLimit
}
