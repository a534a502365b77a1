// What the tests of the agent share: the offline model behind a real server, the official client, and ways to read.
import Anthropic from '@anthropic-ai/sdk'
import { onTestFinished } from 'vitest'
import { createAgent } from '../../packages/agent/src/agent.ts'
import type {
  Agent,
  AgentEvent,
  AgentOptions,
  AgentTool,
  MessagesClient,
  ToolRunner,
} from '../../packages/agent/src/types.ts'
import { createMessagesMetrics } from '../../packages/cli/src/http/messages/metrics.ts'
import { serveMessagesGateway } from '../../packages/cli/src/http/messages/server.ts'
import { createShelf, type Shelf, type ShelfOptions } from '../../packages/core/src/index.ts'
import { createCollector } from '../../packages/core/src/reply.ts'
import type { Message, Tool, ToolUse } from '../../packages/core/src/types.ts'
import type { MessagesGateway } from '../../packages/messages/src/gateway.ts'
import type { RequestOutcome } from '../../packages/messages/src/observe-reply.ts'
import { validateRequest } from '../../packages/messages/src/oracle/validate.ts'
import type { Upstream } from '../../packages/messages/src/types.ts'
import { createScriptUpstream, type ObservedRequest } from '../../packages/messages/src/upstream/script.ts'
import { readScript } from '../../packages/messages/src/upstream/script-file.ts'

export const MODEL = 'claude-opus-4-5'
export const SUMMARY = 'the talk so far in short'

/** Every script knows how to summarise. */
export const scripted = (...rules: object[]) => ({
  rules: [{ when: 'Summarise this conversation', do: [{ say: SUMMARY }] }, ...rules],
})

export type Model = { readonly client: MessagesClient; readonly seen: ObservedRequest[] }

/** A script over HTTP, asked by the official client. */
export async function served(
  script: object,
  around: (upstream: Upstream) => Upstream = (upstream) => upstream,
): Promise<Model> {
  const { upstream, seen } = watched(script)
  const setting = { mode: 'auto', share: 10 } as const
  const gateway = bare(around(upstream))
  const server = await serveMessagesGateway({ gateway, setting, metrics: createMessagesMetrics(), port: 0 })
  onTestFinished(() => server.close())
  return { client: new Anthropic({ apiKey: 'test', baseURL: server.url, maxRetries: 0 }), seen }
}

/** The model's own words over HTTP, with nothing of a gateway between: the oracle sees every request. */
function bare(upstream: Upstream): MessagesGateway {
  const outcome = (): RequestOutcome => ({
    ...{ mode: 'pass', wire: undefined, why: 'bare', loaded: [] },
    ...{ toolsGiven: 0, toolsVisible: 0, searches: 0, rounds: 0, figures: () => undefined },
  })
  return {
    upstream,
    reply: async (request, { call }) => ({
      outcome: outcome(),
      sampled: await upstream.sample(request, call),
    }),
    count: async (request, { call }) => ({
      outcome: outcome(),
      answer: await upstream.countTokens(request, call),
    }),
  }
}

/** The same without a server, and without streaming: each reply is a whole message. */
export function whole(script: object): Model {
  const { upstream, seen } = watched(script)
  const create = async (
    request: never,
    options: Parameters<MessagesClient['messages']['create']>[1] = {},
  ) => {
    const { headers = {}, signal = new AbortController().signal } = options
    const sampled = await upstream.sample(request, { headers, signal })
    if ('refused' in sampled) {
      const { status, body } = sampled.refused
      throw Object.assign(new Error(body), { status, error: JSON.parse(body) })
    }
    const collector = createCollector()
    for await (const event of sampled.events) collector.add(event)
    return collector.message()
  }
  return { client: { messages: { create } }, seen }
}

/** Replies as they are given, whatever they hold, of an API that refuses what the oracle does; then "ok". */
export function saying(...replies: object[]): Model & { readonly requests: Request[] } {
  const requests: Request[] = []
  const create = async ({ stream: _, ...request }: Request & { stream?: boolean }) => {
    requests.push(request)
    const refused = validateRequest(request)
    if (refused) throw Object.assign(new Error(refused.body.error.message), { status: refused.status })
    const reply = replies.shift() ?? { content: [{ type: 'text', text: 'ok' }] }
    return { stop_reason: 'end_turn', usage: {}, ...reply }
  }
  return { client: { messages: { create } } as MessagesClient, seen: [], requests }
}

