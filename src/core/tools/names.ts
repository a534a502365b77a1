// Builds the names by which the model calls MCP tools (H3).
// Implements S1, V4, H3.
import { hash, MCP_PREFIX } from '../../lib/index.ts'

const MAX_CHARACTERS = 64

/** Returns `mcp__<server>__<tool>`, limited to the characters and the length that every back-end accepts. */
export function mcpName(server: string, tool: string, prefix = MCP_PREFIX): string {
  const plain = tool.startsWith(`${MCP_PREFIX}${clean(server)}__`) ? tool : `${prefix}${server}__${tool}`
  const name = clean(plain)
  return name.length <= MAX_CHARACTERS ? name : withHash(name, server, tool)
}

/** Returns the name of an MCP tool whose plain name another tool has. */
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

/**
 * Returns whether no character of the tool's name was replaced; a tool whose name is exact keeps its plain name in a
 * clash.
 */
export function isExact(name: string, server: string, tool: string, prefix: string): boolean {
  return name === tool || name === `${prefix}${server}__${tool}`
}

/** Returns the server in `mcp__server__tool`, for tools known only by their full name. */
export function serverOfName(name: string): string | undefined {
  if (!name.startsWith(MCP_PREFIX)) return undefined
  const end = name.indexOf('__', MCP_PREFIX.length)
  return end > MCP_PREFIX.length ? name.slice(MCP_PREFIX.length, end) : undefined
}

function clean(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/gu, '_')
}

function withHash(name: string, server: string, tool: string): string {
  const suffix = `_${hash(JSON.stringify([server, tool])).slice(-8)}`
  return name.slice(0, MAX_CHARACTERS - suffix.length) + suffix
}
