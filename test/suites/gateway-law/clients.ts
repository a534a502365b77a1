// Clients of the three APIs that know nothing of tool search: the official SDKs, with the bytes that came beside what they made of them.
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { type Block, blocksOf, joined } from './model.ts'

export type Api = 'messages' | 'chat' | 'responses'

export type Reply = {
  readonly blocks: readonly Block[]
  readonly stop: string
  readonly usage: { readonly input: number; readonly output: number }
  /** The bytes of the answer. */
  readonly raw: string
  readonly headers: Headers
  readonly calls: readonly { readonly id: string; readonly name: string }[]
}

export type Talk = {
  readonly api: Api
  readonly stream: boolean
  readonly model: string
  readonly tools: readonly Loose[]
  readonly thinks?: boolean
  /** What the client does to the history that it sends again. */
  readonly habit?: Habit
  readonly more?: Loose
}

export const habits = ['none', 'drops thinking', 'moves breakpoints', 'rewrites text'] as const
export type Habit = (typeof habits)[number]

/** A conversation of one client; the gateway may be another one for each request. */
export function createClient({ api, stream, model, tools, thinks, habit = 'none', more = {} }: Talk) {
  const history: Loose[] = []
  const speak = { messages: askMessages, chat: askChat, responses: askResponses }[api]
  return {
    history,
    say(text: string) {
      history.push({ role: 'user', content: text })
    },
    body: () => bodyOf(api, { model, tools, thinks, history: sentBy(habit, history), more }),
    /** The next reply; an error that the SDK throws is the caller's. */
    async ask(url: string, signal?: AbortSignal): Promise<Reply> {
      let raw: Promise<string> | undefined
      let headers = new Headers()
      const fetchBoth: typeof fetch = async (...given) => {
        const answer = await fetch(...given)
        headers = answer.headers
        raw = answer.clone().text()
        raw.catch(() => {})
        return answer
      }
      const options = { apiKey: 'key', maxRetries: 0, fetch: fetchBoth }
      const body = { ...this.body(), stream }
      const { reply, kept } = await speak(url, options, body, signal ? { signal } : {})
      history.push(...kept)
      return { ...reply, blocks: joined(reply.blocks), raw: (await raw) ?? '', headers }
    },
    /** What the client ran, or further words if there is nothing to run. */
    goOn({ calls }: Reply, turn: number) {
      if (calls.length === 0) return this.say(`Go on, ${turn}.`)
      if (api === 'messages')
        history.push({
          role: 'user',
          content: calls.map(({ id, name }) => ({
            ...{ type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text: `${name} ran` }] },
          })),
        })
      for (const { id, name } of api === 'messages' ? [] : calls)
        history.push(
          api === 'chat'
            ? { role: 'tool', tool_call_id: id, content: `${name} ran` }
            : { type: 'function_call_output', call_id: id, output: `${name} ran` },
        )
    },
  }
}

function bodyOf(api: Api, { model, tools, thinks, history, more }: Loose): Loose {
  const isPlain = ({ type }: Loose) => type === undefined
  if (api === 'messages')
    return {
      ...{ model, max_tokens: 4096, tools, messages: history, ...more },
      ...(thinks ? { thinking: { type: 'enabled', budget_tokens: 1024 } } : {}),
    }
  const fields = ({ name, description, input_schema: parameters }: Loose) => ({
    name,
    description,
    parameters,
  })
  const deferral = ({ defer_loading: isDeferred }: Loose) => (isDeferred ? { defer_loading: true } : {})
  if (api === 'chat')
    return {
      ...{ model, messages: history, ...more, ...(thinks ? { reasoning_effort: 'low' } : {}) },
      tools: tools
        .filter(isPlain)
        .map((tool: Loose) => ({ type: 'function', function: fields(tool), ...deferral(tool) })),
    }
  return {
    ...{ model, input: history, store: false, ...more, ...(thinks ? { reasoning: { effort: 'low' } } : {}) },
    tools: tools
      .filter(isPlain)
      .map((tool: Loose) => ({ type: 'function', ...fields(tool), strict: false, ...deferral(tool) })),
  }
}

