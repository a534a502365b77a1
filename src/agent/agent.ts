// The agent: asks the model, runs what it calls, asks again. One loop, told as events.
import type { Message, ToolResult, ToolUse } from '../core/index.ts'
import { type Fields, fieldsOf, textOf } from '../core/oracle/json.ts'
import { blocksOf } from '../core/oracle/turns.ts'
import { type Asked, ask } from './ask.ts'
import { compactMessages } from './compaction.ts'
import { loadedBy, runCalls } from './run-calls.ts'
import type { Agent, AgentEvent, AgentOptions, AgentTool, EndReason, Usage } from './types.ts'

const MAX_TOKENS = 8192
const MAX_STEPS = 200
const RETRIES = 4
const COMPACT_AT = 0.8
const CONTEXT_WINDOW = 200_000
const SEARCH_TOOL = 'ToolSearch'

export function createAgent(options: AgentOptions): Agent {
  const { client, shelf, tools = [], runner, permission, system, enrich, onHistory = () => {} } = options
  const { maxTokens = MAX_TOKENS, maxSteps = MAX_STEPS, retries = RETRIES, wait = sleep } = options
  const { preload = () => [], contextWindow = CONTEXT_WINDOW, compactAt = COMPACT_AT } = options
  const own = new Map(tools.map((tool): [string, AgentTool] => [tool.name, tool]))
  const { byName } = shelf.tools().pool
  const missing = tools.filter((tool) => byName.get(tool.name)?.tool !== tool)
  if (missing.length > 0) shelf.add(missing)
  let { model } = options
  let messages: Message[] = [...(options.messages ?? [])]
  let used = 0

  const append = (...added: Message[]) => {
    messages = [...messages, ...added]
    onHistory({ type: 'append', messages: added })
  }
  /** The shelf's notes join the history where it put them. */
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

  async function* askModel(signal: AbortSignal): AsyncGenerator<AgentEvent, Asked> {
    const request = { model, max_tokens: maxTokens, ...(system ? { system } : {}), messages }
    return yield* ask(request as never, { client, shelf, retries, wait }, signal)
  }

  async function* compact(signal: AbortSignal): AsyncGenerator<AgentEvent, boolean> {
    const before = messages.length
    try {
      replace(await compactMessages(messages, { client, shelf, model, maxTokens }, signal))
    } catch (error) {
      yield {
        type: 'notice',
        text: `The history could not be summarised, so it stays as it is: ${(error as Error).message}`,
      }
      return false
    }
    used = 0
    yield { type: 'compacted', before, after: messages.length }
    return true
  }

  /** Loads tools as if the model had searched for them. */
  async function* load(names: readonly string[]): AsyncGenerator<AgentEvent> {
    if (names.length === 0) return
    const call = {
      id: `toolu_preload_${messages.length}`,
      name: SEARCH_TOOL,
      input: { query: `select:${names.join(',')}` },
    }
    const result = await shelf.answer(call)
    if (!result || result.is_error) return
    yield { type: 'result', call, result, loaded: loadedBy(result) }
    append(
      { role: 'assistant', content: [{ type: 'tool_use', ...call }] },
      { role: 'user', content: [result] },
    )
  }

  async function* steps(signal: AbortSignal): AsyncGenerator<AgentEvent, End> {
    let isShortened = false
    for (let step = 1; step <= maxSteps; step++) {
      if (used > contextWindow * compactAt) yield* compact(signal)
      const asked = yield* askModel(signal)
      if ('error' in asked) {
        const { kind, message } = asked.error
        if (kind === 'too-long' && !isShortened && (yield* compact(signal))) {
          isShortened = true
          continue
        }
        if (asked.said !== '') append({ role: 'assistant', content: [{ type: 'text', text: asked.said }] })
        return kind === 'stopped' ? { reason: 'stopped' } : { reason: 'failed', error: message }
      }
      const { reply } = asked
      adopt(asked.messages as readonly Message[])
      const content = blocksOf(reply.content)
      const usage = usageOf(reply)
      used = usage.input + usage.cached + usage.output
      const stopReason = textOf(reply.stop_reason)
      yield { type: 'reply', content, usage, stopReason }
      const calls = content.filter(({ type }) => type === 'tool_use').map(toCall)
      if (content.length > 0) append({ role: 'assistant', content })
      if (calls.length > 0) {
        const results: ToolResult[] = yield* runCalls(
          calls,
          messages,
          { shelf, tools: own, runner, permission },
          signal,
        )
        append({ role: 'user', content: results })
        if (signal.aborted) return { reason: 'stopped' }
        continue
      }
      if (stopReason === 'pause_turn') continue
      return endOf(stopReason)
    }
    return {
      reason: 'limit',
      error: `The model was asked ${maxSteps} times for one message. Say "go on" to continue.`,
    }
  }

  return {
    async *send(text, { signal = new AbortController().signal } = {}) {
      try {
        const added = (await enrich?.(text, { messages })) ?? []
        const blocks = [...added, text].map((one) => ({ type: 'text', text: one }))
        append({ role: 'user', content: added.length === 0 ? text : blocks })
        yield* load(preload(text))
        yield { type: 'end', ...(yield* steps(signal)) }
      } catch (error) {
        yield { type: 'end', reason: 'failed', error: (error as Error).message }
      }
    },
    async *compact({ signal = new AbortController().signal } = {}) {
      if (messages.length === 0) yield { type: 'notice', text: 'There is nothing to summarise yet.' }
      else yield* compact(signal)
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

type End = { readonly reason: EndReason; readonly error?: string }

function endOf(stopReason: string): End {
  if (stopReason === 'refusal') return { reason: 'refused', error: 'The model refused to answer.' }
  if (stopReason === 'max_tokens' || stopReason === 'model_context_window_exceeded')
    return { reason: 'limit', error: 'The reply reached its limit of tokens. Say "go on" to continue.' }
  return { reason: 'done' }
}

function toCall({ id, name, input }: Fields): ToolUse {
  return { id: textOf(id), name: textOf(name), input: input ?? {} }
}

function usageOf({ usage }: Fields): Usage {
  const count = (field: string) => Number(fieldsOf(usage)[field] ?? 0) || 0
  return {
    input: count('input_tokens') + count('cache_creation_input_tokens'),
    cached: count('cache_read_input_tokens'),
    output: count('output_tokens'),
  }
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        resolve()
      },
      { once: true },
    )
  })
}