type Request = { readonly messages: readonly Message[]; readonly [field: string]: unknown }

function watched(script: object): { upstream: Upstream; seen: ObservedRequest[] } {
  const seen: ObservedRequest[] = []
  const onRequest = (one: ObservedRequest) => void seen.push(one)
  return { upstream: createScriptUpstream({ script: readScript(script), onRequest }), seen }
}

export function shelfWith(tools: readonly Tool[] = [], options: ShelfOptions = {}): Shelf {
  return createShelf({ tools, rank: 'lexical', environment: {}, notify: () => {}, ...options })
}

type Options = Partial<AgentOptions> & { readonly script?: object }

export type Talk = Model & { readonly agent: Agent; readonly shelf: Shelf }

/** An agent over a served script. */
export async function talking(script: object, options: Partial<AgentOptions> = {}): Promise<Talk> {
  return over(await served(script), options)
}

export function over(model: Model, options: Options = {}): Talk {
  const { shelf = shelfWith(), ...rest } = options
  const agent = createAgent({ client: model.client, model: MODEL, wait: async () => {}, ...rest, shelf })
  return { ...model, agent, shelf }
}

export async function heard(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const all: AgentEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

export const said = (agent: Agent, text: string, signal?: AbortSignal) =>
  heard(agent.send(text, signal ? { signal } : {}))

/** Events in lines, fragments joined. */
export function lines(events: readonly AgentEvent[]): string[] {
  const told: string[] = []
  let isOpen = false
  for (const event of events) {
    if (event.type === 'text' && isOpen) told[told.length - 1] += event.text
    else told.push(lineOf(event))
    isOpen = event.type === 'text'
  }
  return told
}

function lineOf(event: AgentEvent): string {
  switch (event.type) {
    case 'text':
    case 'thinking':
      return `${event.type} ${event.text}`
    case 'call':
      return `call ${event.call.name}`
    case 'result':
      return `result ${event.call.name}: ${event.loaded.length > 0 ? `loaded ${event.loaded}` : textIn(event.result)}`
    case 'retry':
      return `retry ${event.attempt} after ${event.milliseconds}`
    case 'end':
      return event.error === undefined ? `end ${event.reason}` : `end ${event.reason}: ${event.error}`
    case 'inside':
      return `inside ${lineOf(event.event)}`
    case 'notice':
      return `notice ${event.text}`
    default:
      return event.type
  }
}

export function textIn({ content }: { readonly content?: unknown }): string {
  const blocks = Array.isArray(content) ? (content as { text?: string }[]) : [{ text: String(content) }]
  return blocks.map(({ text = '' }) => text).join('')
}

export const endOf = (events: readonly AgentEvent[]) =>
  events.at(-1) as Extract<AgentEvent, { readonly type: 'end' }>

/** Why the oracle refused a request, for every request that it refused. */
export const refusals = ({ seen }: Model) =>
  seen.flatMap(({ refused }) => (refused === undefined ? [] : [refused]))

export const searchesIn = (messages: readonly Message[]) =>
  messages
    .flatMap(({ content }) => (Array.isArray(content) ? (content as { name?: string }[]) : []))
    .filter(({ name }) => name === 'ToolSearch').length

/** Answers with its name and what it was given. */
export const echo = (name: string, more: Partial<AgentTool> = {}): AgentTool => ({
  name,
  description: `Echoes for ${name}.`,
  input_schema: { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false },
  run: ({ text = '' }) => `${name} ran ${text}`.trim(),
  ...more,
})

/** Tools of a server, such as mcp__weather__forecast. */
export const serverTools = (server: string, ...names: string[]): Tool[] =>
  names.map((name) => ({
    name,
    server,
    description: `The ${name} of ${server}.`,
    input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  }))

/** Runs the tools of servers, and notes what it ran. */
export function runnerOn(shelf: Shelf): ToolRunner & { readonly ran: string[] } {
  const ran: string[] = []
  return {
    ran,
    async run(call: ToolUse) {
      const { server, original } = shelf.resolve(call)
      ran.push(`${server}/${original}`)
      return shelf.result(call, `${original} of ${server} ran`)
    },
  }
}
