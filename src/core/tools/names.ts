// Builds the names by which the model calls MCP tools. No two tools have the same name, whatever servers and tools are
// called and in whatever order they come.
// Implements S1, V4, H3.
import { hash, MAX_SLUG_LENGTH, MCP_PREFIX, slugOf, splitToolName } from '../../lib/index.ts'

const MAX_CHARACTERS = 64
/** Characters of a hash, with the `_` in front of it. */
const HASH_LENGTH = 9

/** A name that something would have if nothing else had it. */
export type Wish = {
  readonly wish: string
  /** Its own name is the wish: it has the wish before others. */
  readonly isExact: boolean
  /** Orders what has to take another name. */
  readonly key: string
  /** Returns another name, one for each salt. */
  readonly otherName: (salt: string) => string
}

/**
 * Gives everything a name of its own: its wish if nothing else wishes it, or if it alone is spelled so; else one with a
 * hash. The names depend on what there is, never on its order.
 *
 * @param taken - Names that are not free.
 */
export function nameApart(
  wishes: readonly Wish[],
  taken: ReadonlySet<string>,
  fold: (name: string) => string = (name) => name,
): string[] {
  /** Who gets each wish; `CONTESTED` if several wish it and not exactly one of them is spelled so. */
  const holders = new Map<string, number>()
  const contested = new Set<string>()
  wishes.forEach(({ wish }, index) => {
    const name = fold(wish)
    if (holders.has(name)) contested.add(name)
    holders.set(name, index)
  })
  for (const name of contested) holders.set(name, CONTESTED)
  if (contested.size > 0)
    wishes.forEach(({ wish, isExact }, index) => {
      const name = fold(wish)
      if (isExact && contested.has(name))
        holders.set(name, holders.get(name) === CONTESTED ? index : SEVERAL_EXACT)
    })
  const left: number[] = []
  const names = wishes.map(({ wish }, index) => {
    const name = fold(wish)
    if (holders.get(name) !== index || taken.has(name)) left.push(index)
    return wish
  })
  if (left.length === 0) return names
  const isLeft = new Set(left)
  const used = new Set([...taken, ...names.filter((_, index) => !isLeft.has(index)).map(fold)])
  const keyAt = (index: number) => wishes[index]?.key ?? ''
  for (const index of left.sort((a, b) => (keyAt(a) < keyAt(b) ? -1 : 1))) {
    const one = wishes[index]
    if (!one) continue
    let name = one.otherName('')
    for (let salt = '+'; used.has(fold(name)); salt += '+') name = one.otherName(salt)
    used.add(fold(name))
    names[index] = name
  }
  return names
}

const CONTESTED = -1
const SEVERAL_EXACT = -2

/** A server to name. */
export type NamedServer = {
  readonly name: string
  /** Identifies what brought it; undefined for the user's own. */
  readonly source?: string | undefined
}

/**
 * Returns each server's part of its tools' names: unique without case. The user's own servers are named as if there were no
 * others, so that nothing else can take or change their names.
 *
 * @param taken - Parts that other servers have already.
 */
export function slugsOf(servers: readonly NamedServer[], taken: Iterable<string> = []): string[] {
  const fold = (name: string) => name.toLowerCase()
  const own = servers.filter(({ source }) => source === undefined)
  const others = servers.filter(({ source }) => source !== undefined)
  const used = new Set([...taken].map(fold))
  const first = nameApart(own.map(serverWish), used, fold)
  const second = nameApart(others.map(serverWish), new Set([...used, ...first.map(fold)]), fold)
  const names = [...first, ...second]
  const slugs = new Map([...own, ...others].map((server, index) => [server, names[index]]))
  return servers.map((server) => slugs.get(server) ?? server.name)
}

function serverWish({ name, source }: NamedServer): Wish {
  const wish = slugOf(name)
  const start = wish.slice(0, MAX_SLUG_LENGTH - HASH_LENGTH).replace(/_$/, '')
  return {
    wish,
    isExact: wish === name,
    key: JSON.stringify([source ?? null, name]),
    otherName: (salt) => start + hashOf(source ?? null, name + salt),
  }
}

/** Returns the wish of a tool of the server with this slug; the tool's part alone is shortened. */
export function toolWish(slug: string, tool: string, prefix: string): Wish {
  const start = `${prefix}${slug}__`
  const full = `${MCP_PREFIX}${slug}__`
  const own = tool.startsWith(full) && tool.length > full.length ? tool.slice(full.length) : tool
  const part = own.replace(/[^A-Za-z0-9_-]/gu, '_')
  const room = MAX_CHARACTERS - start.length
  const otherName = (salt: string) => start + part.slice(0, room - HASH_LENGTH) + hashOf(slug, tool + salt)
  return {
    wish: part.length <= room ? start + part : otherName(''),
    isExact: part === tool && part.length <= room,
    key: tool,
    otherName,
  }
}

/** Returns `mcp__<server>__<tool>`, as the model sees it if no other name is the same. */
export function mcpName(server: string, tool: string, prefix = MCP_PREFIX): string {
  return toolWish(slugOf(server), tool, prefix).wish
}

/** Returns the names of what a server lists, by their names there. */
export function toolNames(
  slug: string,
  tools: Iterable<string>,
  prefix = MCP_PREFIX,
): ReadonlyMap<string, string> {
  const own = [...new Set(tools)]
  const wishes = own.map((tool) => toolWish(slug, tool, prefix))
  const names = nameApart(wishes, new Set())
  return new Map(own.map((tool, index) => [tool, names[index] ?? tool]))
}

/** Returns the server in `mcp__server__tool`, for tools known only by their full name. */
export function serverOfName(name: string): string | undefined {
  return name.startsWith(MCP_PREFIX) ? splitToolName(name)?.server : undefined
}

function hashOf(...parts: readonly (string | null)[]): string {
  return `_${hash(JSON.stringify(parts)).slice(-HASH_LENGTH + 1)}`
}
