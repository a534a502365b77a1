// The official SDKs as clients of the gateway: each talks in its own API and runs the calls it gets, so that a test can
// compare what they and the model saw.
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { type Fields, omitFields } from '../../../src/lib/json.ts'

/** A tool in no API's spelling. */
export type PlainTool = { readonly name: string; readonly description: string; readonly isDeferred?: boolean }

export type TalkOptions = {
  readonly url: string
  readonly model: string
  readonly isStream: boolean
  readonly tools: readonly PlainTool[]
  readonly headers?: Record<string, string>
  /** Called after each reply; may return another gateway's URL, on which the conversation continues. */
  readonly onReply?: () => Promise<string | undefined>
}

/** The calls that a client ran, and the last text it got. */
export type Talk = {
  readonly calls: readonly string[]
  readonly text: string
  readonly ids: readonly string[]
}

export type Client = (options: TalkOptions, prompts: readonly string[]) => Promise<Talk>

const SCHEMA = { type: 'object' as const, properties: { stripes: { type: 'integer' } } }
const MAX_REPLIES = 20
export const resultOf = (name: string) => `${name} ran`

const messagesClient: Client = async (options, prompts) => {
  const { model, isStream, headers = {} } = options
  const messages: Anthropic.MessageParam[] = []
  const talk = newTalk()
  const tools = options.tools.map(({ name, description, isDeferred }) => ({
    ...{ name, description, input_schema: SCHEMA },
    ...(isDeferred ? { defer_loading: true } : {}),
  }))
  for (const prompt of prompts) {
    messages.push({ role: 'user', content: prompt })
    for (let reply = 0; reply < MAX_REPLIES; reply++) {
      const client = new Anthropic({ apiKey: 'x', baseURL: talk.url(options), maxRetries: 0 })
      const body = { model, max_tokens: 1000, tools, messages }
      const message = isStream
        ? await client.messages.stream(body, { headers }).finalMessage()
        : await client.messages.create(body, { headers })
      messages.push({ role: 'assistant', content: message.content })
      const calls = message.content.filter((block) => block.type === 'tool_use')
      talk.text = message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
      await talk.replied(options)
      if (calls.length === 0) break
      for (const { id, name } of calls) talk.ran(id, name)
      const results = calls.map(({ id, name }) => ({ tool_use_id: id, content: resultOf(name) }))
      messages.push({ role: 'user', content: results.map((one) => ({ type: 'tool_result', ...one })) })
    }
  }
  return talk
}

const chatClient: Client = async (options, prompts) => {
  const { model, isStream, headers = {} } = options
  const messages: OpenAI.ChatCompletionMessageParam[] = []
  const talk = newTalk()
  const tools = options.tools.map(({ name, description, isDeferred }) => ({
    ...{ type: 'function' as const, function: { name, description, parameters: SCHEMA } },
    ...(isDeferred ? { defer_loading: true } : {}),
  }))
  for (const prompt of prompts) {
    messages.push({ role: 'user', content: prompt })
    for (let reply = 0; reply < MAX_REPLIES; reply++) {
      const client = new OpenAI({ apiKey: 'x', baseURL: `${talk.url(options)}/v1`, maxRetries: 0 })
      const body = { model, tools, messages }
      const completion = isStream
        ? await client.chat.completions.stream(body, { headers }).finalChatCompletion()
        : await client.chat.completions.create(body, { headers })
      const message = completion.choices[0]!.message
      const { content, tool_calls: toolCalls } = message
      messages.push({ role: 'assistant', content, ...(toolCalls ? { tool_calls: toolCalls } : {}) })
      talk.text = message.content ?? ''
      await talk.replied(options)
      if (!message.tool_calls?.length) break
      for (const call of message.tool_calls) {
        const name = call.type === 'function' ? call.function.name : call.custom.name
        talk.ran(call.id, name)
        messages.push({ role: 'tool', tool_call_id: call.id, content: resultOf(name) })
      }
    }
  }
  return talk
}

const responsesClient: Client = async (options, prompts) => {
  const { model, isStream, headers = {} } = options
  const input: OpenAI.Responses.ResponseInputItem[] = []
  const talk = newTalk()
  const tools = options.tools.map(({ name, description, isDeferred }) => ({
    ...{ type: 'function' as const, name, description, parameters: SCHEMA, strict: false },
    ...(isDeferred ? { defer_loading: true } : {}),
  }))
  for (const prompt of prompts) {
    input.push({ role: 'user', content: prompt })
    for (let reply = 0; reply < MAX_REPLIES; reply++) {
      const client = new OpenAI({ apiKey: 'x', baseURL: `${talk.url(options)}/v1`, maxRetries: 0 })
      const body = { model, tools, input, store: false, include: ['reasoning.encrypted_content' as const] }
      const response: OpenAI.Responses.Response = isStream
        ? await client.responses.stream(body, { headers }).finalResponse()
        : await client.responses.create(body, { headers })
      input.push(...response.output.map(asInput))
      talk.text = response.output_text
      const calls = response.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
      await talk.replied(options)
      if (calls.length === 0) break
      for (const { call_id, name } of calls) {
        talk.ran(call_id, name)
        input.push({ type: 'function_call_output', call_id, output: resultOf(name) })
      }
    }
  }
  return talk
}

/** The SDK adds fields of its own to an item, which the API does not know. */
function asInput(item: OpenAI.Responses.ResponseOutputItem): OpenAI.Responses.ResponseInputItem {
  return omitFields({ ...item }, 'parsed_arguments') as unknown as OpenAI.Responses.ResponseInputItem
}

export const clients: { readonly [api: string]: Client } = {
  messages: messagesClient,
  chat: chatClient,
  responses: responsesClient,
}

function newTalk() {
  const calls: string[] = []
  const ids: string[] = []
  let moved: string | undefined
  return {
    calls,
    ids,
    text: '',
    url: ({ url }: TalkOptions) => moved ?? url,
    async replied({ onReply }: TalkOptions) {
      moved = (await onReply?.()) ?? moved
    },
    ran(id: string, name: string) {
      calls.push(name)
      ids.push(id)
    },
  }
}

/** The fields of a request that differ between two gateways for no reason of ours. */
export const withoutIds = (value: unknown): Fields =>
  JSON.parse(JSON.stringify(value).replaceAll(/"(?:call|toolu|fc|chatcmpl)_[\w-]+"/g, '"id"')) as Fields
