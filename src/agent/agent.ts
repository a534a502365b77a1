// The agent loop: calls the model, runs the tools it calls, and repeats. Reports everything as events.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  foldHistory,
  type Message,
  SEARCH_TOOL,
  type Tool,
  type ToolResult,
  type ToolUse,
} from '../core/index.ts'
import { errorMessage, type Fields, textOf } from '../lib/index.ts'
import { callModel, faultOf, type ModelOutcome } from './ask.ts'
import { compactMessages } from './compaction.ts'
import { preloadCall } from './preload.ts'
import { asMessages, loadedBy, resultsForOpenCalls, runCalls, whenAborted } from './run-calls.ts'
import { isSomething, toSendable, withoutOpenSearches, withoutRefused } from './sendable.ts'
import type { Agent, AgentEvent, AgentOptions, AgentTool, EndReason } from './types.ts'
import { replyUsage } from './usage.ts'

const MAX_TOKENS = 8192
const MAX_STEPS = 200
const RETRIES = 4
const COMPACT_AT = 0.8
/** How many of the newest messages a compaction keeps; fewer if they are too long. */
const KEPT = 4
const CONTEXT_WINDOW = 200_000

export function createAgent(options: AgentOptions): Agent {
  const { client, shelf, tools = [], runner, permission, system, enrich, onHistory = () => {} } = options
  const { maxTokens = MAX_TOKENS, maxSteps = MAX_STEPS, retries = RETRIES, wait = pause } = options
  const { preload = () => [], contextWindow = CONTEXT_WINDOW, compactAt = COMPACT_AT } = options
  const own = new Map(tools.map((tool): [string, AgentTool] => [tool.name, tool]))
  const { byName } = shelf.partition().pool
  const missing = tools.map(onShelf).filter((tool) => byName.get(tool.name)?.tool !== tool)
  if (missing.length > 0) shelf.add(missing)
  let { model } = options
  let messages: Message[] = [...(options.messages ?? [])]
  let used = 0
  /** The number of messages after the last compaction, successful or not. */
  let compactedTo = Number.NEGATIVE_INFINITY
  const cacheMarks = { isRefused: false }
  /** The user message being worked on. */
  let task: Message | undefined

  const append = (...added: Message[]) => {
    if (added.length === 0) return
    messages = [...messages, ...added]
    onHistory({ type: 'append', messages: added })
  }
  /** Takes over the notes that the shelf added to the history. */
  const adopt = (noted: readonly Message[]) => {
    const isLonger =
      noted.length > messages.length && messages.every((message, index) => message === noted[index])
    if (isLonger) append(...noted.slice(messages.length))
    else if (noted.length !== messages.length || noted.some((message, index) => message !== messages[index]))
      replace(noted)
  }
  const replace = (next: readonly Message[]) => {
    messages = [...next]
    onHistory({ type: 'replace', messages })
  }

  async function* askModel(signal: AbortSignal): AsyncGenerator<AgentEvent, ModelOutcome> {
    const request = { model, max_tokens: maxTokens, ...(system ? { system } : {}), messages }
    return yield* callModel(request as never, { client, shelf, retries, wait, cacheMarks }, signal)
  }

  async function* compact(
    trigger: 'auto' | 'manual',
    signal: AbortSignal,
    keep = KEPT,
  ): AsyncGenerator<AgentEvent, boolean> {
    const before = messages.length
    const asking = { client, shelf, model, maxTokens, contextWindow, trigger, keep, task }
    try {
      replace(await compactMessages(messages, asking, signal))
    } catch (error) {
      if (signal.aborted) return false
      compactedTo = messages.length
      yield {
        type: 'notice',
        text: `Could not summarise the history; it stays as it is: ${faultOf(error).message}`,
      }
      return false
    }
    used = 0
    compactedTo = messages.length
    yield { type: 'compacted', before, after: messages.length }
    return true
  }

  /** Runs an optional step; its failure is a notice and does not lose the user's message. */
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

  /** Loads tools by writing a search call and its result into the history. */
  async function* load(wanted: readonly string[]): AsyncGenerator<AgentEvent> {
    const { deferredNames } = shelf.partition()
    const { loaded } = foldHistory(messages, SEARCH_TOOL)
    const names = wanted.filter((name) => deferredNames.has(name) && !loaded.has(name))
    if (names.length === 0) return
    const call = preloadCall(names)
    const result = await shelf.answer(call)
    const found = result ? loadedBy(call, result) : []
    if (!result || found.length === 0) return
    append(...asMessages(call, result))
    yield { type: 'result', call, result, loaded: found }
  }

  async function* steps(signal: AbortSignal): AsyncGenerator<AgentEvent, End> {
    const keeps = [KEPT, 1, 0]
    for (let step = 1; step <= maxSteps; step++) {
      // Do not compact again right away: the rest may still be long, and a failed compaction may fail again.
      const isGrown = messages.length >= compactedTo + 2 * KEPT
      if (isGrown && used > contextWindow * compactAt) yield* compact('auto', signal)
      const outcome = yield* askModel(signal)
      if ('error' in outcome) {
        const { kind, message } = outcome.error
        const keep = kind === 'too-long' ? keeps.shift() : undefined
        if (keep !== undefined && (yield* compact('auto', signal, keep))) continue
        const acceptable = withoutRefused(outcome.error, messages)
        if (acceptable) {
          yield { type: 'notice', text: LEFT_OUT[kind] ?? message }
          replace(acceptable)
          continue
        }
        if (outcome.said.trim() !== '')
          append({ role: 'assistant', content: [{ type: 'text', text: outcome.said }] })
        return signal.aborted ? { reason: 'stopped' } : { reason: 'failed', error: message }
      }
      const { reply, isReadable } = outcome
      adopt(outcome.history as readonly Message[])
      const content = toSendable(reply.content, messages)
      const usage = replyUsage(reply)
      used = usage.input + usage.cached + usage.output
      const stopReason = textOf(reply.stop_reason)
      if (content.length > 0) append({ role: 'assistant', content })
      yield { type: 'reply', content, usage, stopReason }
      const calls = content.filter(({ type }) => type === 'tool_use').map(toCall)
      if (calls.length > 0) {
        const running = { shelf, tools: own, runner, permission }
        const refused = CUT_SHORT.has(stopReason) ? NOT_RUN : isReadable ? undefined : NOT_READ
        const results: ToolResult[] = refused
          ? calls.map((call) => shelf.result(call, refused, { isError: true }))
          : yield* runCalls(calls, messages, running, signal)
        append({ role: 'user', content: results })
        if (signal.aborted) return { reason: 'stopped' }
      }
      if (stopReason === 'pause_turn' || (calls.length > 0 && stopReason !== 'refusal')) continue
      return endOf(stopReason)
    }
    return {
      reason: 'limit',
      error: `The model was asked ${maxSteps} times for one message. Say "go on" to continue.`,
    }
  }

  return {
    async *send(text, { signal = new AbortController().signal } = {}) {
      if (text.trim() === '') {
        yield { type: 'end', reason: 'failed', error: 'The message is empty, so nothing was sent.' }
        return
      }
      try {
        adopt(withoutOpenSearches(messages))
        append(...resultsForOpenCalls(messages.at(-1)))
        const added = yield* helped(async () => (await enrich?.(text, { messages })) ?? [], signal)
        const texts = [...added, text].map((one) => ({ type: 'text', text: one.toWellFormed() }))
        const blocks = texts.filter(isSomething)
        task = { role: 'user', content: blocks.length === 1 ? text.toWellFormed() : blocks }
        append(task)
        yield* load(yield* helped(() => preload(text), signal))
        yield { type: 'end', ...(yield* steps(signal)) }
      } catch (error) {
        yield { type: 'end', reason: 'failed', error: errorMessage(error) }
      } finally {
        task = undefined
      }
    },
    async *compact({ signal = new AbortController().signal } = {}) {
      if (messages.length === 0) yield { type: 'notice', text: 'There is nothing to summarise yet.' }
      else yield* compact('manual', signal)
    },
    get messages() {
      return messages
    },
    shelf,
    get model() {
      return model
    },
    set model(next) {
      model = next
    },
    get used() {
      return used
    },
    contextWindow,
  }
}

/** Stop reasons of replies that were cut off, whose last call may be incomplete. */
const CUT_SHORT = new Set(['max_tokens', 'model_context_window_exceeded', 'refusal'])
const NOT_RUN = 'This call was not run, because the reply it stands in was cut short. Make shorter calls.'
const LEFT_OUT: { readonly [kind: string]: string } = {
  image: 'The API refused an image. A note to the model replaces it.',
  thinking: "The API refused the model's earlier thinking, so it is left out.",
}
const NOT_READ =
  'This call was not run, because the input of a call in this reply is no JSON object. Make each call again.'

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

const shelved = new WeakMap<AgentTool, Tool>()

/** Removes the agent's own fields from a tool, because a definition copies all fields of its tool. */
function onShelf(tool: AgentTool): Tool {
  const { run: _, isReadOnly: __, accesses: ___, change: ____, ...plain } = tool
  const known = shelved.get(tool) ?? plain
  shelved.set(tool, known)
  return known
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal })
}
