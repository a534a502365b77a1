// Servers of each protocol and transport behind a gateway, their answers written by hand: what is sent to them, and what of
// theirs reaches the client.
import { describe, expect, it } from 'vitest'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import type { ServerConfig } from '../../doors.ts'
import {
  type Answers,
  answering,
  complete,
  discovered,
  type Exchange,
  greeted,
  signal,
} from '../../mcp/support/answering.ts'
import { everyCapability } from '../../mcp/support/gateway.ts'
import { statusOf, untilState } from '../../mcp/support/host.ts'
import { until } from '../../mcp/support/processes.ts'
import { serverHere, text } from '../../mcp/support/server-here.ts'
import { defaults } from '../../mcp/support/servers.ts'
import { tool } from '../../mcp/support/small-servers.ts'
import { fronts, openFront } from './fronts.ts'

const [stdio] = fronts as [(typeof fronts)[number]]
const remote = (url: string, kind: 'http' | 'sse' | 'auto' = 'http', given: Partial<ServerConfig> = {}) => ({
  ...defaults('far'),
  transport: { kind, url, headers: { 'x-key': 'abc' } },
  ...given,
})
const process = (source: string, ...args: string[]): ServerConfig => ({
  ...defaults('one'),
  transport: {
    kind: 'stdio',
    command: '/bin/sh',
    args: ['-c', source, 'sh', ...args],
    env: {},
    cwd: undefined,
  },
})
const listing =
  (...tools: object[]): Answers[string] =>
  (_, { reply }) =>
    reply({ tools, resultType: 'complete', ttlMs: 0, cacheScope: 'private' })

const region = tool('where', {
  inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
})

