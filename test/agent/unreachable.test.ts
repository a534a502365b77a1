// An API that cannot be reached: one sentence with its address, the cause and what to do, and no more tries than help.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createSocketServer, type Server } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { expect, onTestFinished, test } from 'vitest'
import type { MessagesClient } from '../../packages/agent/src/types.ts'
import { endOf, lines, over, said } from './support.ts'

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const http = (answer: RequestListener) => portOf(createServer(answer))

/** How a message ends with nothing but this behind the address, and how often it was tried again. */
async function endAt(client: MessagesClient) {
  const events = await said(over({ client, seen: [] }, { retries: 2 }).agent, 'go')
  const reasons = events.flatMap((event) => (event.type === 'retry' ? [event.reason] : []))
  return { error: endOf(events).error ?? '', reasons, told: lines(events) }
}

const clientOf = (baseURL: string) => new Anthropic({ apiKey: 'test', baseURL, maxRetries: 0 })

test('reports a refused connection with the address and what to do, and retries', async () => {
  const closed = createSocketServer()
  const url = `http://127.0.0.1:${await portOf(closed)}`
  closed.close()
  const { error, reasons } = await endAt(clientOf(url))
  expect(error).toBe(
    `Nothing listens at ${url}: the connection was refused. Start the API there. Check the address of the API.`,
  )
  expect(reasons).toEqual(Array(2).fill(`Nothing listens at ${url}: the connection was refused.`))
})

test('does not retry https against a plain HTTP server', async () => {
  const url = `https://127.0.0.1:${await http((_, response) => response.end())}`
  const { error, reasons } = await endAt(clientOf(url))
  expect(error).toContain(`Cannot connect securely to ${url}: it does not speak TLS`)
  expect(error).toContain('Use http://')
  expect(reasons).toEqual([])
})

test('reports an address that does not speak HTTP', async () => {
  const port = await portOf(createSocketServer((socket) => socket.on('error', () => {}).end('SSH-2.0\r\n')))
  const { error, reasons } = await endAt(clientOf(`http://127.0.0.1:${port}`))
  expect(error).toContain(`The server at http://127.0.0.1:${port} does not speak HTTP.`)
  expect(reasons).toEqual([])
})

test('a connection that breaks in the middle of a reply is tried again', async () => {
  const start = { type: 'message_start', message: { role: 'assistant', content: [], usage: {} } }
  const port = await http((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`event: message_start\ndata: ${JSON.stringify(start)}\n\n`, () => response.destroy())
  })
  const { error, reasons } = await endAt(clientOf(`http://127.0.0.1:${port}`))
  expect(error).toContain(`The connection to http://127.0.0.1:${port} broke off.`)
  expect(reasons).toHaveLength(2)
})

test('reports an address that answers with an unrelated page', async () => {
  const port = await http((_, response) => response.setHeader('content-type', 'text/html').end('<p>Hi'))
  const { error } = await endAt(clientOf(`http://127.0.0.1:${port}`))
  expect(error).toContain(`http://127.0.0.1:${port} did not answer like the Messages API`)
})

test('an address without the endpoint names the path that was added', async () => {
  const port = await http((_, response) => response.writeHead(404).end('{}'))
  const { error } = await endAt(clientOf(`http://127.0.0.1:${port}/v1`))
  expect(error).toContain(`http://127.0.0.1:${port}/v1, to which /v1/messages is added`)
})

/** A client that fails as the SDK does. */
const failing = (code: string, error: object = new Error('Connection error.')): MessagesClient => {
  const reason = Object.assign(new Error('the system says so'), { code })
  const cause = new TypeError('fetch failed', { cause: reason })
  const create = () => Promise.reject(Object.assign(error, code === '' ? {} : { cause }))
  return { baseURL: 'https://api.example.com', messages: { create } } as MessagesClient
}

test.each([
  ['ENOTFOUND', 'The host of https://api.example.com cannot be resolved.', 2],
  ['EAI_AGAIN', 'The host of https://api.example.com cannot be resolved.', 2],
  ['UND_ERR_CONNECT_TIMEOUT', 'https://api.example.com did not answer in time.', 2],
  ['ENETUNREACH', 'There is no network route to https://api.example.com.', 2],
  ['ECONNRESET', 'The connection to https://api.example.com broke off.', 2],
  [
    'SELF_SIGNED_CERT_IN_CHAIN',
    'its certificate was rejected (SELF_SIGNED_CERT_IN_CHAIN). Set NODE_EXTRA_CA_CERTS',
    0,
  ],
  ['CERT_HAS_EXPIRED', 'its certificate was rejected (CERT_HAS_EXPIRED)', 0],
  ['ENEWLY_MADE', 'Cannot connect to https://api.example.com: the system says so.', 2],
])('%s: %s', async (code, sentence, tries) => {
  const { error, reasons, told } = await endAt(failing(code))
  expect(error).toContain(sentence)
  expect(reasons).toHaveLength(tries)
  expect(told.at(-1)).toContain('end failed')
})

test('a request that took too long, and a client without an address', async () => {
  const late = Object.assign(new Error('Request timed out.'), { name: 'APIConnectionTimeoutError' })
  expect((await endAt(failing('', late))).error).toContain('https://api.example.com did not answer in time')
  const { messages } = failing('ECONNREFUSED')
  expect((await endAt({ messages })).error).toContain('Nothing listens at the API')
})
