// Requests to a gateway over HTTP whose servers are only described, and every answer to them: status, headers and body.
import { onTestFinished as atEnd, describe, expect, it } from 'vitest'
import { createMemoryResults } from '../../src/index.ts'
import type { McpGatewayOptions } from '../../src/mcp/gateway/index.ts'
import { type McpHttpOptions, serveMcpGatewayOnHttp } from '../../src/mcp/http/index.ts'
import type { Authenticator, Profile, User } from '../../src/users/index.ts'
import type { Loose } from '../support/talk.ts'
import { profileOf } from '../users/support.ts'
import { initialize, type Sent, sendTo } from './support/gateway-http.ts'
import { status } from './support/noted-host.ts'
import { until } from './support/processes.ts'
import { tool } from './support/small-servers.ts'
import { openStory } from './support/story.ts'

const MASTER = 'the-key-of-the-master-of-all'

const file = (name: string) => `./gateway/${name}.txt`
const says = (text: string) => ({ content: [{ type: 'text', text }] })
const ping = { jsonrpc: '2.0', id: 2, method: 'ping' }
const rpc = (method: string, params: object = {}, id = 3) => ({ jsonrpc: '2.0', id, method, params })
const call = (name: string, input: object = {}) => rpc('tools/call', { name, arguments: input })
const SHOWN = [
  'www-authenticate',
  'retry-after',
  'mcp-session-id',
  'access-control-allow-origin',
  'cache-control',
]

/** Users by their tokens, whose profiles a test may change. */
function createUsers(profiles: { [name: string]: Profile }) {
  const listeners = new Set<() => void>()
  const gone = new Set<string>()
  const find = (name: string): User | undefined =>
    profiles[name] && !gone.has(name)
      ? { id: name, uid: name, profile: profiles[name], keyId: name }
      : undefined
  const users: Authenticator = {
    authenticate: async (token = '') => find(token) ?? { status: 401, message: `unknown key ${token}` },
    refresh: async ({ id }) => find(id),
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: async () => {},
  }
  const change = () => {
    for (const listener of listeners) listener()
  }
  return { users, change, gone, profiles, listening: () => listeners.size }
}

/** A message without what the gateway says about itself. */
function parsed(text: string): unknown {
  const about = ['serverInfo', 'instructions', 'io.modelcontextprotocol/serverInfo']
  try {
    return JSON.parse(text, (key, value) => (about.includes(key) ? undefined : value))
  } catch {
    return text.slice(0, 60)
  }
}

/** A gateway over HTTP, and a way to send requests that are written down with their answers. */
async function serve(options: {
  readonly host?: Loose
  readonly gateway?: Partial<McpGatewayOptions>
  readonly http?: Partial<McpHttpOptions>
  /** Where to write, if another gateway has begun. */
  readonly story?: { note(mark: string, ...values: unknown[]): void }
}) {
  const { host = {}, gateway = {}, http = {} } = options
  const story = openStory(host, gateway)
  const note = options.story?.note ?? story.note
  const served = await serveMcpGatewayOnHttp(story.gateway, { port: 0, ...http })
  atEnd(served.close)
  async function send(title: string, given: Sent & { readonly key?: string; readonly session?: string }) {
    const { key, session, headers = {}, ...sent } = given
    const answer = await sendTo(served.url, {
      ...sent,
      headers: {
        ...headers,
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(session === undefined ? {} : { 'mcp-session-id': session }),
      },
    })
    const shown = Object.fromEntries(
      SHOWN.flatMap((name) => (answer.headers[name] ? [[name, answer.headers[name]]] : [])),
    )
    const events = answer.text
      .split('\n')
      .flatMap((line) => (line.startsWith('data: {') ? [line.slice(6)] : []))
    const body = events.length > 0 ? events : [answer.text]
    note(`${title}:`, answer.status, shown, ...body.map(parsed))
    return { ...answer, session: String(answer.headers['mcp-session-id']) }
  }
  return { ...story, ...served, send, note }
}

