// A server over HTTP whose every answer a test writes, of either protocol, with its status, headers and streams.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import type { Loose } from '../../../packages/testkit/src/talk.ts'

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

/** Answers with an empty result of the newer protocol. */
export const complete: Answer = (_, { reply }) => reply({ resultType: 'complete' })

/** A promise with its resolver, for what a server waits for. */
export function signal<Value = void>() {
  let resolve: (value: Value) => void = () => {}
  const promise = new Promise<Value>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
