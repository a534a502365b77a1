// Answers one call of the model: runs a search, explains an invalid call, or runs the tool. Never rejects.
import { errorMessage } from '../../lib/index.ts'
import type { TraceListener } from '../trace.ts'
import type { MessageLike, ToolResult, ToolUse } from '../types.ts'
import { type CallOutcome, type CallSubject, resultEvent } from './call-events.ts'
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
  shelve(call: ToolUse, result: ToolResult): Promise<ToolResult>
  readonly trace: TraceListener | undefined
}

/** Returns the result of any call. */
export async function runCall(
  steps: CallSteps,
  call: ToolUse,
  { messages, execute }: RunOptions,
): Promise<ToolResult> {
  const { trace } = steps
  let subject: CallSubject | undefined
  const ended = (result: ToolResult, outcome: CallOutcome) => {
    trace?.(resultEvent(subject ?? { id: call.id, name: call.name }, outcome, result.content))
    return result
  }
  try {
    const answered = await steps.answer(call)
    if (answered) return answered
    const refused = steps.check(call, messages)
    if (refused) return ended(refused, 'refused')
    const resolved = steps.resolve(call)
    subject = { id: call.id, name: resolved.name, server: resolved.server }
    trace?.({ type: 'call', ...subject, content: resolved.input })
    const result = toolResult(call, await execute(resolved))
    ended(result, result.is_error ? 'failed' : 'done')
    return await steps.shelve(call, result)
  } catch (error) {
    const text = `The tool failed: ${errorMessage(error)}`
    return ended(toolResult(call, text, { isError: true }), 'failed')
  }
}
