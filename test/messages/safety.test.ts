// Who gets in, what gets out: hosts, origins, keys, redirects, and words of clients in headers, logs and metrics.
import { networkInterfaces } from 'node:os'
import { afterEach, describe, expect, it } from 'vitest'
import type { Upstream } from '../../packages/messages/src/types.ts'
import { createChatUpstream } from '../../packages/messages/src/upstream/chat.ts'
import { createMessagesUpstream } from '../../packages/messages/src/upstream/messages.ts'
import { createResponsesUpstream } from '../../packages/messages/src/upstream/responses.ts'
import { problemsIn } from '../operate/support/prometheus.ts'
import {
  ask,
  closeAll,
  deadAddress,
  dial,
  type Fake,
  requestFor,
  searchReply,
  send,
  startFake,
  startGateway,
  stream,
  textReply,
  unhandled,
} from './support/faults.ts'

afterEach(async () => {
  await closeAll()
  expect(unhandled).toEqual([])
})

const MODES = ['pass', 'emulate', 'shelve'] as const
const SECRET = 'gateway-secret-0123456789'
const SECOND = 'a-second-key-0123456789ab'
const talking = () => startFake((outgoing) => stream(outgoing, textReply('hi')))

describe('where it listens', () => {
  it('on loopback, unless configured otherwise', async () => {
    const fake = await talking()
    const { url } = await startGateway(fake.url)
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    const { port } = new URL(url)
    const outer = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal)
    if (outer)
      await expect(send(`http://${outer.address}:${port}/health`, { method: 'GET' })).rejects.toThrow()
  })

  it.each(['0.0.0.0', '::', '192.0.2.1', ''])('beyond it only with a key, or openly: %j', async (address) => {
    const fake = await talking()
    await expect(startGateway(fake.url, { address })).rejects.toThrow(/set the option "keys".*"isOpen"/)
  })

  it.each([{ keys: [{ secret: SECRET }] }, { isOpen: true }])('then it does: %j', async (more) => {
    const fake = await talking()
    const { url } = await startGateway(fake.url, { address: '0.0.0.0', ...more })
    const { port } = new URL(url)
    expect((await send(`http://127.0.0.1:${port}/health`, { method: 'GET' })).status).toBe(200)
  })
})

describe('pages in a browser', () => {
  const hosts: [string, number][] = [
    ['localhost', 200],
    ['LOCALHOST:1234', 200],
    ['127.0.0.1:80', 200],
    ['[::1]:80', 200],
    ['tools.example.com', 200],
    ['evil.example', 403],
    ['evil.example:3388', 403],
    ['127.0.0.1.evil.example', 403],
    ['localhost.evil.example', 403],
    ['evil.example#localhost', 403],
    ['localhost@evil.example', 403],
    ['0', 403],
  ]
  it.each(hosts)('the host "%s": %i', async (host, status) => {
    const fake = await talking()
    const { url } = await startGateway(fake.url, { hosts: ['Tools.Example.com'] })
    for (const path of ['/metrics', '/v1/models', '/v1/messages', '/v1/models/m']) {
      const method = path === '/v1/messages' ? 'POST' : 'GET'
      const body = method === 'POST' ? JSON.stringify(requestFor('emulate')) : undefined
      const got = await send(url + path, { method, headers: { host }, ...(body ? { body } : {}) })
      expect(got.status).toBe(status)
      if (status === 403) expect(JSON.parse(got.text)).toMatchObject({ error: { type: 'permission_error' } })
    }
    if (status === 403) expect(fake.came).toEqual([])
  })

  it.each([
    ['http://localhost:5173', 200],
    ['http://127.0.0.1', 200],
    ['https://tools.example.com', 200],
    ['https://evil.example', 403],
    ['http://localhost.evil.example', 403],
    ['null', 403],
    ['', 403],
    ['chrome-extension://abcdef', 403],
  ])('the origin "%s": %i', async (origin, status) => {
    const fake = await talking()
    const gateway = await startGateway(fake.url, { hosts: ['tools.example.com'] })
    const got = await ask(gateway, requestFor('emulate'), { origin })
    expect(got.status).toBe(status)
    expect(got.headers['access-control-allow-origin']).toBeUndefined()
    expect(fake.came).toHaveLength(status === 200 ? 1 : 0)
  })

  it('an open gateway has any host, but not pages of any origin', async () => {
    const fake = await talking()
    const { url } = await startGateway(fake.url, { address: '0.0.0.0', isOpen: true })
    const here = { url: `http://127.0.0.1:${new URL(url).port}` }
    expect((await ask(here, requestFor('emulate'), { host: 'my.box' })).status).toBe(200)
    const page = { host: 'my.box', origin: 'http://evil.example' }
    expect((await ask(here, requestFor('emulate'), page)).status).toBe(403)
  })
})

