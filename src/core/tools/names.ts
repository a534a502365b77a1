// Names: how an MCP tool is called by the model (H3), how a name splits into words (S5), and which names are near.
import { hash } from '../hash.ts'

export const MCP_PREFIX = 'mcp__'
const MOST_CHARACTERS = 64

/** `mcp__<server>__<tool>`, made of the characters and the length that every back-end takes. */
export function mcpName(server: string, tool: string, prefix = MCP_PREFIX): string {
  const plain = tool.startsWith(`${MCP_PREFIX}${clean(server)}__`) ? tool : `${prefix}${server}__${tool}`
  const name = clean(plain)
  return name.length <= MOST_CHARACTERS ? name : withHash(name, server, tool)
}

/** The name an MCP tool takes when another one holds its plain name. */
export function clashName(
  server: string,
  tool: string,
  prefix: string,
  isTaken: (name: string) => boolean,
): string {
  const plain = mcpName(server, tool, prefix)
  let name = plain
  for (let salt = ''; name === plain || isTaken(name); salt += '+')
    name = withHash(plain, server, tool + salt)
  return name
}

/** True when no character of the tool's name had to be replaced, so that in a clash it keeps the plain name. */
export function isExact(name: string, server: string, tool: string, prefix: string): boolean {
  return name === tool || name === `${prefix}${server}__${tool}`
}

/** The server in `mcp__server__tool`, for tools that arrive under their full name only. */
export function serverOfName(name: string): string | undefined {
  if (!name.startsWith(MCP_PREFIX)) return undefined
  const end = name.indexOf('__', MCP_PREFIX.length)
  return end > MCP_PREFIX.length ? name.slice(MCP_PREFIX.length, end) : undefined
}

/** Splits at separators, digits' edges and camelCase, lower-cased; the `mcp` prefix is dropped. */
export function splitName(name: string): string[] {
  return withoutPrefix(name)
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replace(/(\p{L})(\d)/gu, '$1 $2')
    .replace(/(\d)(\p{L})/gu, '$1 $2')
    .toLowerCase()
    .split(/[\s_\-./]+/u)
    .filter((part) => part !== '')
}

/** The whole name in lower case, without the `mcp__` prefix. */
export function fullName(name: string): string {
  return withoutPrefix(name).toLowerCase()
}

/** Compares by name, the same on every machine. */
export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0
}

/** The names most like the one that was asked for, best first. */
export function nearest(wanted: string, names: Iterable<string>, limit = 3): string[] {
  const asked = pairsOf(wanted)
  const scored: { name: string; score: number }[] = []
  for (const name of names) {
    const score = likeness(asked, pairsOf(name))
    if (score > 0.35) scored.push({ name, score })
  }
  scored.sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
  return scored.slice(0, limit).map(({ name }) => name)
}

function clean(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/gu, '_')
}

function withHash(name: string, server: string, tool: string): string {
  const suffix = `_${hash(JSON.stringify([server, tool])).slice(-8)}`
  return name.slice(0, MOST_CHARACTERS - suffix.length) + suffix
}

function withoutPrefix(name: string): string {
  return name.toLowerCase().startsWith(MCP_PREFIX) ? name.slice(MCP_PREFIX.length) : name
}

/** Dice's coefficient over letter pairs: cheap, and kind to reordered words. */
function likeness(a: Map<string, number>, b: Map<string, number>): number {
  let shared = 0
  for (const [pair, count] of a) shared += Math.min(count, b.get(pair) ?? 0)
  return (2 * shared) / (total(a) + total(b) || 1)
}

function pairsOf(name: string): Map<string, number> {
  const text = ` ${splitName(name.slice(0, 200)).join(' ')} `
  const pairs = new Map<string, number>()
  for (let index = 0; index + 1 < text.length; index++) {
    const pair = text.slice(index, index + 2)
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1)
  }
  return pairs
}

function total(pairs: Map<string, number>): number {
  let sum = 0
  for (const count of pairs.values()) sum += count
  return sum
}
