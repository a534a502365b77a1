// Parts of the gateway over a fake host that records calls: who is asked, notified, admitted and refused, and when.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { clientInfoIn, createIdentities } from '../../src/mcp/gateway/identities.ts'
import { createMcpMetrics } from '../../src/mcp/gateway/index.ts'
import { createLogLevels } from '../../src/mcp/gateway/log-levels.ts'
import { reportToOperator } from '../../src/mcp/gateway/operator-log.ts'
import { createUrlElicitations } from '../../src/mcp/gateway/url-elicitations.ts'
import { createAccessWatch } from '../../src/mcp/http/access.ts'
import { createGuard, refusal } from '../../src/mcp/http/guard.ts'
import { createTraffic } from '../../src/mcp/http/traffic.ts'
import { assertSendable } from '../../src/mcp/lists/assert-sendable.ts'
import { createMergedLists, PROMPTS_LIST, RESOURCES_LIST } from '../../src/mcp/lists/merged-lists.ts'
import { visibleAddresses, visibleHost } from '../../src/mcp/lists/visible-host.ts'
import type { AccessRefusal, Authenticator, User } from '../../src/users/index.ts'
import { rightsOf } from '../../src/users/index.ts'
import { profileOf } from '../users/support.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
const messageOf = (work: Promise<unknown>) => work.then(String, (error: Error) => `! ${error.message}`)