describe('H1 a server of the newest protocol over HTTP', () => {
  it('is probed once, gets arguments as headers too, in every round, and its question reaches the client', async () => {
    const regions: unknown[] = []
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } }
    const { url, asked } = await answering({
      'server/discover': discovered({ tools: {} }),
      'tools/list': listing(region),
      'tools/call'({ requestState, inputResponses }, { request, reply }) {
        regions.push([request.headers['mcp-param-region'], request.headers['x-key']])
        if (requestState === 's')
          return reply({ ...text(inputResponses.who.content.name), resultType: 'complete' })
        const who = {
          method: 'elicitation/create',
          params: { mode: 'form', message: 'Who?', requestedSchema },
        }
        reply({ resultType: 'input_required', requestState: 's', inputRequests: { who } })
      },
    })
    const open = await openFront(stdio, [remote(url)], { client: { capabilities: everyCapability } })
    await untilState(open.host, 'far', 'connected')
    expect(statusOf(open.host, 'far')).toMatchObject({ protocol: '2026-07-28', info: { name: 'newer' } })
    expect(await open.call('far__where', { region: 'eu' })).toBe('Ada')
    expect(regions).toEqual([
      ['eu', 'abc'],
      ['eu', 'abc'],
    ])
    expect(open.desk.asked.map(({ params }) => params.message)).toEqual(['The MCP server "far" asks:\nWho?'])
    expect(asked.map(({ method }) => method)).not.toContain('initialize')
  })

  it.each([
    ['is not a name', { type: 'string', 'x-mcp-header': 'no name' }, 'not a valid header name'],
    ['is a list', { type: 'array', 'x-mcp-header': 'List' }, 'of a type that headers cannot hold'],
    [
      'is inside of another',
      { type: 'array', items: { type: 'string', 'x-mcp-header': 'In' } },
      'outside of an argument',
    ],
  ])('is not given a header that %s: the tool is dropped', async (_, wrong, why) => {
    const inputSchema = { type: 'object', properties: { a: wrong } }
    const { url } = await answering({
      'server/discover': discovered({ tools: {} }),
      'tools/list': listing(region, tool('twice', { inputSchema })),
    })
    const { host } = await openFront(stdio, [remote(url)])
    await untilState(host, 'far', 'connected')
    expect(statusOf(host, 'far').tools.map(({ name }) => name)).toEqual(['where'])
    expect(statusOf(host, 'far').problems).toMatchObject([
      { tool: 'twice', kind: 'dropped', message: expect.stringContaining(why) },
    ])
  })

  it('H4 is listened to, and listed again when it says so', async () => {
    const lists = [[tool('old')], [tool('old'), tool('new')]]
    const change = signal()
    const { url } = await answering({
      'server/discover': discovered({ tools: { listChanged: true } }),
      'tools/list': (params, exchange, message) =>
        listing(...((lists.length > 1 ? lists.shift() : lists[0]) ?? []))?.(params, exchange, message),
      async 'subscriptions/listen'({ notifications }, { stream }, { id }) {
        const _meta = { 'io.modelcontextprotocol/subscriptionId': id }
        stream({ method: 'notifications/subscriptions/acknowledged', params: { notifications, _meta } })
        await change.promise
        stream({ method: 'notifications/tools/list_changed', params: { _meta } })
      },
    })
    const { host } = await openFront(stdio, [remote(url, 'http', { alwaysLoad: true })])
    await untilState(host, 'far', 'connected')
    expect(statusOf(host, 'far').tools.map(({ name }) => name)).toEqual(['old'])
    change.resolve()
    await until(() => statusOf(host, 'far').tools.length === 2, 'it is listed again')
  })

  it('hears which log level its client wants with each request, and what of its resources is wanted', async () => {
    const { url, asked } = await answering({
      'server/discover': discovered({ tools: {}, logging: {}, resources: { subscribe: true } }),
      'tools/list': listing(tool('work')),
      'resources/list': (_, { reply }) =>
        reply({ resources: [{ uri: 'a://b', name: 'b' }], resultType: 'complete' }),
      'resources/templates/list': (_, { reply }) => reply({ resourceTemplates: [], resultType: 'complete' }),
      'tools/call': (_, { reply }) => reply({ ...text('worked'), resultType: 'complete' }),
      'subscriptions/listen'({ notifications }, { stream }, { id }) {
        const _meta = { 'io.modelcontextprotocol/subscriptionId': id }
        stream({ method: 'notifications/subscriptions/acknowledged', params: { notifications, _meta } })
        stream({ method: 'notifications/resources/updated', params: { uri: 'a://b', _meta } })
      },
      any: complete,
    })
    const open = await openFront(stdio, [remote(url)])
    await untilState(open.host, 'far', 'connected')
    await open.desk.client.setLoggingLevel('error')
    await open.desk.client.listResources()
    await open.desk.client.subscribeResource({ uri: 'far+a://b' })
    await until(
      () => open.desk.told.some(({ params }) => params?.uri === 'far+a://b'),
      'the client hears of the resource',
    )
    await open.desk.client.unsubscribeResource({ uri: 'far+a://b' })
    expect(await open.call('far__work')).toBe('worked')
    const { params } = asked.findLast(({ method }) => method === 'tools/call') as Loose
    expect(params._meta).toMatchObject({ 'io.modelcontextprotocol/logLevel': 'error' })
  })
})

describe('H1 a server that speaks only SSE', () => {
  /** Refuses the newer transport with a status. */
  function older(status: number): Answers {
    let events: Exchange | undefined
    return {
      GET(_, exchange) {
        events = exchange
        exchange.response.writeHead(200, { 'content-type': 'text/event-stream' })
        exchange.response.write('event: endpoint\ndata: /messages\n\n')
      },
      any(params, { request, response }, message) {
        if (request.url !== '/messages') return void response.writeHead(status).end()
        response.writeHead(202).end()
        const reply = (result: object) => events?.stream({ id: message.id, result })
        if (message.method === 'initialize') greeted({ tools: {} })(params, { reply } as Exchange, message)
        else if (message.method === 'tools/list') reply({ tools: [tool('work')] })
        else if (message.id !== undefined) reply(text('worked'))
      },
    }
  }

  it.each([
    ['auto', 400],
    ['auto', 404],
    ['auto', 405],
    ['sse', 500],
  ] as const)('is found as %s, though it answers a request with %i', async (kind, status) => {
    const { url } = await answering(older(status))
    const open = await openFront(stdio, [remote(url, kind)])
    await untilState(open.host, 'far', 'connected')
    expect(await open.call('far__work')).toBe('worked')
  })

  it.each([
    ['auto', 403],
    ['auto', 500],
    ['http', 405],
  ] as const)('is not looked for as %s after %i', async (kind, status) => {
    const { url, asked } = await answering(older(status))
    const { host } = await openFront(stdio, [remote(url, kind)], { times: { firstRetryMs: 3_600_000 } })
    await untilState(host, 'far', 'failed')
    expect(statusOf(host, 'far')).toMatchObject({
      reason: expect.stringContaining(`answered with HTTP ${status}`),
      category: `HTTP ${status}`,
    })
    expect(asked.map(({ method }) => method)).not.toContain('GET')
  })
})

