// Splits names into words (S5) and into server and tool (H3), orders them, and finds names that are nearly the same.
// Implements H3, S5.
import type { Fields } from './json.ts'
import { quote } from './text.ts'

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

const readKeys = new WeakMap<object, NamePairs>()

function pairsOfKeys(map: ReadonlyMap<string, unknown>): NamePairs {
  const pairs = readKeys.get(map) ?? pairsOfAll(map.keys())
  readKeys.set(map, pairs)
  return pairs
}

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