describe('the key of the gateway', () => {
  const admitted: [string, { [name: string]: string }][] = [
    ['x-toolshelf-key', { 'x-toolshelf-key': SECRET }],
    ['x-api-key', { 'x-api-key': SECRET }],
    ['a bearer token', { authorization: `Bearer ${SECRET}` }],
    ['a bearer token in other letters', { authorization: `bearer ${SECRET}` }],
    ['two of them', { 'x-api-key': SECRET, authorization: `Bearer ${SECRET}` }],
    ['all of them', { 'x-toolshelf-key': SECRET, 'x-api-key': SECRET, authorization: `Bearer ${SECRET}` }],
    ['the last of two keys', { 'x-api-key': SECOND }],
  ]
  const keys = [{ secret: SECRET }, { secret: SECOND }]
  const withoutSecret = (fake: Fake) => {
    expect(fake.came.length).toBeGreaterThan(0)
    expect(JSON.stringify(fake.came)).not.toMatch(/gateway-secret|a-second-key|x-toolshelf/i)
  }

  it.each(admitted)('is taken as %s, and goes no further', async (_, headers) => {
    const fake = await talking()
    const { url } = await startGateway(fake.url, { keys })
    for (const mode of MODES) {
      const got = await ask({ url }, requestFor(mode), { ...headers, 'x-toolshelf-mode': mode })
      expect(got.status).toBe(200)
    }
    const body = JSON.stringify(requestFor('emulate'))
    await send(`${url}/v1/messages/count_tokens`, { headers, body })
    for (const path of ['/v1/models', '/v1/models/m']) await send(url + path, { method: 'GET', headers })
    expect((await send(`${url}/metrics`, { method: 'GET', headers })).status).toBe(200)
    withoutSecret(fake)
  })

  it.each([createChatUpstream, createResponsesUpstream])(
    'nor to an upstream of another language',
    async (create) => {
      const fake = await startFake((outgoing) => outgoing.writeHead(400).end('{}'))
      const gateway = await startGateway(create({ url: fake.url }), { keys })
      for (const [, headers] of admitted)
        expect((await ask(gateway, requestFor('emulate'), headers)).status).toBe(400)
      withoutSecret(fake)
    },
  )

  const refused: { [name: string]: string }[] = [
    {},
    { 'x-api-key': '' },
    { 'x-api-key': SECRET.slice(0, -1) },
    { 'x-api-key': `${SECRET}2` },
    { 'x-api-key': SECRET.toUpperCase() },
    { authorization: SECRET.slice(1) },
    { authorization: `Basic ${SECRET}` },
    { 'x-toolshelf-key': 'undefined' },
    { cookie: `key=${SECRET}` },
  ]
  it.each(refused)('without it nothing is answered: %j', async (headers) => {
    const fake = await talking()
    const { url } = await startGateway(fake.url, { keys })
    for (const path of ['/v1/messages', '/v1/messages/count_tokens', '/v1/anything', '/nothing']) {
      const got = await send(`${url}${path}?key=${SECRET}`, {
        headers,
        body: JSON.stringify(requestFor('pass')),
      })
      expect(got.status).toBe(401)
      // A path that both vendors' APIs have, with a header that OpenAI's clients send.
      const isOpenai = path === '/v1/anything' && 'authorization' in headers
      const inShape = isOpenai
        ? { error: { code: 'invalid_api_key' } }
        : { type: 'error', error: { type: 'authentication_error' } }
      expect(JSON.parse(got.text)).toMatchObject(inShape)
    }
    expect((await send(`${url}/metrics`, { method: 'GET', headers })).status).toBe(401)
    expect(fake.came).toEqual([])
  })

  it('is refused where others could guess it', async () => {
    const fake = await talking()
    await expect(startGateway(fake.url, { keys: [{ secret: SECRET }, { secret: 'short' }] })).rejects.toThrow(
      'the key has 5 characters, so that others could guess it; use at least 24 random ones',
    )
  })

  it('says which mode its holder has, and whether the request may choose another', async () => {
    const fake = await talking()
    const gateway = await startGateway(fake.url, {
      keys: [
        { secret: SECRET, setting: { mode: 'shelve', share: 10 } },
        { secret: SECOND, setting: { mode: 'off', share: 10 }, mayChoose: true },
      ],
    })
    const modeOf = async (headers: { [name: string]: string }) =>
      (await ask(gateway, requestFor('shelve'), headers)).headers['x-toolshelf-mode']
    expect(await modeOf({ 'x-api-key': SECRET })).toBe('shelve')
    expect(await modeOf({ 'x-api-key': SECOND })).toBe('off')
    expect(await modeOf({ 'x-api-key': SECOND, 'x-toolshelf-mode': 'shelve' })).toBe('shelve')
  })
})

