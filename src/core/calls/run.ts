// Answers one call of the model: runs a search, explains an invalid call, or runs the tool. Never rejects.
import { errorMessage } from '../../lib/index.ts'
import type { MessageLike, ToolResult, ToolUse } from '../types.ts'
import type { ResolvedCall } from './check.ts'
import { type Content, toolResult } from './result.ts'

/**
 * Runs a tool. Its return value becomes the result: text, content blocks, or the whole answer of an MCP server. If it
 * throws, the error's message becomes an error result.
 */
export type Execute = (call: ResolvedCall) => Content | Promise<Content>

/** Options of `shelf.run`. */
export type RunOptions = {
  /** The conversation up to this call, which determines the loaded tools. Default: the messages last prepared. */
  readonly messages?: readonly MessageLike[]
  /** Called only for a valid call of a tool that is on the shelf. */
  readonly execute: Execute
}

/** The parts of a shelf that answer a call. */
export type CallSteps = {
  answer(call: ToolUse): Promise<ToolResult | undefined>
  check(call: ToolUse, messages?: readonly MessageLike[]): ToolResult | undefined
  resolve(call: ToolUse): ResolvedCall
  used(call: ToolUse): void
}

/** Returns the result of any call. */
export async function runCall(
  steps: CallSteps,
  call: ToolUse,
  { messages, execute }: RunOptions,
): Promise<ToolResult> {
  try {
    const answered = (await steps.answer(call)) ?? steps.check(call, messages)
    if (answered) return answered
    const result = toolResult(call, await execute(steps.resolve(call)))
    if (!result.is_error) steps.used(call)
    return result
  } catch (error) {
    return toolResult(call, `The tool failed: ${errorMessage(error)}`, { isError: true })
  }
}
