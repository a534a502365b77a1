// Names: the words in them (S5), the unique ones by which the model calls tools of MCP servers (H3), those that are nearly the
// same, and patterns of them. No two tools have one name, whatever servers and tools are called and in whatever order they come.
// Implements H3, S1, S5, V4.

import type { Fields } from './lib/json.ts'
import { hash, oncePer } from './lib/objects.ts'
import { quote } from './lib/text.ts'

/** The prefix of the names of MCP tools: `mcp__<server>__<tool>`. */
export const MCP_PREFIX = 'mcp__'

/** Characters of a server's part of its tools' names. */
export const MAX_SLUG_LENGTH = 30

/**
 * Returns a server's part of its tools' names, as long as no other server has it: only letters, digits, `_` and `-`, without
 * `__` and without `_` at its ends, so that the first `__` ends it.
 */
export function slugOf(server: string): string {
  const slug = server
    .replace(/[^A-Za-z0-9-]+/g, '_')
    .replace(/^_/, '')
    .slice(0, MAX_SLUG_LENGTH)
    .replace(/_$/, '')
  // In a name without the prefix, the server `mcp` would look like the prefix.
  return slug.toLowerCase() === 'mcp' ? `${slug}_server` : slug || 'server'
}

/** Splits the name of an MCP tool, with or without `mcp__`, at the first `__`; undefined if it names no server. */
export function splitToolName(name: string): { readonly server: string; readonly tool: string } | undefined {
  const start = /^mcp__/i.test(name) ? MCP_PREFIX.length : 0
  const end = name.indexOf('__', start)
  return end > start ? { server: name.slice(start, end), tool: name.slice(end + 2) } : undefined
}

/** Splits a name into lower-case words at separators, digits and camelCase; drops the `mcp__` prefix. */
export function splitName(name: string): string[] {
  const plain = withoutPrefix(name)
  const edges = /[^\0-\x7f]/.test(plain) ? EDGES : ASCII_EDGES
  return edges
    .reduce((text, edge) => text.replace(edge, '$1 $2'), plain)
    .toLowerCase()
    .split(/[\s_\-./]+/u)
    .filter((part) => part !== '')
}

/** Word boundaries without a separator. */
const EDGES = [/([\p{Ll}\d])(\p{Lu})/gu, /(\p{Lu})(\p{Lu}\p{Ll})/gu, /(\p{L})(\d)/gu, /(\d)(\p{L})/gu]
/** The same boundaries for ASCII names, which these find much faster. */
const ASCII_EDGES = [/([a-z\d])([A-Z])/g, /([A-Z])([A-Z][a-z])/g, /([A-Za-z])(\d)/g, /(\d)([A-Za-z])/g]

/** Returns the whole name in lower case, without the `mcp__` prefix. */
export function fullName(name: string): string {
  return withoutPrefix(name).toLowerCase()
}

/** Compares names by code units, so that the order is the same on every machine. */
export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0
}

const MAX_WANTED_LENGTH = 200

/** Names that may be compared with. The keys of a map are read once: it must not change afterwards. */
type Names = Iterable<string> | ReadonlyMap<string, unknown>

/** Returns the names most similar to `wanted`, best first. */
export function closestNames(wanted: string, names: Names, limit = 3): string[] {
  const wantedPairs = pairsOf(wanted.slice(0, MAX_WANTED_LENGTH))
  const scored: { name: string; score: number }[] = []
  for (const [name, pairs] of names instanceof Map
    ? pairsOfKeys(names)
    : pairsOfAll(names as Iterable<string>)) {
    const score = likeness(wantedPairs, pairs)
    if (score > 0.35) scored.push({ name, score })
  }
  scored.sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
  return scored.slice(0, limit).map(({ name }) => name)
}

type NamePairs = readonly (readonly [name: string, pairs: Int32Array])[]

const pairsOfKeys = oncePer((map: ReadonlyMap<string, unknown>) => pairsOfAll(map.keys()))

function pairsOfAll(names: Iterable<string>): NamePairs {
  return Array.from(names, (name) => [name, pairsOf(name)])
}

function withoutPrefix(name: string): string {
  return name.toLowerCase().startsWith(MCP_PREFIX) ? name.slice(MCP_PREFIX.length) : name
}

/** Computes Dice's coefficient over letter pairs: cheap, and tolerant of reordered words. */
function likeness(a: Int32Array, b: Int32Array): number {
  let shared = 0
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const difference = a[i]! - b[j]!
    if (difference === 0) shared++
    if (difference <= 0) i++
    if (difference >= 0) j++
  }
  return (2 * shared) / (a.length + b.length || 1)
}

