// Opens one session with a server that a test writes: over HTTP in the test's process, or as a shell script.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import type { ServerConfig } from '../../../src/mcp/index.ts'
import {
  openServerSession,
  type ServerSession,
  type ServerSessionOptions,
} from '../../../src/mcp/session/index.ts'
import type { Loose } from '../../support/talk.ts'
import { defaults } from './servers.ts'

type Given = Partial<Omit<ServerSessionOptions, 'config'>> & { readonly config?: Partial<ServerConfig> }

export type OpenSession = {
  readonly session: ServerSession
  /** `[method, params]` of each notification. */
  readonly heard: readonly (readonly [string, object])[]
  /** Resolves to the reason and the last words when the session ends by itself. */
  readonly ended: Promise<readonly [reason: string, stderr: string]>
  readonly hasEnded: () => boolean
}

/** Opens a session, which is closed after the test. */
export async function openSession(
  transport: ServerConfig['transport'],
  { config = {}, ...given }: Given = {},
): Promise<OpenSession> {
  const heard: [string, object][] = []
  let isOver = false
  let end: (ending: readonly [string, string]) => void = () => {}
  const ended = new Promise<readonly [string, string]>((resolve) => {
    end = resolve
  })
  const session = await openServerSession({
    config: { ...defaults('one'), transport, ...config },
    clientInfo: { name: 'tester', version: '2.0.0' },
    capabilities: {},
    isKnownLegacy: false,
    authProvider: undefined,
    limits: undefined,
    redact: (text) => text,
    signal: new AbortController().signal,
    onNotification: (method, params) => void heard.push([method, params]),
    onRequest: async () => ({}),
    onEnd: (...ending) => {
      isOver = true
      end(ending)
    },
    ...given,
  })
  onTestFinished(() => session.close())
  return { session, heard, ended, hasEnded: () => isOver }
}

export type Exchange = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Answers with a result as JSON. */
  reply(result: object): void
  /** Answers with an error as JSON. */
  refuse(code: number, message: string): void
  /** Begins, or continues, a stream of events. */
  stream(message: object): void
}

type Answer = (params: Loose, exchange: Exchange, message: Loose) => void

/** Answers by method; `GET` takes requests without a body, `answer` the client's answers, and `any` all the rest. */
export type Answers = { readonly [method: string]: Answer }

export const discovered = (capabilities: object = {}): Answer => {
  const _meta = { 'io.modelcontextprotocol/serverInfo': { name: 'newer', version: '3.0.0' } }
  const rest = { instructions: 'Be brief.', ttlMs: 0, cacheScope: 'private', resultType: 'complete' }
  return (_, { reply }) => reply({ supportedVersions: ['2026-07-28'], capabilities, _meta, ...rest })
}

export const greeted = (capabilities: object = {}): Answer => {
  const serverInfo = { name: 'older', version: '1.0.0' }
  return ({ protocolVersion }, { reply }) =>
    reply({ protocolVersion, capabilities, serverInfo, instructions: 'Be kind.' })
}

/** A server over HTTP in this process, ended after the test; `asked` has each message in the order of arrival. */
export async function answering(answers: Answers): Promise<{ url: string; asked: Loose[] }> {
  const asked: Loose[] = []
  const listener = createServer(async (request, response) => {
    const message = request.method === 'POST' ? ((await json(request)) as Loose) : undefined
    asked.push(message ?? { method: request.method })
    const method = message === undefined ? request.method : (message.method ?? 'answer')
    const answer = answers[method] ?? answers.any ?? unknown
    answer(message?.params ?? {}, exchangeOf(request, response, message), message)
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  onTestFinished(() => {
    listener.closeAllConnections()
    listener.close()
  })
  return { url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp`, asked }
}

const unknown: Answer = (_, { response, refuse }, message) => {
  if (message?.id !== undefined && message.method !== undefined) refuse(-32601, 'Method not found')
  else response.writeHead(message ? 202 : 405).end()
}

function exchangeOf(request: IncomingMessage, response: ServerResponse, message: Loose): Exchange {
  const send = (outcome: object) => {
    const text = JSON.stringify({ jsonrpc: '2.0', id: message?.id, ...outcome })
    if (response.headersSent) return void response.end(`data: ${text}\n\n`)
    response.writeHead(200, { 'content-type': 'application/json' }).end(text)
  }
  return {
    request,
    response,
    reply: (result) => send({ result }),
    refuse: (code, reason) => send({ error: { code, message: reason } }),
    stream(sent) {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...sent })}\n\n`)
    },
  }
}

export const http = (url: string, headers: { readonly [name: string]: string } = {}) =>
  ({ kind: 'http', url, headers }) as const

/** Opens a session with a server over HTTP that answers so. */
export async function openHttp(answers: Answers, given: Given = {}) {
  const { url, asked } = await answering(answers)
  return { asked, ...(await openSession(http(url), given)) }
}

/** Answers with an empty result of the newer protocol. */
export const complete: Answer = (_, { reply }) => reply({ resultType: 'complete' })

/** Long enough for a busy machine. */
export const options = { timeoutMs: 60_000 }

export const methods = (asked: readonly Loose[]) => asked.map(({ method }) => method)

/** The message of an error, behind an exclamation mark. */
export const messageOf = (work: Promise<unknown>) => work.then(String, (error: Error) => `! ${error.message}`)

/** A promise with its resolver, for what a server waits for. */
export function signal<Value = void>() {
  let resolve: (value: Value) => void = () => {}
  const promise = new Promise<Value>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