it('a call that is answered with a status says which; whether it took effect is not known', async () => {
  const { url } = await answering({
    initialize: greeted({ tools: {} }),
    'tools/list': listing(tool('work')),
    'tools/call': (_, { response }) => response.writeHead(502).end('OBEY ME'),
  })
  const open = await openFront(stdio, [remote(url)])
  await untilState(open.host, 'far', 'connected')
  const answer = await open.call('far__work')
  expect(answer).toBe('!the server "far" answered with HTTP 502. Whether the call took effect is not known.')
})

it.each([
  ['cuts the connection', ({ response }: Exchange) => response.destroy()],
  [
    'ends in the middle of its answer',
    ({ response }: Exchange) => response.setHeader('content-type', 'application/json').end('{"result":'),
  ],
])('H9 a call whose server %s says that it did not answer', async (_, end) => {
  const { url } = await answering({
    initialize: greeted({ tools: {} }),
    'tools/list': listing(tool('work')),
    'tools/call': (_params, exchange) => void end(exchange),
  })
  const open = await openFront(stdio, [remote(url)])
  await untilState(open.host, 'far', 'connected')
  const answer = await open.call('far__work')
  expect(answer).toBe('!the server "far" did not answer. Whether the call took effect is not known.')
})

it('H4 resources are subscribed to anew when their server has forgotten its session', async () => {
  const subscribed: string[] = []
  let hasForgotten = false
  const { url } = await answering({
    initialize(params, exchange, message) {
      hasForgotten = false
      greeted({ tools: {}, resources: { subscribe: true } })(params, exchange, message)
    },
    'tools/list': listing(tool('work')),
    'tools/call'(_, { reply, response }) {
      if (hasForgotten) response.writeHead(404).end()
      else reply(text('worked'))
    },
    'resources/list': (_, { reply }) => reply({ resources: [{ uri: 'a://b', name: 'b' }] }),
    'resources/templates/list': (_, { reply }) => reply({ resourceTemplates: [] }),
    'resources/subscribe'({ uri }, { reply }) {
      subscribed.push(uri)
      reply({})
    },
  })
  const open = await openFront(stdio, [remote(url)])
  await untilState(open.host, 'far', 'connected')
  await open.desk.client.listResources()
  await open.desk.client.subscribeResource({ uri: 'far+a://b' })
  hasForgotten = true
  expect(await open.call('far__work')).toBe('worked')
  await until(() => subscribed.length === 2, 'it is subscribed to again')
  expect(subscribed).toEqual(['a://b', 'a://b'])
})