describe('a gateway without users', () => {
  it('answers every kind of request', async () => {
    const inspected: unknown[] = []
    const {
      send,
      text,
      note,
      describe: set,
      shelve,
      sessions,
      activeRequests,
      url,
    } = await serve({
      // Its servers never end to start.
      host: { settled: () => new Promise(() => {}) },
      gateway: { mode: 'list' },
      http: {
        ...{ maxBodyBytes: 2000, key: 'k'.repeat(24), hosts: ['tools.example.com'] },
        protectedResource: {
          metadataAt: (path: string) => (path === '/.well-known/x' ? { resource: 'r' } : undefined),
        },
        inspector: async ({ url }) => {
          inspected.push(new URL(url).pathname)
          return new Response('inspected', { status: url.endsWith('wrong') ? 401 : 200 })
        },
      },
    })
    shelve('a', [tool('one')], true)
    set(
      status('a', { tools: [tool('one')] as never }),
      status('b', { state: 'failed' }),
      status('c', { state: 'failed' }),
    )
    const key = 'k'.repeat(24)
    const get = (path: string, more: Partial<Sent & { key: string }> = {}) =>
      send(`GET ${path} ${JSON.stringify(more)}`, { method: 'GET', path, ...more })
    await get('/ready')
    for (const path of [
      '/ready',
      '/health',
      '/inspect',
      '/inspect/wrong',
      '/.well-known/x',
      '/metrics',
      '/nothing',
    ])
      await get(path)
    for (const host of ['evil.example.com', 'tools.example.com'])
      for (const path of ['/health', '/.well-known/x', '/nothing']) await get(path, { headers: { host } })
    await get('/health', { headers: { origin: 'https://evil.example.com' } })
    await get('/nothing', { key })
    note('inspected', inspected)
    await send('no key', { body: initialize })
    await send('no JSON', { key, headers: { 'content-type': 'text/plain' }, body: 'x' })
    await send('broken', { key, body: '{' })
    await send('large', { key, body: { ...ping, params: { x: 'y'.repeat(2100) } } })
    await send('no session', { key, body: ping })
    await send('null', { key, body: 'null' })
    await send('empty batch', { key, body: [] })
    for (const count of [100, 101])
      await send(`${count} messages`, { key, body: JSON.stringify(Array(count).fill(0)) })
    for (const method of ['GET', 'PUT', 'DELETE']) await send(`${method} without session`, { key, method })
    const { session } = await send('initialize', { key, body: initialize })
    note('sessions', sessions(), activeRequests())
    for (const name of ['other', '']) await send('unknown session', { key, session: name, body: ping })
    await send('ping', { key, session, body: ping })
    await send('tools', { key, session, body: rpc('tools/list', {}, 99) })
    await send('call', { key, session, body: call('a__one', { x: 1 }) })
    await send('fails', { key, session, body: call('a__one', { fail: 'no' }) })
    await send('batch', {
      key,
      session,
      body: [
        { ...ping, id: 8 },
        { ...ping, id: 9 },
      ],
    })
    await send('search', { key, session, body: call('ToolSearch', { query: 'one' }) })
    await send('odd initialize', { key, body: { ...initialize, params: {} } })
    note('sessions', sessions())
    await send('DELETE', { key, session, method: 'DELETE' })
    await send('ended', { key, session, body: ping })
    note('sessions', sessions())
    // Requests count when their connection has ended.
    const page = () =>
      sendTo(url, { method: 'GET', path: '/metrics', headers: { authorization: `Bearer ${key}` } })
    await until(async () => /endpoint="end",status="200"} 1/.test((await page()).text), 'all are counted')
    const counted = (await page()).text.match(
      /^toolshelf_\w+(?<!_seconds_bucket|_seconds_sum)(?:\{.*\})? .*$/gm,
    )
    note('metrics', (await page()).headers['content-type'] ?? '')
    for (const line of counted ?? []) if (!/heap|event_loop/.test(line)) note(line)
    await expect(text()).toMatchFileSnapshot(file('http'))
  })

  it('has room for a number of sessions, and ends those first that nobody uses', async () => {
    const { send, sessions, note, text } = await serve({ http: { maxSessions: 3, proxies: ['127.0.0.1'] } })
    await send('ready', { method: 'GET', path: '/ready' })
    const begin = async (title: string, address: string) =>
      (await send(title, { body: initialize, headers: { 'x-forwarded-for': address } })).session
    const use = (title: string, session: string) => send(title, { session, body: ping })
    const first = await begin('first of one address', '10.0.0.1')
    const second = await begin('second', '10.0.0.1')
    await use('second', second)
    const third = await begin('third, for the first', '10.0.0.1')
    await use('first', first)
    await use('third', third)
    await begin('fourth of the address', '10.0.0.1')
    await begin('of another address', '10.0.0.2')
    await begin('of another address, for the last', '10.0.0.2')
    await begin('of a third address', '10.0.0.3')
    note('sessions', sessions())
    await expect(text()).toMatchFileSnapshot(file('http-room'))
  })

  it('needs a key beyond loopback', async () => {
    const { gateway } = openStory()
    await expect(serveMcpGatewayOnHttp(gateway, { port: 0, address: '0.0.0.0' })).rejects.toThrow(
      'listening on 0.0.0.0 needs a key',
    )
  })
})

