// Builds the names by which the model calls MCP tools. No two tools have the same name, whatever servers and tools are
// called and in whatever order they come.
// Implements S1, V4, H3.

import { MAX_SLUG_LENGTH, MCP_PREFIX, slugOf, splitToolName } from '../lib/names.ts'
import { hash } from '../lib/objects.ts'

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
  const claims = new Map<string, { all: number; exact: number }>()
  for (const { wish, isExact } of wishes) {
    const claim = claims.get(fold(wish)) ?? { all: 0, exact: 0 }
    claim.all++
    if (isExact) claim.exact++
    claims.set(fold(wish), claim)
  }
  const left: number[] = []
  const names = wishes.map(({ wish, isExact }, index) => {
    const claim = claims.get(fold(wish))
    const isFree = !taken.has(fold(wish)) && (claim?.all === 1 || (isExact && claim?.exact === 1))
    if (!isFree) left.push(index)
    return isFree ? wish : ''
  })
  if (left.length === 0) return names
  const used = new Set([...taken, ...names.map(fold)])
  const keyAt = (index: number) => wishes[index]?.key ?? ''
  for (const index of left.sort((a, b) => (keyAt(a) < keyAt(b) ? -1 : 1))) {
    for (let salt = ''; !names[index] || used.has(fold(names[index])); salt += '+')
      names[index] = wishes[index]?.otherName(salt) ?? ''
    used.add(fold(names[index] ?? ''))
  }
  return names
}

/**
 * Returns each server's part of its tools' names: unique without case.
 *
 * @param servers - With what brought them, if not the user.
 * @param taken - Parts that other servers have already.
 */
export function slugsOf(
  servers: readonly { readonly name: string; readonly source?: string | undefined }[],
  taken: Iterable<string> = [],
): string[] {
  const fold = (name: string) => name.toLowerCase()
  const wishes = servers.map(({ name, source = null }): Wish => {
    const wish = slugOf(name)
    const start = wish.slice(0, MAX_SLUG_LENGTH - HASH_LENGTH).replace(/_$/, '')
    const otherName = (salt: string) => start + hashOf(source, name + salt)
    return { wish, isExact: wish === name, key: JSON.stringify([source, name]), otherName }
  })
  return nameApart(wishes, new Set([...taken].map(fold)), fold)
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

/** Returns the names of what servers list, in the order given; each server lists a name once. */
export function listedNames(listed: readonly { readonly server: string; readonly own: string }[]): string[] {
  const wishes = listed.map(({ server, own }) => toolWish(server, own, ''))
  return nameApart(wishes, new Set())
}

/** Returns the server in `mcp__server__tool`, for tools known only by their full name. */
export function serverOfName(name: string): string | undefined {
  return name.startsWith(MCP_PREFIX) ? splitToolName(name)?.server : undefined
}

function hashOf(...parts: readonly (string | null)[]): string {
  return `_${hash(JSON.stringify(parts)).slice(-HASH_LENGTH + 1)}`
}