/** Returns the letter pairs of a name's words, each as one number, sorted. */
function pairsOf(name: string): Int32Array {
  const text = ` ${splitName(name.slice(0, 200)).join(' ')} `
  const pairs = new Int32Array(text.length - 1)
  for (let index = 0; index < pairs.length; index++)
    pairs[index] = text.charCodeAt(index) * 65_536 + text.charCodeAt(index + 1)
  return pairs.sort()
}

/** Counts insertions, deletions, replacements and swaps of neighbours; returns `limit + 1` for more than `limit`. */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    let min = row
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1]
      let cost = Math.min(
        previous[column]! + 1,
        current[column - 1]! + 1,
        previous[column - 1]! + (isSame ? 0 : 1),
      )
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (isSwap) cost = Math.min(cost, before[column - 2]! + 1)
      current.push(cost)
      if (cost < min) min = cost
    }
    if (min > limit) return limit + 1
    before = previous
    previous = current
  }
  return Math.min(previous[b.length]!, limit + 1)
}

/** The default name of the search tool. */
export const SEARCH_TOOL = 'ToolSearch'

/** The default name of the tool through which the model calls others, for clients whose tool list cannot change. */
export const CALL_TOOL = 'CallTool'

/** The start of the text in front of definitions that the MCP gateway's search found; the offline model reads it. */
export const CALL_THESE = `Call these with ${CALL_TOOL}`

/** Returns the input schema of the tool named `CALL_TOOL`. */
export function callToolInput(nameDescription = 'The full name of the tool.') {
  return {
    type: 'object',
    properties: {
      name: { type: 'string', description: nameDescription },
      arguments: { type: 'object', description: "The tool's input, as its definition describes it." },
    },
    required: ['name', 'arguments'],
  } as const
}

/**
 * Returns whether a call through `CALL_TOOL` has no `arguments` but other keys, such as `input`: run without arguments, the
 * tool would do something else. A call with only a name is allowed.
 */
export function misnamesArguments(call: Fields): boolean {
  return (call.arguments ?? null) === null && Object.keys(call).some((key) => !KEYS.has(key))
}

const KEYS = new Set(['name', 'arguments'])

/** Which servers, and which of their tools. `*` stands for any text of either. */
export type ToolPattern = { readonly server: string; readonly tool: string }

/**
 * Reads a tool's name as users see it, with or without `mcp__`, in which `*` stands for any text; `*` alone is every tool
 * of every server. Throws an error that says what to write for a pattern that cannot match: one that names no server, or has
 * characters that no name has.
 */
export function readToolPattern(text: string): ToolPattern {
  const name = /^mcp__/i.test(text) ? text.slice(MCP_PREFIX.length) : text
  if (name === '*') return { server: '*', tool: '*' }
  const end = name.indexOf('__')
  if (end < 1 && name.length < text.length)
    throw new Error(
      `${quote(text)} names no tool; write ${quote(`${name || 'server'}__*`)} for every tool of a server`,
    )
  if (end < 1)
    throw new Error(
      `${quote(text)} names no server; put its name in front, as in ${quote(`server__${name}`)}, or write ${quote(`*__${name}`)} for every server`,
    )
  const [server, tool] = [name.slice(0, end), name.slice(end + 2)]
  const write = `${serverPattern(server)}__${tool.replace(/[^\w*-]/gu, '_') || '*'}`
  if (write === name) return { server, tool }
  throw new Error(`${quote(text)} matches no tool, because of how tools are named; write ${quote(write)}`)
}

/**
 * Reads a server's name in which `*` stands for any text. Throws an error that says what to write for one that no server has.
 */
export function readServerPattern(text: string): string {
  const write = serverPattern(text)
  if (write === text) return text
  throw new Error(`${quote(text)} matches no server, because of how servers are named; write ${quote(write)}`)
}

function serverPattern(text: string): string {
  if (!text.includes('*')) return slugOf(text)
  return text.replace(/[^A-Za-z0-9*-]+/g, '_').replace(/^_|_$/g, '')
}

/** Returns whether a server's name matches; case does not count, as no two servers differ in it alone. */
export function matchesServer(pattern: string, server: string): boolean {
  return matchesAny([pattern.toLowerCase()], server.toLowerCase())
}

/** Returns whether a tool, as users see its name, matches. */
export function matchesTool(pattern: ToolPattern, { server, tool }: ToolPattern): boolean {
  return matchesServer(pattern.server, server) && matchesAny([pattern.tool], tool)
}

/** Returns whether a name matches any of the patterns. */
export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matches(name, pattern))
}

function matches(name: string, pattern: string): boolean {
  const [start = '', ...inner] = pattern.split('*')
  const end = inner.pop()
  if (end === undefined) return name === pattern
  const last = name.length - end.length
  let at = start.length
  if (at > last || !name.startsWith(start) || !name.endsWith(end)) return false
  return inner.every((part) => {
    const found = name.indexOf(part, at)
    at = found + part.length
    return found >= 0 && at <= last
  })
}

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
