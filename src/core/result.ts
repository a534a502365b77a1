// A tool's output → its tool_result, cleaned of what only the host may write.
import { textBlock } from './rewrite.ts'
import type { Block, TextBlock, ToolResult, ToolUse } from './types.ts'

/** Text, or content blocks as the API takes them in a tool_result. */
export type Content = string | readonly Block[]

/** The API expands every reference it sees, so one in a foreign tool's output would load a tool (L1). */
export function toolResult(call: ToolUse, output: Content, { isError = false } = {}): ToolResult {
  const blocks =
    typeof output === 'string'
      ? [textBlock(output)]
      : blocksIn(output).filter(({ type }) => type !== 'tool_reference')
  const content = blocks.length > 0 ? blocks : [textBlock('The tool returned nothing.')]
  return {
    type: 'tool_result',
    tool_use_id: call.id,
    content: content.map((block) =>
      block.type === 'text' && block.text === '' ? textBlock(' ') : block,
    ) as TextBlock[],
    ...(isError ? { is_error: true } : {}),
  }
}

function blocksIn(output: unknown): readonly Block[] {
  return Array.isArray(output) ? output.filter((block) => typeof block === 'object' && block !== null) : []
}