/** A host with these statuses, which notes what it is asked for. */
function fakeHost(statuses: readonly object[] = [], more: object = {}) {
  const log: string[] = []
  const listeners = new Set<(event: object) => void>()
  const noted =
    (method: string) =>
    async (...given: unknown[]) => {
      log.push(
        [method, ...given.filter((one) => one !== undefined).map((one) => JSON.stringify(one))].join(' '),
      )
    }
  const names = [
    'call',
    'request',
    'connect',
    'disconnect',
    'refresh',
    'run',
    'readCache',
    'settled',
    'refreshStaleLists',
    'watchLists',
  ]
  const host = {
    ...Object.fromEntries(names.map((name) => [name, noted(name)])),
    status: () => statuses,
    isReadOnly: () => true,
    listen(listener: (event: object) => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    ...more,
  }
  const emit = (event: object) => {
    for (const listener of [...listeners]) listener(event)
  }
  return { host: host as never, log, emit, listening: () => listeners.size }
}

describe('log levels', () => {
  const status = (name: string, more: object = {}) => ({
    name,
    state: 'connected',
    capabilities: { logging: {} },
    ...more,
  })
  const sent = (server: string, level: string) =>
    `request "${server}" "logging/setLevel" {"level":"${level}"}`

  it('servers hear the lowest that a client chose, once, and again when they come back', () => {
    const statuses = [status('a'), status('b', { capabilities: {} }), status('c', { state: 'failed' })]
    const { host, log, emit, listening } = fakeHost(statuses)
    const levels = createLogLevels(host)
    const [one, two] = [{}, {}]
    levels.join(one)
    levels.join(two)
    emit({ type: 'state', server: 'a', status: { state: 'connected' } })
    expect(log).toEqual([])
    levels.set(one, 'error')
    expect(log.splice(0)).toEqual([sent('a', 'info')])
    levels.set(two, 'warning')
    levels.set(two, 'warning')
    expect(log.splice(0)).toEqual([sent('a', 'warning')])
    levels.leave(two)
    expect(log.splice(0)).toEqual([sent('a', 'error')])
    emit({ type: 'tools', server: 'a', status: { state: 'failed' } })
    emit({ type: 'state', server: 'a', status: { state: 'connected' } })
    expect(log).toEqual([])
    emit({ type: 'state', server: 'a', status: { state: 'failed' } })
    emit({ type: 'state', server: 'a', status: { state: 'connected' } })
    expect(log.splice(0)).toEqual([sent('a', 'error')])
    levels.leave(one)
    expect(log).toEqual([])
    levels.close()
    expect(listening()).toBe(0)
  })

  it('a client hears its level and above; info if it chose none', () => {
    const levels = createLogLevels(fakeHost().host)
    const [chose, joined, stranger] = [{}, {}, {}]
    levels.join(joined)
    levels.set(chose, 'error')
    const heard = (client: object) =>
      ['debug', 'info', 'warning', 'error', 'emergency'].filter((level) => levels.isWanted(client, level))
    expect(heard(chose)).toEqual(['error', 'emergency'])
    expect(heard(joined)).toEqual(['info', 'warning', 'error', 'emergency'])
    expect(heard(stranger)).toEqual(heard(joined))
  })
})

it('H6 the operator sees warnings and errors that are for no client, ten of a server in a minute', async () => {
  const { host, emit, listening } = fakeHost()
  const notices: string[] = []
  const stop = reportToOperator(
    host,
    ({ data }) => data !== 'for a client',
    (message) => notices.push(message),
  )
  const log = (level: string, data: unknown, server = 's') => emit({ type: 'log', server, level, data })
  for (const level of ['debug', 'info', 'notice']) log(level, 'x')
  emit({ type: 'state', level: 'error' })
  log('error', 'for a client')
  expect(notices).toEqual([])
  for (let i = 0; i < 12; i++) log('warning', { a: i })
  log('error', 'of another', 't')
  expect(notices).toHaveLength(11)
  expect([notices[0], notices[10]]).toEqual([
    'server "s" logs (warning): {"a":0}',
    'server "t" logs (error): of another',
  ])
  await pass(59_999)
  log('warning', 'x')
  expect(notices).toHaveLength(11)
  await pass(1)
  log('warning', undefined)
  expect(notices[11]).toBe('server "s" logs (warning): ')
  stop()
  expect(listening()).toBe(0)
})

describe('pages that a user must visit first', () => {
  const required = (...elicitations: unknown[]) =>
    Object.assign(new Error('visit'), { cause: { code: -32042, data: { elicitations } } })
  const page = (id: string) => ({ elicitationId: id, url: `https://x/${id}`, message: 'Log in.' })

  function open(failures: readonly Error[]) {
    const { host, emit, listening } = fakeHost()
    const told: unknown[] = []
    const client = { notification: async (message: object) => void told.push(message) }
    const elicitations = createUrlElicitations(host, [1000, 2000])
    let calls = 0
    const call = async () => {
      const failure = failures[calls++]
      if (failure) throw failure
      return 'done'
    }
    const asked: unknown[] = []
    const questionHandler = (action: string) => ({
      ask: async (method: string, params: object, _: unknown, key: unknown) => {
        asked.push([method, params, key])
        if (action === 'fail') throw new Error('cannot')
        return { action }
      },
    })
    const run = (more: object) =>
      messageOf(elicitations.run('s', { client, isStateless: false, ...more } as never, call))
    return { elicitations, run, emit, told, asked, questionHandler, client, calls: () => calls, listening }
  }
  const finished = (id: string) => ({ type: 'elicitation', server: 's', id })

  it('a client with a session gets the error, and hears alone when the user is done', async () => {
    const { run, emit, told, client, elicitations, listening } = open([required(page('1'), page('2'))])
    expect(await run({})).toBe('! visit')
    emit({ type: 'elicitation', server: 'other', id: '1' })
    expect(told).toEqual([])
    emit(finished('1'))
    emit(finished('1'))
    expect(told).toEqual([{ method: 'notifications/elicitation/complete', params: { elicitationId: '1' } }])
    elicitations.leave({})
    elicitations.leave(client)
    emit(finished('2'))
    expect(told).toHaveLength(1)
    elicitations.close()
    expect(listening()).toBe(0)
  })

  it('a client without one is asked once, and the call made again when the user is done, or later', async () => {
    const { run, emit, asked, questionHandler, calls } = open([required(page('1')), required(page('1'))])
    const done = run({ isStateless: true, questionHandler: questionHandler('accept') })
    await pass(999)
    expect(calls()).toBe(1)
    await pass(1)
    expect(calls()).toBe(2)
    await pass(100)
    emit(finished('1'))
    expect(await done).toBe('done')
    expect(asked).toEqual([
      ['elicitation/create', { mode: 'url', url: 'https://x/1', message: 'Log in.' }, 'url-1'],
    ])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('who refuses, cannot be asked, or never finishes gets an error that says so', async () => {
    const failures = Array.from({ length: 3 }, () => required(page('1'), page('2')))
    const visit =
      '! the user must first visit a page, then call again: Log in. https://x/1; Log in. https://x/2'
    const refused = open(failures)
    expect(
      await refused.run({ isStateless: true, questionHandler: refused.questionHandler('decline') }),
    ).toBe('! the user did not agree to open https://x/1')
    const mute = open(failures)
    expect(await mute.run({ isStateless: true, questionHandler: mute.questionHandler('fail') })).toBe(visit)
    expect(await open(failures).run({ isStateless: true })).toBe('! visit')
    const slow = open(failures)
    const never = slow.run({ isStateless: true, questionHandler: slow.questionHandler('accept') })
    await pass(3000)
    expect([await never, slow.calls(), slow.asked.length]).toEqual([visit, 3, 2])
    const stopped = open(failures)
    const signal = AbortSignal.abort(new Error('enough'))
    const aborted = stopped.run({
      isStateless: true,
      questionHandler: stopped.questionHandler('accept'),
      signal,
    })
    await pass(1000)
    expect([await aborted, stopped.calls()]).toEqual(['! enough', 1])
  })

  it('other errors stay as they are, and at most five pages of one are asked for', async () => {
    for (const error of [
      new Error('plain'),
      Object.assign(new Error('plain'), { cause: { code: -32000, data: { elicitations: [page('1')] } } }),
      Object.assign(new Error('plain'), { cause: { code: -32042 } }),
      Object.assign(required(null, { elicitationId: 1, url: 'x' }, { elicitationId: '1' }), {
        message: 'plain',
      }),
    ]) {
      const { run, asked, questionHandler } = open([error])
      expect(await run({ isStateless: true, questionHandler: questionHandler('accept') })).toBe('! plain')
      expect(asked).toEqual([])
    }
    const many = open([required(...['1', '2', '3', '4', '5', '6'].map(page))])
    const done = many.run({ isStateless: true, questionHandler: many.questionHandler('accept') })
    await pass(1000)
    expect([await done, many.asked.length]).toEqual(['done', 5])
  })
})

describe('traffic', () => {
  const request = (method = 'POST') => new Request('http://127.0.0.1/mcp', { method })
  const respond = async () => new Response('ok')
  const streamed = () => {
    const state = { isCancelled: false }
    const source = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('first')),
      cancel: () => void Object.assign(state, { isCancelled: true }),
    })
    return { state, respond: async () => new Response(source, { status: 201, headers: { a: 'b' } }) }
  }

  it.each<[method: string, body: unknown, endpoint: string, mayContinue: boolean]>([
    ['POST', { method: 'tools/call', id: 1 }, 'tools/call', false],
    ['POST', { method: 'made/up', id: 1 }, 'other', false],
    ['POST', { method: 'tools/call', id: 1, params: { requestState: 'x' } }, 'tools/call', true],
    ['POST', { method: 'notifications/cancelled' }, 'notification', true],
    ['POST', { id: 1, result: {} }, 'response', true],
    [
      'POST',
      [
        { id: 1, result: {} },
        { id: 2, result: {} },
      ],
      'batch',
      true,
    ],
    [
      'POST',
      [
        { id: 1, result: {} },
        { method: 'ping', id: 2 },
      ],
      'batch',
      false,
    ],
    ['POST', [{ method: 'ping', id: 2 }], 'ping', false],
    ['POST', [], 'batch', true],
    ['GET', undefined, 'stream', false],
    ['DELETE', undefined, 'end', true],
    ['PUT', undefined, 'other', false],
  ])('%s %j counts as %s; while draining it continues: %s', async (method, body, endpoint, mayContinue) => {
    const metrics = createMcpMetrics()
    const traffic = createTraffic(metrics)
    const first = request(method)
    const stream = streamed()
    const answer = await traffic.run(first, body, method === 'GET' ? stream.respond : respond)
    expect(answer.status).toBe(method === 'GET' ? 201 : 200)
    expect(traffic.running()).toBe(method === 'GET' ? 0 : 1)
    traffic.over(first, 200, 2)
    expect(traffic.running()).toBe(0)
    expect(metrics.text()).toContain(
      `toolshelf_requests_total{gateway="mcp",endpoint="${endpoint}",status="200"} 1\n`,
    )
    expect(metrics.text().includes('toolshelf_request_seconds_sum')).toBe(method !== 'GET')
    await traffic.drain(1)
    const late = await traffic.run(request(method), body, respond)
    expect(late.status).toBe(mayContinue ? 200 : 503)
    expect(late.headers.get('retry-after')).toBe(mayContinue ? null : '1')
  })

  it('that was refused before it was read counts, and what was answered elsewhere does not', () => {
    const metrics = createMcpMetrics()
    const traffic = createTraffic(metrics)
    traffic.over(request(), 200, 1)
    expect(metrics.text()).not.toContain('toolshelf_requests_total{')
    traffic.over(request(), 400, 1)
    expect(metrics.text()).toContain(
      'toolshelf_requests_total{gateway="mcp",endpoint="other",status="400"} 1\n',
    )
    expect(metrics.text()).not.toContain('toolshelf_request_seconds_sum')
  })

  it('drains when its calls have ended, or after the time; streams end at once', async () => {
    const metrics = createMcpMetrics()
    const traffic = createTraffic(metrics)
    const { respond: open, state } = streamed()
    const stream = await traffic.run(request(), { method: 'subscriptions/listen', id: 1 }, open)
    expect([stream.status, stream.headers.get('a')]).toEqual([201, 'b'])
    const call = request()
    await traffic.run(call, { method: 'ping', id: 1 }, respond)
    expect(metrics.text()).toContain('toolshelf_active_requests{gateway="mcp"} 1\n')
    const other = request()
    await traffic.run(other, { method: 'tools/list', id: 2 }, respond)
    expect(metrics.text()).toContain('toolshelf_streams 1\n')
    const drained = vi.fn()
    void traffic.drain(1000).then(drained)
    expect(await stream.text()).toMatch(/^(?:first)?$/)
    expect(state.isCancelled).toBe(true)
    expect(metrics.text()).toContain('toolshelf_streams 0\n')
    await pass(999)
    expect(drained).not.toHaveBeenCalled()
    traffic.over(other, 200, 1)
    await pass(0)
    expect(drained).not.toHaveBeenCalled()
    traffic.over(call, 200, 1)
    await pass(0)
    expect(drained).toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
    const stuck = createTraffic(createMcpMetrics())
    await stuck.run(request(), { method: 'ping', id: 1 }, respond)
    const given = stuck.drain(1000)
    await pass(1000)
    await given
  })

  it('a stream ends with its source or its reader, and one that opens while it drains is refused', async () => {
    const metrics = createMcpMetrics()
    const traffic = createTraffic(metrics)
    const listen = { method: 'subscriptions/listen', id: 1 }
    const whole = await traffic.run(request(), listen, async () => new Response('all of it'))
    expect(await whole.text()).toBe('all of it')
    const { respond: open, state } = streamed()
    const left = await traffic.run(request(), listen, open)
    await left.body?.cancel()
    expect(state.isCancelled).toBe(true)
    expect((await traffic.run(request(), listen, async () => new Response(null))).body).toBeNull()
    expect(metrics.text()).toContain('toolshelf_streams 0\n')
    const { respond: late, state: lateState } = streamed()
    const refused = await traffic.run(request(), listen, async () => {
      await traffic.drain(1)
      return late()
    })
    expect([refused.status, lateState.isCancelled]).toEqual([503, true])
  })
})