describe('a gateway with users', () => {
  const operator = profileOf({ isOperator: true })
  const modern = (method: string, params: object = {}, name = 'raw', id = 5) => ({
    ...{ jsonrpc: '2.0', id, method },
    params: {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name, version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  })
  /** The headers that the newer protocol needs. */
  const headersFor = (method: string, name?: string) => ({
    ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': method },
    ...(name === undefined ? {} : { 'mcp-name': name }),
  })

  it('lets each see what is theirs, in sessions of their own', async () => {
    const { users, change, gone, profiles, listening } = createUsers({
      ...{ ada: profileOf({}), bob: profileOf({ tools: { allow: [], deny: ['a__one'] } }) },
      ...{ eve: profileOf({}), root: operator },
    })
    const taken: unknown[] = []
    const limits: Loose = {}
    const take = async ({ id }: User, kind: string, amount: number) => {
      taken.push(`${id} ${kind} ${amount}`)
      if (limits[id] instanceof Error) throw limits[id]
      return limits[id]
    }
    const refused: unknown[] = []
    const { send, note, text, shelve, sessions, close } = await serve({
      gateway: {
        mode: 'list',
        results: { store: createMemoryResults(), budget: 100 },
        usage: { take } as never,
      },
      http: { users, key: MASTER, trace: (event) => refused.push(event) },
    })
    shelve('a', [tool('one'), tool('two')], true)
    for (const key of ['nobody', 'ada', 'root', MASTER])
      await send(`metrics for ${key === MASTER ? 'master' : key}`, {
        key,
        method: 'GET',
        path: '/metrics',
        headers: { 'x-short': 'yes' },
      })
    const open = async (key: string) => (await send(`${key} begins`, { key, body: initialize })).session
    const [ada, bob] = [await open('ada'), await open('bob')]
    for (const [key, session] of [
      ['ada', ada],
      ['bob', bob],
    ] as const) {
      await send(`${key} lists`, { key, session, body: rpc('tools/list', {}, 99) })
      await send(`${key} calls`, { key, session, body: call('a__one') })
    }
    await send('ada’s session, with bob’s key', { key: 'bob', session: ada, body: ping })
    await send('ada’s session, with the operator’s key', { key: MASTER, session: ada, body: ping })
    await send('two at once', { key: 'ada', session: ada, body: [ping, { ...ping, id: 3 }] })
    await send('none', { key: 'ada', session: ada, body: [] })
    note('taken', taken)
    limits.ada = { status: 429, message: 'enough', retryAfter: 9 }
    await send('limited', { key: 'ada', session: ada, body: ping })
    limits.ada = { status: 503, message: 'no store' }
    await send('without a store', { key: 'ada', session: ada, body: ping })
    limits.ada = new Error('broken')
    await send('broken', { key: 'ada', session: ada, body: ping })
    limits.ada = undefined
    note('refused', refused)
    await send('ada again', { key: 'ada', session: ada, body: ping })
    const [cat, dog] = [await open('eve'), await open('eve')]
    note('sessions', sessions())
    profiles.eve = profileOf({ tools: { allow: [], deny: ['a__two'] } })
    await send('eve with other rights', { key: 'eve', session: cat, body: ping })
    await send('eve begins anew', { key: 'eve', body: initialize })
    note('sessions', sessions())
    gone.add('ada')
    change()
    await until(
      () => sessions() === 2,
      () => `${sessions()} sessions`,
    )
    await send('ada is gone', { key: 'ada', session: ada, body: ping })
    await send('bob is not', { key: 'bob', session: bob, body: ping })
    await send('eve’s session of before', { key: 'eve', session: dog, body: ping })
    await close()
    note('listening', listening())
    await expect(text()).toMatchFileSnapshot(file('http-users'))
  })

  it.each([
    ['of users', { users: true, http: {} }],
    ['of this machine', { users: false, http: {} }],
    ['of other machines', { users: false, http: { address: '0.0.0.0', key: MASTER } }],
  ])('recognises clients without sessions: %s', async (title, { users: hasUsers, http }) => {
    const { users } = createUsers({
      ...{ ada: profileOf({}), eve: profileOf({}) },
      bob: profileOf({ tools: { allow: [], deny: ['a__one'] } }),
    })
    const { send, text, shelve, url } = await serve({
      host: { call: async () => says('x'.repeat(200)) },
      gateway: {
        results: { store: createMemoryResults(), budget: 100 },
        mode: 'bridge',
      },
      http: { ...http, ...(hasUsers ? { users } : {}) },
    })
    const port = new URL(url).port
    shelve('a', [tool('one'), tool('two')], true)
    const key = hasUsers ? 'ada' : MASTER
    const use = async (name: string, input: object, more: Loose = {}) => {
      const { headers = {}, as = 'raw', ...given } = more
      const body = modern('tools/call', { name, arguments: input }, as)
      const all = { host: `127.0.0.1:${port}`, ...headersFor('tools/call', name), ...headers }
      return send(`${name} ${JSON.stringify(more)}`, { key, body, ...given, headers: all })
    }
    await send('tools', { key, headers: headersFor('tools/list'), body: modern('tools/list') })
    const handle = /result_[a-z0-9]+/.exec((await use('a__one', {})).text)?.[0]
    const read = (more: Loose = {}) => use('ReadResult', { handle, page: 1 }, more)
    await read()
    await read({ as: 'other' })
    await read({ headers: { 'user-agent': 'other' } })
    for (const name of ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip'])
      await read({ headers: { [name]: '10.0.0.1' } })
    if (hasUsers) {
      await read({ key: 'bob' })
      await use('a__one', {}, { key: 'bob' })
    }
    await expect(text()).toMatchFileSnapshot(file(`http-${title.replaceAll(' ', '-')}`))
  })
})
