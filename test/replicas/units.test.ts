// Replicas without gateways: heartbeats, calls between them, sessions in the store and the messages of a session, over a
// store in memory and a clock that the test moves.
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  createRemoteCalls,
  createReplica,
  createSessionLinks,
  initializeParams,
  isReplicaId,
  type RemoteCallError,
  type SessionLink,
  type SessionState,
} from '../../src/mcp/replicas/index.ts'
import { createMemoryStore, type StateStore } from '../../src/store/index.ts'
import { type FaultyStore, faultyStore } from '../support/faulty-store.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
const turn = async () => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

type Member = {
  readonly store: FaultyStore
  readonly replica: ReturnType<typeof createReplica>
  readonly calls: ReturnType<typeof createRemoteCalls>
  readonly links: ReturnType<typeof createSessionLinks>
  readonly notices: string[]
  /** Messages that match are lost, as many as there are. */
  readonly lost: RegExp[]
  readonly sent: string[]
}

const IDLE_MS = 600_000

async function member(shared: StateStore, idleMs = IDLE_MS): Promise<Member> {
  const store = faultyStore(shared)
  const notices: string[] = []
  const lost: RegExp[] = []
  const sent: string[] = []
  const publish: StateStore['publish'] = async (channel, message) => {
    sent.push(message)
    const index = lost.findIndex((one) => one.test(message))
    if (index >= 0) lost.splice(index, 1)
    else await store.publish(channel, message)
  }
  const replica = createReplica({
    store: { ...store, publish },
    notify: (message) => notices.push(message),
    heartbeatMs: 1000,
  })
  const calls = createRemoteCalls(replica, { repeatMs: 100, giveUpAfterMs: 500 })
  const links = createSessionLinks({ replica, calls, idleMs })
  await replica.start()
  onTestFinished(async () => {
    links.close()
    calls.close()
    await replica.close()
  })
  return { store, replica, calls, links, notices, lost, sent }
}

async function members(
  count = 2,
  idleMs?: number,
): Promise<{ readonly shared: StateStore; readonly all: Member[] }> {
  const shared = createMemoryStore()
  onTestFinished(() => shared.close())
  const all: Member[] = []
  for (let i = 0; i < count; i++) all.push(await member(shared, idleMs))
  return { shared, all }
}

async function pair() {
  const { shared, all } = await members()
  const [one, other] = all as [Member, Member]
  return { shared, one, other }
}

const outcomeOf = (call: Promise<unknown>) =>
  call.then(
    (value) => ({ value }),
    ({ reason, message, thrown }: RemoteCallError) => ({ reason, message, ...(thrown ? { thrown } : {}) }),
  )

const GONE = { reason: 'gone', message: 'the replica that runs the call has ended; call again' }
const UNREACHABLE = {
  reason: 'unreachable',
  message: 'the store that replicas share does not answer; try again in a moment',
}

