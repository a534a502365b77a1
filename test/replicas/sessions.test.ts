// Sessions of 2025 clients at several replicas: a balancer keeps each at the replica that opened it.
import { expect, it, onTestFinished } from 'vitest'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { textOf } from '../mcp/support/gateway.ts'
import { initialize } from '../mcp/support/gateway-http.ts'
import { neighbour } from '../mcp/support/small-servers.ts'
import { connectTo } from '../operate/support/clients.ts'
import { openReplicas } from './support.ts'

const balancerFile = new URL('../../deploy/balancer.mjs', import.meta.url).href

it('each stays where it was opened, by its header, and all replicas have some', async () => {
  const { gateways } = await openReplicas(() => [neighbour()])
  const { startBalancer }: Loose = await import(balancerFile)
  const balancer = await startBalancer(
    0,
    gateways.map(({ url }) => url),
  )
  onTestFinished(() => balancer.close())
  const desks = await Promise.all([1, 2, 3, 4].map(() => connectTo(new URL('/mcp', balancer.url).href)))
  for (const desk of desks) {
    await desk.search('select:neighbour__add')
    for (const b of [1, 2, 3])
      expect(textOf(await desk.run('neighbour__add', { a: 1, b }))).toBe(String(b + 1))
    expect(await desk.names()).toContain('neighbour__add')
  }
  expect(gateways.map(({ gateway }) => gateway.clients())).toEqual([2, 2])
})

it('a replica that does not know a session refuses it, so that its client initializes again', async () => {
  const { balancer, connect, gateways } = await openReplicas(() => [neighbour()])
  balancer.only(0)
  const desk = await connect()
  const session = desk.transport.sessionId ?? ''
  const send = (body: object, id?: string) =>
    fetch(gateways[1]?.url ?? '', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(id === undefined ? {} : { 'mcp-session-id': id }),
      },
      body: JSON.stringify(body),
    })
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }
  const refused = await send(list, session)
  expect([refused.status, await refused.text()]).toEqual([
    404,
    expect.stringContaining('the session has ended; initialize again'),
  ])
  const opened = await send(initialize)
  await opened.text()
  const again = opened.headers.get('mcp-session-id') ?? ''
  expect(again).not.toBe(session)
  expect(await (await send(list, again)).text()).toContain('ToolSearch')
  expect(await desk.names()).toContain('ToolSearch')
})
