// Connections that are kept: those that an upstream closes meanwhile, and those of clients.
import { createServer, type Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { afterEach, expect, test } from 'vitest'
import { serveMessagesGateway } from '../../packages/cli/src/http/messages/server.ts'
import { createMessagesGateway } from '../../packages/messages/src/gateway.ts'
import { fetchWhole } from '../../packages/messages/src/upstream/http.ts'
import { createMessagesUpstream } from '../../packages/messages/src/upstream/messages.ts'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** Answers the first request of a connection; the next one finds it closed. */
async function startForgetful(isAnswering = true): Promise<{ url: URL; seen: string[] }> {
  const seen: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let requests = 0
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      seen.push(String(chunk).split('\r\n\r\n')[1] ?? '')
      if (requests++ > 0 || !isAnswering) socket.destroy()
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return { url: new URL(`http://127.0.0.1:${port}/`), seen }
}

const request = (body: string) => ({
  method: 'POST',
  headers: {},
  body,
  signal: new AbortController().signal,
})

test('a request that meets a closed connection is sent again on a new one', async () => {
  const { url, seen } = await startForgetful()
  await fetchWhole(url, request('one'))
  const answer = await fetchWhole(url, request('two'))
  expect(answer).toMatchObject({ status: 200, body: 'ok' })
  expect(seen).toEqual(['one', 'two', 'two'])
})

test('reports an upstream that closes a new connection, once', async () => {
  const { url, seen } = await startForgetful(false)
  await expect(fetchWhole(url, request('one'))).rejects.toThrow('cannot be reached (ECONNRESET)')
  expect(seen).toEqual(['one'])
})

test('a body that is still coming is sent again whole', async () => {
  const { url, seen } = await startForgetful()
  await fetchWhole(url, request('one'))
  const flow = {
    size: 3,
    into: (target: Writable) => {
      target.write('tw')
      target.end('o')
    },
    whole: Promise.resolve([Buffer.from('tw'), Buffer.from('o')]),
    drop: () => {},
  }
  const answer = await fetchWhole(url, { ...request(''), body: flow })
  expect(answer).toMatchObject({ status: 200, body: 'ok' })
  expect(seen.at(-1)).toBe('two')
})

test('a client’s connection is kept longer than clients keep theirs', async () => {
  const upstream = createMessagesUpstream({ url: new URL('http://127.0.0.1:1') })
  const { url, close } = await serveMessagesGateway({ gateway: createMessagesGateway({ upstream }), port: 0 })
  ends.push(() => void close())
  const response = await fetch(`${url}/health`)
  await response.arrayBuffer()
  expect(response.headers.get('keep-alive')).toBe('timeout=75')
})
