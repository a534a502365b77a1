// Runs the calls of one reply in parallel: answers searches, explains invalid calls, runs the rest. Each gets a result.
import { setMaxListeners } from 'node:events'
import type { Message, Shelf, ToolResult, ToolUse } from '@toolshelf/core'
import {
  BATCH_TOOL,
  blocksOf,
  type CallSubject,
  type ConversationListener,
  errorMessage,
  type FileChange,
  fieldsOf,
  type MessageLike,
  READ_TOOL,
  resultEvent,
  textOf,
} from '@toolshelf/core/internal'
import { createChildSpan } from '@toolshelf/core/internal/node'
import { foldHistory } from '@toolshelf/core/pure'
import type { Access } from './accesses.ts'
import { createChannel } from './channel.ts'
import type {
  AgentEvent,
  AgentTool,
  InnerCallOptions,
  PermissionCheck,
  PermissionVerdict,
  ToolContext,
  ToolRunner,
} from './types.ts'

/** What running calls needs of the agent. */
type RunCallsOptions = {
  readonly shelf: Shelf
  readonly tools: ReadonlyMap<string, AgentTool>
  readonly runner: ToolRunner | undefined
  readonly permission: PermissionCheck | undefined
  readonly trace: ConversationListener | undefined
}

/** Runs the calls of one reply, yields their events, and returns a result for each. */
export async function* runCalls(
  calls: readonly ToolUse[],
  messages: readonly Message[],
  running: RunCallsOptions,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, ToolResult[]> {
  const left = new AbortController()
  const either = AbortSignal.any([signal, left.signal])
  // Each call adds a listener, and Node warns about more than ten.
  setMaxListeners(0, either)
  const events = createChannel<AgentEvent>()
  const results = Promise.all(
    calls.map((call) => runOne(call, messages, running, either, events.push)),
  ).finally(events.close)
  let isOver = false
  try {
    yield* events
    isOver = true
    return await results
  } finally {
    // If the consumer stopped iterating, abort the calls.
    if (!isOver) left.abort()
  }
}

/** Runs a call and reports its start and its end. */
async function runOne(
  call: ToolUse,
  messages: readonly Message[],
  running: RunCallsOptions,
  signal: AbortSignal,
  emit: (event: AgentEvent) => void,
  options: InnerCallOptions = {},
): Promise<ToolResult> {
  emit({ type: 'call', call })
  const done: Done = { change: undefined, outside: [], subject: undefined, whole: undefined, isSearch: false }
  const started = performance.now()
  const result = await resultOf(call, messages, { ...running, ...options }, signal, emit, done)
  reportResult(running, call, result, done, { milliseconds: performance.now() - started, signal })
  const { change, outside } = done
  emit({
    type: 'result',
    call,
    result,
    loaded: loadedBy(running.shelf.searchTool, call, result),
    ...(change ? { change } : {}),
    ...(outside.length > 0 ? { outside } : {}),
  })
  return result
}

/** Side effects of a call. */
type Done = {
  change: FileChange | undefined
  outside: readonly string[]
  /** The tool, once it runs. */
  subject: CallSubject | undefined
  /** The result before it was put on the shelf. */
  whole: ToolResult | undefined
  isSearch: boolean
}

/** Traces a result, except that of a search, which has an event of its own. */
function reportResult(
  { trace }: RunCallsOptions,
  call: ToolUse,
  result: ToolResult,
  { subject, isSearch, whole = result }: Done,
  { milliseconds, signal }: { readonly milliseconds: number; readonly signal: AbortSignal },
): void {
  if (!trace || isSearch) return
  const ran = result.is_error ? 'failed' : 'done'
  const outcome = signal.aborted ? 'stopped' : subject ? ran : 'refused'
  trace(resultEvent(subject ?? { id: call.id, name: call.name }, outcome, whole.content, milliseconds))
}

/** Always returns a result, also for failed and stopped calls, so that the history stays valid. */
async function resultOf(
  call: ToolUse,
  messages: readonly Message[],
  running: RunCallsOptions & InnerCallOptions,
  signal: AbortSignal,
  emit: (event: AgentEvent) => void,
  done: Done,
): Promise<ToolResult> {
  const { shelf } = running
  const refuse = (text: string) => shelf.result(call, text, { isError: true })
  const stop = whenAborted(signal)
  try {
    signal.throwIfAborted()
    const inside = (event: AgentEvent) => emit({ type: 'inside', call, event })
    const work = execute(call, messages, { ...running, done }, signal, inside)
    return await Promise.race([work, stop.happened])
  } catch (error) {
    if (signal.aborted) return refuse(done.subject ? STOPPED : NEVER_RUN)
    return refuse(`The tool failed: ${errorMessage(error)}`)
  } finally {
    stop.forget()
  }
}

type Execution = RunCallsOptions & InnerCallOptions & { readonly done: Done }

async function execute(
  call: ToolUse,
  messages: readonly Message[],
  execution: Execution,
  signal: AbortSignal,
  emit: (event: AgentEvent) => void,
): Promise<ToolResult> {
  const { shelf, tools, runner, trace, done } = execution
  const found = await shelf.answer(call)
  done.isSearch = found !== undefined && call.name !== READ_TOOL
  if (found && !done.isSearch) done.subject = { id: call.id, name: call.name }
  const answered = found ?? shelf.check(call, messages as readonly MessageLike[])
  if (answered) return answered
  const { name, input, server } = shelf.resolve(call)
  const tool = server === undefined ? tools.get(name) : undefined
  const fields = fieldsOf(input)
  const accesses = (await tool?.accesses?.(fields)) ?? []
  const verdict = await verdictOn(call, execution, accesses, tool, signal)
  const refusal = refusalIn(verdict)
  const subject = { id: call.id, name, server }
  if (execution.permission) trace?.({ type: 'permission', ...subject, isAllowed: refusal === undefined })
  if (refusal !== undefined) return shelf.result(call, refusal, { isError: true })
  signal.throwIfAborted()
  done.subject = subject
  const span = server === undefined || !trace?.traceId ? undefined : createChildSpan(trace.traceId)
  trace?.({ type: 'call', ...subject, ...(span ? { spanId: span.spanId } : {}), content: input })
  done.outside = outsideOf(accesses)
  const shelve = (result: ToolResult) => {
    done.whole = result
    // The results in a batch have budgets of their own.
    return execution.isWhole || name === BATCH_TOOL ? result : shelf.shelve(call, result)
  }
  if (server !== undefined && runner) {
    const result = await runner.run(call, {
      signal,
      ...(span ? { meta: { traceparent: span.traceparent } } : {}),
    })
    return shelve(result)
  }
  if (!tool) return shelf.result(call, `"${name}" cannot be run here. Use another tool.`, { isError: true })
  const report = (change: FileChange) => {
    done.change = change
  }
  const isHidden = typeof verdict === 'object' ? { isHidden: verdict.isHidden } : {}
  const inner = innerCalls(messages, execution, signal, emit)
  return shelve(
    shelf.result(call, await tool.run(fields, { call, signal, emit, report, ...isHidden, ...inner })),
  )
}

/** What a tool needs to call others. */
function innerCalls(
  messages: readonly Message[],
  { shelf, tools, runner, permission, trace }: RunCallsOptions,
  signal: AbortSignal,
  emit: (event: AgentEvent) => void,
): Pick<ToolContext, 'callTool' | 'isReadOnly' | 'searchTool'> {
  const running = { shelf, tools, runner, permission, trace }
  return {
    searchTool: shelf.searchTool,
    isReadOnly: (call) => isReadOnlyCall(call, running),
    callTool(call, options = {}) {
      const either = options.signal ? AbortSignal.any([signal, options.signal]) : signal
      return runOne(call, messages, running, either, emit, options)
    },
  }
}

async function verdictOn(
  call: ToolUse,
  { script, ...running }: Execution,
  accesses: readonly Access[],
  tool: AgentTool | undefined,
  signal: AbortSignal,
): Promise<PermissionVerdict> {
  const { shelf, permission: decide = () => true } = running
  const { name, input, server } = shelf.resolve(call)
  return decide({
    call: { ...call, name, input },
    server,
    folder: server === undefined ? undefined : running.runner?.folderOf?.(server),
    signal,
    accesses,
    isHarmless: isReadOnlyCall(call, running) && accesses.every(({ isInside }) => isInside),
    change: async () => tool?.change?.(fieldsOf(input)).catch(() => undefined),
    ...(script ? { script } : {}),
  })
}

function isReadOnlyCall(call: ToolUse, { shelf, tools, runner }: RunCallsOptions): boolean {
  const { name, server } = shelf.resolve(call)
  return server === undefined ? tools.get(name)?.isReadOnly === true : runner?.isReadOnly?.(call) === true
}

/** Treats anything but an explicit approval as a refusal. */
function refusalIn(verdict: PermissionVerdict): string | undefined {
  if (verdict === true || typeof fieldsOf(verdict).isHidden === 'function') return undefined
  return textOf(verdict) || 'The user refused this call.'
}

function outsideOf(accesses: readonly Access[]): string[] {
  return accesses.filter(({ isInside }) => !isInside).map(({ path }) => path)
}

const NEVER_RUN = 'The user stopped this call before it ran.'
/** Result for the model of a call that a person stopped while it ran. */
const STOPPED = 'The user stopped this call. Nothing is known of what it did.'

/** Returns a promise that rejects when the signal aborts; `forget` removes the listener. */
export function whenAborted(signal: AbortSignal): { happened: Promise<never>; forget: () => void } {
  let stop = () => {}
  const happened = new Promise<never>((_, reject) => {
    stop = () => reject(new Error(STOPPED))
  })
  signal.addEventListener('abort', stop, { once: true })
  return { happened, forget: () => signal.removeEventListener('abort', stop) }
}

/** Returns a message with results for calls that an ended session left open; empty if there are none. */
export function resultsForOpenCalls(
  message: Message | undefined,
  answered: (id: unknown) => boolean = () => false,
): Message[] {
  const blocks = message?.role === 'assistant' ? blocksOf(message.content) : []
  const results = blocks
    .filter(({ type, id }) => type === 'tool_use' && !answered(id))
    .map(({ id }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: [{ type: 'text', text: STOPPED }],
      is_error: true,
    }))
  return results.length === 0 ? [] : [{ role: 'user', content: results }]
}

/** Returns the tools that a search loaded, from a result in the format of any wire. */
export function loadedBy(searchTool: string, call: ToolUse, result: ToolResult): string[] {
  return [...foldHistory(asMessages(call, result), searchTool).loaded]
}

export function asMessages(call: ToolUse, result: ToolResult): [Message, Message] {
  return [
    { role: 'assistant', content: [{ type: 'tool_use', ...call }] },
    { role: 'user', content: [result] },
  ]
}
