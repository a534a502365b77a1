// A gateway that is to pass on whatever comes: the upstream's word counts, and the record still says what it was.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { createMessagesUpstream, type RequestRecord } from '../doors.ts'
import { open } from '../suites/gateway-law/gateways.ts'

/** A gateway in pass mode, what its upstream got last, and its records. */
async function passing(more: object = {}) {
  const records: RequestRecord[] = []
  let last = Buffer.alloc(0)
  const upstream = createServer(async (incoming, outgoing) => {
    last = await buffer(incoming).catch(() => Buffer.alloc(0))
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end('{"from":"upstream"}')
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    upstream.closeAllConnections()
    upstream.close()
  })
  const url = new URL(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`)
  const gateway = await open(createMessagesUpstream({ url }), {
    ...{ mode: 'pass', onDone: (one: RequestRecord) => records.push(one) },
    ...more,
  })
  const post = (path: string, request: RequestInit) =>
    fetch(`${gateway.url}/v1/${path}`, { method: 'POST', ...request })
  return { post, seen: () => last, records }
}

const tools = ['one', 'two'].map((name) => ({ name, input_schema: {} }))
const body = JSON.stringify({ messages: [], tools, model: 'some-model' })

test.each([
  ['messages', body, 'some-model', 2],
  ['messages/count_tokens', body, 'some-model', 2],
  // What cannot be read is the upstream's to judge.
  ['messages', '{"model": ', undefined, 0],
])('%s: %s is passed on and recorded', async (path, body, model, toolsGiven) => {
  const { post, seen, records } = await passing()
  const answer = await post(path, { body })
  expect(await answer.text()).toBe('{"from":"upstream"}')
  expect([answer.headers.get('x-toolshelf-mode'), String(seen())]).toEqual(['pass', body])
  await expect
    .poll(() => records)
    .toMatchObject([{ status: 200, model, outcome: { mode: 'pass', toolsGiven } }])
})

test('a compressed body is passed on as it is', async () => {
  const { post, seen } = await passing()
  const body = gzipSync('{"model":"m"}')
  expect((await post('messages', { headers: { 'content-encoding': 'gzip' }, body })).status).toBe(200)
  expect(seen()).toEqual(body)
})

test('a body without a length that grows too large is refused', async () => {
  const { post } = await passing({ maxBodyBytes: 1000 })
  const parts = Array.from({ length: 20 }, () => Buffer.alloc(100, 'x'))
  const request = { body: ReadableStream.from(parts), duplex: 'half' } as unknown as RequestInit
  expect((await post('messages', request)).status).toBe(413)
})
