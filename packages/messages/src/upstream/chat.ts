// An upstream for OpenAI's Chat Completions API: Ollama, vLLM, llama.cpp, LM Studio, OpenRouter, OpenAI and others.
import type { IncomingMessage } from 'node:http'
import { type Fields, fieldsOf, hash, listOf, textOf } from '@toolshelf/core/internal'
import type {
  ChosenWire,
  ClientTerms,
  Headers,
  HttpAnswer,
  MessagesRequest,
  SamplingOutcome,
  StreamEvent,
  Upstream,
  UpstreamWire,
} from '../types.ts'
import { plainTool } from '../wire/lower.ts'
import { ChatReply } from './chat-events.ts'
import { toMessages } from './chat-messages.ts'
import { type Dialect, dialectOf, fitSettings } from './dialects.ts'
import { pickRelayHeaders, readWhole, UpstreamError } from './http.ts'
import { maskable, withMaskedSecrets } from './mask.ts'
import {
  allowedTools,
  jsonOf,
  messagesErrorAnswer,
  type Names,
  namesOf,
  offer,
  openaiClient,
  toMessagesError,
} from './openai.ts'
import { readEvents, type ServerSentEvent } from './sse.ts'
import { type Thoughts, thoughtsOf } from './thoughts.ts'

export type ChatOptions = {
  /** The base URL, such as `http://127.0.0.1:11434/v1`. */
  readonly url: URL
  readonly key?: string
  readonly wire?: UpstreamWire
}

/**
 * Creates an upstream that speaks OpenAI's Chat Completions API, as local models do.
 *
 * @example
 * const upstream = createChatUpstream({ url: new URL('http://127.0.0.1:11434/v1') })
 */
export function createChatUpstream({ url, key, wire }: ChatOptions): Upstream {
  if (wire === 'native')
    throw new Error(
      'Chat Completions cannot speak the native wire. Use append or bridge, or leave the wire out.',
    )

  const client = openaiClient(url, key)
  const name = `chat ${url.host}`
  const chosen: ChosenWire = wire
    ? { wire, why: 'it is forced' }
    : { wire: 'append', why: 'Chat Completions has no tool references' }
  const upstream: Upstream = {
    ...client.upstream,
    name,
    api: 'chat',
    wireFor(model) {
      const { maxTools, searchesTools } = dialectOf(url, model)
      return {
        ...chosen,
        ...(maxTools === undefined ? {} : { maxTools }),
        ...(searchesTools ? { searchesTools } : {}),
      }
    },
    async sample(request, call) {
      const dialect = dialectOf(url, request.model)
      const thoughts = thoughtsOf(name, request.model)
      const body = toChatRequest(request, dialect, thoughts, call.terms)
      const accepted = await offer(body, SPARE, (smaller) => client.post('chat/completions', smaller, call))
      if ('refused' in accepted) return accepted
      const reply = new ChatReply(request, dialect, thoughts, call.terms?.api === 'chat')
      return sampled(accepted.incoming, request, reply, call.signal)
    },
  }
  return withMaskedSecrets(upstream, maskable(key))
}

/** Optional fields that are dropped if the server refuses them. */
const SPARE = [
  ...['stream_options', 'user', 'parallel_tool_calls', 'reasoning_effort', 'thinking', 'temperature'],
  ...['top_p', 'max_tokens', 'max_completion_tokens'],
]

async function sampled(
  incoming: IncomingMessage,
  request: MessagesRequest,
  reply: ChatReply,
  signal: AbortSignal,
): Promise<SamplingOutcome> {
  const headers = pickRelayHeaders(incoming)
  if (request.stream === true && !/json|html/.test(incoming.headers['content-type'] ?? ''))
    return { events: streamed(incoming, reply, signal), headers }
  const answer = await explained(() => readWhole(incoming), signal)
  const completion = fieldsOf(jsonOf(answer.body))
  if (listOf(completion.choices).length > 0) return { events: whole(completion, reply), headers }
  return {
    refused: completion.error
      ? toMessagesError({ ...answer, status: statusOf(completion) })
      : noCompletion(headers),
  }
}

/** Some gateways report an error with status 200 and the real status in the body. */
function statusOf({ error }: Fields): number {
  const { code } = fieldsOf(error)
  const status = typeof code === 'object' ? 502 : Number(code)
  return status >= 400 && status < 600 ? status : 502
}

function noCompletion(headers: Headers): HttpAnswer {
  const message = 'the upstream did not answer with a completion. Check the path of its URL; most end in /v1.'
  return messagesErrorAnswer(502, message, headers)
}

async function* whole(completion: Fields, reply: ChatReply): AsyncGenerator<StreamEvent> {
  yield* reply.add(completion)
  yield* reply.end(true)
}

