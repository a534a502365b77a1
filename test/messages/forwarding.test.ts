// What a client can reach through the gateway with the operator's key, and what comes back of it: paths, headers of one
// connection, and errors that name the key.
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { createChatUpstream } from '../../packages/messages/src/upstream/chat.ts'
import { createResponsesUpstream } from '../../packages/messages/src/upstream/responses.ts'
import {
  ask,
  closeAll,
  dial,
  requestFor,
  searchReply,
  send,
  startFake,
  startGateway,
  stream,
  textReply,
  tool,
  unhandled,
  wireEvents,
} from './support/faults.ts'

afterEach(async () => {
  await closeAll()
  expect(unhandled).toEqual([])
})

const KEY = 'sk-operator-0123456789'
const operator = { messages: { key: KEY } }
const talking = () => startFake((outgoing) => stream(outgoing, textReply('hi')))

describe('paths', () => {
  it('that no rule names go nowhere', async () => {
    const fake = await talking()
    const { url } = await startGateway(fake.url, operator)
    for (const line of [
      ...['GET /v1/files', 'POST /v1/files', 'GET /v1/organizations/users', 'GET /v1/messages'],
      ...['POST /v1/messages/batches', 'DELETE /v1/models/m', 'GET /v1/models/..%2f..%2fadmin'],
      ...['GET /v1/models/%2e%2e/admin', 'GET /v1/models/a/b', 'GET /v1/..%2fadmin', 'POST /v1/messages/'],
      ...['POST /v1//messages', 'POST /messages/batches', 'POST /v1/messages%2fbatches'],
    ]) {
      const { socket, ended } = await dial(url)
      socket.write(`${line} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)
      expect(await ended, line).toMatch(/^HTTP\/1\.1 404[\s\S]*not_found_error/)
    }
    expect(fake.came).toEqual([])
  })
})

describe('headers', () => {
  it('that Connection names stay here, in both directions', async () => {
    const fake = await startFake((outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream', connection: 'x-up', 'x-up': '1' })
      outgoing.end(textReply('hi'))
    })
    const { url } = await startGateway(fake.url, operator)
    for (const mode of ['pass', 'off']) {
      const headers = {
        connection: 'close, X-Inner',
        'x-inner': 'secret',
        'x-outer': 'fine',
        'x-toolshelf-mode': mode,
      }
      const got = await ask({ url }, requestFor('pass'), headers)
      expect(got.headers['x-up']).toBeUndefined()
    }
    expect(fake.came).toHaveLength(2)
    for (const came of fake.came) {
      expect(came.headers['x-inner']).toBeUndefined()
      expect(came.headers['x-outer']).toBe('fine')
    }
  })
})

describe('headers that other servers take for a method or a path', () => {
  it.each(['pass', 'off', 'shelve'])('stay here, so that the list of paths holds (%s)', async (mode) => {
    const fake = await talking()
    const gateway = await startGateway(fake.url, { mode, ...operator })
    const headers = {
      ...{ 'x-http-method-override': 'DELETE', 'x-http-method': 'DELETE', 'x-method-override': 'DELETE' },
      ...{ 'x-original-url': '/v1/files', 'x-rewrite-url': '/v1/files', 'x-forwarded-prefix': '/admin' },
    }
    await ask(gateway, requestFor(mode), headers)
    await send(`${gateway.url}/v1/models/m`, { method: 'GET', headers })
    expect(fake.came).toHaveLength(2)
    for (const { headers: sent } of fake.came)
      expect(Object.keys(sent).filter((name) => name in headers)).toEqual([])
  })
})

describe("the operator's key in an error of the upstream", () => {
  const told = JSON.stringify({
    type: 'error',
    error: { type: 'authentication_error', message: `invalid x-api-key: ${KEY} (Bearer ${KEY})` },
  })
  const refusing = (body: string | Buffer = told, more: { [name: string]: string } = {}) =>
    startFake((outgoing) =>
      outgoing.writeHead(401, { 'content-type': 'application/json', 'x-echo': KEY, ...more }).end(body),
    )

  it.each(['pass', 'off', 'shelve', 'emulate'])(
    'is not shown to the client, nor in the log (%s)',
    async (mode) => {
      const fake = await refusing()
      const gateway = await startGateway(fake.url, { ...operator, mode })
      const got = await ask(gateway, requestFor(mode))
      expect(got.status).toBe(401)
      expect(got.text).toContain('invalid x-api-key: [redacted]************ (Bearer [redacted]************)')
      expect(JSON.stringify([got, gateway.done])).not.toContain(KEY)
    },
  )

  it.each(['off', 'shelve', 'emulate'])(
    "the client's own is shown to it, and not in the log (%s)",
    async (mode) => {
      const fake = await refusing()
      const gateway = await startGateway(fake.url, { mode })
      for (const [name, value] of Object.entries({ 'x-api-key': KEY, authorization: `Bearer ${KEY}` })) {
        const got = await ask(gateway, requestFor(mode), { [name]: value })
        expect(got.text).toContain(KEY)
      }
      expect(gateway.done.map(({ error }) => error)).toEqual(
        Array.from({ length: 2 }, () => expect.stringContaining('invalid x-api-key: [redacted]')),
      )
      expect(JSON.stringify(gateway.done)).not.toContain(KEY)
    },
  )

  it('nor from models, counts or a body that is compressed', async () => {
    const fake = await refusing(gzipSync(told), { 'content-encoding': 'gzip' })
    const { url } = await startGateway(fake.url, operator)
    const models = await send(`${url}/v1/models`, { method: 'GET' })
    const count = await send(`${url}/v1/messages/count_tokens`, { body: JSON.stringify(requestFor('off')) })
    for (const got of [models, count]) {
      expect([got.status, got.headers['content-encoding']]).toEqual([401, undefined])
      expect(got.text).toContain('[redacted]')
      expect(JSON.stringify(got)).not.toContain(KEY)
    }
  })

  it('nor in the middle of a stream', async () => {
    const fake = await startFake((outgoing, _, number) =>
      number === 0
        ? stream(outgoing, searchReply('shelve'))
        : stream(outgoing, wireEvents({ type: 'error', error: { type: 'api_error', message: `no ${KEY}` } })),
    )
    const gateway = await startGateway(fake.url, { ...operator, mode: 'shelve' })
    const got = await ask(gateway, requestFor('shelve', { stream: true }))
    expect(got.text).toContain('no [redacted]')
    expect(JSON.stringify([got, gateway.done])).not.toContain(KEY)
  })

  it.each([createChatUpstream, createResponsesUpstream])(
    'nor from an upstream of another language',
    async (create) => {
      const fake = await refusing()
      const gateway = await startGateway(create({ url: fake.url, key: KEY }))
      const got = await ask(gateway, requestFor('off'))
      expect(got.text).toContain('[redacted]')
      expect(JSON.stringify([got, gateway.done])).not.toContain(KEY)
    },
  )
})

it("one client's odd tool costs other clients no field of theirs", async () => {
  const fake = await startFake((outgoing, { body }) => {
    if (!body.includes('"odd"')) return stream(outgoing, textReply('hi'))
    outgoing.writeHead(400, { 'content-type': 'application/json' })
    outgoing.end('{"error":{"message":"tools.0.custom.odd: Extra inputs are not permitted"}}')
  })
  const gateway = await startGateway(fake.url, { mode: 'off' })
  const asking = (apiKey: string, field: object) =>
    ask(gateway, { ...requestFor('off'), tools: [{ ...tool('a'), ...field }] }, { 'x-api-key': apiKey })
  expect((await asking('one', { odd: 1 })).status).toBe(200)
  await asking('one', { strict: true })
  await asking('two', { strict: true })
  expect(fake.came.map(({ body }) => body.includes('"strict":true'))).toEqual([false, false, false, true])
})
