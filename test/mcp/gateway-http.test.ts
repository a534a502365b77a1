// The gateway over HTTP: many clients of both eras, sessions that end, and who is let in.
import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serveMcpGatewayOnHttp } from '../../packages/cli/src/http/mcp/http.ts'
import { answerNode, close, listen } from '../../packages/server/src/http/http.ts'
import { createBodies } from '../../packages/server/src/http/json-bodies.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { eras, everyCapability, openGateway, textOf } from './support/gateway.ts'
import { type HttpDesk, initialize, openHttp } from './support/gateway-http.ts'
import { until } from './support/processes.ts'
import { here } from './support/server-here.ts'
import { local } from './support/servers.ts'
import { listed, neighbour, tool } from './support/small-servers.ts'

const library = () => here('library', 'gateway-library')
const heardBy = async ({ run }: Pick<HttpDesk, 'run'>): Promise<Loose[]> =>
  JSON.parse(textOf(await run('library__heard')))

it.each([
  ['its own choice', {}, 'legacy'],
  ['auto', { versionNegotiation: { mode: 'auto' as const } }, 'modern'],
])('a client of the SDK negotiates its version: %s', async (_, options, era) => {
  const { url } = await openHttp([neighbour()])
  const client = new Client({ name: 'any', version: '1.0.0' }, options)
  onTestFinished(() => client.close())
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  expect(client.getProtocolEra()).toBe(era)
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['ToolSearch', 'CallTool'])
  const query = { query: 'select:neighbour__add' }
  expect(textOf(await client.callTool({ name: 'ToolSearch', arguments: query }))).toContain('neighbour__add')
  const call = { name: 'neighbour__add', arguments: { a: 1, b: 2 } }
  expect(textOf(await client.callTool({ name: 'CallTool', arguments: call }))).toBe('3')
})

