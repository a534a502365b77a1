// Clients of the sessionless protocol at several replicas: a question that one asks is answered at another.
import { expect, it } from 'vitest'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { faultyStore } from '../../packages/testkit/src/faulty-store.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { everyCapability, textOf } from '../mcp/support/gateway.ts'
import { here } from '../mcp/support/server-here.ts'
import { local } from '../mcp/support/servers.ts'
import { neighbour } from '../mcp/support/small-servers.ts'
import { openReplicas } from './support.ts'

const library = () => here('library', 'gateway-library')
const question = {
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
}
const modern = { era: 'modern', capabilities: everyCapability } as const

it('searches and calls need no store', async () => {
  const store = faultyStore(createMemoryStore())
  const { connect, balancer } = await openReplicas(() => [neighbour()], { store })
  const desk = await connect({ era: 'modern' })
  store.reset()
  expect(await desk.search('adds two numbers')).toContain('neighbour__add')
  expect(textOf(await desk.run('neighbour__add', { a: 1, b: 2 }))).toBe('3')
  await desk.names()
  expect(new Set(balancer.chosen).size).toBe(2)
  expect(store.counts()).toEqual({})
})

it('a question is answered at another replica, and progress and outcome come back from the first', async () => {
  // A process for each replica, as most servers are.
  const { connect, balancer } = await openReplicas(() => [local('library', 'gateway-library')])
  const { run, asked } = await connect(modern)
  const seen: Loose[] = []
  balancer.choose((_, body) => (body.includes('"requestState"') ? 1 : 0))
  const onprogress = (step: Loose) => seen.push(step)
  expect(textOf(await run('library__ask_then_work', question, { onprogress }))).toContain('Ada')
  expect(asked).toHaveLength(1)
  expect(seen.filter(({ total }) => total === 2)).toHaveLength(2)
})

it('questions of calls that follow each other are answered wherever the balancer sends them', async () => {
  const { connect, balancer } = await openReplicas(() => [library()], { count: 3 })
  const { run, asked } = await connect(modern)
  for (const _ of [1, 2, 3, 4]) expect(textOf(await run('library__ask', question))).toContain('Ada')
  expect(asked).toHaveLength(4)
  expect(new Set(balancer.chosen).size).toBe(3)
})

it('only the client that was asked may answer', async () => {
  const { balancer, gateways } = await openReplicas(() => [library()])
  const { connect } = { connect: (name: string) => connectAs(balancer.url, name) }
  const asked = await connect('one')(undefined)
  const { requestState, inputRequests } = asked.result
  const answers = Object.fromEntries(
    Object.keys(inputRequests).map((key) => [key, { action: 'accept', content: { name: 'Eve' } }]),
  )
  for (const index of gateways.keys()) {
    balancer.only(index)
    const stolen = await connect('other')({ requestState, inputResponses: answers })
    expect(stolen.error).toMatchObject({ code: -32602, message: 'Invalid or expired requestState' })
  }
  balancer.only(1)
  const answered = await connect('one')({ requestState, inputResponses: answers })
  expect(textOf(answered.result)).toContain('Eve')
})

it('while the store is unreachable the answer is refused, and later accepted', async () => {
  const shared = createMemoryStore()
  const stores = [faultyStore(shared), faultyStore(shared)]
  const { balancer } = await openReplicas(() => [library()], { storeOf: (index) => stores[index]! })
  balancer.only(0)
  const call = connectAs(balancer.url, 'one')
  const { requestState, inputRequests } = (await call(undefined)).result
  const [key = ''] = Object.keys(inputRequests)
  const inputResponses = { [key]: { action: 'accept', content: { name: 'Ada' } } }
  balancer.only(1)
  stores[1]?.leaves()
  const refused = await call({ requestState, inputResponses })
  expect(refused.error.message).toContain('store that replicas share does not answer')
  stores[1]?.returns()
  expect(textOf((await call({ requestState, inputResponses })).result)).toContain('Ada')
})

/** Calls `library__ask` as a client of the sessionless protocol would, with fields of our own choice. */
function connectAs(url: string, name: string): (more: object | undefined) => Promise<Loose> {
  return async (more = {}) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name, version: '1' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
    }
    const params = {
      name: 'CallTool',
      arguments: { name: 'library__ask', arguments: question },
      _meta,
      ...more,
    }
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'CallTool',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    })
    const text = await response.text()
    const data = text.split('\n').findLast((line) => line.startsWith('data: '))
    return JSON.parse(data?.slice(6) ?? text)
  }
}