describe('the keys of upstreams', () => {
  it.each(MODES)('%s: passes on the client’s own if there is no other', async (mode) => {
    const fake = await talking()
    const gateway = await startGateway(fake.url, { mode, keys: [{ secret: SECRET }] })
    const own = { 'x-api-key': 'client-key', authorization: 'Bearer client-token', 'x-toolshelf-key': SECRET }
    await ask(gateway, requestFor(mode), { ...own, cookie: 'a=b' })
    const headers = fake.came[0]?.headers
    expect(headers).toMatchObject({ 'x-api-key': 'client-key', authorization: 'Bearer client-token' })
    expect(headers?.cookie).toBeUndefined()
  })

  it.each(MODES)('%s: the upstream’s own takes its place', async (mode) => {
    const fake = await talking()
    const gateway = await startGateway(fake.url, { mode, messages: { key: 'upstream-key' } })
    await ask(gateway, requestFor(mode), { 'x-api-key': 'client-key', authorization: 'Bearer client-token' })
    expect(JSON.stringify(fake.came)).not.toContain('client-')
    expect(fake.came[0]?.headers['x-api-key']).toBe('upstream-key')
  })

  it('are in no answer, no record and no metric, whatever goes wrong', async () => {
    const key = 'upstream-key'
    const failing = [
      await startFake((outgoing) => stream(outgoing, 'data: nonsense\n\n')),
      await startFake((outgoing) => outgoing.writeHead(401).end('{}')),
      await startFake((outgoing) => outgoing.destroy()),
    ].map(({ url }) => url)
    for (const url of [...failing, await deadAddress()]) {
      const upstreams = [
        createMessagesUpstream({ url, key, wire: 'append' }),
        createChatUpstream({ url, key }),
        createResponsesUpstream({ url, key }),
      ]
      for (const upstream of upstreams) {
        const said: string[] = []
        const gateway = await startGateway(upstream, { notify: (message) => said.push(message) })
        const got = [
          await ask(gateway, requestFor('emulate')),
          await ask(gateway, requestFor('shelve', { stream: true }), { 'x-toolshelf-mode': 'shelve' }),
          await send(`${gateway.url}/v1/models`, { method: 'GET' }).catch((error: Error) => error.message),
          await send(`${gateway.url}/health`, { method: 'GET' }),
        ]
        expect(JSON.stringify([got, gateway.done, said, upstream.name]) + gateway.metrics()).not.toContain(
          key,
        )
      }
    }
  })
})

