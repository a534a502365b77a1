// Builds the pool: all current tools, with unique names, in a stable order.
// Implements D3, D4, D10, S15, H3.

import { buildDefinition, type DefinitionLimits } from './definition.ts'
import { quote } from './lib/text.ts'
import { MCP_PREFIX, nameApart, serverOfName, slugOf, slugsOf, toolWish, type Wish } from './names.ts'
import { type Pool, type PoolTool, ShelfError, type Tool } from './types.ts'

/** Options of `buildPool`. */
export type PoolOptions = Partial<DefinitionLimits> & {
  /** Names of the shelf's own tools, which no tool of the host may have. */
  readonly reserved: readonly string[]
  readonly warn: (message: string) => void
  /** Prefix in front of an MCP tool's server. Default: `mcp__`. */
  readonly namePrefix?: string
  /** Sends names and fields unchanged; throws for a name that no back-end accepts. */
  readonly exactNames?: boolean
  /** Each known server's part of its tools' names, which it keeps; parts of new ones are added. */
  readonly slugs?: Map<string, string>
}

/** Builds the pool of these tools. */
export function buildPool(tools: readonly Tool[], options: PoolOptions): Pool {
  tools.forEach(checkTool)
  const { slugs = new Map<string, string>(), exactNames } = options
  if (!exactNames) addSlugs(slugs, tools)
  const all = tools.map((tool) => ownerOf(tool, slugs, options))
  const owned = dropRepeats(all, options)
  const names = nameAll(owned, options)
  const byName = new Map<string, PoolTool>()
  owned.forEach((one, index) => {
    const name = names[index] ?? one.original
    byName.set(name, enter(one, name, options))
  })
  return { tools: [...byName.values()], byName }
}

/** A server that comes later never changes the names of another's tools, of which some may be loaded. */
function addSlugs(slugs: Map<string, string>, tools: readonly Tool[]): void {
  const servers = new Set(tools.map(serverOf).filter((server) => server !== undefined && !slugs.has(server)))
  const fresh = [...servers] as string[]
  const added = slugsOf(
    fresh.map((name) => ({ name })),
    slugs.values(),
  )
  fresh.forEach((name, index) => void slugs.set(name, added[index] ?? name))
}

/** Builds a tool's definition in advance of `buildPool`. */
export function readAhead(tool: Tool, options: PoolOptions): void {
  checkTool(tool)
  const server = serverOf(tool) ?? ''
  const owned = ownerOf(tool, new Map([[server, options.slugs?.get(server) ?? slugOf(server)]]), options)
  if (owned.server !== undefined || options.exactNames)
    enter(owned, owned.wish?.wish ?? owned.original, options)
}

/** Returns a tool's server, which may come from its full name. */
export function serverOf(tool: Tool): string | undefined {
  return tool.server ?? serverOfName(tool.name)
}

type Owned = {
  readonly tool: Tool
  readonly server: string | undefined
  readonly original: string
  /** Its server's part of its name. */
  readonly slug: string | undefined
  readonly prefix: string
  /** Undefined if its name stays as it is. */
  readonly wish: Wish | undefined
}

const owners = new WeakMap<Tool, Owned>()

/** Computed once per tool, because a pool is rebuilt whenever a server changes. */
function ownerOf(
  tool: Tool,
  slugs: ReadonlyMap<string, string>,
  { namePrefix: prefix = MCP_PREFIX, exactNames }: PoolOptions,
): Owned {
  const server = serverOf(tool)
  const { name: original } = tool
  const slug = server === undefined || exactNames ? undefined : slugs.get(server)
  const known = owners.get(tool)
  const isSame = known?.original === original && known.server === server
  if (isSame && known.slug === slug && known.prefix === prefix) return known
  const wish = slug === undefined ? undefined : toolWish(slug, original, prefix)
  const owned = { tool, server, original, slug, prefix, wish }
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
  const seen = new Map<string | undefined, Map<string, number>>()
  return owned.filter(({ server, original }, index) => {
    const ofServer = seen.get(server) ?? new Map<string, number>()
    seen.set(server, ofServer)
    const first = ofServer.get(original)
    if (first === undefined) return Boolean(ofServer.set(original, index))
    if (server !== undefined)
      options.warn(`server "${server}" lists "${original}" twice; the first one is kept.`)
    else throw duplicate(original, `built-in number ${first + 1}`, `built-in number ${index + 1}`)
    return false
  })
}

/** Names all tools; built-ins keep their names. */
function nameAll(owned: readonly Owned[], options: PoolOptions): string[] {
  const kept = owned.filter(({ wish }) => wish === undefined).map((one) => hostName(one, options))
  const wishes = owned.map(({ wish }) => wish).filter((wish) => wish !== undefined)
  const names = nameApart(wishes, new Set([...kept, ...options.reserved]))
  let next = 0
  return owned.map(({ wish, original }) => (wish ? (names[next++] ?? original) : original))
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

/** The entry of a tool, and all that decided its form. */
const entered = new WeakMap<Tool, { readonly entry: PoolTool; readonly [part: string]: unknown }>()

/** Returns the same entry for the same tool and name, unless its texts or schema were replaced meanwhile. */
function enter({ tool, server, original }: Owned, name: string, options: PoolOptions): PoolTool {
  const { description, searchHint } = tool
  const schema = tool.input_schema ?? tool.inputSchema
  const { descriptionLimit = NO_LIMIT, definitionLimit = NO_LIMIT } = options
  const isTrimmed = server !== undefined && !options.exactNames
  const hint = String(searchHint ?? '')
  const memo = entered.get(tool)
  const hasForm = memo?.name === name && memo.isTrimmed === isTrimmed && memo.hint === hint
  const hasLimits = memo?.descriptionLimit === descriptionLimit && memo.definitionLimit === definitionLimit
  if (hasForm && hasLimits && memo.description === description && memo.schema === schema) return memo.entry
  const { definition, json, warning, isCleaned, names } = buildDefinition(tool, name, isTrimmed, {
    descriptionLimit,
    definitionLimit,
  })
  if (warning) options.warn(warning)
  // Uses the same message for all tools of a server, so that it is reported once.
  if (isCleaned)
    options.warn(
      `definitions of the server ${quote(server)} contained hidden characters or marks of Toolshelf, which were removed.`,
    )
  const entry = { name, tool, server, original, hint, definition, json, ...(names ? { names } : {}) }
  const form = { name, isTrimmed, hint, descriptionLimit, definitionLimit, description, schema }
  entered.set(tool, { entry, ...form })
  return entry
}