const user = (id: string, more: Partial<User> = {}): User => ({ id, uid: id, profile: profileOf(), ...more })

describe('who has something open', () => {
  function open(refresh: (user: User) => Promise<User | undefined>) {
    const ended: unknown[] = []
    const sessions: { user: User | undefined }[] = []
    let change = () => {}
    let stopped = 0
    const users = {
      refresh,
      onChange(listener: () => void) {
        change = listener
        return () => void stopped++
      },
    }
    const watch = createAccessWatch(
      users as never,
      {
        all: () => sessions,
        end: async (session: { user: User | undefined }) => void ended.push(session.user?.id),
      } as never,
    )
    return { watch, sessions, ended, change: () => change(), stopped: () => stopped }
  }
  const reasonOf = (signal: AbortSignal | undefined) => (signal?.reason as Error | undefined)?.message

  it('loses it when the key is deleted or the rights change, and keeps it otherwise', async () => {
    const now = new Map([
      ['kept', user('kept')],
      ['changed', user('changed', { profile: profileOf({ isOperator: true }) })],
    ])
    const { watch, sessions, ended, change } = open(async ({ id, keyId }) =>
      keyId === '2' ? user(id) : now.get(id),
    )
    const tracked = ['kept', 'changed', 'gone'].map((id) => watch.track(user(id)))
    const over = watch.track(user('gone'))
    over.over()
    sessions.push(
      { user: undefined },
      { user: user('gone') },
      { user: user('kept') },
      { user: user('gone', { keyId: '2' }) },
    )
    expect(watch.track(undefined).signal).toBeUndefined()
    change()
    await pass(0)
    const reason = 'the key was revoked, or its rights have changed'
    expect(tracked.map(({ signal }) => reasonOf(signal))).toEqual([undefined, reason, reason])
    expect(over.signal?.aborted).toBe(false)
    expect(ended).toEqual(['gone'])
  })

  it('loses what was opened before its rights changed, not what the same key opened behind that', async () => {
    const [before, behind] = [user('ann', { profile: profileOf({ isOperator: true }) }), user('ann')]
    const { watch, sessions, ended, change } = open(async () => behind)
    sessions.push({ user: behind }, { user: before })
    const tracked = [before, behind, before, behind].map((one) => watch.track(one))
    change()
    await pass(0)
    expect(tracked.map(({ signal }) => signal?.aborted)).toEqual([true, false, true, false])
    expect(ended).toEqual(['ann'])
  })

  it('is checked again after the store failed, and once more for what changed meanwhile', async () => {
    let checks = 0
    let isAway = true
    const { watch, change, stopped } = open(async (one) => {
      checks++
      if (isAway) throw new Error('away')
      return one
    })
    watch.track(user('ann'))
    change()
    await pass(4999)
    expect(checks).toBe(1)
    isAway = false
    await pass(1)
    expect(checks).toBe(2)
    await pass(60_000)
    expect(checks).toBe(2)
    change()
    change()
    change()
    await pass(0)
    expect(checks).toBe(4)
    isAway = true
    change()
    await pass(0)
    watch.close()
    await pass(60_000)
    expect([checks, stopped()]).toEqual([5, 1])
  })

  it('loses it when the key expires, however far away that is', async () => {
    const { watch } = open(async (one) => one)
    const at = (ms: number) => watch.track(user('ann', { expiresAt: Date.now() + ms }))
    const [soon, later, past, stopped] = [at(1000), at(2 ** 31 + 5000), at(-5), at(1000)]
    stopped?.over()
    await pass(0)
    expect(reasonOf(past?.signal)).toBe('the key has expired')
    await pass(999)
    expect(soon?.signal?.aborted).toBe(false)
    await pass(1)
    expect([soon, later, stopped].map((one) => one?.signal?.aborted)).toEqual([true, false, false])
    await pass(2 ** 31 + 3999)
    expect(later?.signal?.aborted).toBe(false)
    await pass(1)
    expect(later?.signal?.aborted).toBe(true)
  })
})