/** The history as a client with this habit sends it; all but the first are habits of the Messages API. */
function sentBy(habit: Habit, history: readonly Loose[]): Loose[] {
  if (habit === 'none') return [...history]
  return history.map(({ role, content }, index) => {
    const blocks = blocksOf(content)
    const isLast = index === history.length - 1
    if (habit === 'drops thinking') {
      const kept = blocks.filter(({ type }) => type !== 'thinking')
      return { role, content: kept.length > 0 ? kept : [{ type: 'text', text: '…' }] }
    }
    if (habit === 'rewrites text')
      return { role, content: isLast ? content : blocks.map(({ caller: _, ...rest }) => rest) }
    if (!isLast && index > 0) return { role, content }
    const mark = (block: Loose, at: number) =>
      at === blocks.length - 1 ? { ...block, cache_control: { type: 'ephemeral' } } : block
    return { role, content: blocks.map(mark) }
  })
}

type Asked = { readonly reply: Omit<Reply, 'raw' | 'headers'>; readonly kept: readonly Loose[] }
type Ask = (url: string, options: Loose, body: Loose, more: Loose) => Promise<Asked>

const askMessages: Ask = async (baseURL, options, body, more) => {
  const { messages } = new Anthropic({ baseURL, ...options })
  const { content, stop_reason, usage }: Loose = body.stream
    ? await messages.stream(body, more).finalMessage()
    : await messages.create(body, more)
  const cached = (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0)
  const calls = content.filter(({ type }: Loose) => type === 'tool_use')
  const blocks = content.flatMap(({ type, text, thinking, name, input }: Loose) => {
    if (type === 'text') return [{ text }]
    if (type === 'thinking') return [{ thinking }]
    return type === 'tool_use' ? [{ call: name, input }] : []
  })
  return {
    kept: content.length > 0 ? [{ role: 'assistant', content }] : [],
    reply: {
      blocks,
      calls,
      stop: stop_reason,
      usage: { input: usage.input_tokens + cached, output: usage.output_tokens },
    },
  }
}

const askChat: Ask = async (url, options, body, more) => {
  const { completions } = new OpenAI({ baseURL: `${url}/v1`, ...options }).chat
  const asked = body.stream ? { ...body, stream_options: { include_usage: true } } : body
  const { choices, usage }: Loose = body.stream
    ? await completions.stream(asked, more).finalChatCompletion()
    : await completions.create(asked, more)
  const [{ message, finish_reason: reason }] = choices
  const given = message.tool_calls ?? []
  const tool_calls = given.map(({ id, type, function: { name, arguments: json } }: Loose) => ({
    ...{ id, type, function: { name, arguments: json } },
  }))
  return {
    kept: [{ role: 'assistant', content: message.content, ...(given.length > 0 ? { tool_calls } : {}) }],
    reply: {
      blocks: [
        { text: message.content ?? '' },
        ...given.map(({ function: { name, arguments: json } }: Loose) => ({
          call: name,
          input: JSON.parse(json),
        })),
      ],
      calls: given.map(({ id, function: { name } }: Loose) => ({ id, name })),
      stop: reason === 'tool_calls' ? 'tool_use' : reason === 'stop' ? 'end_turn' : reason,
      usage: { input: usage.prompt_tokens, output: usage.completion_tokens },
    },
  }
}

const askResponses: Ask = async (url, options, body, more) => {
  const { responses } = new OpenAI({ baseURL: `${url}/v1`, ...options })
  const { output, status, error, usage }: Loose = body.stream
    ? await responses.stream(body, more).finalResponse()
    : await responses.create(body, more)
  if (status === 'failed') throw new Error(error?.message)
  const calls = output.filter(({ type }: Loose) => type === 'function_call')
  const blocks = output.flatMap(({ type, content, name, arguments: json }: Loose) => {
    if (type === 'message') return content.map(({ text }: Loose) => ({ text }))
    return type === 'function_call' ? [{ call: name, input: JSON.parse(json) }] : []
  })
  return {
    kept: output.map(({ parsed_arguments: _, ...item }: Loose) => item),
    reply: {
      blocks,
      calls: calls.map(({ call_id: id, name }: Loose) => ({ id, name })),
      stop: status !== 'completed' ? status : calls.length > 0 ? 'tool_use' : 'end_turn',
      usage: { input: usage.input_tokens, output: usage.output_tokens },
    },
  }
}
