// Reads messages and blocks of unknown shape.
// Implements L3.
import type { Block, Message, TextBlock, ToolResult, ToolUse } from '../types.ts'

/** Returns a message's blocks; a string becomes one text block, any other content none. */
export function messageBlocks(message: Message | undefined): readonly Block[] {
  const content = message?.content
  if (typeof content === 'string') return content === '' ? [] : [textBlock(content)]
  return Array.isArray(content) ? content.filter(isBlock) : []
}

/** Returns whether a value is a content block. */
export function isBlock(value: unknown): value is Block {
  return typeof value === 'object' && value !== null
}

/** Returns whether a message is a system message that adds or removes tools. */
export function isToolChange(message: Message): boolean {
  if (message?.role !== 'system') return false
  return messageBlocks(message).some(({ type }) => type === 'tool_addition' || type === 'tool_removal')
}

/** Creates a text block. */
export function textBlock(text: string): TextBlock {
  return { type: 'text', text }
}

/** Answers a call with text. */
export function textResult(call: ToolUse, text: string): ToolResult {
  return { type: 'tool_result', tool_use_id: call.id, content: [textBlock(text)] }
}

/** Answers a call with an error. */
export function refuse(call: ToolUse, text: string): ToolResult {
  return { ...textResult(call, text), is_error: true }
}
