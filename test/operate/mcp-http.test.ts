// The MCP gateway as a service: health, readiness, metrics, and how it drains.
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { serveMcpGatewayOnHttp } from '../../packages/cli/src/http/mcp/http.ts'
import { eras, openGateway, textOf } from '../mcp/support/gateway.ts'
import { initialize, openHttp } from '../mcp/support/gateway-http.ts'
import { until } from '../mcp/support/processes.ts'
import { text as answer, here, serverHere } from '../mcp/support/server-here.ts'
import { local } from '../mcp/support/servers.ts'
import { listed, neighbour, tool } from '../mcp/support/small-servers.ts'
import { connectTo } from './support/clients.ts'
import { problemsIn } from './support/prometheus.ts'

const KEY = 'k'.repeat(24)
const get = (path: string, headers = {}) => ({ method: 'GET', path, headers })

describe('health and readiness', () => {
  it('need no key, and show probes of other hosts nothing else', async () => {
    const { send } = await openHttp([neighbour()], { http: { key: KEY } })
    const probe = { host: '10.1.2.3:3399' }
    expect((await send(get('/health', probe))).text).toBe('{"status":"ok"}')
    expect(JSON.parse((await send(get('/health'))).text)).toEqual({ status: 'ok', clients: 0 })
    expect(await send(get('/ready', probe))).toMatchObject({
      status: 200,
      text: '{"status":"ready","reasons":[]}',
    })
  })

  it.each([
    [600_000, 503, { status: 'not ready', reasons: ['servers are starting'] }],
    [1, 200, { status: 'ready', reasons: [] }],
  ])('waits %s ms at most for an always-loaded server that starts', async (serverWaitMs, status, body) => {
    const { gateway, host } = openGateway([local('slow', 'hang initialize', { alwaysLoad: true })])
    const served = await serveMcpGatewayOnHttp(gateway, { port: 0, serverWaitMs })
    const url = new URL('/ready', served.url)
    await until(async () => (await fetch(url)).status === status, 'the status is as expected')
    expect(await (await fetch(url)).json()).toEqual(body)
    expect(host.status().map(({ state }) => state)).toEqual(['pending'])
    await served.close()
  })

  it('is not ready while the store cannot be reached', async () => {
    const check = () => Promise.reject(new Error('redis://user:password@host'))
    const readinessChecks = [{ reason: 'store unreachable', check }]
    const { send } = await openHttp([neighbour()], { http: { readinessChecks } })
    const { status, text: body } = await send(get('/ready'))
    expect([status, body]).toEqual([503, '{"status":"not ready","reasons":["store unreachable"]}'])
    expect((await send(get('/health'))).status).toBe(200)
  })
})

describe('metrics', () => {
  it('need the key, unless they are open', async () => {
    const closed = await openHttp([neighbour()], { http: { key: KEY } })
    expect((await closed.send(get('/metrics'))).status).toBe(401)
    expect((await closed.send(get('/metrics', { authorization: `Bearer ${KEY}` }))).status).toBe(200)
    const open = await openHttp([neighbour()], { http: { key: KEY, hasOpenMetrics: true } })
    const { status, headers } = await open.send(get('/metrics', { host: '10.1.2.3' }))
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4'])
  })

  it('count requests, searches, calls, sessions and servers, and hold nothing that a client sent', async () => {
    const { send, connect } = await openHttp([neighbour(), local('bad', 'crash call')])
    const desk = await connect()
    await desk.search('add numbers')
    await desk.run('neighbour__add', { a: 1, b: 2 })
    await desk.run('neighbour__add', { a: 'x' })
    await send({ body: { jsonrpc: '2.0', id: 1, method: 'evil"} 1' } })
    await send({ ...get('/evil'), headers: { 'mcp-session-id': 'evil' } })
    const page = async () => (await send(get('/metrics'))).text
    await until(async () => /endpoint="tools\/call",status="200"} 3/.test(await page()), 'calls are counted')
    const metrics = await page()
    expect(problemsIn(metrics)).toEqual([])
    expect(metrics).not.toContain('evil')
    expect(metrics).not.toContain('neighbour')
    expect(metrics).toContain(
      'toolshelf_requests_total{gateway="mcp",endpoint="initialize",status="200"} 1\n',
    )
    expect(metrics).toMatch(/toolshelf_requests_total\{gateway="mcp",endpoint="other",status="40\d"\} 1\n/)
    expect(metrics).toContain('toolshelf_searches_total{gateway="mcp"} 1\n')
    expect(metrics).toMatch(/toolshelf_calls_total\{outcome="ok"\} [12]\n/)
    expect(metrics).toContain('toolshelf_sessions 1\n')
    expect(metrics).toContain('toolshelf_servers{state="connected"} ')
    expect(metrics).toMatch(/toolshelf_request_seconds_count\{gateway="mcp",endpoint="tools\/call"\} 3\n/)
    expect(metrics).not.toMatch(/toolshelf_request_seconds_count\{gateway="mcp",endpoint="stream"/)
  })
})

