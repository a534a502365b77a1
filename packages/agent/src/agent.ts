// The agent loop: calls the model, runs the tools it calls, and repeats. Reports everything as events.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Message, Shelf, Tool, ToolResult, ToolUse } from '@toolshelf/core'
import {
  bindMethods,
  errorMessage,
  type Fields,
  type MessageLike,
  oncePer,
  textOf,
  wellFormed,
} from '@toolshelf/core/internal'
import { foldHistory } from '@toolshelf/core/pure'
import { callModel, faultOf, type ModelOutcome } from './ask.ts'
import { compactMessages } from './compaction.ts'
import { preloadCall } from './preload.ts'
import { asMessages, loadedBy, resultsForOpenCalls, runCalls, whenAborted } from './run-calls.ts'
import { isNotBlank, toSendable, withoutOpenSearches, withoutRefused } from './sendable.ts'
import type { Agent, AgentEvent, AgentOptions, AgentTool, EndReason, HistoryChange } from './types.ts'
import { replyUsage } from './usage.ts'

const MAX_TOKENS = 8192
const MAX_STEPS = 200
const RETRIES = 4
const COMPACT_AT = 0.8
/** How many of the newest messages a compaction keeps; fewer if they are too long. */
const KEPT_MESSAGES = 4
const CONTEXT_WINDOW = 200_000

/**
 * Creates an agent: sends messages to the model, runs the tools that it calls, and yields events.
 *
 * @example
 * const agent = createAgent({ client: new Anthropic({ maxRetries: 0 }), model: 'claude-sonnet-5-5', shelf, runner: host })
 * for await (const event of agent.send('What is new?')) if (event.type === 'text') process.stdout.write(event.text)
 */
export function createAgent(options: AgentOptions): Agent {
  return bindMethods(new AgentLoop(options))
}

class AgentLoop implements Agent {
  readonly shelf: Shelf
  readonly contextWindow: number
  model: string
  used = 0
  readonly #options: AgentOptions
  readonly #tools: ReadonlyMap<string, AgentTool>
  readonly #history: AgentHistory
  readonly #cacheMarks = { isRefused: false }
  /** The number of messages after the last compaction, successful or not. */
  #compactedTo = Number.NEGATIVE_INFINITY
  /** The user message being worked on. */
  #task: Message | undefined