describe('H6 the last words of a process', () => {
  const npm =
    'npm error code E404\nnpm error 404 Not Found - GET https://r.example/x\nnpm error A complete log of this run'
  it.each([
    [
      'the error above its stack',
      'Starting\nTypeError: no key\n    at a (b.js:1)\n    at c (d.js:2)\n\nNode.js v22',
      'TypeError: no key',
    ],
    [
      'the error below its stack',
      'Traceback (most recent call last):\n  File "a.py", line 1\nKeyError: "KEY"\n',
      'KeyError: "KEY"',
    ],
    [
      'the error of a group',
      '  + Exception Group Traceback (most recent call last):\n  |   File "a.py"\n  | ExceptionGroup: several (1)\n',
      'ExceptionGroup: several (1)',
    ],
    ['what npm says', npm, 'npm error 404 Not Found - GET https://r.example/x'],
    [
      'an error that goes on in brackets',
      'Error: [\n  { "path": "KEY" }\n]\n    at x (y.js)\n',
      'Error: [ { "path": "KEY" } ]',
    ],
    ['an error before much else', `Error: early\n${'    at a (b.js)\n'.repeat(60)}`, 'Error: early'],
    ['the last line that says something', 'Loading\nno such token\n---\n', 'no such token'],
  ])('say %s', async (_, words, said) => {
    const { host, desk } = await openFront(stdio, [process('printf %s "$1" >&2; exit 3', words)], {
      times: { firstRetryMs: 3_600_000 },
    })
    await untilState(host, 'one', 'failed')
    expect(statusOf(host, 'one').reason).toContain(`exit code 3 before it was ready. It said: ${said}`)
    expect(await desk.search('zeppelin')).toMatch(
      /"?one"?.*failed to start: it ended with exit code 3(?!.*It said)/s,
    )
  })

  it.each([
    [{ command: 'no-such-command-anywhere' }, 'its command was not found'],
    [{ command: '/etc' }, 'its command is not executable'],
    [{ command: '/bin/sh', cwd: '/no/such/folder' }, 'its folder does not exist'],
  ])('%j fails with a category', async (given, category) => {
    const { transport } = process('')
    const config = { ...process(''), transport: { ...transport, ...given } as ServerConfig['transport'] }
    const { host } = await openFront(stdio, [config], { times: { firstRetryMs: 3_600_000 } })
    await untilState(host, 'one', 'failed')
    expect(statusOf(host, 'one').category).toBe(category)
  })
})

describe('H6 an output schema', () => {
  const whole = {
    type: 'object',
    title: 'T',
    'x-own': 1,
    required: ['a'],
    properties: {
      a: { type: ['string', 'null'], minLength: 1, pattern: '^x', format: 'date', enum: ['x'] },
      b: { type: 'array', items: { $ref: '#/$defs/c' }, uniqueItems: true, prefixItems: [true] },
      d: { anyOf: [{ not: { const: 1 } }, { $ref: '#' }], additionalProperties: false },
    },
    $defs: { c: { type: 'integer', maximum: 5 } },
  }
  it('that every client can compile is listed, and no other: one would lose a client the whole list', async () => {
    const others = [
      { type: 'object', $id: 'x' },
      { type: 'object', pattern: '(' },
      { type: 'object', properties: [] },
      { type: 'object', anyOf: [] },
      { type: 'object', enum: [] },
      { type: ['object'] },
      { type: 'string' },
      { type: 'object', type2: 'x' },
      { type: 'object', minProperties: '1' },
      { type: 'object', uniqueItems: 1 },
      { type: 'object', format: 1 },
      { type: 'object', description: 'x'.repeat(65_600) },
      { type: 'object', properties: { a: { $ref: '#/definitions/a' } }, definitions: { b: {} } },
      { type: 'object', properties: { a: { $ref: '#/$defs/toString' } }, $defs: {} },
      { type: 'object', items: 5 },
      { type: 'object', $ref: 'x#/$defs/a', $defs: { a: {} } },
      { type: 'object', properties: { a: { $ref: 5 } } },
      { type: 'object', properties: { a: { type: [] } } },
    ]
    const tools = [whole, ...others].map((outputSchema, number) => tool(`t${number}`, { outputSchema }))
    const config = serverHere('one', () => ({ 'tools/list': () => ({ tools }) }), { alwaysLoad: true })
    const { desk, host } = await openFront(stdio, [config])
    await host.settled()
    const listed = (await desk.raw('tools/list')).tools.filter(({ name }: Loose) => name.startsWith('one__'))
    expect(listed).toHaveLength(tools.length)
    expect(listed.flatMap(({ outputSchema }: Loose) => outputSchema ?? [])).toEqual([whole])
  })
})
