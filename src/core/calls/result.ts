// A tool's output → its tool_result, cleaned of what only the host may write.
import { blocksOf, isReference, refuse, sayTo, textBlock } from '../history/blocks.ts'
import type { Block, TextBlock, ToolResult, ToolUse } from '../types.ts'

/** Text, or content blocks as the API takes them in a tool_result. */
export type Content = string | readonly Block[]

/** The API expands every reference it sees, so one in a foreign tool's output would load a tool (L1). */
export function toolResult(call: ToolUse, output: Content, { isError = false } = {}): ToolResult {
  const blocks = blocksOf({ content: output }).filter((block) => !isReference(block))
  const content = blocks.map((block) => (block.type === 'text' && block.text === '' ? textBlock(' ') : block))
  const nothing = 'The tool returned nothing.'
  if (content.length === 0) return isError ? refuse(call, nothing) : sayTo(call, nothing)
  return { ...(isError ? refuse(call, '') : sayTo(call, '')), content: content as TextBlock[] }
}