describe.each(eras)('draining, %s', (era) => {
  it('finishes the call that runs, refuses new requests, ends streams, then closes', async () => {
    let isCalled = false
    let finish = (_result: object) => {}
    const { connect, served } = await openDraining(
      serverHere('slow', () => ({
        'tools/list': () => ({ tools: [tool('wait')] }),
        'tools/call': () => {
          isCalled = true
          return new Promise<object>((resolve) => {
            finish = resolve
          })
        },
      })),
    )
    const desk = await connect({ era })
    if (era === 'modern') await desk.client.listen({ toolsListChanged: true })
    const slow = desk.run('slow__wait', {})
    await until(() => isCalled, 'the call runs')
    expect(served.activeRequests()).toBe(1)
    const drained = served.drain(60_000)
    const refused = await post(served.url, initialize)
    expect(refused.status).toBe(503)
    expect(refused.headers).toMatchObject({ 'retry-after': '1', connection: 'close' })
    expect(refused.text).toContain('this gateway is stopping')
    expect((await fetch(new URL('/ready', served.url))).status).toBe(503)
    expect((await fetch(new URL('/health', served.url))).status).toBe(200)
    finish(answer('waited'))
    expect(textOf(await slow)).toBe('waited')
    await drained
    await expect(fetch(new URL('/health', served.url))).rejects.toThrow()
  })
})

it('answers questions of a running call while it drains', async () => {
  const { connect, served } = await openDraining(here('library', 'gateway-library'))
  let answer = (_: string) => {}
  const name = new Promise<string>((resolve) => {
    answer = resolve
  })
  const desk = await connect({
    capabilities: { elicitation: { form: {} } },
    answer: () => name.then((given) => ({ action: 'accept', content: { name: given } })) as never,
  })
  const params = { mode: 'form', message: 'Name?', requestedSchema: { type: 'object', properties: {} } }
  const asked = desk.run('library__ask', { method: 'elicitation/create', params })
  await until(() => desk.asked.length > 0, 'it was asked')
  const drained = served.drain(60_000)
  answer('Ada')
  expect(textOf(await asked)).toContain('Ada')
  await drained
})

it('waits for balancers first: not ready, but everything is served, on connections that close', async () => {
  const { served, connect } = await openDraining()
  const drained = served.drain(60_000, 600_000)
  expect((await fetch(new URL('/ready', served.url))).status).toBe(503)
  const first = await post(served.url, initialize)
  expect([first.status, first.headers.connection]).toEqual([200, 'close'])
  expect(await (await connect()).names()).toEqual(['ToolSearch'])
  await served.close()
  await drained
})

it('a request that is arriving when it ends is refused, not cut off', async () => {
  const { served } = await openDraining(neighbour())
  const body = JSON.stringify(initialize)
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const sent = request(served.url, {
    ...{ method: 'POST', agent: false },
    headers: { ...headers, 'content-length': body.length, expect: '100-continue' },
  })
  const answered = new Promise<string>((resolve, reject) => {
    sent.on('error', reject)
    sent.on('response', async (response) => resolve(`${response.statusCode} ${await text(response)}`))
  })
  await new Promise((resolve) => sent.once('continue', resolve))
  const drained = served.drain(60_000)
  const isRefused = () =>
    fetch(new URL('/health', served.url)).then(
      () => false,
      () => true,
    )
  await until(isRefused, 'nobody can connect any more')
  sent.end(body)
  expect(await answered).toMatch(/^503 .*this gateway is stopping/)
  await drained
})

it('does not wait for ever', async () => {
  const { served, connect } = await openDraining(here('library', 'gateway-library'))
  const desk = await connect()
  const waiting = desk.run('library__wait').then(
    () => 'answered',
    () => 'cut off',
  )
  await until(() => served.activeRequests() === 1, 'the call runs')
  await served.drain(10)
  await desk.client.close()
  expect(await waiting).toBe('cut off')
})

it('a session with a loaded tool survives other servers that come and go', async () => {
  const { host, connect } = await openHttp([neighbour(), listed('old', [tool('gone')]).config])
  const desk = await connect()
  await desk.search('select:neighbour__add')
  await desk.search('select:old__gone')
  expect(await desk.names()).toEqual(['ToolSearch', 'neighbour__add', 'old__gone'])
  const id = desk.transport.sessionId
  await host.configure([neighbour(), listed('new', [tool('fresh')]).config])
  expect(await desk.names()).toEqual(['ToolSearch', 'neighbour__add'])
  expect(textOf(await desk.call('neighbour__add', { a: 1, b: 2 }))).toBe('3')
  expect(await desk.search('select:new__fresh')).toContain('new__fresh')
  expect(desk.transport.sessionId).toBe(id)
})

/** A gateway that the test drains itself. */
async function openDraining(server = here('results', 'results')) {
  const { gateway, host } = openGateway([server])
  const served = await serveMcpGatewayOnHttp(gateway, { port: 0 })
  await host.settled()
  return { served, connect: (options = {}) => connectTo(served.url, options) }
}

/** On a connection of its own, with the headers of the answer. */
function post(url: string, body: object) {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  return new Promise<{ status?: number; headers: object & { connection?: string }; text: string }>(
    (resolve, reject) => {
      const sent = request(url, { method: 'POST', headers, agent: false }, async (response) => {
        const { statusCode, headers: answered } = response
        resolve({ status: statusCode ?? 0, headers: answered, text: await text(response).catch(() => '') })
      })
      sent.on('error', reject)
      sent.end(JSON.stringify(body))
    },
  )
}