describe('a replica', () => {
  test.each([
    ['0123456789abcdef01234567', true],
    ['0123456789abcdef0123456', false],
    ['0123456789abcdef012345678', false],
    ['x0123456789abcdef01234567', false],
    ['0123456789ABCDEF01234567', false],
    ['', false],
  ])('%j can be an id: %s', (id, isId) => {
    expect(isReplicaId(id)).toBe(isId)
  })

  test('is alive while it beats, for three beats after it fell silent, and not after it closed', async () => {
    const { one, other } = await pair()
    expect(isReplicaId(one.replica.id)).toBe(true)
    await pass(10_000)
    expect(await other.replica.isAlive(one.replica.id)).toBe(true)
    one.store.leaves()
    await pass(2999)
    expect(await other.replica.isAlive(one.replica.id)).toBe(true)
    await pass(1)
    expect(await other.replica.isAlive(one.replica.id)).toBe(false)
    expect(await one.replica.isAlive(one.replica.id)).toBe(true)
    await pass(5000)
    one.store.returns()
    await pass(2000)
    expect(await other.replica.isAlive(one.replica.id)).toBe(true)
    expect(one.notices).toEqual([
      'the store does not answer; open sessions continue here, new ones wait for it: the store is unreachable',
      'the store answers again',
    ])
    expect(other.notices).toEqual([])
    await one.replica.close()
    expect(await other.replica.isAlive(one.replica.id)).toBe(false)
    await pass(5000)
    expect(await other.replica.isAlive(one.replica.id)).toBe(false)
  })

  test('takes messages of known types, and nothing else', async () => {
    const { one, other, shared } = await pair()
    const heard: unknown[] = []
    other.replica.onMessage('hello', (body, from) => heard.push([body, from]))
    await one.replica.send(other.replica.id, 'hello', { a: 1 })
    await one.replica.send(other.replica.id, 'unknown', {})
    const channel = `replica/${other.replica.id}`
    for (const wrong of ['{', '[]', '{"type":"hello"}', '{"from":"x"}', '{"type":1,"from":"x"}', 'null'])
      await shared.publish(channel, wrong)
    await shared.publish(channel, '{"type":"hello","from":"x"}')
    await turn()
    expect(heard).toEqual([
      [{ a: 1 }, one.replica.id],
      [{}, 'x'],
    ])
    await other.replica.close()
    await one.replica.send(other.replica.id, 'hello', { a: 2 })
    await turn()
    expect(heard).toHaveLength(2)
  })

  test('listens once the store answers, if it did not at the start', async () => {
    const shared = createMemoryStore()
    onTestFinished(() => shared.close())
    const store = faultyStore(shared)
    store.leaves()
    const replica = createReplica({ store, heartbeatMs: 1000 })
    await replica.start()
    expect(await shared.list('replica/')).toEqual([])
    store.returns()
    await pass(1000)
    expect(await shared.list('replica/')).toHaveLength(1)
    expect(store.counts()['subscribe replica']).toBe(2)
    await pass(1000)
    expect(store.counts()['subscribe replica']).toBe(2)
    await replica.close()
    await pass(1000)
    expect(await shared.list('replica/')).toEqual([])
  })

  test('names the data of the store, the same at all, another one if it was emptied', async () => {
    const { one, other, shared } = await pair()
    const epoch = await one.replica.epoch()
    expect(await other.replica.epoch()).toBe(epoch)
    await shared.delete('replicas/epoch')
    const [first, second] = await Promise.all([one.replica.epoch(), other.replica.epoch()])
    expect(first).toBe(second)
    expect(first).not.toBe(epoch)
  })
})

