// What may run without asking: patterns of tool names from the command line.
import type { Permission } from '../agent/types.ts'
import type { Shelf } from '../core/index.ts'
import { mcpName } from '../core/tools/names.ts'
import { matchesAny } from '../core/tools/wildcard.ts'
import type { McpHost } from '../mcp/types.ts'
import { didYouMean } from './command.ts'

/** Where nobody can be asked, only what was allowed beforehand runs. */
export function allowOnly(patterns: readonly string[], tell: (message: string) => void): Permission {
  const refused = new Set<string>()
  return ({ call }) => {
    if (matchesAny(patterns, call.name)) return true
    if (!refused.has(call.name)) tell(`${call.name} was not run, because --allow does not name it.`)
    refused.add(call.name)
    return `Nobody is there to allow ${call.name}. It runs only if it was allowed when the session was started: --allow '${call.name}'.`
  }
}

/** Patterns that match no tool, each in a sentence. Of servers that are not there, nobody knows which tools they have. */
export function idlePatterns(
  patterns: readonly string[],
  { shelf, host }: { readonly shelf: Shelf; readonly host: McpHost },
): string[] {
  const names = shelf.tools().pool.tools.map(({ name }) => name)
  const servers = host.status().map(({ name, state, tools }) => ({
    prefix: mcpName(name, ''),
    isKnown: state === 'connected' || tools.length > 0,
  }))
  const isMissing = (pattern: string) =>
    !names.some((name) => matchesAny([pattern], name)) &&
    !servers.some(({ prefix, isKnown }) => !isKnown && pattern.startsWith(prefix))
  return patterns.filter(isMissing).map((pattern) => {
    const others = pattern.includes('*') ? servers.map(({ prefix }) => `${prefix}*`) : []
    return `--allow "${pattern}" matches none of the tools${didYouMean(pattern, [...others, ...names]) || '.'}`
  })
}
