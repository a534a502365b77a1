// A gateway over HTTP with users: sessions, streams and results belong to their user, keys stop at once, limits hold.
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Trace } from '../../packages/core/src/events.ts'
import { type StateStore, StoreError } from '../../packages/core/src/store.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { eras, textOf } from '../mcp/support/gateway.ts'
import { initialize } from '../mcp/support/gateway-http.ts'
import { until } from '../mcp/support/processes.ts'
import { profileOf } from './support.ts'
import { openWithUsers, shareWithUsers } from './with-users.ts'

/** One for what each test does with users of its own; what changes the gateway for others has one to itself. */
const shared = shareWithUsers({
  profiles: {
    ...{ ada: {}, bob: {} },
    barred: { servers: { allow: [], deny: ['payroll'] }, tools: { allow: [], deny: ['*__github_two'] } },
    listing: { listing: 'list', resultBudget: 8 },
    ...{ reader: { resultBudget: 8 }, stranger: { resultBudget: 8 } },
    ...Object.fromEntries(eras.map((era) => [`revoked-${era}`, {}])),
    searcher: { limits: { searchesPerDay: 1 } },
    questionHandler: { limits: { requestsPerDay: 5 } },
  },
  options: { results: {} },
})

test('without a key, with a wrong one and with another’s id: 401; the health check needs none', async () => {
  const { send, keys } = shared()
  const forged = `tsk_${keys.ada?.id}_${'A'.repeat(43)}`
  const wrong: readonly { readonly [name: string]: string }[] = [
    {},
    { authorization: `Bearer ${forged}` },
    { authorization: 'Basic x' },
  ]
  for (const headers of wrong) {
    const { status, headers: answered } = await send({ body: initialize, headers })
    expect(status).toBe(401)
    expect(answered['www-authenticate']).toBe('Bearer')
  }
  expect((await send({ method: 'GET', path: '/health' })).status).toBe(200)
})

test('a session belongs to its user: with another’s key it is unknown', async () => {
  const { send, bearer } = shared()
  const opened = await send({ body: initialize, headers: bearer('ada') })
  const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) }
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
  const asked = async (user: string, id: object) => {
    const { status, text } = await send({ body: list, headers: { ...bearer(user), ...session, ...id } })
    return { status, text }
  }
  const stranger = await asked('bob', {})
  expect(stranger.status).toBe(404)
  expect(stranger).toEqual(await asked('bob', { 'mcp-session-id': 'none-such' }))
  expect(await send({ method: 'DELETE', headers: { ...bearer('bob'), ...session } })).toMatchObject({
    status: 404,
  })
  expect((await asked('ada', {})).status).toBe(200)
})

describe.each(eras)('a client, %s', (era) => {
  test('sees what its user may see; a hidden name and one that does not exist get the same answer', async () => {
    const { connect, key } = shared()
    const { client, search, call } = await connect({ era, ...key('barred') })
    const { tools } = await client.listTools()
    expect(JSON.stringify([client.getInstructions(), tools])).not.toContain('payroll')
    expect(await search('handles orders')).toContain('github__github_one')
    expect(await search('handles orders')).not.toMatch(/payroll|github_two/)
    expect(textOf(await call('CallTool', { name: 'github__github_one', arguments: {} }))).toBe(
      'done by github_one',
    )
    const answers = async (server: string, tool: string) => {
      const failed = async (asked: Promise<unknown>) =>
        JSON.stringify(await asked.catch((error: Error) => error.message))
      const uri = `${server}+book://${server}_book`
      const all = [
        await failed(call('CallTool', { name: `${server}__${tool}`, arguments: {} })),
        await failed(call(`${server}__${tool}`)),
        await failed(client.readResource({ uri })),
        await failed(client.getPrompt({ name: `${server}__${server}_prompt` })),
        await failed(
          client.complete({ ref: { type: 'ref/resource', uri }, argument: { name: 'x', value: '' } }),
        ),
      ]
      return all.join('\n').replaceAll(tool, 'TOOL').replaceAll(server, 'SERVER')
    }
    expect(await answers('payroll', 'payroll_one')).toBe(await answers('worryll', 'worryll_one'))
  })

  test('gets its user’s listing mode and budget of results', async () => {
    const { connect, key } = shared()
    const { names, call } = await connect({ era, ...key('listing') })
    // Without sessions there is no list to add to.
    expect((await names()).includes('CallTool')).toBe(era === 'modern')
    const shelved = textOf(await call('github__github_one'))
    expect(shelved).toContain('ReadResult')
  })

  test('reads results of another client of its user, also through a proxy, and nobody else’s', async () => {
    const { connect, key } = shared()
    const headers = { 'x-forwarded-for': '203.0.113.7' }
    const reader = await connect({ era, ...key('reader'), headers })
    const text = textOf(await reader.call('CallTool', { name: 'github__github_one', arguments: {} }))
    const handle = /result_[a-z0-9]+/.exec(text)?.[0]
    expect(handle, text).toBeDefined()
    const read = { name: 'ReadResult', arguments: { handle } }
    expect(textOf(await reader.call('CallTool', read))).toContain('done by github_one')
    const again = await connect({ era, ...key('reader'), name: 'other', headers })
    expect(textOf(await again.call('CallTool', read))).toContain('done by github_one')
    const stranger = await connect({ era, ...key('stranger'), headers })
    expect(textOf(await stranger.call('CallTool', read))).not.toContain('done by')
  })

  test('is refused at once when its key is revoked, in the middle of a session', async () => {
    const { connect, key, keys, directory } = shared()
    const user = `revoked-${era}`
    // Raw requests: the client would answer a list that is still fresh by itself.
    const { raw } = await connect({ era, ...key(user) })
    await raw('tools/list')
    await directory.deleteKey(keys[user]?.id ?? '')
    await expect(raw('tools/list')).rejects.toThrow(/401|Unauthorized|missing or wrong key/)
  })
})

