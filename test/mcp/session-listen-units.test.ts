// What a server over HTTP sends by itself: changes of its lists, notifications and questions.
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Loose } from '../support/talk.ts'
import {
  type Answers,
  complete,
  discovered,
  type Exchange,
  greeted,
  methods,
  openHttp,
  options,
  signal,
} from './support/session.ts'

afterEach(() => void vi.restoreAllMocks())

describe('H4 changes of the lists of a newer server', () => {
  const acknowledge = ({ stream }: Exchange, { id }: Loose, notifications: object) =>
    stream({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications, _meta: { 'io.modelcontextprotocol/subscriptionId': id } },
    })

  /** Lets no time pass in front of another attempt; returns the delays. */
  function skipDelays(): number[] {
    const delays: number[] = []
    const start = globalThis.setTimeout
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms = 0) => {
      const isRetry = ms >= 1000 && ms < 60_000 && Number.isInteger(Math.log2(ms / 1000))
      if (isRetry) delays.push(ms)
      return start(run, isRetry ? 0 : ms)
    }) as never)
    return delays
  }

  it.each([
    [{ tools: { listChanged: true }, prompts: {}, resources: {} }, { toolsListChanged: true }],
    [{ prompts: { listChanged: true }, tools: { listChanged: false } }, { promptsListChanged: true }],
    [
      { resources: { listChanged: true }, tools: { listChanged: true }, prompts: { listChanged: true } },
      { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true },
    ],
  ])('are subscribed to as far as it has them: %j', async (capabilities, filter) => {
    const listening = signal<Loose>()
    const heard = signal<string>()
    await openHttp(
      {
        'server/discover': discovered(capabilities),
        'subscriptions/listen'(params, exchange, message) {
          acknowledge(exchange, message, filter)
          exchange.stream({ method: 'notifications/tools/list_changed' })
          listening.resolve(params.notifications)
        },
      },
      { onNotification: heard.resolve },
    )
    expect(await listening.promise).toEqual(filter)
    expect(await heard.promise).toBe('notifications/tools/list_changed')
  })

  it('are not subscribed to where it has none, nor at an older server', async () => {
    for (const answers of [
      { 'server/discover': discovered({ tools: {}, logging: {} }) },
      { 'server/discover': discovered({}) },
      { initialize: greeted({ tools: { listChanged: true } }) },
    ] as Answers[]) {
      const { session, asked } = await openHttp({ ...answers, 'x/y': complete })
      await session.request('x/y', {}, options)
      expect(methods(asked)).not.toContain('subscriptions/listen')
    }
  })

  it('are subscribed to again when the stream breaks, six times with growing delays', async () => {
    const delays = skipDelays()
    const last = signal()
    let count = 0
    const { session, asked } = await openHttp({
      'server/discover': discovered({ tools: { listChanged: true } }),
      'subscriptions/listen'(_, exchange, message) {
        acknowledge(exchange, message, { toolsListChanged: true })
        exchange.response.end()
        if (++count === 6) last.resolve()
      },
      'x/y': complete,
    })
    await last.promise
    for (let i = 0; i < 3; i++) await session.request('x/y', {}, options)
    expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000])
    expect(methods(asked).filter((method) => method === 'subscriptions/listen')).toHaveLength(6)
  })

  it('are not subscribed to again when the server refuses it or ends it in order', async () => {
    const endings: ((exchange: Exchange, message: Loose) => void)[] = [
      ({ refuse }) => refuse(-32601, 'Method not found'),
      (exchange, message) => {
        acknowledge(exchange, message, { toolsListChanged: true })
        exchange.reply({ resultType: 'complete' })
      },
    ]
    const delays = skipDelays()
    for (const end of endings) {
      const { session, asked } = await openHttp({
        'server/discover': discovered({ tools: { listChanged: true } }),
        'subscriptions/listen': (_, exchange, message) => end(exchange, message),
        'x/y': complete,
      })
      for (let i = 0; i < 3; i++) await session.request('x/y', {}, options)
      expect(methods(asked).filter((method) => method === 'subscriptions/listen')).toHaveLength(1)
    }
    expect(delays).toEqual([])
  })
})

describe('H1 what a server sends by itself', () => {
  const told = [
    ['notifications/tools/list_changed', {}],
    ['notifications/prompts/list_changed', {}],
    ['notifications/resources/list_changed', {}],
    ['notifications/resources/updated', { uri: 'a://b' }],
    ['notifications/message', { level: 'info', data: 1 }],
    ['notifications/elicitation/complete', { elicitationId: 'e' }],
  ] as const

  it('is heard: changes, updates, log messages and finished questions', async () => {
    const { session, heard } = await openHttp({
      initialize: greeted(),
      'x/y'(_, { stream, reply }) {
        for (const [method, params] of told)
          stream(Object.keys(params).length > 0 ? { method, params } : { method })
        stream({ method: 'notifications/unheard-of' })
        reply({})
      },
    })
    await session.request('x/y', {}, options)
    await new Promise(setImmediate)
    expect(heard).toEqual(told)
  })

  const questions = {
    elicitation: [
      'elicitation/create',
      { message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
      { action: 'decline' },
    ],
    sampling: [
      'sampling/createMessage',
      { messages: [], maxTokens: 5 },
      { model: 'm', role: 'assistant', content: { type: 'text', text: 'hi' } },
    ],
    roots: ['roots/list', {}, { roots: [] }],
  } as const

  it.each(Object.entries(questions))(
    'a question for %s is answered if the client can, and refused otherwise',
    async (capability, [method, params, result]) => {
      for (const capabilities of [{ [capability]: {} }, {}]) {
        const answer = signal<Loose>()
        const onRequest = vi.fn(async () => result)
        const { session } = await openHttp(
          {
            initialize: greeted(),
            async 'x/y'(_, { stream, reply }) {
              stream({ id: 'q', method, ...(Object.keys(params).length > 0 ? { params } : {}) })
              await answer.promise
              reply({})
            },
            answer(_, { response }, message) {
              response.writeHead(202).end()
              answer.resolve(message)
            },
          },
          { capabilities, onRequest: onRequest as never },
        )
        await session.request('x/y', {}, options)
        const got = await answer.promise
        if (capability in capabilities) {
          expect(got).toMatchObject({ id: 'q', result })
          expect(onRequest).toHaveBeenCalledWith(method, params, expect.any(AbortSignal))
        } else {
          expect(got).toMatchObject({ id: 'q', error: { code: -32601 } })
          expect(onRequest).not.toHaveBeenCalled()
        }
      }
    },
  )
})