  constructor(options: AgentOptions) {
    const { shelf, tools = [], model, contextWindow = CONTEXT_WINDOW } = options
    this.shelf = shelf
    this.contextWindow = contextWindow
    this.model = model
    this.#options = options
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]))
    this.#history = new AgentHistory(options.messages ?? [], options.onHistory)
    const { byName } = shelf.partition().pool
    const missing = tools.map(onShelf).filter((tool) => byName.get(tool.name)?.tool !== tool)
    if (missing.length > 0) shelf.add(missing)
  }

  get messages(): readonly Message[] {
    return this.#history.messages
  }

  async *send(text: string, { signal = new AbortController().signal } = {}): AsyncGenerator<AgentEvent> {
    const { trace } = this.#options
    const startedAt = performance.now()
    let end: End = { reason: 'stopped' }
    try {
      for await (const event of this.#answer(text, signal)) {
        if (event.type === 'end') end = event
        yield event
      }
    } finally {
      const { reason, error } = end
      trace?.({ type: 'turn', reason, milliseconds: performance.now() - startedAt, error })
    }
  }

  /** Works on a message of the user until the turn ends. */
  async *#answer(text: string, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    const { enrich, preload = () => [] } = this.#options
    if (text.trim() === '') {
      yield { type: 'end', reason: 'failed', error: 'The message is empty, so nothing was sent.' }
      return
    }
    try {
      this.#history.adopt(withoutOpenSearches(this.messages))
      this.#history.append(...resultsForOpenCalls(this.messages.at(-1)))
      const { messages } = this
      const added = yield* helped(async () => (await enrich?.(text, { messages })) ?? [], signal)
      const texts = wellFormed([...added, text]).map((one) => ({ type: 'text', text: one }))
      const blocks = texts.filter(isNotBlank)
      this.#task = { role: 'user', content: blocks.length === 1 ? texts.at(-1)!.text : blocks }
      this.#history.append(this.#task)
      yield* this.#load(yield* helped(() => preload(text), signal))
      yield { type: 'end', ...(yield* this.#steps(signal)) }
    } catch (error) {
      yield { type: 'end', reason: 'failed', error: errorMessage(error) }
    } finally {
      this.#task = undefined
    }
  }

  async *compact({ signal = new AbortController().signal } = {}): AsyncGenerator<AgentEvent> {
    if (this.messages.length === 0) yield { type: 'notice', text: 'There is nothing to summarise yet.' }
    else yield* this.#compact('manual', signal)
  }

  /** Calls the model and runs its calls until it has finished, at most `maxSteps` times. */
  async *#steps(signal: AbortSignal): AsyncGenerator<AgentEvent, End> {
    const { maxSteps = MAX_STEPS, compactAt = COMPACT_AT } = this.#options
    const keeps = [KEPT_MESSAGES, 1, 0]
    for (let step = 1; step <= maxSteps; step++) {
      // Do not compact again right away: the rest may still be long, and a failed compaction may fail again.
      const isGrown = this.messages.length >= this.#compactedTo + 2 * KEPT_MESSAGES
      if (isGrown && this.used > this.contextWindow * compactAt) yield* this.#compact('auto', signal)
      const asked = yield* this.#askModel(signal)
      const end =
        'error' in asked ? yield* this.#recover(asked, keeps, signal) : yield* this.#take(asked, signal)
      if (end) return end
    }
    return {
      reason: 'limit',
      error: `The model was asked ${maxSteps} times for one message. Say "go on" to continue.`,
    }
  }

  async *#askModel(signal: AbortSignal): AsyncGenerator<AgentEvent, ModelOutcome> {
    const { client, system, retries = RETRIES, wait = pause, trace, maxTokens = MAX_TOKENS } = this.#options
    const { model, shelf, messages } = this
    const request = {
      model,
      max_tokens: maxTokens,
      ...(system ? { system } : {}),
      messages: messages as readonly MessageLike[],
    }
    const asking = { client, shelf, retries, wait, cacheMarks: this.#cacheMarks, trace }
    return yield* callModel(request, asking, signal)
  }

  /**
   * Prepares a failed request for another attempt: shortens the history, or leaves out what the API refused. Returns the
   * end if neither is possible.
   * @param keeps - How many messages the next compactions keep.
   */
  async *#recover(
    { error, said }: Extract<ModelOutcome, { error: unknown }>,
    keeps: number[],
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, End | undefined> {
    const { kind, message } = error
    const keep = kind === 'too-long' ? keeps.shift() : undefined
    if (keep !== undefined && (yield* this.#compact('auto', signal, keep))) return undefined
    const acceptable = withoutRefused(error, this.messages)
    if (acceptable) {
      yield { type: 'notice', text: LEFT_OUT[kind] ?? message }
      this.#history.replace(acceptable)
      return undefined
    }
    if (said.trim() !== '')
      this.#history.append({ role: 'assistant', content: [{ type: 'text', text: said }] })
    return signal.aborted ? { reason: 'stopped' } : { reason: 'failed', error: message }
  }

  /** Adds a reply to the history and runs its calls. Returns the end unless the model should continue. */
  async *#take(
    { reply, isReadable, history }: Exclude<ModelOutcome, { error: unknown }>,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, End | undefined> {
    this.#history.adopt(history as readonly Message[])
    const content = toSendable(reply.content, this.messages)
    const usage = replyUsage(reply)
    this.used = usage.input + usage.cached + usage.output
    const stopReason = textOf(reply.stop_reason)
    if (content.length > 0) this.#history.append({ role: 'assistant', content })
    yield { type: 'reply', content, usage, stopReason }
    const calls = content.filter(({ type }) => type === 'tool_use').map(toCall)
    if (calls.length > 0) {
      const { runner, permission, trace } = this.#options
      const running = { shelf: this.shelf, tools: this.#tools, runner, permission, trace }
      const refused = CUT_SHORT.has(stopReason) ? NOT_RUN : isReadable ? undefined : NOT_READ
      const results: ToolResult[] = refused
        ? calls.map((call) => this.shelf.result(call, refused, { isError: true }))
        : yield* runCalls(calls, this.messages, running, signal)
      this.#history.append({ role: 'user', content: results })
      if (signal.aborted) return { reason: 'stopped' }
    }
    if (stopReason === 'pause_turn' || (calls.length > 0 && stopReason !== 'refusal')) return undefined
    return endOf(stopReason)
  }

  async *#compact(
    trigger: 'auto' | 'manual',
    signal: AbortSignal,
    keep = KEPT_MESSAGES,
  ): AsyncGenerator<AgentEvent, boolean> {
    const { client, maxTokens = MAX_TOKENS } = this.#options
    const { shelf, model, contextWindow } = this
    const task = this.#task
    const before = this.messages.length
    const asking = { client, shelf, model, maxTokens, contextWindow, trigger, keep, task }
    try {
      this.#history.replace(await compactMessages(this.messages, asking, signal))
    } catch (error) {
      if (signal.aborted) return false
      this.#compactedTo = this.messages.length
      yield {
        type: 'notice',
        text: `Could not summarise the history; it stays as it is: ${faultOf(error).message}`,
      }
      return false
    }
    this.used = 0
    this.#compactedTo = this.messages.length
    yield { type: 'compacted', before, after: this.messages.length }
    return true
  }

  /** Loads tools by writing a search call and its result into the history. */
  async *#load(wanted: readonly string[]): AsyncGenerator<AgentEvent> {
    const { searchTool } = this.shelf
    const { deferredNames } = this.shelf.partition()
    const { loaded } = foldHistory(this.messages, searchTool)
    const names = wanted.filter((name) => deferredNames.has(name) && !loaded.has(name))
    if (names.length === 0) return
    const call = preloadCall(searchTool, names)
    const result = await this.shelf.answer(call)
    const found = result ? loadedBy(searchTool, call, result) : []
    if (!result || found.length === 0) return
    this.#history.append(...asMessages(call, result))
    yield { type: 'result', call, result, loaded: found }
  }
}