describe('the guard', () => {
  const WRONG: AccessRefusal = { status: 401, message: 'wrong', challenge: 'Bearer realm="x"' }
  function open(more: { users?: boolean; key?: string; hosts?: string[] } = {}) {
    const asked: (string | undefined)[] = []
    const users: Authenticator = {
      async authenticate(token) {
        asked.push(token)
        if (token === 'busy') return { status: 503, message: 'busy', retryAfter: 7 }
        if (!token?.startsWith('good')) return WRONG
        return user('ann', token === 'good-operator' ? { profile: profileOf({ isOperator: true }) } : {})
      },
      refresh: async (one) => one,
      onChange: () => () => {},
      close: async () => {},
    }
    const guard = createGuard({
      ...{ address: '127.0.0.1', key: more.key, hosts: more.hosts ?? [] },
      users: more.users === false ? undefined : users,
    })
    const request = (authorization?: string, headers: { [name: string]: string } = {}) =>
      new Request('http://127.0.0.1/mcp', {
        headers: { ...headers, ...(authorization === undefined ? {} : { authorization }) },
      })
    const admit = async (authorization?: string) => {
      const found = await guard.admit(request(authorization))
      return found instanceof Response ? found.status : (found.user?.id ?? 'everybody')
    }
    return { guard, request, admit, asked }
  }

  it('admits users by their tokens, and the operator by the key', async () => {
    const { admit, asked } = open({ key: 'k' })
    expect(await admit('Bearer good')).toBe('ann')
    expect(await admit('bearer   good')).toBe('ann')
    expect(await admit('Bearer k')).toBe('everybody')
    expect(await admit('Bearer busy')).toBe(503)
    for (const wrong of [undefined, 'good', 'Basic good', 'Bearer good x', 'xBearer good', 'Bearer kk'])
      expect(await admit(wrong)).toBe(401)
    expect(asked.slice(3)).toEqual([undefined, undefined, undefined, undefined, undefined, 'kk'])
    const { admit: plain } = open({ users: false, key: 'k' })
    expect([await plain('Bearer k'), await plain('Bearer good'), await plain()]).toEqual([
      'everybody',
      401,
      401,
    ])
    expect(await open({ users: false }).admit()).toBe('everybody')
  })

  it('knows its hosts and origins', () => {
    const { guard, request } = open({ hosts: ['tools.example.com'] })
    const status = (headers: { [name: string]: string }) =>
      guard.checkHost(request(undefined, headers))?.status
    expect(status({ host: '127.0.0.1:1' })).toBeUndefined()
    expect(status({ host: 'tools.example.com' })).toBeUndefined()
    expect(status({ host: 'evil.example.com' })).toBe(403)
    expect(status({ host: 'localhost', origin: 'http://localhost:3000' })).toBeUndefined()
    expect(status({ host: 'localhost', origin: 'https://tools.example.com' })).toBeUndefined()
    expect(status({ host: 'localhost', origin: 'https://evil.example.com' })).toBe(403)
  })

  it.each([
    [401, {}, { 'www-authenticate': 'Bearer' }, -32_000],
    [401, { challenge: 'Bearer a="b"' }, { 'www-authenticate': 'Bearer a="b"' }, -32_000],
    [403, {}, {}, -32_000],
    [403, { challenge: 'Bearer' }, { 'www-authenticate': 'Bearer' }, -32_000],
    [429, { retryAfter: 3 }, { 'retry-after': '3' }, -32_000],
    [503, {}, { 'retry-after': '10' }, -32_000],
    [400, { retryAfter: 3 }, {}, -32_600],
  ])('a refusal with %i and %j has the headers %j', async (status, given, headers, code) => {
    const response = refusal(status, 'why', given)
    const { 'content-type': _, ...found } = Object.fromEntries(response.headers)
    expect([response.status, found]).toEqual([status, headers])
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: null, error: { code, message: 'why' } })
  })
})

