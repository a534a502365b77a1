// Replicas on real a server of Redis, each with a connection of its own.
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { StateStore } from '../../packages/core/src/store.ts'
import { openStateStore } from '../../packages/server/src/store/open.ts'
import { createKeyAuthenticator } from '../../packages/server/src/users/authenticator.ts'
import { openUserStore } from '../../packages/server/src/users/directory.ts'
import { createKey } from '../../packages/server/src/users/records.ts'
import { createUsageMeter } from '../../packages/server/src/users/usage.ts'
import { type CutProxy, startCutProxy } from '../../packages/testkit/src/cut-proxy.ts'
import { sizeOf } from '../../packages/testkit/src/runs.ts'
import { type StoreServer, startRedis } from '../../packages/testkit/src/store-servers.ts'
import { defaultAnswer, everyCapability, textOf } from '../mcp/support/gateway.ts'
import { initialize } from '../mcp/support/gateway-http.ts'
import { until } from '../mcp/support/processes.ts'
import { here } from '../mcp/support/server-here.ts'
import { neighbour } from '../mcp/support/small-servers.ts'
import { profileOf } from '../users/support.ts'
import { openReplicas, type Replicas } from './support.ts'

const library = () => here('library', 'gateway-library')
const question = {
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
}

describe('redis', () => {
  let server: StoreServer | undefined
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server?.stop())

  /** Replicas on the server; through a proxy if a test disturbs their connections. */
  async function open({ count = 2, proxy }: { count?: number; proxy?: CutProxy } = {}): Promise<Replicas> {
    const url = new URL(server?.url ?? '')
    if (proxy) url.port = String(proxy.port)
    const stores = await Promise.all(Array.from({ length: count }, () => openStateStore(url.href)))
    const servers = () => [neighbour(), library()]
    const replicas = await openReplicas(servers, {
      count,
      storeOf: (index) => stores[index] as StateStore,
    })
    onTestFinished(async () => {
      await Promise.all(stores.map((store) => store.close()))
    })
    return replicas
  }

  async function proxied(): Promise<CutProxy> {
    const proxy = await startCutProxy(Number(new URL(server?.url ?? '').port))
    onTestFinished(() => proxy.close())
    return proxy
  }

  it('a question of a sessionless client is answered at any replica', async ({ skip }) => {
    if (!server) return skip('redis is not there')
    const { connect } = await open()
    const { run, asked } = await connect({ era: 'modern', capabilities: everyCapability })
    for (const _ of [1, 2, 3, 4]) expect(textOf(await run('library__ask', question))).toContain('Ada')
    expect(asked).toHaveLength(4)
  })

  it('while connections are cut calls continue, and an answer is refused until they are back', async ({
    skip,
  }) => {
    if (!server) return skip('redis is not there')
    const proxy = await proxied()
    const { connect, balancer } = await open({ proxy })
    balancer.choose((_, body) => (body.includes('"requestState"') ? 1 : 0))
    const desk = await connect({
      era: 'modern',
      capabilities: everyCapability,
      answer: (given) => {
        proxy.cut()
        return defaultAnswer(given)
      },
    })
    await expect(desk.run('library__ask', question)).rejects.toThrow('does not answer')
    expect(textOf(await desk.run('neighbour__add', { a: 1, b: 2 }))).toBe('3')
    proxy.open()
    const other = await connect({ era: 'modern', capabilities: everyCapability })
    const ask = () => other.run('library__ask', question).then(textOf, () => '')
    await until(async () => (await ask()).includes('Ada'), 'questions are answered again')
  })

  it('users are the same at all replicas: limits hold over all, a revoked key is refused at once', async ({
    skip,
  }) => {
    if (!server) return skip('redis is not there')
    const limit = sizeOf({ quick: 30, full: 100 })
    const { send, key, directory } = await openWithUser(server.url, limit)
    const statuses = await Promise.all(Array.from({ length: 1.5 * limit }, (_, index) => send(index % 2)))
    const admitted = statuses.filter((status) => status === 400).length
    expect(statuses.filter((status) => status === 429)).toHaveLength(statuses.length - admitted)
    expect(Math.abs(admitted - limit)).toBeLessThanOrEqual(1)
    await directory.deleteKey(key.id)
    for (const index of [0, 1]) await until(async () => (await send(index)) === 401, `refused at ${index}`)
  })
})

/** Two replicas and a user whose key allows this many requests a day; admitted requests get 400. */
async function openWithUser(url: string, limit: number) {
  const stores = await Promise.all([0, 1].map(() => openStateStore(url)))
  const directories = await Promise.all(stores.map((store) => openUserStore(store)))
  const [directory] = directories as [(typeof directories)[number]]
  const key = createKey('ada')
  await directory.saveProfile(profileOf({ name: 'some', limits: { requestsPerDay: limit } }))
  await directory.saveUser('ada', { profile: 'some' })
  await directory.saveKey(key.id, key.record)
  // The day does not end in the middle of the test.
  const now = () => Date.parse('2026-01-01T12:00:00Z')
  const { gateways } = await openReplicas(() => [], {
    storeOf: (index) => stores[index] as StateStore,
    httpOf: (index) => ({ users: createKeyAuthenticator({ directory: directories[index]! }) }),
    openOf: (index) => ({ usage: createUsageMeter({ store: stores[index] as StateStore, now }) }),
  })
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()))
  })
  const headers = {
    authorization: `Bearer ${key.token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  // Without a session there is nothing to answer, and so nothing else that takes time.
  const body = JSON.stringify({ ...initialize, method: 'ping' })
  const send = async (index: number) => {
    const response = await fetch(gateways[index]?.url ?? '', { method: 'POST', headers, body })
    await response.body?.cancel()
    return response.status
  }
  return { send, key, directory }
}
