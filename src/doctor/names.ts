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
  const wishes = groupBy(tools, ({ server, tool }) => mcpName(server, tool))
  return tools.flatMap((one) => {
    const wish = mcpName(one.server, one.tool)
    const rivals = (wishes.get(wish) ?? []).filter((other) => other !== one)
    return problemOf(one, wish, rivals) ?? []
  })
}

function problemOf(
  { server, tool, name }: MeasuredTool,
  wish: string,
  rivals: readonly MeasuredTool[],
): NameProblem | undefined {
  const plain = `${MCP_PREFIX}${server}__${tool}`
  if (name !== wish) {
    const others = rivals.map((rival) => `"${rival.tool}" of ${rival.server}`).join(', ')
    const message = `it would have the same name as ${others || 'a tool of ours'}; the model calls it ${name}`
    return { server, tool, kind: 'clash', message }
  }
  if (wish === plain || wish === tool) return undefined
  if (plain.length > MAX_NAME_LENGTH) {
    const message = `${plain} has ${plain.length} characters, ${MAX_NAME_LENGTH} are allowed; the model calls it ${name}`
    return { server, tool, kind: 'long-name', message }
  }
  const message = `a name may have only letters, digits, "_" and "-"; the model calls it ${name}`
  return { server, tool, kind: 'characters', message }
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