describe('calls', () => {
  test('return what the function returned, or threw, with its progress on the way', async () => {
    const { one, other } = await pair()
    const seen: unknown[] = []
    other.calls.serve('add', async ({ a, b }, { onProgress }) => {
      onProgress({ step: 1 })
      return Number(a) + Number(b)
    })
    const thrown = Object.assign(new Error('no'), { code: -32_000, data: { x: 1 } })
    other.calls.serve('fail', ({ how }) => {
      throw how === 'all' ? thrown : how === 'code' ? { message: 'odd', code: 1.5 } : undefined
    })
    const to = other.replica.id
    const call = (method: string, params = {}) => outcomeOf(one.calls.call(to, method, params))
    expect(await one.calls.call(to, 'add', { a: 1, b: 2 }, { onProgress: (step) => seen.push(step) })).toBe(3)
    expect(seen).toEqual([{ step: 1 }])
    expect(await call('add', { a: 1, b: 2 })).toEqual({ value: 3 })
    expect(await call('fail', { how: 'all' })).toEqual({
      ...{ reason: 'failed', message: 'no' },
      thrown: { message: 'no', code: -32_000, data: { x: 1 } },
    })
    expect(await call('fail', { how: 'code' })).toMatchObject({ thrown: { message: 'odd' } })
    expect((await call('fail', { how: 'code' })) as object).not.toHaveProperty('thrown.code')
    expect(await call('fail')).toMatchObject({ message: 'undefined' })
    expect(await call('none')).toMatchObject({
      message: 'this replica does not know the call; it may run another version',
    })
  })

  test('of an ended replica, or over an unreachable store, fail at once', async () => {
    const { one, other } = await pair()
    other.calls.serve('work', async () => 1)
    const call = (to = other.replica.id) => outcomeOf(one.calls.call(to, 'work', {}))
    expect(await call('0'.repeat(24))).toEqual(GONE)
    one.store.leaves()
    expect(await call()).toEqual(UNREACHABLE)
    one.store.returns()
    expect(await call()).toEqual({ value: 1 })
    const broken = createRemoteCalls({ ...one.replica, send: () => Promise.reject(new Error('away')) })
    expect(await outcomeOf(broken.call(other.replica.id, 'work', {}))).toEqual(UNREACHABLE)
  })

  test.each<[what: string, loses: 'caller' | 'callee', lost: RegExp, sent: object]>([
    ['the call', 'caller', /"type":"call"/, { call: 2, outcome: 1, received: 1 }],
    ['the outcome', 'callee', /"type":"outcome"/, { outcome: 2, received: 1 }],
    ['what acknowledges the outcome', 'caller', /"type":"received"/, { call: 1, outcome: 2, received: 2 }],
  ])('that lose %s repeat it; the function runs once', async (_, loses, lost, expected) => {
    const { one, other } = await pair()
    let runs = 0
    other.calls.serve('work', async () => ++runs)
    const loser = loses === 'caller' ? one : other
    loser.lost.push(lost)
    const call = outcomeOf(one.calls.call(other.replica.id, 'work', {}))
    await turn()
    await pass(100)
    await turn()
    expect(await call).toEqual({ value: 1 })
    await pass(300)
    expect(runs).toBe(1)
    const count = (sent: readonly string[], type: string) =>
      sent.filter((text) => text.includes(`"type":"${type}"`)).length
    expect({
      call: count(one.sent, 'call'),
      outcome: count(other.sent, 'outcome'),
      received: count(one.sent, 'received'),
    }).toMatchObject(expected)
  })

  test('that take long are accepted when they are repeated, and then not repeated', async () => {
    const { one, other } = await pair()
    let finish = (_: number) => {}
    let runs = 0
    other.calls.serve('work', () => {
      runs++
      return new Promise<number>((resolve) => {
        finish = resolve
      })
    })
    const call = outcomeOf(one.calls.call(other.replica.id, 'work', {}))
    await turn()
    for (let i = 0; i < 5; i++) {
      await pass(100)
      await turn()
    }
    expect(one.sent.filter((text) => text.includes('"type":"call"'))).toHaveLength(2)
    expect(other.sent.filter((text) => text.includes('"type":"accepted"'))).toHaveLength(1)
    finish(7)
    expect(await call).toEqual({ value: 7 })
    expect(runs).toBe(1)
  })

  test('whose outcome nobody acknowledges is forgotten after a while', async () => {
    const { one, other } = await pair()
    other.calls.serve('work', async () => 1)
    for (let i = 0; i < 9; i++) one.lost.push(/"received"/)
    await one.calls.call(other.replica.id, 'work', {})
    await pass(2000)
    expect(other.sent.filter((text) => text.includes('"outcome"'))).toHaveLength(5)
    const drained = vi.fn()
    void other.calls.drain(100_000).then(drained)
    await turn()
    expect(drained).toHaveBeenCalled()
  })

  test('fail when the replica that runs them ends, or the store stays away', async () => {
    const { one, other } = await pair()
    other.calls.serve('hang', () => new Promise(() => {}))
    const ended = outcomeOf(one.calls.call(other.replica.id, 'hang', {}))
    await turn()
    const settled = vi.fn()
    const cut = outcomeOf(one.calls.call(other.replica.id, 'hang', {}))
    void cut.then(settled)
    await turn()
    await other.replica.close()
    one.store.leaves()
    await pass(500)
    await turn()
    expect(settled).not.toHaveBeenCalled()
    await pass(200)
    expect(await cut).toEqual(UNREACHABLE)
    expect(await ended).toEqual(UNREACHABLE)
    one.store.returns()
    expect(await outcomeOf(one.calls.call(other.replica.id, 'hang', {}))).toEqual(GONE)
  })

  test('notice that the other replica has ended', async () => {
    const { one, other } = await pair()
    other.calls.serve('hang', () => new Promise(() => {}))
    const call = outcomeOf(one.calls.call(other.replica.id, 'hang', {}))
    await turn()
    await other.replica.close()
    await pass(100)
    expect(await call).toEqual(GONE)
  })

  test('that their caller gives up, or whose caller ends, are aborted there', async () => {
    const { one, other } = await pair()
    const signals: AbortSignal[] = []
    other.calls.serve('hang', (_, { signal }) => {
      signals.push(signal)
      return new Promise(() => {})
    })
    const controller = new AbortController()
    const to = other.replica.id
    const given = one.calls
      .call(to, 'hang', {}, { signal: controller.signal })
      .catch((error: unknown) => error)
    void one.calls.call(to, 'hang', {}).catch(() => {})
    await turn()
    const reason = new Error('enough')
    controller.abort(reason)
    expect(await given).toBe(reason)
    await turn()
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    const late = one.calls.call(to, 'hang', {}, { signal: controller.signal })
    await expect(late).rejects.toBe(reason)
    expect(signals).toHaveLength(2)
    await pass(200)
    expect(signals[1]?.aborted).toBe(false)
    await one.replica.close()
    await pass(100)
    expect(signals[1]?.aborted).toBe(true)
  })

  test('end when either side closes', async () => {
    const { one, other } = await pair()
    let signal: AbortSignal | undefined
    other.calls.serve('hang', (_, context) => {
      signal = context.signal
      return new Promise(() => {})
    })
    const call = outcomeOf(one.calls.call(other.replica.id, 'hang', {}))
    await turn()
    other.calls.close()
    expect(signal?.aborted).toBe(true)
    one.calls.close()
    expect(await call).toEqual({ reason: 'gone', message: 'this replica is closing; call again' })
  })

  test('that are not calls are ignored', async () => {
    const { one, other } = await pair()
    await one.replica.send(other.replica.id, 'call', { id: 1, method: 'x' })
    await one.replica.send(other.replica.id, 'call', { id: 'x' })
    for (const type of ['accepted', 'progress', 'abort', 'outcome', 'received'])
      await one.replica.send(other.replica.id, type, { id: 'unknown' })
    await turn()
    expect(other.sent).toEqual([expect.stringContaining('"received"')])
  })
})

