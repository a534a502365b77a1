// The Messages gateway as a service: readiness, metrics, and the time that balancers get to notice its end.
import { expect, it, onTestFinished } from 'vitest'
import {
  type MessagesHttpOptions,
  serveMessagesGateway,
} from '../../packages/cli/src/http/messages/server.ts'
import { createMessagesGateway } from '../../packages/messages/src/gateway.ts'
import { createScriptUpstream } from '../../packages/messages/src/upstream/script.ts'
import { readScript } from '../../packages/messages/src/upstream/script-file.ts'
import { problemsIn } from './support/prometheus.ts'

async function start(options: Partial<MessagesHttpOptions> = {}) {
  const upstream = createScriptUpstream({
    script: readScript({ rules: [{ when: 'bye', do: [{ say: 'bye' }] }], otherwise: 'hi' }),
  })
  const served = await serveMessagesGateway({
    gateway: createMessagesGateway({ upstream }),
    port: 0,
    ...options,
  })
  onTestFinished(() => served.close())
  const get = async (path: string, headers = {}) => fetch(new URL(path, served.url), { headers })
  return { served, get }
}

const secret = 'k'.repeat(24)
const keys = [{ secret }]

it('is ready, unless a check fails; both need no key', async () => {
  const { get } = await start({ keys })
  expect(await (await get('/ready')).json()).toEqual({ status: 'ready', reasons: [] })
  expect(await (await get('/health')).json()).toEqual({ status: 'ok' })
  const check = () => Promise.reject(new Error('postgres://user:password@host'))
  const failing = await start({ keys, readinessChecks: [{ reason: 'store unreachable', check }] })
  const answer = await failing.get('/ready')
  expect([answer.status, await answer.json()]).toEqual([
    503,
    { status: 'not ready', reasons: ['store unreachable'] },
  ])
  expect((await failing.get('/health')).status).toBe(200)
})

it('metrics need the key, unless they are open, and are those of the process too', async () => {
  const { get } = await start({ keys })
  expect((await get('/metrics')).status).toBe(401)
  const text = await (await get('/metrics', { 'x-api-key': secret })).text()
  expect(problemsIn(text)).toEqual([])
  expect(text).toContain(
    'toolshelf_requests_total{gateway="messages",endpoint="other",mode="none",status="401"} 1\n',
  )
  expect(text).toContain('toolshelf_active_requests{gateway="messages"} 1\n')
  expect(text).toMatch(/^process_resident_memory_bytes \d+$/m)
  const open = await start({ keys, hasOpenMetrics: true })
  expect((await open.get('/metrics')).status).toBe(200)
})

it('serves on while balancers notice that it ends, on connections that close', async () => {
  const { served, get } = await start()
  const drained = served.drain(60_000, 600_000)
  const answer = await get('/ready')
  expect([answer.status, await answer.json()]).toEqual([503, { status: 'not ready', reasons: ['draining'] }])
  const health = await get('/health')
  expect([health.status, health.headers.get('connection')]).toEqual([200, 'close'])
  const body = JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] })
  expect((await fetch(`${served.url}/v1/messages`, { method: 'POST', body })).status).toBe(200)
  await served.close()
  await drained
})
