// The requests of a session over HTTP: what is sent, what is read from the answers, and how they fail.
import { describe, expect, it, vi } from 'vitest'
import { callContext } from '../../src/mcp/protocol/index.ts'
import {
  complete,
  discovered,
  greeted,
  messageOf,
  methods,
  openHttp,
  options,
  signal,
} from './support/session.ts'

describe('H1 the requests of a session', () => {
  it('take every result as it is, without what belongs to the connection', async () => {
    const { session, asked } = await openHttp({
      initialize: greeted(),
      'x/y': (_, { reply }) =>
        reply({ a: [1], resultType: 'complete', _meta: { 'x.example/y': 1, progressToken: 2 } }),
      'tools/list': ({ cursor }, { reply }) =>
        reply(cursor ? { tools: [2] } : { tools: [1], nextCursor: 'next' }),
      'tools/call': (_, { reply }) => reply({ content: 'plain', resultType: 'complete' }),
    })
    const meta = { 'x.example/z': 3, progressToken: 4 }
    expect(await session.request('x/y', { b: 2 }, { ...options, meta })).toEqual({
      a: [1],
      _meta: { 'x.example/y': 1 },
    })
    const sent = asked.at(-1)
    expect(sent?.params).toEqual({ b: 2, _meta: { 'x.example/z': 3, progressToken: sent?.id } })
    await session.request('x/y', undefined, options)
    expect(asked.at(-1)?.params).toEqual({ _meta: { progressToken: asked.at(-1)?.id } })
    expect((await session.list('tools/list', 'tools', 60_000)).entries).toEqual([1, 2])
    const tool = { name: 't', inputSchema: { type: 'object' } }
    expect(await session.call('t', undefined, { ...options, tool } as never)).toEqual({
      content: [{ type: 'text', text: 'plain' }],
    })
    expect(asked.at(-1)?.params).toMatchObject({ name: 't', arguments: {} })
  })

  it('take every result of the newer protocol as it is, with wrong and missing fields', async () => {
    const odd = { name: 5, inputSchema: 'none' }
    const { session } = await openHttp({
      'server/discover': discovered({ tools: {}, prompts: {}, resources: {} }),
      'tools/list': (_, { reply }) =>
        reply({ tools: [odd, { name: 't' }], ttlMs: 'long', resultType: 'complete' }),
      'prompts/list': (_, { reply }) => reply({ prompts: [odd] }),
      'resources/read': (_, { reply }) => reply({ contents: [{ uri: 1 }], resultType: 'complete' }),
      'tools/call': (_, { reply }) => reply({ content: [{ type: 'hologram' }], resultType: 'complete' }),
      'prompts/get': (_, { reply }) => reply({ resultType: 'riddle' }),
    })
    expect(await session.list('tools/list', 'tools', 60_000)).toMatchObject({ entries: [odd, { name: 't' }] })
    expect((await session.list('prompts/list', 'prompts', 60_000)).entries).toEqual([odd])
    expect(await session.request('resources/read', { uri: 'a' }, options)).toEqual({ contents: [{ uri: 1 }] })
    const content = [{ type: 'text', text: '{"type":"hologram"}' }]
    expect(await session.call('t', {}, options)).toEqual({ content })
    const tool = { name: 't', inputSchema: { type: 'object' } }
    expect(await session.call('t', {}, { ...options, tool } as never)).toEqual({ content })
    expect(await messageOf(session.request('prompts/get', { name: 'p' }, options))).toContain('riddle')
  })

  it('send the arguments that a tool of the newer protocol declares as headers too, in every round', async () => {
    const regions: unknown[] = []
    const { session, asked } = await openHttp({
      'server/discover': discovered({ tools: {} }),
      'tools/call'({ requestState }, { request, reply }) {
        regions.push(request.headers['mcp-param-region'])
        const result = { content: [], structuredContent: { n: 'no number' } }
        if (requestState === 's') return reply({ ...result, resultType: 'complete' })
        reply({ resultType: 'input_required', requestState: 's' })
      },
    })
    const tool = {
      name: 't',
      inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
      outputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    }
    // A result that does not fit the tool's schema is passed on all the same.
    expect(await session.call('t', { region: 'eu' }, { ...options, tool } as never)).toEqual({
      content: [],
      structuredContent: { n: 'no number' },
    })
    expect(regions).toEqual(['eu', 'eu'])
    expect(asked.at(-1)?.params).toMatchObject({
      name: 't',
      arguments: { region: 'eu' },
      requestState: 's',
      inputResponses: {},
    })
    await session.call('t', { region: 'eu' }, options)
    expect(regions.slice(2)).toEqual([undefined, undefined])
  })

  it('H6 fail when no answer comes in time, and say which server it was', async () => {
    const { session } = await openHttp({ 'server/discover': discovered({ tools: {} }), any: () => {} })
    await expect(session.request('x/y', {}, { timeoutMs: 100 })).rejects.toMatchObject({
      message: 'the server "one" did not answer within 0.1 s',
      cause: { limit: 100 },
    })
    const tool = { name: 't', inputSchema: { type: 'object' } }
    expect(await messageOf(session.call('t', {}, { timeoutMs: 100, tool } as never))).toBe(
      '! the server "one" did not answer within 0.1 s',
    )
  })

  it('report the rights that are missing, and every other error as the server sends it', async () => {
    const authorize = { token: async () => 'abc' } as never
    const { session } = await openHttp(
      {
        'server/discover': discovered(),
        'a/b': (_, { response }) =>
          response
            .writeHead(403, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="mail.read"' })
            .end(),
        'e/f': (_, { request, reply }) =>
          reply({ key: request.headers.authorization, resultType: 'complete' }),
        'c/d': (_, { refuse }) => refuse(-32000, 'as the server says'),
      },
      { authProvider: authorize },
    )
    expect(await session.request('e/f', {}, options)).toEqual({ key: 'Bearer abc' })
    await expect(session.request('a/b', {}, options)).rejects.toMatchObject({
      message: expect.stringContaining(
        'supply a token with the scope "mail.read" through the option "authorize"',
      ),
      cause: { requiredScope: 'mail.read' },
    })
    expect(await messageOf(session.request('c/d', {}, options))).toBe('! as the server says')
  })

  it('report to the call that they belong to that they were answered, whatever ids the server uses', async () => {
    const answered = vi.fn()
    const answers: (() => void)[] = []
    const { session } = await openHttp(
      {
        initialize: greeted(),
        async 'x/y'(_, { stream, reply }, { id }) {
          for (const question of [id, id + 1]) {
            const next = signal()
            answers.push(next.resolve)
            stream({ id: question, method: 'roots/list' })
            await next.promise
          }
          reply({})
        },
        answer(_, { response }) {
          response.writeHead(202).end()
          answers.shift()?.()
        },
        'x/z': (_, { reply }) => reply({}),
      },
      {
        capabilities: { roots: {} },
        async onRequest() {
          expect(answered).not.toHaveBeenCalled()
          return { roots: [] }
        },
      },
    )
    await callContext.run({ answered }, () => session.request('x/y', {}, options))
    expect(answered).toHaveBeenCalledTimes(1)
    await session.request('x/z', {}, options)
    expect(answered).toHaveBeenCalledTimes(1)
  })

  it('set the log level of a newer server with each request, and of an older one with a request', async () => {
    const older = await openHttp({
      initialize: greeted(),
      'logging/setLevel': (_, { reply }) => reply({ set: 1 }),
    })
    expect(await older.session.request('logging/setLevel', { level: 'error' }, options)).toEqual({ set: 1 })
    const newer = await openHttp({ 'server/discover': discovered({ logging: {} }), 'x/y': complete })
    expect(await newer.session.request('logging/setLevel', { level: 'error' }, options)).toEqual({})
    await newer.session.request('x/y', undefined, options)
    expect(newer.asked.at(-1)?.params._meta).toMatchObject({ 'io.modelcontextprotocol/logLevel': 'error' })
  })

  it('notify the server', async () => {
    const told = signal<string>()
    const { session } = await openHttp(
      {
        initialize: greeted(),
        'notifications/roots/list_changed'(_, { response }, { method }) {
          response.writeHead(202).end()
          told.resolve(method)
        },
      },
      { capabilities: { roots: { listChanged: true } } },
    )
    await session.notify('notifications/roots/list_changed')
    expect(await told.promise).toBe('notifications/roots/list_changed')
  })

  it('do not notify a server of the newer protocol, which has no such notification', async () => {
    const { session, asked } = await openHttp(
      { 'server/discover': discovered(), 'x/y': complete },
      { capabilities: { roots: { listChanged: true } } },
    )
    await session.notify('notifications/roots/list_changed')
    await session.request('x/y', undefined, options)
    expect(methods(asked)).toEqual(['server/discover', 'x/y'])
  })
})