const CLIENT = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } }

/** A transport that keeps what is sent; `receive` is what the client sends. */
function fakeTransport() {
  const sent: JSONRPCMessage[] = []
  const transport: Transport = {
    async start() {},
    async send(message) {
      sent.push(message)
    },
    async close() {},
    sessionId: 'of the transport',
  }
  const receive = (message: object) => transport.onmessage?.({ jsonrpc: '2.0', ...message } as JSONRPCMessage)
  return { transport, sent, receive }
}

async function wrapped(link: SessionLink | undefined, hasStream = false) {
  const fake = fakeTransport()
  const local = { stream: hasStream, ended: 0 }
  const shared = link?.wrap(fake.transport, {
    hasStream: () => local.stream,
    end: () => void local.ended++,
  })
  const heard: JSONRPCMessage[] = []
  if (shared) shared.onmessage = (message) => void heard.push(message)
  await shared?.start()
  return { ...fake, shared, heard, local }
}

const withTools =
  (...tools: string[]) =>
  (state: SessionState): SessionState => ({ ...state, tools: [...state.tools, ...tools] })

describe('sessions', () => {
  async function openTwice() {
    const found = await pair()
    const first = await found.one.links.open(CLIENT, 'ann')
    const second = await found.other.links.resume(first.id, 'ann')
    if (!second) throw new Error('it cannot be resumed')
    return { ...found, first, second }
  }

  test('the parameters of initialize are kept, and nothing else of it', () => {
    expect(initializeParams({ params: { ...CLIENT, _meta: {} }, id: 1 })).toEqual(CLIENT)
    expect(initializeParams({})).toEqual({ capabilities: {} })
  })

  test('are found by their user at any replica, and by nobody else', async () => {
    const { other, first, second, shared } = await openTwice()
    expect(second.initialize).toEqual(CLIENT)
    expect([second.shared.owner, second.shared.uid, second.shared.id]).toEqual([
      first.shared.owner,
      'ann',
      first.id,
    ])
    expect(await other.links.resume(first.id, 'bob')).toBeUndefined()
    expect(await other.links.resume(first.id)).toBeUndefined()
    expect(
      await other.links.resume(
        first.id.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
        'ann',
      ),
    ).toBeUndefined()
    for (const wrong of ['', '../replica/x', `${first.id}0`, `0${first.id}`, first.id.toUpperCase()])
      expect(await other.links.resume(wrong, 'ann')).toBeUndefined()
    const record = { v: 1, initialize: {}, owner: 'x', uid: 'ann' }
    await shared.set(`session/${first.id}`, JSON.stringify(record))
    expect(await other.links.resume(first.id, 'ann')).toBeDefined()
    for (const wrong of [{ v: 2 }, { initialize: undefined }, { initialize: [] }, { owner: 7 }, '{']) {
      const text = typeof wrong === 'string' ? wrong : JSON.stringify({ ...record, ...wrong })
      await shared.set(`session/${first.id}`, text)
      expect(await other.links.resume(first.id, 'ann')).toBeUndefined()
    }
  })

  test('live a minute until their second request, then as long as they are used', async () => {
    const { one, first, shared } = await openTwice()
    const isThere = async () => (await shared.get(`session/${first.id}`)) !== undefined
    await pass(60_000)
    expect(await isThere()).toBe(true)
    await pass(IDLE_MS - 60_001)
    expect(await isThere()).toBe(true)
    first.used()
    await pass(IDLE_MS / 10 - 1)
    one.store.reset()
    first.used()
    expect(one.store.counts()).not.toHaveProperty('touch session')
    await pass(1)
    first.used()
    expect(one.store.counts()).toMatchObject({ 'touch session': 1 })
    await pass(IDLE_MS - 1)
    expect(await isThere()).toBe(true)
    await pass(1)
    expect(await isThere()).toBe(false)
    const fresh = await one.links.open(CLIENT)
    await pass(59_999)
    expect(await shared.get(`session/${fresh.id}`)).toBeDefined()
    await pass(1)
    expect(await shared.get(`session/${fresh.id}`)).toBeUndefined()
  })

  test('of a gateway that forgets sooner live shorter; a first request that is too large opens none', async () => {
    const { all, shared } = await members(1, 1000)
    const [one] = all
    const { id } = (await one?.links.open(CLIENT)) ?? {}
    await pass(1000)
    expect(await shared.get(`session/${id}`)).toBeUndefined()
    const sized = (length: number) => ({ ...CLIENT, x: 'x'.repeat(length) })
    await shared.delete('replicas/epoch')
    await one?.links.open(sized(19_000))
    const error = await one?.links.open(sized(20_000)).catch((found: Error) => found)
    expect(error).toBeInstanceOf(RangeError)
    expect(String(error)).toMatch(/too large: \d+ characters, expected at most 20000/)
  })

  test('tools that one replica loaded are read at the other; those that both loaded at once are all there', async () => {
    const { first, second } = await openTwice()
    await Promise.all([first.shared.change(withTools('a')), second.shared.change(withTools('b'))])
    expect((await first.shared.refresh()).tools.toSorted()).toEqual(['a', 'b'])
    expect((await second.shared.refresh()).tools.toSorted()).toEqual(['a', 'b'])
    await second.shared.change((state) => ({ ...state, hasShelved: true }))
    expect(first.shared.state().hasShelved).toBe(false)
    expect((await first.shared.refresh()).hasShelved).toBe(true)
  })

  test('sends what a client chose to the other replica at once, and only then', async () => {
    const { one, first, second } = await openTwice()
    const heard: SessionState[] = []
    second.shared.onChange((state) => heard.push(state))
    const own: SessionState[] = []
    first.shared.onChange((state) => own.push(state))
    await first.shared.change(withTools('a'))
    await turn()
    expect(heard).toEqual([])
    for (const edit of [{ logLevel: 'error' }, { subscriptions: ['a://b'] }, { pages: ['p'] }])
      await first.shared.change((state) => ({ ...state, ...edit }))
    await turn()
    expect(heard.at(-1)).toEqual({
      ...{ tools: [], hasShelved: false, logLevel: 'error' },
      ...{ subscriptions: ['a://b'], pages: ['p'] },
    })
    expect([heard.length, own.length]).toEqual([3, 0])
    await first.shared.change((state) => ({ ...state }))
    await turn()
    expect(heard).toHaveLength(3)
    expect(one.sent.filter((text) => text.includes('"changed"'))).toHaveLength(3)
  })

  test('changes wait while the store is away, and are written when it answers', async () => {
    const { one, first, second } = await openTwice()
    one.store.leaves()
    await first.shared.change(withTools('a'))
    await first.shared.change(withTools('b'))
    expect(first.shared.state().tools).toEqual(['a', 'b'])
    expect((await first.shared.refresh()).tools).toEqual(['a', 'b'])
    await second.shared.change(withTools('c'))
    one.store.returns()
    expect((await first.shared.refresh()).tools).toEqual(['c', 'a', 'b'])
    expect((await second.shared.refresh()).tools).toEqual(['c', 'a', 'b'])
  })

  test('a record does not grow beyond 200,000 characters', async () => {
    const { first } = await openTwice()
    await first.shared.change((state) => ({ ...state, subscriptions: ['x'.repeat(199_000)] }))
    const more = first.shared.change((state) => ({ ...state, pages: ['x'.repeat(2000)] }))
    await expect(more).rejects.toThrow(
      /^the session would need \d+ characters in the store, and may have 200000; unsub/,
    )
    expect(first.shared.state().pages).toEqual([])
    await first.shared.change((state) => ({ ...state, subscriptions: [] }))
    expect(first.shared.state().subscriptions).toEqual([])
  })

  test('an invalid part of a record counts as empty', async () => {
    const { one, shared, first } = await openTwice()
    const state = { tools: ['a', 7], hasShelved: 1, logLevel: 7, subscriptions: 'x', pages: ['p'] }
    const record = { v: 1, initialize: CLIENT, owner: 'o', userId: 7, changedBy: 7, state }
    await shared.set(`session/${first.id}`, JSON.stringify(record))
    const found = await one.links.resume(first.id)
    expect(found?.shared.state()).toEqual({
      tools: ['a'],
      hasShelved: false,
      subscriptions: [],
      pages: ['p'],
    })
    expect(found?.shared.owner).toBe('o')
  })

  test('that one replica ends are over at all; one that it only left continues elsewhere', async () => {
    const { one, other, first, second, shared } = await openTwice()
    const [here, there] = [await wrapped(first), await wrapped(second)]
    let ended = 0
    first.shared.onEnd(() => ended++)
    second.leave()
    await first.finish()
    await turn()
    expect([ended, here.local.ended, there.local.ended]).toEqual([1, 0, 0])
    expect(await shared.get(`session/${first.id}`)).toBeUndefined()
    const next = await one.links.open(CLIENT)
    const resumed = await other.links.resume(next.id)
    const end = await wrapped(resumed)
    await next.finish()
    await turn()
    expect(end.local.ended).toBe(1)
    const last = await one.links.open(CLIENT)
    one.store.leaves()
    await expect(last.finish()).rejects.toThrow('the store is unreachable')
  })

  test('after a gap are looked up once before they are used', async () => {
    const { one, first, second, other } = await openTwice()
    const seen: SessionState[] = []
    second.shared.onChange((state) => seen.push(state))
    other.store.reset()
    expect(await second.isCurrent()).toBe(true)
    expect(other.store.counts()).not.toHaveProperty('get session')
    other.store.leaves()
    await first.shared.change((state) => ({ ...state, logLevel: 'error' }))
    other.store.returns()
    other.store.leaves()
    expect(await second.isCurrent()).toBe(true)
    expect(seen).toEqual([])
    other.store.returns()
    await turn()
    expect(await second.isCurrent()).toBe(true)
    expect(seen.map(({ logLevel }) => logLevel)).toEqual(['error'])
    other.store.reset()
    expect(await second.isCurrent()).toBe(true)
    expect(other.store.counts()).not.toHaveProperty('get session')
    other.store.leaves()
    await first.finish()
    other.store.returns()
    expect(await second.isCurrent()).toBe(false)
    expect(one.links.isRestoring()).toBe(false)
  })

  test('that expired in the store are noticed by the next use', async () => {
    const { first, shared } = await openTwice()
    await shared.delete(`session/${first.id}`)
    expect(await first.isCurrent()).toBe(true)
    await pass(IDLE_MS / 10)
    first.used()
    await turn()
    expect(await first.isCurrent()).toBe(false)
  })

  test('are written again to a store that was emptied, with what was chosen since', async () => {
    const { one, other, first, shared } = await openTwice()
    await first.shared.change(withTools('a'))
    expect(other.links.isRestoring()).toBe(false)
    for (const { key } of await shared.list('')) await shared.delete(key)
    expect(await other.links.resume('01234567-89ab-4def-8123-456789abcdef', 'ann')).toBeUndefined()
    expect(other.links.isRestoring()).toBe(true)
    one.store.returns()
    await turn()
    expect((await other.links.resume(first.id, 'ann'))?.shared.state().tools).toEqual(['a'])
    expect(await first.isCurrent()).toBe(true)
    await first.shared.change(withTools('b'))
    expect((await other.links.resume(first.id, 'ann'))?.shared.state().tools).toEqual(['a', 'b'])
    await pass(9999)
    expect(other.links.isRestoring()).toBe(true)
    await pass(1)
    expect(other.links.isRestoring()).toBe(false)
  })

  test('the replica that changed the list hears that the client fetched it elsewhere, once for each list', async () => {
    const { other, first, second } = await openTwice()
    let heard = 0
    first.shared.onListed(() => heard++)
    second.shared.listed()
    await turn()
    expect(heard).toBe(0)
    await first.shared.change(withTools('a'))
    await second.shared.refresh()
    second.shared.listed()
    second.shared.listed()
    first.shared.listed()
    await turn()
    expect(heard).toBe(1)
    await second.shared.change(withTools('b'))
    second.shared.listed()
    await turn()
    expect(heard).toBe(1)
    expect(other.sent.filter((text) => text.includes('"listed"'))).toHaveLength(1)
  })
})

