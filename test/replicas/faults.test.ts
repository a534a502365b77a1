// What clients notice while the store is unreachable, slow or emptied, and while a replica ends.
import { expect, it } from 'vitest'
import { createMemoryStore, type StateStore } from '../../src/store/index.ts'
import { textOf } from '../mcp/support/gateway.ts'
import { initialize } from '../mcp/support/gateway-http.ts'
import { until } from '../mcp/support/processes.ts'
import { neighbour } from '../mcp/support/small-servers.ts'
import { type FaultyStore, faultyStore } from '../support/faulty-store.ts'
import { openReplicas, type Replicas } from './support.ts'

type Faulty = Replicas & { readonly stores: readonly FaultyStore[]; readonly shared: StateStore }

async function openFaulty(count = 2): Promise<Faulty> {
  const shared = createMemoryStore()
  const stores = Array.from({ length: count }, () => faultyStore(shared))
  const storeOf = (index: number) => stores[index] as FaultyStore
  return { ...(await openReplicas(() => [neighbour()], { count, store: shared, storeOf })), stores, shared }
}

const post = (url: string, message: object, session?: string) =>
  fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session ? { 'mcp-session-id': session } : {}),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, ...message }),
  })

it('without the store open sessions continue, others get an error that says when to retry, and all recover', async () => {
  const { connect, balancer, gateways, stores } = await openFaulty()
  balancer.only(0)
  const desk = await connect()
  const session = desk.transport.sessionId ?? ''
  for (const store of stores) store.leaves()

  expect(textOf(await desk.run('neighbour__add', { a: 1, b: 2 }))).toBe('3')
  expect(await desk.search('select:neighbour__echo')).toContain('neighbour__echo')
  expect(await desk.names()).toEqual(['ToolSearch', 'neighbour__echo'])
  const other = gateways[1]?.url ?? ''
  for (const refused of [
    await post(other, { method: 'tools/list' }, session),
    await post(other, initialize),
    await fetch(gateways[0]?.url ?? '', { method: 'DELETE', headers: { 'mcp-session-id': session } }),
  ]) {
    expect(refused.status).toBe(503)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refused.json()).toMatchObject({
      error: { message: 'the store that keeps sessions does not answer; try again in a moment' },
    })
  }

  for (const store of stores) store.returns()
  expect(await desk.names()).toEqual(['ToolSearch', 'neighbour__echo'])
  balancer.only(1)
  expect(await desk.names()).toEqual(['ToolSearch', 'neighbour__echo'])
  expect((await post(other, initialize)).status).toBe(200)
})

it('an end that a replica missed is noticed before the next use', async () => {
  const { connect, balancer, stores } = await openFaulty()
  const desk = await connect()
  for (const index of [0, 1]) {
    balancer.only(index)
    await desk.names()
  }
  stores[1]?.leaves()
  balancer.only(0)
  await desk.transport.terminateSession()
  stores[1]?.returns()
  balancer.only(1)
  await expect(desk.names()).rejects.toThrow()
})

it('a store that was emptied is filled again by the replicas that have the sessions', async () => {
  const { connect, balancer, stores, shared } = await openFaulty(3)
  balancer.only(0)
  const desk = await connect()
  await desk.search('select:neighbour__add')
  for (const store of stores) store.leaves()
  for (const { key } of await shared.list('')) await shared.delete(key)
  // The third replica, which does not know the session, is the first that reaches the store.
  for (const store of [...stores].reverse()) store.returns()
  balancer.only(2)
  await until(
    () =>
      desk.names().then(
        (names) => names.includes('neighbour__add'),
        () => false,
      ),
    'the session is there again',
  )
})

it('a replica that ends takes no session with it', async () => {
  const { connect, balancer, gateways } = await openFaulty(3)
  balancer.only(0)
  const desk = await connect()
  await desk.search('select:neighbour__add')
  await gateways[0]?.close()
  balancer.rotate([0, 1, 2])
  for (const b of [1, 2, 3, 4])
    expect(textOf(await desk.run('neighbour__add', { a: 1, b }))).toBe(String(b + 1))
  expect(await desk.names()).toEqual(['ToolSearch', 'neighbour__add'])
})

it('calls of open sessions do not wait for a slow store', async () => {
  const { connect, balancer, stores } = await openFaulty()
  balancer.only(0)
  const desk = await connect()
  await desk.run('neighbour__add', { a: 1, b: 2 })
  stores[0]?.delay(100_000)
  expect(textOf(await desk.run('neighbour__add', { a: 1, b: 2 }))).toBe('3')
  stores[0]?.delay(0)
})

it('a first request that is too large to be shared is refused, and one that opens nothing leaves nothing', async () => {
  const { gateways, shared } = await openFaulty()
  const url = gateways[0]?.url ?? ''
  const params = { ...initialize.params, capabilities: { experimental: { a: 'x'.repeat(200_000) } } }
  expect((await post(url, { ...initialize, params })).status).toBe(413)
  const headers = { 'content-type': 'application/json', accept: 'text/plain' }
  const refused = await fetch(url, { method: 'POST', headers, body: JSON.stringify(initialize) })
  expect(refused.status).toBe(406)
  expect(await shared.list('session/')).toEqual([])
  expect((await post(url, { method: 'tools/list' }, '../replica/x')).status).toBe(404)
})

it('the store is asked a bounded number of times: figures per operation', async () => {
  const { connect, balancer, stores } = await openFaulty(2)
  const [one, other] = stores as [FaultyStore, FaultyStore]
  /** Operations on behalf of the session; the heartbeat of a replica does not count. */
  const costs = async (work: () => Promise<unknown>, store = one) => {
    store.reset()
    await work()
    const { 'set replica': _, ...counts } = store.counts()
    return counts
  }
  balancer.choose(({ method }) => (method === 'GET' ? 1 : undefined))
  balancer.only(0)
  const first = await connect()
  await first.names()
  let desk = first
  const opening = await costs(async () => {
    desk = await connect()
    await desk.names()
  })
  expect(opening).toEqual({ 'set session': 1, 'subscribe session': 1, 'touch session': 1, 'get session': 1 })
  expect(await costs(() => desk.run('neighbour__add', { a: 1, b: 2 }))).toEqual({})
  expect(await costs(() => desk.names())).toEqual({ 'get session': 1 })
  const searching = await costs(() => desk.search('select:neighbour__add'))
  // One to read the newest list, one to write it, one to notify the client, and one more list.
  expect(searching).toEqual({ 'get session': 2, 'set session': 1, 'publish session': 1 })
  expect(await costs(() => desk.search('select:neighbour__add'))).toEqual({ 'get session': 1 })
  balancer.only(1)
  const moving = await costs(() => desk.run('neighbour__add', { a: 1, b: 2 }), other)
  expect(moving).toEqual({})
})