test('a revoked key ends open streams and sessions, and so do changed rights; others continue', async () => {
  const { send, bearer, keys, directory, clients, url } = await openWithUsers({
    profiles: { ada: {}, bob: {}, eve: {} },
  })
  /** Opens a session with its stream; the returned promise settles when the stream has ended. */
  const openStream = async (user: string) => {
    const opened = await send({ body: initialize, headers: bearer(user) })
    const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) }
    const controller = new AbortController()
    onTestFinished(() => controller.abort())
    const headers = { ...bearer(user), ...session, accept: 'text/event-stream' }
    const response = await fetch(url, { headers, signal: controller.signal })
    expect(response.status).toBe(200)
    const state = { isOver: false }
    void response.text().then(
      () => void Object.assign(state, { isOver: true }),
      () => {},
    )
    return state
  }
  const streams = { ada: await openStream('ada'), bob: await openStream('bob'), eve: await openStream('eve') }
  expect(await clients()).toBe(3)
  await directory.deleteKey(keys.ada?.id ?? '')
  await until(() => streams.ada.isOver, 'the stream of the revoked key has ended')
  await directory.saveProfile(profileOf({ name: 'bob', servers: { allow: ['github'], deny: [] } }))
  await until(() => streams.bob.isOver, 'the stream with the old rights has ended')
  expect(streams.eve.isOver).toBe(false)
  expect(await clients()).toBe(1)
  expect((await send({ body: initialize, headers: bearer('bob') })).status).toBe(200)
})

describe('limits', () => {
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }

  test('of requests: exactly as many pass; then 429 with when to come back, and an event', async () => {
    const { send, bearer, events } = shared()
    const before = events.length
    const asked = (user: string) => send({ body: list, headers: bearer(user) })
    const answers = await Promise.all(Array.from({ length: 8 }, () => asked('questionHandler')))
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(3)
    const refused = answers.find(({ status }) => status === 429)
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0)
    expect(refused?.text).toMatch(/your limit of 5 requests per day is reached; try again in \d+ (s|min|h)/)
    const refusals = events.slice(before).filter(({ type }) => type === 'refused')
    expect(refusals).toHaveLength(3)
    expect(refusals[0]).toMatchObject({
      type: 'refused',
      user: 'questionHandler',
      reason: 'limit',
      status: 429,
    })
    expect((await asked('bob')).status).not.toBe(429)
  })

  test('of searches: the model gets an error that it can act on', async () => {
    const { connect, key } = shared()
    const { call } = await connect(key('searcher'))
    expect(await call('ToolSearch', { query: 'handles orders' })).not.toMatchObject({ isError: true })
    const refused = await call('ToolSearch', { query: 'handles orders' })
    expect(refused).toMatchObject({ isError: true })
    expect(textOf(refused)).toContain('your limit of 1 searches per day is reached')
    expect(textOf(await call('CallTool', { name: 'github__github_one', arguments: {} }))).toBe(
      'done by github_one',
    )
  })

  test('while the store is away: 503 for those who have some, the others continue', async () => {
    const memory = createMemoryStore()
    let isAway = false
    const store: StateStore = {
      ...memory,
      async add(...counted) {
        if (isAway) throw new StoreError('the store is away')
        return memory.add(...counted)
      },
    }
    const { send, bearer } = await openWithUsers({
      profiles: { ada: { limits: { requestsPerMinute: 100 } }, bob: {} },
      store,
    })
    const asked = async (user: string) => (await send({ body: list, headers: bearer(user) })).status
    const usual = await asked('ada')
    isAway = true
    expect(await asked('ada')).toBe(503)
    expect(await asked('bob')).toBe(usual)
    isAway = false
    expect(await asked('ada')).toBe(usual)
  })
})

test('the events of a client name its user, and calls of hidden tools are refused for their rights', async () => {
  const opened: unknown[] = []
  const events: Trace[] = []
  const { connect, key, keys } = await openWithUsers({
    profiles: { ada: { servers: { allow: [], deny: ['payroll'] } } },
    options: {
      openTrace: (start) => {
        opened.push(start)
        return (event) => void events.push(event)
      },
    },
  })
  const { call } = await connect(key('ada'))
  await call('CallTool', { name: 'github__github_one', arguments: {} })
  await call('CallTool', { name: 'payroll__payroll_one', arguments: {} })
  await call('CallTool', { name: 'nobody__nothing', arguments: {} })
  expect(opened).toEqual([expect.objectContaining({ user: 'ada' })])
  const results = events.flatMap((event) => (event.type === 'result' ? [event] : []))
  expect(results).toMatchObject([
    {
      name: 'github__github_one',
      outcome: 'done',
      milliseconds: expect.any(Number),
      size: expect.any(Number),
    },
    { name: 'payroll__payroll_one', outcome: 'refused', reason: 'rights' },
    { name: 'nobody__nothing', outcome: 'refused' },
  ])
  expect(JSON.stringify([opened, events])).not.toContain(keys.ada?.token)
})
