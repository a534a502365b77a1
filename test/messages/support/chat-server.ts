// A Chat Completions server on loopback that is strict on purpose: whatever it does not know, it answers with a 400.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { type Fields, fieldsOf, listOf } from '../../../packages/core/src/lib/json.ts'
import { createCollector } from '../../../packages/core/src/reply.ts'
import type {
  Headers,
  HttpAnswer,
  MessagesRequest,
  StreamEvent,
  Upstream,
} from '../../../packages/messages/src/types.ts'
import { type ChatOptions, createChatUpstream } from '../../../packages/messages/src/upstream/chat.ts'

/** A whole answer, or the data of streamed events; `cut` breaks the connection in place of an end. */
export type ChatAnswer =
  | { readonly status?: number; readonly headers?: Headers; readonly body: unknown }
  | { readonly data: readonly unknown[]; readonly cut?: true }

export type ChatRequest = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Fields
  readonly json: string
}

export type ChatServer = { readonly url: URL; readonly requests: ChatRequest[]; readonly ports: Set<number> }

/** What one server takes beyond what all take, and what only it refuses. */
export type ServerRules = {
  readonly fields?: readonly string[]
  readonly assistantFields?: readonly string[]
  readonly fault?: (body: Fields) => string | undefined
}

/** Serves until the test is over; refuses what is wrong before it asks for an answer. */
export async function serveChat(
  answer: (request: ChatRequest) => ChatAnswer,
  rules: ServerRules = {},
): Promise<ChatServer> {
  const requests: ChatRequest[] = []
  const ports = new Set<number>()
  const server = createServer(async (incoming, outgoing) => {
    ports.add(incoming.socket.remotePort ?? 0)
    const request = await read(incoming)
    requests.push(request)
    const fault = request.method === 'POST' ? faultOf(request.body, rules) : undefined
    await write(fault === undefined ? answer(request) : refusal(fault), outgoing)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`), requests, ports }
}

async function read(incoming: IncomingMessage): Promise<ChatRequest> {
  const { method = '', url: path = '', headers } = incoming
  const json = await text(incoming)
  return { method, path, headers, json, body: json === '' ? {} : JSON.parse(json) }
}

async function write(answer: ChatAnswer, outgoing: ServerResponse): Promise<void> {
  if ('body' in answer) {
    const isText = typeof answer.body === 'string'
    const kind = isText ? 'text/html' : 'application/json'
    outgoing.writeHead(answer.status ?? 200, { 'content-type': kind, ...answer.headers })
    outgoing.end(isText ? answer.body : JSON.stringify(answer.body))
    return
  }
  outgoing.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_1' })
  for (const item of answer.data)
    await new Promise((resolve) =>
      outgoing.write(`data: ${typeof item === 'string' ? item : JSON.stringify(item)}\n\n`, resolve),
    )
  if (answer.cut) outgoing.destroy()
  else outgoing.end()
}

export function refusal(message: string): ChatAnswer {
  return { status: 400, body: { error: { message, type: 'invalid_request_error', param: null, code: null } } }
}

const KNOWN = new Set([
  ...[
    'model',
    'messages',
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'max_tokens',
    'max_completion_tokens',
  ],
  ...[
    'temperature',
    'top_p',
    'stop',
    'stream',
    'stream_options',
    'user',
    'reasoning_effort',
    'response_format',
  ],
])
const KNOWN_IN_MESSAGE: Record<string, readonly string[]> = {
  system: ['role', 'content'],
  user: ['role', 'content'],
  assistant: ['role', 'content', 'tool_calls'],
  tool: ['role', 'tool_call_id', 'content'],
}

function faultOf(
  body: Fields,
  { fields = [], assistantFields = [], fault }: ServerRules,
): string | undefined {
  const unknown = Object.keys(body).find((field) => !KNOWN.has(field) && !fields.includes(field))
  if (unknown) return `Unrecognized request argument supplied: ${unknown}`
  if (body.stream_options && !body.stream) return 'stream options without a stream'
  if (body.tool_choice && !body.tools) return "'tool_choice' is only allowed when 'tools' are specified"
  return (
    toolFault(listOf(body.tools)) ??
    messageFault(listOf(body.messages), assistantFields) ??
    orderFault(listOf(body.messages)) ??
    fault?.(body)
  )
}

function toolFault(tools: readonly unknown[]): string | undefined {
  const isWrong = (tool: Fields) => {
    const called = fieldsOf(tool.function)
    const keys = [...Object.keys(tool), ...Object.keys(called)].sort().join()
    const { type, properties } = fieldsOf(called.parameters)
    const isKnown = ['description,function,name,parameters,type', 'function,name,parameters,type'].includes(
      keys,
    )
    return !isKnown || type !== 'object' || !properties || !/^[\w-]{1,64}$/.test(String(called.name))
  }
  const index = tools.map(fieldsOf).findIndex(isWrong)
  return index < 0 ? undefined : `tools[${index}] is wrong: ${JSON.stringify(tools[index])}`
}

function messageFault(messages: readonly unknown[], assistantFields: readonly string[]): string | undefined {
  const isWrong = (message: Fields) => {
    const known = [
      ...(KNOWN_IN_MESSAGE[String(message.role)] ?? []),
      ...(message.role === 'assistant' ? assistantFields : []),
    ]
    if (Object.keys(message).some((field) => !known.includes(field))) return true
    if (message.content === null) return !message.tool_calls
    return message.role === 'user' && Array.isArray(message.content)
      ? !message.content.every((part) => isPart(fieldsOf(part)))
      : typeof message.content !== 'string' || message.content === ''
  }
  const index = messages.map(fieldsOf).findIndex(isWrong)
  return index < 0 ? undefined : `messages[${index}] is wrong: ${JSON.stringify(messages[index])}`
}

function isPart(part: Fields): boolean {
  if (part.type === 'text') return typeof part.text === 'string' && Object.keys(part).length === 2
  return part.type === 'image_url' && /^(data:image|http)/.test(String(fieldsOf(part.image_url).url))
}

/** The calls of a message are answered directly after it, one by one and in order; only the first may be the system's. */
function orderFault(messages: readonly unknown[]): string | undefined {
  let due: unknown[] = []
  for (const [index, { role, tool_calls, tool_call_id }] of messages.map(fieldsOf).entries()) {
    if (role === 'system' && index > 0) return 'System message must be at the beginning.'
    if (role === 'tool' && due.shift() !== tool_call_id) return `messages[${index}] answers no call`
    if (role !== 'tool' && due.length > 0) return `messages[${index}]: calls without an answer: ${due}`
    if (role === 'assistant') due = listOf(tool_calls).map((call) => fieldsOf(call).id)
  }
  return due.length > 0 ? `calls without an answer: ${due}` : undefined
}

export const chunk = (delta: Fields, finish_reason: string | null = null): Fields => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'small-1',
  choices: [{ index: 0, delta, finish_reason }],
})

export const completion = (message: Fields, finish_reason = 'stop', usage: Fields = {}): Fields => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'small-1',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
  usage,
})

export const hello: MessagesRequest = {
  model: 'small-1',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hello' }],
}

export const callWith = (headers: Headers = {}) => ({ headers, signal: new AbortController().signal })

export type Talk = { readonly events: StreamEvent[]; readonly message: Fields; readonly server: ChatServer }

/** One request to a server that gives this answer. */
export async function talk(
  answer: ChatAnswer,
  request: Partial<MessagesRequest> = {},
  options: Partial<ChatOptions> = {},
): Promise<Talk> {
  const server = await serveChat(() => answer)
  const upstream = createChatUpstream({ url: server.url, ...options })
  return { ...(await sample(upstream, { ...hello, ...request })), server }
}

export async function sample(upstream: Upstream, request: MessagesRequest): Promise<Omit<Talk, 'server'>> {
  const sampled = await upstream.sample(request, callWith())
  if ('refused' in sampled) throw new Error(`refused: ${sampled.refused.body}`)
  const collector = createCollector()
  const events: StreamEvent[] = []
  for await (const event of sampled.events) {
    events.push(event)
    collector.add(event)
  }
  return { events, message: collector.message() }
}

/** The refusal of one request. */
export async function refused(
  answer: ChatAnswer,
  request: Partial<MessagesRequest> = {},
): Promise<HttpAnswer> {
  const server = await serveChat(() => answer)
  const sampled = await createChatUpstream({ url: server.url }).sample({ ...hello, ...request }, callWith())
  if (!('refused' in sampled)) throw new Error('it was not refused')
  return sampled.refused
}