describe('redirects', () => {
  it.each([...MODES, 'off'])('%s: are relayed, never followed', async (mode) => {
    const other = await talking()
    const fake = await startFake((outgoing) =>
      outgoing.writeHead(307, { location: `${other.url}v1/messages` }).end(),
    )
    const gateway = await startGateway(fake.url, { mode })
    const got = await ask(gateway, requestFor(mode), { 'x-api-key': 'client-key' })
    expect(got).toMatchObject({ status: 307, headers: { location: `${other.url}v1/messages` } })
    expect(fake.came).toHaveLength(1)
    expect(other.came).toEqual([])
  })

  it.each([createChatUpstream, createResponsesUpstream])('of another language are errors', async (create) => {
    const other = await talking()
    const fake = await startFake((outgoing) => outgoing.writeHead(308, { location: other.url.href }).end())
    const gateway = await startGateway(create({ url: fake.url, key: 'upstream-key' }))
    const got = await ask(gateway, requestFor('emulate'))
    expect(got.status).toBe(502)
    expect(got.headers.location).toBeUndefined()
    expect(other.came).toEqual([])
  })

  it.each([
    '//evil.example/v1/messages',
    'http://evil.example/v1/models',
    '/v1/../../x',
    '/v1/@evil.example',
  ])('an address like %s leads nowhere else', async (address) => {
    const fake = await startFake((outgoing) => outgoing.writeHead(404).end())
    const { url } = await startGateway(fake.url)
    const { port } = new URL(url)
    const { socket, ended } = await dial(`http://127.0.0.1:${port}`)
    socket.write(`GET ${address} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`)
    expect(await ended).toMatch(/^HTTP\/1\.1 404 /)
    for (const { headers } of fake.came) expect(headers.host).toBe(fake.url.host)
  })
})

describe('words of clients', () => {
  const forged = 'm\r\nx-evil: 1\n\u001b[2J\u009b31m" ü\u2028'
  const telling = (fake: Fake): Upstream => ({
    ...createMessagesUpstream({ url: fake.url }),
    wireFor: (model) => ({ wire: 'append', why: `${model} is told` }),
  })

  it('in x-toolshelf-why are one line of plain letters, and not too many', async () => {
    const fake = await talking()
    const gateway = await startGateway(telling(fake))
    for (const model of [forged, 'm'.repeat(1_000_000)]) {
      const got = await ask(gateway, { ...requestFor('emulate'), model })
      expect(got.status).toBe(200)
      expect(got.headers['x-evil']).toBeUndefined()
      expect(got.headers['x-toolshelf-why']).toMatch(/^[\x20-\x7e]{1,310}$/)
    }
  })

  it('does not take the upstream’s own headers for what was done here', async () => {
    const fake = await startFake((outgoing) => {
      outgoing.setHeader('x-toolshelf-mode', 'pass')
      outgoing.setHeader('x-toolshelf-why', 'I say so')
      stream(outgoing, textReply('hi'))
    })
    const gateway = await startGateway(fake.url)
    for (const more of [{}, { stream: true }]) {
      const { headers } = await ask(gateway, requestFor('emulate', more))
      expect(headers).toMatchObject({
        'x-toolshelf-mode': 'emulate',
        'x-toolshelf-why': 'the client defers; append: forced',
      })
    }
  })

  it('never become a label or a line of the metrics', async () => {
    const fake = await startFake((outgoing, _, number) =>
      stream(outgoing, number === 0 ? searchReply('emulate') : textReply('hi')),
    )
    const gateway = await startGateway(telling(fake))
    await ask(gateway, { ...requestFor('emulate', {}, ['evil_tool']), model: forged })
    await ask(gateway, requestFor('emulate'), { 'x-toolshelf-mode': 'evil"} 1' })
    await send(`${gateway.url}/v1/evil"}%0aevil 1`.replace(' ', '%20'), { method: 'GET' })
    await send(`${gateway.url}/evil`, { method: 'OPTIONS' })
    const { text } = await send(`${gateway.url}/metrics`, { method: 'GET' })
    expect(text).not.toContain('evil')
    expect(problemsIn(text)).toEqual([])
  })

  it('a mode that is none is refused in a few words', async () => {
    const fake = await talking()
    const gateway = await startGateway(fake.url)
    const got = await ask(gateway, requestFor('emulate'), { 'x-toolshelf-mode': 'x'.repeat(5000) })
    expect(got.status).toBe(400)
    expect(got.text.length).toBeLessThan(400)
  })
})
