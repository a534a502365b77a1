// A gateway that is to pass on whatever comes: the upstream's word counts, and the record still says what it was.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { arrayBuffer, text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { createMessagesGateway } from '../../src/messages/gateway.ts'
import { parseModeSetting } from '../../src/messages/plan.ts'
import { createMessagesMetrics } from '../../src/messages/server/metrics.ts'
import { type RequestRecord, serveMessagesGateway } from '../../src/messages/server/server.ts'
import { createMessagesUpstream } from '../../src/messages/upstream/messages.ts'
import { rankers } from '../../src/rankers/rankers.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** Post to a gateway in pass mode: what the client, the upstream and the record see. */
async function post(path: string, body: string) {
  let seen = ''
  const upstream = createServer(async (incoming, outgoing) => {
    seen = await text(incoming)
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end('{"from":"upstream"}')
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  ends.push(
    () => upstream.closeAllConnections(),
    () => upstream.close(),
  )
  const url = new URL(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`)
  const { lexical: own, bm25, regex } = rankers
  const gateway = createMessagesGateway({
    upstream: createMessagesUpstream({ url }),
    rankers: { own, bm25, regex },
    keep: [],
    notify: () => {},
  })
  let onDone: (done: RequestRecord) => void = () => {}
  const record = new Promise<RequestRecord>((resolve) => {
    onDone = resolve
  })
  const setting = parseModeSetting('pass')!
  const served = await serveMessagesGateway({
    gateway,
    setting,
    metrics: createMessagesMetrics(),
    port: 0,
    onDone,
  })
  ends.push(() => served.close())
  const answer = await fetch(served.url + path, { method: 'POST', body })
  return {
    answer: await answer.text(),
    mode: answer.headers.get('x-toolshelf-mode'),
    seen,
    done: await record,
  }
}

test.each(['/v1/messages', '/v1/messages/count_tokens'])(
  '%s is recorded with model and tools',
  async (path) => {
    const body = JSON.stringify({
      messages: [],
      tools: [
        { name: 'one', input_schema: {} },
        { name: 'two', input_schema: {} },
      ],
      model: 'some-model',
    })
    const { answer, mode, seen, done } = await post(path, body)
    expect({ answer, mode, seen }).toEqual({ answer: '{"from":"upstream"}', mode: 'pass', seen: body })
    expect(done).toMatchObject({
      path,
      status: 200,
      model: 'some-model',
      outcome: { mode: 'pass', toolsGiven: 2 },
    })
  },
)

test('what cannot be read is the upstream’s to judge', async () => {
  const { answer, seen, done } = await post('/v1/messages', '{"model": ')
  expect({ answer, seen }).toEqual({ answer: '{"from":"upstream"}', seen: '{"model": ' })
  expect(done).toMatchObject({ status: 200, model: undefined, outcome: { mode: 'pass', toolsGiven: 0 } })
})

test('a compressed body is passed on as it is', async () => {
  const { gateway, seen } = await open()
  const body = gzipSync('{"model":"m"}')
  const answer = await fetch(`${gateway}/v1/messages`, {
    method: 'POST',
    headers: { 'content-encoding': 'gzip' },
    body,
  })
  expect(answer.status).toBe(200)
  expect(seen()).toEqual(body)
})

test('a body without a length that grows too large is refused', async () => {
  const { gateway } = await open({ maxBodyBytes: 1000 })
  const body = new ReadableStream({
    start(controller) {
      for (let part = 0; part < 20; part++) controller.enqueue(Buffer.alloc(100, 'x'))
      controller.close()
    },
  })
  const request = { method: 'POST', body, duplex: 'half' } as RequestInit
  const answer = await fetch(`${gateway}/v1/messages`, request)
  expect(answer.status).toBe(413)
})

/** A gateway in pass mode, and the last body that its upstream got. */
async function open(options: { maxBodyBytes?: number } = {}) {
  let last = Buffer.alloc(0)
  const upstream = createServer(async (incoming, outgoing) => {
    last = Buffer.from(await arrayBuffer(incoming).catch(() => new ArrayBuffer(0)))
    outgoing.writeHead(200).end('{}')
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  ends.push(
    () => upstream.closeAllConnections(),
    () => upstream.close(),
  )
  const url = new URL(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`)
  const gateway = createMessagesGateway({ upstream: createMessagesUpstream({ url }) })
  const served = await serveMessagesGateway({
    gateway,
    setting: parseModeSetting('pass')!,
    port: 0,
    ...options,
  })
  ends.push(() => served.close())
  return { gateway: served.url, seen: () => last }
}