describe.each(eras)('clients, %s', (era) => {
  it('two at once are each asked their own question, one that cannot answer none', async () => {
    const { connect } = await openHttp([library(), here('archive', 'gateway-library')])
    const named = (name: string) => ({ era, answer: () => ({ action: 'accept', content: { name } }) })
    const one = await connect({ ...named('Ada'), capabilities: everyCapability })
    const other = await connect({ ...named('Bob'), capabilities: everyCapability })
    const mute = await connect({ era })
    const question = {
      method: 'elicitation/create',
      params: { mode: 'form', message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
    }
    const answers = await Promise.all([
      one.run('library__ask', question),
      other.run('archive__ask', question),
    ])
    expect(answers.map((answer) => JSON.parse(textOf(answer)).result.content.name)).toEqual(['Ada', 'Bob'])
    expect(JSON.parse(textOf(await mute.run('library__ask', question))).error).toBeDefined()
    expect([one, other, mute].map(({ asked }) => asked.length)).toEqual([1, 1, 0])
  })

  it('does not send one client’s roots to a server that many share', async () => {
    const { connect } = await openHttp([library()])
    const { run, asked } = await connect({ era, capabilities: { roots: {} } })
    const answer = JSON.parse(textOf(await run('library__ask', { method: 'roots/list' })))
    expect(answer.error).toBeDefined()
    expect(asked).toEqual([])
  })

  it('announces an always-loaded tool that comes late, but not what comes behind the search tool', async () => {
    const [marked, other] = [listed('marked', [], { alwaysLoad: true }), listed('other', [])]
    const { connect, shelf } = await openHttp([marked.config, other.config])
    const desk = await connect({ era })
    if (era === 'modern') await desk.client.listen({ toolsListChanged: true })
    await desk.names()
    other.write([tool('walk')])
    await until(() => shelf.partition().pool.byName.has('other__walk'), 'it is there')
    expect(await desk.changes()).toBe(0)
    marked.write([tool('early')])
    await until(async () => (await desk.changes()) > 0, 'it is told')
    expect(await desk.names()).toContain('marked__early')
  })
})

describe('sessions', () => {
  it('each client has its own loaded set', async () => {
    const { connect, clients } = await openHttp([neighbour()])
    const [one, other] = [await connect(), await connect()]
    await one.search('select:neighbour__add')
    await other.search('select:neighbour__echo')
    expect(await one.names()).toEqual(['ToolSearch', 'neighbour__add'])
    expect(await other.names()).toEqual(['ToolSearch', 'neighbour__echo'])
    expect(await clients()).toBe(2)
  })

  it('end with DELETE, and nothing is left', async () => {
    const { connect, clients, gateway } = await openHttp([neighbour()])
    const { transport, names } = await connect()
    await transport.terminateSession()
    expect(await clients()).toBe(0)
    expect(gateway.clients()).toBe(0)
    await expect(names()).rejects.toThrow()
  })

  it('a call that runs when its session ends is cancelled at the server', async () => {
    const { connect } = await openHttp([library()])
    const [leaving, staying] = [await connect(), await connect()]
    leaving.run('library__wait').catch(() => {})
    await heardBy(leaving)
    await leaving.transport.terminateSession()
    await until(async () => (await heardBy(staying)).length > 0, 'the server is told')
    expect(await heardBy(staying)).toMatchObject([{ method: 'cancelled' }])
  })

  it('one that nobody knows is refused with 404, after which a client begins anew', async () => {
    const { connect, send } = await openHttp([neighbour()])
    const unknown = { 'mcp-session-id': 'of-yesterday', 'mcp-protocol-version': '2025-11-25' }
    const answer = await send({ headers: unknown, body: { jsonrpc: '2.0', id: 2, method: 'tools/list' } })
    expect(answer.status).toBe(404)
    expect(JSON.parse(answer.text).error.message).toContain('initialize again')
    expect((await send({ method: 'DELETE', headers: unknown })).status).toBe(404)
    const desk = await connect()
    await desk.transport.terminateSession()
    await expect(desk.names()).rejects.toThrow(/initialize|session/i)
    expect(await (await connect()).names()).toEqual(['ToolSearch'])
  })

  it('of clients that are not heard of are swept', async () => {
    const { send, clients, gateway } = await openHttp([], { http: { idleMs: 50 } })
    await send({ body: initialize })
    expect(await clients()).toBe(1)
    await until(async () => (await clients()) === 0, 'it is forgotten')
    expect(gateway.clients()).toBe(0)
  })

  it('of clients that listen are kept', async () => {
    const { connect, send, clients } = await openHttp([], { http: { idleMs: 50 } })
    const { names } = await connect()
    await send({ body: initialize })
    await until(async () => (await clients()) === 1, 'the other one is forgotten')
    expect(await names()).toEqual(['ToolSearch'])
  })

  it('H6 beyond the most there may be, the first that nobody has used goes', async () => {
    const { send, clients } = await openHttp([], { http: { maxSessions: 2 } })
    const ids: string[] = []
    for (let count = 0; count < 3; count++)
      ids.push(String((await send({ body: initialize })).headers['mcp-session-id']))
    expect(await clients()).toBe(2)
    const statuses = []
    for (const id of ids)
      statuses.push((await send({ method: 'DELETE', headers: { 'mcp-session-id': id } })).status)
    expect(statuses).toEqual([404, 200, 200])
  })

  it('H6 a stranger who opens sessions without end ends nobody else’s: it is refused', async () => {
    const { connect, send } = await openHttp([neighbour()], { http: { maxSessions: 2 } })
    const { names } = await connect()
    const open = async () => {
      const { status, headers } = await send({ body: initialize })
      const session = { 'mcp-session-id': String(headers['mcp-session-id']) }
      if (status === 200)
        await send({ headers: session, body: { jsonrpc: '2.0', method: 'notifications/initialized' } })
      return { status, retryAfter: headers['retry-after'] }
    }
    expect((await open()).status).toBe(200)
    for (let count = 0; count < 3; count++) expect(await open()).toEqual({ status: 503, retryAfter: '10' })
    expect(await names()).toEqual(['ToolSearch'])
  })

  it('H6 a client that does not read what it is sent is cut off', async () => {
    const server = createServer()
    const cut = new Promise<void>((resolve) => {
      server.on('request', (incoming, outgoing) => {
        outgoing.once('close', resolve)
        void answerNode(incoming, outgoing, async () => new Response('x'.repeat(20_000_000)), {
          stalledMs: 50,
        })
      })
    })
    const sent = request(await listen(server, 0, '127.0.0.1'), { agent: false })
    const response = once(sent.end(), 'response')
    await Promise.all([response, cut])
    sent.destroy()
    await close(server)
  })

  it.each([
    ['broken JSON', { body: '{"jsonrpc":' }, 400],
    ['no message', { body: { hello: 'world' } }, 400],
    ['a call before all else', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }, 400],
    ['a stream of nobody', { method: 'GET' }, 400],
    ['the end of nothing', { method: 'DELETE' }, 400],
    ['another method', { method: 'PUT' }, 405],
    ['another type', { headers: { 'content-type': 'text/plain' }, body: 'hello' }, 415],
    ['another path', { path: '/other' }, 404],
    ['no path at all', { method: 'GET', path: '//' }, 400],
  ])('%s is refused and leaves nothing behind, and nobody loses a session by it', async (_, sent, status) => {
    const { send, clients, gateway } = await openHttp([], { http: { maxSessions: 1 } })
    await send({ body: initialize })
    expect((await send(sent)).status).toBe(status)
    expect(await clients()).toBe(1)
    expect(gateway.clients()).toBe(1)
  })
})