it('H9 a client without a session is known by its origin and its name, among 1,000', () => {
  const { of } = createIdentities()
  const info = (value: unknown) => ({ 'io.modelcontextprotocol/clientInfo': value })
  const ann = of('a', info({ name: 'x' }))
  expect(of('a', info({ name: 'x' }))).toBe(ann)
  expect(of('b', info({ name: 'x' }))).not.toBe(ann)
  expect(of('a', info({ name: 'y' }))).not.toBe(ann)
  expect(of('a', undefined)).toBe(of('a', {}))
  for (let i = 0; i < 995; i++) of(`${i}`, undefined)
  expect(of('a', info({ name: 'x' }))).toBe(ann)
  for (let i = 0; i < 999; i++) of(`x${i}`, undefined)
  expect(of('a', info({ name: 'x' }))).toBe(ann)
  for (let i = 0; i < 1000; i++) of(`y${i}`, undefined)
  expect(of('a', info({ name: 'x' }))).not.toBe(ann)
  expect(clientInfoIn(info({ name: 'x', version: '1', more: 2 }))).toEqual({ name: 'x', version: '1' })
  expect(clientInfoIn(info({ name: 'x', version: 1 }))).toEqual({ name: 'x' })
  expect([clientInfoIn(info({ version: '1' })), clientInfoIn(info(null)), clientInfoIn(undefined)]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

it('H6 a message of at most 10 MB is sent', () => {
  const sized = (bytes: number) => ['ä'.repeat((bytes - 4) / 2)]
  expect(assertSendable(sized(10_000_000))).toHaveLength(1)
  expect(() => assertSendable(sized(10_000_002))).toThrow(
    'a message of 10 MB is too large to be passed on; ask for less',
  )
  const cyclic: { self?: unknown } = {}
  cyclic.self = cyclic
  expect(() => assertSendable(cyclic)).toThrow('a message is nested too deeply to be passed on')
})

describe('lists of all servers', () => {
  const status = (name: string, more: object = {}) => ({
    name,
    state: 'connected',
    isRemembered: true,
    ...more,
  })
  const prompts = (count: number, size: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `p${index}`, description: 'x'.repeat(size) }))

  it('are one, without disabled servers and kinds that a server does not have', async () => {
    const { host, log } = fakeHost([
      status('a', { prompts: [{ name: 'one' }, { description: 'without a name' }] }),
      status('b', { state: 'disabled', prompts: [{ name: 'two' }] }),
      status('c', {
        state: 'failed',
        prompts: [{ name: 'three' }],
        resources: [{ uri: 'x://y', name: 'y' }],
      }),
    ])
    const lists = createMergedLists(host)
    expect(await lists.collect(PROMPTS_LIST)).toEqual([
      { server: 'a', own: 'one', entry: { name: 'one' } },
      { server: 'c', own: 'three', entry: { name: 'three' } },
    ])
    expect(await lists.collect(RESOURCES_LIST)).toEqual([
      { server: 'c', own: 'y', entry: { uri: 'x://y', name: 'y' } },
    ])
    expect(log).toEqual([
      'watchLists',
      'readCache',
      'refreshStaleLists {"timeoutMs":5000}',
      'refreshStaleLists {"timeoutMs":5000}',
    ])
  })

  it('are waited for at the very first start, once', async () => {
    const { host, log } = fakeHost([status('a', { isRemembered: false })], {})
    const lists = createMergedLists(host)
    await lists.collect(PROMPTS_LIST)
    await lists.collect(PROMPTS_LIST)
    const waited = ['settled {"timeoutMs":3000}', 'refreshStaleLists {"timeoutMs":3000}']
    expect(log).toEqual([
      'watchLists',
      'readCache',
      ...waited,
      'refreshStaleLists {"timeoutMs":5000}',
      'refreshStaleLists {"timeoutMs":5000}',
    ])
    log.length = 0
    await lists.untilListed()
    expect(log).toEqual(waited)
    await pass(10_000)
    const slow = fakeHost([], { settled: () => new Promise((resolve) => setTimeout(resolve, 2900)) })
    const listed = createMergedLists(slow.host).untilListed()
    await pass(2900)
    await listed
    expect(slow.log.at(-1)).toBe('refreshStaleLists {"timeoutMs":200}')
  })

  it('H6 have at most 2 MB of a server, and less of many', async () => {
    const large = prompts(30, 99_969)
    const bytes = JSON.stringify(large[10]).length
    expect(bytes).toBe(100_000)
    const countOf = async (servers: number) => {
      const { host } = fakeHost(
        Array.from({ length: servers }, (_, index) => status(`s${index}`, { prompts: large })),
      )
      const all = await createMergedLists(host).collect(PROMPTS_LIST)
      return all.filter(({ server }) => server === 's0').length
    }
    expect([await countOf(1), await countOf(4), await countOf(8)]).toEqual([20, 20, 10])
  })
})

describe('what a user sees of the host', () => {
  const rights = rightsOf(
    profileOf({ servers: { allow: [], deny: ['hidden'] }, tools: { allow: [], deny: ['a__secret'] } }),
  )
  const tools = [{ name: 'read' }, { name: 'secret' }]
  const allowed = [{ name: 'read' }]
  const status = (name: string) => ({
    ...{
      name,
      tools: name === 'b' ? allowed : tools,
      pageTools: tools.slice(0, 1),
      hidden: ['secret', 'x'],
      held: ['secret', 'y'],
    },
    problems: [{ tool: 'secret' }, { tool: 'read' }],
  })
  const shelf = {
    partition: () => ({ pool: { tools: [], byName: new Map([['a__read', {}]]) } }),
    resolve: ({ name }: { name: string }) => ({ name }),
    result: (_: unknown, text: string, more: object) => ({ text, ...more }),
  }

  function open(more: object = {}) {
    const fake = fakeHost([status('a'), status('hidden'), status('b')], more)
    return { ...fake, seen: visibleHost(fake.host, rights, shelf as never) }
  }

  it('is neither a hidden server nor a hidden tool, in no list of a status', () => {
    const { seen } = open()
    const [a, b, ...others] = seen.status()
    expect(others).toEqual([])
    expect(a).toEqual({
      ...{ name: 'a', tools: [{ name: 'read' }], pageTools: [{ name: 'read' }] },
      ...{ hidden: ['x'], held: ['y'], problems: [{ tool: 'read' }] },
    })
    expect(seen.status()[0]?.tools).toBe(a?.tools)
    expect(b?.pageTools).toBe(seen.status()[1]?.pageTools)
    expect(b?.tools).toBe(allowed)
    expect([b?.name, b?.hidden]).toEqual(['b', ['secret', 'x']])
  })

  it('is used as if the rest did not exist', async () => {
    const { seen, log } = open()
    const uses = (server: string) => [
      () => seen.call(server, 'read', { x: 1 }),
      () => seen.request(server, 'm', { p: 1 }),
      () => seen.connect(server),
      () => seen.disconnect(server),
      () => seen.refresh(server),
    ]
    for (const use of uses('a')) await use()
    expect(log.splice(0)).toEqual([
      ...[
        'call "a" "read" {"x":1}',
        'request "a" "m" {"p":1}',
        'connect "a"',
        'disconnect "a"',
        'refresh "a"',
      ],
    ])
    for (const use of uses('hidden'))
      expect(await messageOf(use())).toBe('! unknown server "hidden"; configured: a, b')
    expect(await messageOf(seen.call('a', 'secret', {}))).toMatch(
      /^! there is no tool named "a__secret"|mcp__a__secret/,
    )
    expect(log).toEqual([])
    const use = (name: string) => ({ type: 'tool_use', id: '1', name, input: {} }) as const
    await seen.run(use('a__read'))
    expect(log).toHaveLength(1)
    expect(await seen.run(use('a__secret'))).toEqual({
      text: '"a__secret" is not a tool of an MCP server.',
      isError: true,
    })
    expect([seen.isReadOnly(use('a__read')), seen.isReadOnly(use('a__secret'))]).toEqual([true, false])
  })

  it('an error of a visible server stays; that of a removed one names only visible tools', async () => {
    const request = async (server: string) => {
      throw new Error(`of the host about ${server}, hidden`)
    }
    const { seen } = open({ request })
    expect(await messageOf(seen.request('a', 'm'))).toBe('! of the host about a, hidden')
    expect(await messageOf(seen.request('gone', 'm'))).toBe('! unknown server "gone"; configured: a, b')
    const empty = visibleHost(fakeHost([], { request }).host, rights, shelf as never)
    expect(await messageOf(empty.request('a', 'm'))).toBe('! unknown server "a"; configured: none')
  })

  it('passes on events without what is hidden', () => {
    const { seen, emit } = open()
    const heard: object[] = []
    const stop = seen.listen((event) => heard.push(event))
    emit({ type: 'servers' })
    emit({ type: 'log', server: 'hidden' })
    emit({ type: 'log', server: 'a', data: 1 })
    emit({ type: 'state', server: 'a', status: status('a') })
    emit({ type: 'tools', server: 'a', status: status('a') })
    const pins = (names: string[], kind = 'tool') => ({ type: 'pins', server: 'a', kind, names })
    emit(pins(['secret']))
    emit(pins(['secret', 'read']))
    emit(pins([]))
    emit(pins(['secret'], 'prompt'))
    expect(heard).toEqual([
      { type: 'servers' },
      { type: 'log', server: 'a', data: 1 },
      expect.objectContaining({
        type: 'state',
        status: expect.objectContaining({ tools: [{ name: 'read' }] }),
      }),
      expect.objectContaining({ type: 'tools', status: expect.objectContaining({ held: ['y'] }) }),
      pins(['read']),
      pins([]),
      pins(['secret'], 'prompt'),
    ])
    stop()
    emit({ type: 'servers' })
    expect(heard).toHaveLength(7)
  })

  it('has no addresses of hidden servers', () => {
    const uriBack = (uri: string) => (uri === 'none' ? undefined : { server: uri, uri })
    const seen = visibleAddresses({ uriBack } as never, rights)
    expect([seen.uriBack('a'), seen.uriBack('hidden'), seen.uriBack('none')]).toEqual([
      { server: 'a', uri: 'a' },
      undefined,
      undefined,
    ])
  })
})
