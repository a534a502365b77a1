// Changes a tool's hint, description or name for one search, to see how it would rank.
import type { PoolTool } from '../../core/index.ts'

/** Texts to try. */
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
