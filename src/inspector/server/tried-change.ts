// A tool as it would be with another hint, description or name, to see how searches would rank it.
import type { PoolTool } from '../../core/index.ts'

export type TriedChange = { readonly hint?: string; readonly description?: string; readonly alias?: string }

/** Returns the list with the tool changed; the same list if nothing changes. */
export function withChange(
  tools: readonly PoolTool[],
  tool: PoolTool | undefined,
  change: TriedChange,
): { readonly tools: readonly PoolTool[]; readonly expected: PoolTool | undefined } {
  if (!tool || Object.keys(change).length === 0) return { tools, expected: tool }
  const { hint = tool.hint, description, alias } = change
  const described = description === undefined ? {} : { description }
  const expected: PoolTool = {
    ...tool,
    hint,
    tool: { ...tool.tool, ...described },
    definition: { ...tool.definition, ...described },
    ...(alias === undefined ? {} : { original: alias }),
  }
  return { tools: tools.map((one) => (one === tool ? expected : one)), expected }
}