/** The messages of a conversation; reports each change. */
class AgentHistory {
  messages: readonly Message[]
  readonly #onChange: (change: HistoryChange) => void

  constructor(messages: readonly Message[], onChange: (change: HistoryChange) => void = () => {}) {
    this.messages = [...messages]
    this.#onChange = onChange
  }

  append(...added: Message[]): void {
    if (added.length === 0) return
    this.messages = [...this.messages, ...added]
    this.#onChange({ type: 'append', messages: added })
  }

  replace(messages: readonly Message[]): void {
    this.messages = [...messages]
    this.#onChange({ type: 'replace', messages: this.messages })
  }

  /** Takes over the notes that the shelf added to the history. */
  adopt(noted: readonly Message[]): void {
    const { messages } = this
    const isLonger =
      noted.length > messages.length && messages.every((message, index) => message === noted[index])
    if (isLonger) this.append(...noted.slice(messages.length))
    else if (noted.length !== messages.length || noted.some((message, index) => message !== messages[index]))
      this.replace(noted)
  }
}

/** Runs an optional step. If it fails, the user gets a notice and the message is sent without it. */
async function* helped<Help>(
  help: () => readonly Help[] | Promise<readonly Help[]>,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, readonly Help[]> {
  const stop = whenAborted(signal)
  try {
    signal.throwIfAborted()
    return await Promise.race([help(), stop.happened])
  } catch (error) {
    if (!signal.aborted)
      yield { type: 'notice', text: `Sending the message as it is: ${errorMessage(error)}` }
    return []
  } finally {
    stop.forget()
  }
}

/** Stop reasons of replies that were cut off, whose last call may be incomplete. */
const CUT_SHORT = new Set(['max_tokens', 'model_context_window_exceeded', 'refusal'])
const NOT_RUN = 'This call was not run, because the reply that contains it was cut short. Make shorter calls.'
const LEFT_OUT: { readonly [kind: string]: string } = {
  image: 'The API refused an image. A note to the model replaces it.',
  thinking: "The API refused the model's earlier thinking, so it is left out.",
}
const NOT_READ =
  'This call was not run, because the input of a call in this reply is not a JSON object. Make each call again.'

type End = { readonly reason: EndReason; readonly error?: string }

function endOf(stopReason: string): End {
  if (stopReason === 'refusal') return { reason: 'refused', error: 'The model refused to answer.' }
  if (stopReason === 'max_tokens' || stopReason === 'model_context_window_exceeded')
    return { reason: 'limit', error: 'The reply reached its token limit. Say "go on" to continue.' }
  return { reason: 'done' }
}

function toCall({ id, name, input }: Fields): ToolUse {
  return { id: textOf(id), name: textOf(name), input }
}

/** Removes the agent's own fields from a tool, because a definition copies all fields of its tool. */
const onShelf = oncePer((tool: AgentTool): Tool => {
  const { run: _, isReadOnly: __, accesses: ___, change: ____, ...plain } = tool
  return plain
})

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal })
}