async function* streamed(
  incoming: IncomingMessage,
  reply: ChatReply,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const events = readEvents(incoming.iterator({ destroyOnReturn: false }))
  let isDone = false
  try {
    while (!isDone) {
      const { value } = await explained(() => events.next(), signal)
      if (value === undefined) break
      isDone = value.data.trim() === '[DONE]'
      if (!isDone && value.data.trim() !== '') yield* reply.add(chunkOf(value))
    }
    yield* reply.end(isDone)
  } finally {
    // The connection can be reused once the response is read to the end.
    if (isDone) incoming.resume()
    else incoming.destroy()
  }
}

function chunkOf({ event, data }: ServerSentEvent): unknown {
  const chunk = jsonOf(data)
  if (chunk === undefined)
    throw new UpstreamError('the upstream streamed an event that is not valid JSON. Try again.')
  return event === 'error' ? { error: chunk } : chunk
}

/** Turns a connection failure in the middle of a response into an UpstreamError. */
async function explained<Value>(read: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
  try {
    return await read()
  } catch (error) {
    if (signal.aborted) throw error
    throw new UpstreamError(`the upstream's reply broke off (${(error as Error).message}). Try again.`, {
      cause: error,
    })
  }
}

function toChatRequest(
  request: MessagesRequest,
  dialect: Dialect,
  thoughts: Thoughts,
  terms?: ClientTerms,
): Fields {
  const names = namesOf(request.tools)
  const native = terms?.api === 'chat' ? terms.tools : undefined
  const tools = listOf(request.tools).map((tool) => toTool(fieldsOf(tool), names, native))
  return {
    model: request.model,
    // A client that speaks Chat Completions itself knows best what its server takes.
    ...(terms?.api === 'chat' ? terms.settings : settingsOf(request, dialect)),
    ...(request.stream === true ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...(tools.length > 0 ? { ...toToolChoice(request, names, terms), tools } : {}),
    messages: toMessages(request, { ...dialect, names, thoughts }),
  }
}

function settingsOf(request: MessagesRequest, dialect: Dialect): Fields {
  const stop = listOf(request.stop_sequences)
  const { maxTokens, temperature, topP, effort, thinks } = fitSettings(request, dialect)
  return {
    [dialect.limit]: maxTokens,
    temperature,
    top_p: topP,
    ...(stop.length > 0 ? { stop } : {}),
    ...(dialect.takesThinking && thinks !== undefined
      ? { thinking: { type: thinks ? 'enabled' : 'disabled' } }
      : {}),
    reasoning_effort: effort,
    response_format: formatOf(request),
    user: userOf(request.metadata),
  }
}

/** A client that defined the function in this API keeps fields that only it has, such as `strict`. */
function toTool(tool: Fields, names: Names, native: ClientTerms['tools'] | undefined): Fields {
  const { name, description, input_schema } = plainTool(tool)
  const { function: called, defer_loading: _, ...own } = native?.get(textOf(name)) ?? {}
  const { defer_loading: __, ...inner } = fieldsOf(called)
  // OpenAI refuses an object schema without `properties`.
  const parameters = { type: 'object', properties: {}, ...fieldsOf(input_schema) }
  const definition = { ...inner, name: names.short(textOf(name)), description, parameters }
  return { ...own, type: 'function', function: definition }
}

function toToolChoice(request: MessagesRequest, names: Names, terms: ClientTerms | undefined): Fields {
  const { type, name, disable_parallel_tool_use } = fieldsOf(request.tool_choice)
  const toFunction = (called: unknown) => ({
    type: 'function',
    function: { name: names.short(textOf(called)) },
  })
  const allowed = allowedTools(request, terms?.barred)
  const choices: Fields = {
    any: 'required',
    none: 'none',
    tool: toFunction(name),
  }
  return {
    tool_choice: allowed
      ? {
          type: 'allowed_tools',
          allowed_tools: { mode: allowed.mode, tools: allowed.tools.map((tool) => toFunction(tool.name)) },
        }
      : choices[textOf(type)],
    ...(disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {}),
  }
}

function formatOf({ output_config, output_format }: MessagesRequest): Fields | undefined {
  const { type, schema } = fieldsOf(fieldsOf(output_config).format ?? output_format)
  return type === 'json_schema' ? { type, json_schema: { name: 'reply', schema } } : undefined
}

/** The user id, within the length and characters that servers accept. */
function userOf(metadata: unknown): string | undefined {
  const user = textOf(fieldsOf(metadata).user_id)
  if (user === '') return undefined
  return /^[\w-]{6,64}$/.test(user) ? user : `user_${hash(user)}`
}
