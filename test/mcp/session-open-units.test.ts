// Opening a session with a server over HTTP: which protocol and transport it finds, and how it fails.
import { describe, expect, it, vi } from 'vitest'
import {
  type Answers,
  answering,
  discovered,
  type Exchange,
  greeted,
  http,
  messageOf,
  methods,
  openHttp,
  openSession,
  options,
  signal,
} from './support/session.ts'

const auto = (url: string) => ({ kind: 'auto', url, headers: {} }) as const

describe('H1 a session over HTTP', () => {
  it('speaks the newer protocol with a server that answers its probe, and describes the server', async () => {
    const capabilities = { tools: {}, logging: {} }
    const { session, asked } = await openHttp({ 'server/discover': discovered(capabilities) })
    const { info, instructions, protocol, isLegacy, mirrorsArguments, pid } = session
    expect({ info, instructions, protocol, isLegacy, mirrorsArguments, pid }).toEqual({
      info: { name: 'newer', version: '3.0.0' },
      instructions: 'Be brief.',
      protocol: '2026-07-28',
      isLegacy: false,
      mirrorsArguments: true,
      pid: undefined,
    })
    expect(session.capabilities).toEqual(capabilities)
    expect(session.stderr()).toBe('')
    expect(methods(asked)).toEqual(['server/discover'])
  })

  it('greets any other as an older client does, with its headers, name and capabilities', async () => {
    let key: unknown
    const { url, asked } = await answering({
      initialize(params, exchange, message) {
        key = exchange.request.headers['x-key']
        greeted({ prompts: {} })(params, exchange, message)
      },
    })
    const { session } = await openSession(http(url, { 'x-key': 'abc' }), { capabilities: { roots: {} } })
    expect(key).toBe('abc')
    const { info, protocol, isLegacy, mirrorsArguments, capabilities } = session
    expect({ info, protocol, isLegacy, mirrorsArguments, capabilities }).toEqual({
      info: { name: 'older', version: '1.0.0' },
      protocol: '2025-11-25',
      isLegacy: true,
      mirrorsArguments: false,
      capabilities: { prompts: {} },
    })
    expect(methods(asked).slice(0, 2)).toEqual(['server/discover', 'initialize'])
    expect(asked[1]?.params).toMatchObject({
      capabilities: { roots: {} },
      clientInfo: { name: 'tester', version: '2.0.0' },
    })
  })

  it('does not probe a server that is known to be older', async () => {
    const { asked } = await openHttp({ initialize: greeted() }, { isKnownLegacy: true })
    expect(methods(asked)[0]).toBe('initialize')
  })

  it('is not opened for an address without a scheme', async () => {
    expect(await messageOf(openSession(http('host/path')))).toContain('"host/path" is not a URL')
  })

  it('is given up when the server does not answer in time, or when its signal is aborted', async () => {
    const config = { connectTimeoutMs: 100 }
    expect(await messageOf(openHttp({ any: () => {} }, { config }))).toContain(
      'it did not answer within 0.1 s',
    )
    const reached = signal<Exchange>()
    const controller = new AbortController()
    const opening = messageOf(
      openHttp({ any: (_, exchange) => reached.resolve(exchange) }, { signal: controller.signal }),
    )
    const { response } = await reached.promise
    const left = signal()
    response.once('close', () => left.resolve())
    controller.abort()
    await left.promise
    expect(await opening).toMatch(/^! /)
    const unreached = vi.fn()
    expect(
      await messageOf(openHttp({ any: unreached }, { signal: AbortSignal.abort(new Error('gone')) })),
    ).toContain('gone')
    expect(unreached).not.toHaveBeenCalled()
  })

  it('that is open ends with its signal and says so, unless it was closed before', async () => {
    const controller = new AbortController()
    const given = { signal: controller.signal }
    const { ended } = await openHttp({ 'server/discover': discovered() }, given)
    const closed = await openHttp({ 'server/discover': discovered() }, given)
    await closed.session.close()
    controller.abort()
    expect(await ended).toEqual(['it closed the connection', ''])
    expect(closed.hasEnded()).toBe(false)
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
        if (message.method === 'initialize') greeted()(params, { reply } as Exchange, message)
        else if (message.id !== undefined) reply({ echo: message.method })
      },
    }
  }

  it.each([400, 404, 405, 406, 415])('is found if it refuses the other transport with %i', async (status) => {
    const { url } = await answering(older(status))
    const { session } = await openSession(auto(url))
    expect(await session.request('x/y', undefined, options)).toEqual({ echo: 'x/y' })
    expect(session.isLegacy).toBe(true)
  })

  it('is not looked for after another failure, nor where the configuration says HTTP', async () => {
    for (const [status, transport] of [
      [403, auto],
      [500, auto],
      [405, http],
    ] as const) {
      const { url, asked } = await answering(older(status))
      expect(await messageOf(openSession(transport(url)))).toContain(`answered with HTTP ${status}`)
      expect(methods(asked)).not.toContain('GET')
    }
  })

  it('is opened as such at once where the configuration says SSE', async () => {
    const { url, asked } = await answering(older(405))
    const { session } = await openSession({ kind: 'sse', url, headers: {} })
    expect(methods(asked).slice(0, 2)).toEqual(['GET', 'initialize'])
    expect(session.info?.name).toBe('older')
  })
})