describe('who is let in', () => {
  it.each([
    ['localhost', 200],
    ['127.0.0.1:80', 200],
    ['[::1]:3399', 200],
    ['tools.example.com', 200],
    ['evil.example', 403],
    ['localhost.evil.example', 403],
    ['not a host', 403],
  ])('Host %s: %i', async (host, status) => {
    const { send } = await openHttp([], { http: { hosts: ['tools.example.com'] } })
    expect((await send({ headers: { host }, body: initialize })).status).toBe(status)
    expect((await send({ method: 'GET', path: '/metrics', headers: { host } })).status).toBe(status)
  })

  it.each([
    ['http://localhost:5173', 200],
    ['https://tools.example.com', 200],
    ['https://evil.example', 403],
    ['null', 403],
  ])('Origin %s: %i', async (origin, status) => {
    const { send } = await openHttp([], { http: { hosts: ['tools.example.com'] } })
    expect((await send({ headers: { origin }, body: initialize })).status).toBe(status)
  })

  it('beyond loopback nobody, unless there is a key', async () => {
    const { gateway } = openGateway([])
    await expect(serveMcpGatewayOnHttp(gateway, { port: 0, address: '0.0.0.0' })).rejects.toThrow(
      /needs a key; set the option "key"/,
    )
  })

  const key = 'a-key-of-very-many-letters'

  it.each([
    ['none', {}],
    ['a wrong one', { authorization: 'Bearer a-key-of-very-many-other-letters' }],
    ['a part of it', { authorization: 'Bearer a-key' }],
    ['another way', { authorization: `Basic ${key}` }],
    ['only the scheme', { authorization: 'Bearer' }],
  ])('with a key: %s is refused with 401 in both eras', async (_, headers) => {
    const { send } = await openHttp([], { http: { key } })
    const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }
    const refused = [
      await send({ headers, body: initialize }),
      await send({
        headers: { ...headers, ...modern },
        body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      }),
      await send({ method: 'GET', headers }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([401, 401, 401])
    expect(JSON.stringify(refused)).not.toContain(key)
  })

  it.each(eras)('with a key: a client that has the key works, on every address, %s', async (era) => {
    const { connect, send } = await openHttp([neighbour()], { http: { key, address: '0.0.0.0' } })
    const { run } = await connect({ era, key })
    expect(textOf(await run('neighbour__add', { a: 1, b: 2 }))).toBe('3')
    await expect(connect({ era, key: 'another key' })).rejects.toThrow()
    expect((await send({ body: initialize })).status).toBe(401)
  })

  it('with a key that others could guess nobody', async () => {
    const { gateway } = openGateway([])
    await expect(serveMcpGatewayOnHttp(gateway, { port: 0, key: 'short' })).rejects.toThrow(
      'the key has 5 characters, so that others could guess it; use at least 24 random ones',
    )
  })

  it('answers health checks without a key, and nothing else', async () => {
    const { send } = await openHttp([neighbour()], { http: { key } })
    const { status, text } = await send({ method: 'GET', path: '/health' })
    expect(status).toBe(200)
    expect(JSON.parse(text)).toEqual({ status: 'ok', clients: 0 })
  })

  it('an idle connection is kept for longer than balancers keep it', async () => {
    const { url } = await openHttp([neighbour()])
    const response = await fetch(new URL('/health', url))
    await response.text()
    expect(response.headers.get('keep-alive')).toBe('timeout=75')
  })
})

describe('what it survives', () => {
  it.each([
    ['with its length', {}],
    ['without', { 'transfer-encoding': 'chunked' }],
  ])('a body over the limit, %s: 413, and the connection can be used again', async (_, headers) => {
    const { url } = await openHttp([], { http: { maxBodyBytes: 100_000 } })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const post = (body: string) =>
      new Promise<number>((resolve, reject) => {
        const options = { method: 'POST', agent, headers: { 'content-type': 'application/json', ...headers } }
        const sent = request(url, options, (response) => {
          response.resume().on('end', () => resolve(response.statusCode ?? 0))
        })
        sent.on('error', reject)
        sent.end(body)
      })
    expect(await post('x'.repeat(5_000_000))).toBe(413)
    expect(await post('{}')).toBeLessThan(500)
    agent.destroy()
  })

  it('H6 arguments over 4 MB are taken, as on stdio', async () => {
    const { connect } = await openHttp([neighbour()])
    for (const era of eras) {
      const { run } = await connect({ era })
      expect(textOf(await run('neighbour__echo', { text: 'x'.repeat(4_300_000) })).length).toBe(4_300_000)
    }
  })

  it('H6 a batch without end is refused before anybody reads its messages', async () => {
    const { send } = await openHttp([])
    const body = Array.from({ length: 101 }, () => ({ jsonrpc: '2.0', method: 'notifications/initialized' }))
    expect(await send({ body })).toMatchObject({
      status: 400,
      text: expect.stringContaining('the batch has 101 messages; at most 100 are allowed'),
    })
  })

  it('H6 bodies with too many values are refused before they are validated; arguments may have more', async () => {
    const { send } = await openHttp([])
    const objects = (count: number) => `[${'{},'.repeat(count - 1)}{}]`
    const statusOf = async (body: string) => {
      const { status, text } = await send({ body })
      return `${status} ${JSON.parse(text.replace(/^event:.*\ndata: /, '')).error?.message ?? ''}`
    }
    const initializeWith = (icons: string) =>
      JSON.stringify(initialize).replace('"name":"raw"', `"name":"raw","icons":${icons}`)
    const tooMany =
      '400 the body has more than 10000 values, each argument of a tool call counted as one; send fewer'
    expect(await statusOf(initializeWith(objects(10_001)))).toBe(tooMany)
    expect(await statusOf(`[${initializeWith(objects(6000))},${initializeWith(objects(6000))}]`)).toBe(
      tooMany,
    )
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'ToolSearch', arguments: 'all' },
    }
    const prompt = JSON.stringify({ ...call, method: 'prompts/get' })
    expect(await statusOf(prompt.replace('"all"', objects(10_001)))).toBe(tooMany)
    const numbered = Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`a${index}`, 1]))
    expect(await statusOf(JSON.stringify(call).replace('"all"', JSON.stringify(numbered)))).toBe(tooMany)
    const callWith = (all: string) => JSON.stringify(call).replace('"all"', `{"all":${all}}`)
    expect(await statusOf(callWith(objects(10_001)))).toBe('400 there is no session yet; initialize first')
    expect(await statusOf(callWith(objects(1_000_002)))).toBe('400 the body has more than 1000000 values')
    // A table in a text is one value.
    expect(await statusOf(callWith(`"${',\\"'.repeat(1_000_002)}"`))).toBe(
      '400 there is no session yet; initialize first',
    )
  })

  it('H6 large bodies have a room in all; small ones need none', async () => {
    const bodies = createBodies({ maxBytes: 1_000_000, maxTotalBytes: 1_500_000 })
    const post = (size: number) =>
      bodies.read(new Request('http://localhost', { method: 'POST', body: `"${'x'.repeat(size - 2)}"` }))
    const first = await post(1_000_000)
    expect(await post(600_000)).toMatchObject({ status: 503 })
    expect(await post(200_000)).toHaveProperty('value')
    expect(await post(500_000)).toHaveProperty('value')
    if ('release' in first) first.release()
    expect(await post(1_000_000)).toHaveProperty('value')
    expect(await post(1_000_001)).toMatchObject({ status: 413 })
  })

  it('a client that hangs up in the middle of a call; others continue', async () => {
    const { url, connect } = await openHttp([neighbour(), library()])
    const vanished = await connect()
    const body = {
      jsonrpc: '2.0',
      id: 9,
      method: 'tools/call',
      params: { name: 'library__wait', arguments: {} },
    }
    const sent = request(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': vanished.transport.sessionId ?? '',
        'mcp-protocol-version': '2025-11-25',
      },
    })
    sent.on('error', () => {})
    sent.end(JSON.stringify(body))
    await new Promise((resolve) => sent.once('response', resolve))
    sent.destroy()
    const { run } = await connect()
    expect(textOf(await run('neighbour__add', { a: 1, b: 2 }))).toBe('3')
  })

  it('its own end: servers are stopped in the middle of a call, and the port is free', async () => {
    const { connect, close, url, host } = await openHttp([local('library', 'gateway-library')])
    const { run } = await connect()
    const pid = host.status()[0]?.pid ?? 0
    run('library__wait').catch(() => {})
    await run('library__heard')
    await close()
    expect(() => process.kill(pid, 0)).toThrow()
    const again = await serveMcpGatewayOnHttp(openGateway([]).gateway, { port: Number(new URL(url).port) })
    await again.close()
  })

  it('a port in use is an error that says so', async () => {
    const { url } = await openHttp([])
    const { gateway } = openGateway([])
    await expect(serveMcpGatewayOnHttp(gateway, { port: Number(new URL(url).port) })).rejects.toThrow(
      /in use/,
    )
  })
})
