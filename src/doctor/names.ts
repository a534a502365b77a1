// Finds names that the model sees in a changed form, and names that several servers share.
import { mcpName } from '../core/index.ts'
import { MCP_PREFIX } from '../lib/index.ts'
import { groupBy } from './groups.ts'
import type { MeasuredTool } from './measure.ts'

/** A tool whose name the model sees in a changed form, and why. */
export type NameProblem = {
  readonly server: string
  readonly tool: string
  readonly kind: 'clash' | 'long-name' | 'characters'
  readonly message: string
}

/** A tool name that several servers use. */
export type SharedName = { readonly tool: string; readonly servers: readonly string[] }

const MAX_NAME_LENGTH = 64

/** Returns the tools whose names clash, are too long, or have characters that the API does not allow. */
export function nameProblems(tools: readonly MeasuredTool[]): readonly NameProblem[] {
  return tools.flatMap((one) => problemOf(one) ?? [])
}

function problemOf({ server, tool, name }: MeasuredTool): NameProblem | undefined {
  const plain = `${MCP_PREFIX}${server}__${tool}`
  if (name === plain || name === tool) return undefined
  const problem = (kind: NameProblem['kind'], why: string): NameProblem => {
    return { server, tool, kind, message: `${why}; the model calls it ${name}` }
  }
  if (plain.length > MAX_NAME_LENGTH)
    return problem('long-name', `${plain} has ${plain.length} characters, ${MAX_NAME_LENGTH} are allowed`)
  return name === mcpName(server, tool)
    ? problem('characters', 'a name may have only letters, digits, "_" and "-"')
    : problem('clash', 'another tool of its server would have the same name')
}

/**
 * Returns the names that several servers use. Harmless with the server as prefix; clients that omit it confuse the
 * tools.
 */
export function sharedNames(tools: readonly MeasuredTool[]): readonly SharedName[] {
  return [...groupBy(tools, ({ tool }) => tool)]
    .map(([tool, members]) => ({ tool, servers: [...new Set(members.map(({ server }) => server))] }))
    .filter(({ servers }) => servers.length > 1)
}
