// Requests with a user's key, as an attacker writes them: to `serve` with a model behind it, and to `mcp --http`.
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { initialize } from '../mcp/support/gateway-http.ts'

export type Posted = { readonly status: number; readonly text: string; readonly body: Loose }

/** Sends a body in these chunks; with more than one, nothing says how long it is. */
export function post(
  url: string,
  key: string,
  chunks: readonly string[],
  more: { readonly signal?: AbortSignal; readonly headers?: Loose } = {},
): Promise<Posted> {
  const { signal, headers } = more
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        ...{ method: 'POST', agent: false, ...(signal ? { signal } : {}) },
        headers: {
          ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          ...{ accept: 'application/json, text/event-stream', ...headers },
        },
      },
      async (response) => {
        const read = await text(response).catch(() => '')
        const body = read.startsWith('{') ? JSON.parse(read) : undefined
        resolve({ status: response.statusCode ?? 0, text: read, body })
      },
    )
    sent.on('error', reject)
    if (chunks.length === 1) sent.end(chunks[0])
    else {
      for (const chunk of chunks) sent.write(chunk)
      sent.end()
    }
  })
}

/** A model that answers as the test says, until the test is over → its address, and the requests that it has seen. */
export async function startModel(answer: (seen: Loose, outgoing: ServerResponse) => unknown) {
  const seen: Loose[] = []
  const server = createServer(async (incoming: IncomingMessage, outgoing) => {
    const body = JSON.parse((await text(incoming)) || '{}')
    // A gateway that starts asks whether there is anybody.
    if (body.model === undefined) return void outgoing.end('{}')
    seen.push(body)
    const reply = await answer(body, outgoing)
    if (reply !== undefined)
      outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

/** A reply of one word, with this usage. */
export const reply = (usage: object = { input_tokens: 1, output_tokens: 1 }) => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
  ...{ content: [{ type: 'text', text: 'hi' }], usage },
})

/** A session of the older protocol → sends a message, or many as one body; returns the answers by their ids. */
export async function openSession(url: string, key: string) {
  const send = async (body: object, headers: Loose = {}) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...{ accept: 'application/json, text/event-stream', ...headers },
      },
      body: JSON.stringify(body),
    })
    const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: {'))
    const answers = lines.map((line) => JSON.parse(line.slice('data: '.length)) as Loose)
    return { response, answers: new Map(answers.map((one) => [one.id, one])) }
  }
  const { response } = await send(initialize)
  const session = { 'mcp-session-id': response.headers.get('mcp-session-id') ?? '' }
  await send({ jsonrpc: '2.0', method: 'notifications/initialized' }, session)
  return async (body: object) => {
    const { response, answers } = await send(body, session)
    return Object.assign(answers, { status: response.status })
  }
}

/** A call of a tool, as a message. */
export const call = (id: number, name: string, input: object) => ({
  ...{ jsonrpc: '2.0', id, method: 'tools/call' },
  params: { name, arguments: input },
})

/** The text of the answer to a call. */
export const said = (answer: Loose | undefined): string =>
  (answer?.result?.content ?? []).map(({ text = '' }: Loose) => text).join('\n')