describe('the messages of a session', () => {
  async function openBoth(streams: readonly [boolean, boolean] = [false, false]) {
    const { one, other, shared } = await pair()
    const first = await one.links.open(CLIENT)
    const second = await other.links.resume(first.id)
    if (!second) throw new Error('it cannot be resumed')
    const [here, there] = [await wrapped(first, streams[0]), await wrapped(second, streams[1])]
    return { one, other, shared, first, second, here, there }
  }
  const log = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } } as const

  test('requests are marked with their replica, wherever they and their progress belong', async () => {
    const { here, one } = await openBoth([true, false])
    const id = one.replica.id
    await here.shared?.send({ jsonrpc: '2.0', id: 5, method: 'ping' })
    const params = { x: 1, _meta: { progressToken: 6, y: 2 } }
    await here.shared?.send({ jsonrpc: '2.0', id: 6, method: 'roots/list', params })
    await here.shared?.send({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 5, reason: 'r' },
    })
    await here.shared?.send(log)
    await here.shared?.send({ jsonrpc: '2.0', id: 'of the client', result: {} })
    expect(here.sent).toEqual([
      { jsonrpc: '2.0', id: `${id}:5`, method: 'ping' },
      {
        ...{ jsonrpc: '2.0', id: `${id}:6`, method: 'roots/list' },
        params: { x: 1, _meta: { progressToken: `${id}:6`, y: 2 } },
      },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: `${id}:5`, reason: 'r' } },
      log,
      { jsonrpc: '2.0', id: 'of the client', result: {} },
    ])
    expect(here.shared?.sessionId).toBe('of the transport')
  })

  test('answers and progress come to the replica that asked, with its own id; what belongs to none is dropped', async () => {
    const { here, there, one, other } = await openBoth()
    const id = one.replica.id
    const progress = (token: string) => ({
      method: 'notifications/progress',
      params: { progressToken: token, progress: 1 },
    })
    for (const at of [here, there]) {
      at.receive({ id: `${id}:5`, result: { a: 1 } })
      at.receive({ id: `${id}:6`, error: { code: 1, message: 'm' } })
      at.receive(progress(`${id}:7`))
      await turn()
      expect(here.heard.splice(0)).toMatchObject([
        { id: 5, result: { a: 1 } },
        { id: 6, error: { code: 1 } },
        { method: 'notifications/progress', params: { progressToken: 7, progress: 1 } },
      ])
    }
    const wrong = [
      '5',
      `${id}:x`,
      `${id}:`,
      `x${id}:5`,
      `${id}:5:5`,
      `${id}:${'1'.repeat(16)}`,
      `${'0'.repeat(24)}:5`,
    ]
    for (const one of wrong) {
      here.receive({ id: one, result: {} })
      here.receive(progress(one))
    }
    here.receive({ result: {} })
    await turn()
    expect([here.heard, there.heard]).toEqual([[], []])
    expect(other.sent.filter((text) => text.includes('"call"'))).toHaveLength(3)
  })

  test('a cancellation goes where the request runs, and nowhere twice', async () => {
    const { here, there } = await openBoth()
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 3 } }
    here.receive({ id: 3, method: 'tools/call', params: {} })
    there.receive({ id: 4, method: 'tools/call', params: {} })
    there.receive(cancel)
    await turn()
    expect(here.heard.splice(0)).toMatchObject([{ id: 3 }, cancel])
    expect(there.heard.splice(0)).toMatchObject([{ id: 4 }, cancel])
    there.receive(cancel)
    await turn()
    expect(here.heard.splice(0)).toEqual([])
    here.receive({ id: 3, method: 'tools/call', params: {} })
    here.receive(cancel)
    await turn()
    expect(there.heard.slice(1)).toEqual([])
    await here.shared?.send({ jsonrpc: '2.0', id: 3, result: {} })
    here.heard.length = 0
    there.receive(cancel)
    await turn()
    expect(here.heard).toEqual([])
  })

  test('cancelled requests take no room of those that run', async () => {
    const { here, there } = await openBoth()
    const cancel = (id: number) => ({ method: 'notifications/cancelled', params: { requestId: id } })
    for (let id = 1; id <= 1001; id++) {
      here.receive({ id, method: 'tools/call', params: {} })
      if (id <= 1000) here.receive(cancel(id))
    }
    here.heard.length = 0
    there.receive(cancel(1001))
    await turn()
    expect(here.heard).toMatchObject([cancel(1001)])
  })

  test('notifications go out where the stream is, except those that each replica sends itself', async () => {
    const { here, there, one } = await openBoth([false, true])
    await here.shared?.send(log)
    for (const what of ['prompts/list_changed', 'resources/list_changed', 'resources/updated'])
      await here.shared?.send({ jsonrpc: '2.0', method: `notifications/${what}`, params: { uri: 'a://b' } })
    await here.shared?.send({ jsonrpc: '2.0', id: 1, method: 'ping' })
    await turn()
    expect(there.sent).toEqual([log, { jsonrpc: '2.0', id: `${one.replica.id}:1`, method: 'ping' }])
    expect(here.sent).toEqual([])
    await here.shared?.send(log, { relatedRequestId: 9 })
    expect(here.sent).toEqual([log])
    there.local.stream = false
    await here.shared?.send(log)
    await turn()
    expect(there.sent).toHaveLength(2)
  })

  test('at most 50 in a second go to a stream elsewhere', async () => {
    const { here, there } = await openBoth([false, true])
    vi.setSystemTime(Math.ceil(Date.now() / 1000) * 1000)
    await pass(1000 - (performance.now() % 1000))
    const flood = async () => {
      there.sent.length = 0
      for (let i = 0; i < 60; i++) await here.shared?.send(log)
      await turn()
      return there.sent.length
    }
    expect(await flood()).toBe(50)
    await pass(999)
    expect(await flood()).toBe(0)
    await pass(1)
    expect(await flood()).toBe(50)
  })

  test('notifies a client that opens its stream if its list has changed', async () => {
    const { here, there, first, second } = await openBoth()
    const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }
    second.streamOpened()
    await turn()
    expect(there.sent).toEqual([])
    await first.shared.change(withTools('a'))
    let heard = 0
    second.shared.onChange(() => heard++)
    second.streamOpened()
    await turn()
    expect([there.sent, here.sent, heard]).toEqual([[changed], [], 1])
  })

  test('reports an end and an error of the transport', async () => {
    const { here } = await openBoth()
    const heard: unknown[] = []
    if (!here.shared) throw new Error('there is no transport')
    here.shared.onclose = () => heard.push('closed')
    here.shared.onerror = (error) => heard.push(error.message)
    here.transport.onerror?.(new Error('broken'))
    here.transport.onclose?.()
    expect(heard).toEqual(['broken', 'closed'])
  })
})
