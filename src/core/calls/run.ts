// Answers one call of the model: a search, a call that cannot be run, or the output of the tool. Never rejects.
import { errorMessage } from '../../lib/index.ts'
import type { MessageLike, ToolResult, ToolUse } from '../types.ts'
import type { ResolvedCall } from './check.ts'
import { type Content, toolResult } from './result.ts'

/**
 * Runs a tool. What it returns becomes the result: text, content blocks, or the whole answer of an MCP server. What it
 * throws becomes an error result with the error's message.
 */
export type Execute = (call: ResolvedCall) => Content | Promise<Content>

/** Options of `shelf.run`. */
export type RunOptions = {
  /** The conversation up to this call, which says what tools are loaded. Default: the messages last prepared. */
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

/** The result of a call, whatever the call is. */
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
