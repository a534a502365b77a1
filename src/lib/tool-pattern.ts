// Reads patterns over the tools of MCP servers, such as `github__get_*`: the one form that every rule takes.
// Implements H3.
import { MCP_PREFIX, slugOf } from './names.ts'
import { quote } from './text.ts'
import { matchesAny } from './wildcard.ts'

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
