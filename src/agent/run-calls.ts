// The calls of one reply, all at once: searches are answered, wrong calls explained, the rest run. Always a result.
import type { Message, MessageLike, Shelf, ToolResult, ToolUse } from '../core/index.ts'
import { fieldsOf, textOf } from '../core/oracle/json.ts'
import { createChannel } from './channel.ts'
import type { AgentEvent, AgentTool, Permission, Runner } from './types.ts'

export type Running = {
  readonly shelf: Shelf
  readonly tools: ReadonlyMap<string, AgentTool>
  readonly runner: Runner | undefined
  readonly permission: Permission | undefined
}

export async function* runCalls(
  calls: readonly ToolUse[],
  messages: readonly Message[],
  running: Running,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, ToolResult[]> {
  const events = createChannel<AgentEvent>()
  const results = Promise.all(
    calls.map(async (call) => {
      events.push({ type: 'call', call })
      const result = await resultOf(call, messages, running, signal, events.push)
      events.push({ type: 'result', call, result, loaded: loadedBy(result) })
      return result
    }),
  ).finally(events.close)
  yield* events
  return results
}

/** Whatever happens is a result. A call that was stopped says so, so that the history stays whole. */
async function resultOf(
  call: ToolUse,
  messages: readonly Message[],
  running: Running,
  signal: AbortSignal,
  tell: (event: AgentEvent) => void,
): Promise<ToolResult> {
  const { shelf } = running
  const refuse = (text: string) => shelf.result(call, text, { isError: true })
  try {
    const work = execute(call, messages, running, signal, (event) => tell({ type: 'inside', call, event }))
    return await Promise.race([work, whenAborted(signal)])
  } catch (error) {
    return refuse(signal.aborted ? STOPPED : `The tool failed: ${messageOf(error)}`)
  }
}

async function execute(
  call: ToolUse,
  messages: readonly Message[],
  { shelf, tools, runner, permission }: Running,
  signal: AbortSignal,
  tell: (event: AgentEvent) => void,
): Promise<ToolResult> {
  const answered = (await shelf.answer(call)) ?? shelf.check(call, messages as readonly MessageLike[])
  if (answered) return answered
  const { name, input, server } = shelf.resolve(call)
  const tool = server === undefined ? tools.get(name) : undefined
  if (permission && tool?.isReadOnly !== true) {
    const allowed = await permission({ call: { ...call, name, input }, server, signal })
    if (allowed !== true)
      return shelf.result(call, allowed || 'The user refused this call.', { isError: true })
  }
  if (server !== undefined && runner) return runner.run(call, { signal })
  if (!tool) return shelf.result(call, `There is nobody to run "${name}".`, { isError: true })
  return shelf.result(call, await tool.run(fieldsOf(input), { call, signal, tell }))
}

/** What the model reads of a call that a person stopped. */
export const STOPPED = 'The user stopped this call. Nothing is known of what it did.'

function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(new Error(STOPPED))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

/** The tools that a search loaded. */
export function loadedBy({ content }: ToolResult): string[] {
  return content.flatMap((block) => (block.type === 'tool_reference' ? [block.tool_name] : []))
}

function messageOf(error: unknown): string {
  return textOf(fieldsOf(error).message) || String(error)
}
