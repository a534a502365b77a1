// Sessions of 2025 clients at several replicas behind a balancer that sends each request to any of them.
import { expect, it } from 'vitest'
import { createMemoryResults } from '../../src/node/results/index.ts'
import { defaultAnswer, everyCapability, textOf } from '../mcp/support/gateway.ts'
import { initialize } from '../mcp/support/gateway-http.ts'
import { until } from '../mcp/support/processes.ts'
import { here } from '../mcp/support/server-here.ts'
import { neighbour } from '../mcp/support/small-servers.ts'
import type { Loose } from '../support/talk.ts'
import { openReplicas } from './support.ts'

const library = () => here('library', 'gateway-library')
const question = {
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
}

it('a session opened at one replica continues at the others, request by request', async () => {
  const { connect, balancer } = await openReplicas(() => [neighbour()], { count: 3 })
  const desk = await connect()
  expect(await desk.search('select:neighbour__add')).toContain('neighbour__add')
  for (const sum of [3, 4, 5, 6])
    expect(textOf(await desk.run('neighbour__add', { a: 1, b: sum - 1 }))).toBe(String(sum))
  expect(new Set(balancer.chosen).size).toBe(3)
})

it('a tool loaded at one replica is listed and callable at the other at once', async () => {
  const { connect, balancer } = await openReplicas(() => [neighbour()])
  const desk = await connect()
  balancer.only(0)
  await desk.names()
  for (const [index, name] of ['add', 'echo', 'add'].entries()) {
    balancer.only(index % 2)
    await desk.search(`select:neighbour__${name}`)
    balancer.only((index + 1) % 2)
    expect(await desk.names()).toContain(`neighbour__${name}`)
  }
  expect(await desk.names()).toEqual(['ToolSearch', 'neighbour__add', 'neighbour__echo'])
  expect(textOf(await desk.run('neighbour__add', { a: 1, b: 2 }))).toBe('3')
})

it('searches at two replicas at the same time lose no tool', async () => {
  const { connect } = await openReplicas(() => [neighbour(), library()], { count: 3 })
  const desk = await connect()
  const names = ['neighbour__add', 'neighbour__echo', 'library__ask', 'library__heard', 'library__link']
  await Promise.all(names.map((name) => desk.search(`select:${name}`)))
  expect((await desk.names()).slice(1).sort()).toEqual([...names].sort())
})

it('a question of a call is answered at another replica, and its progress arrives', async () => {
  const { connect, balancer } = await openReplicas(() => [library()], { count: 3 })
  const seen: Loose[] = []
  const { run, asked } = await connect({
    capabilities: everyCapability,
    answer: (given) => defaultAnswer(given),
  })
  // Answers go to the replica behind the one that asks.
  let at = 0
  balancer.choose((_, body) => {
    if (body.includes('"tools/call"')) at = 0
    return body.includes('"result"') ? (at + 1) % 3 : 0
  })
  const onprogress = (step: Loose) => seen.push(step)
  expect(textOf(await run('library__ask_then_work', question, { onprogress }))).toContain('Ada')
  expect(asked).toHaveLength(1)
  expect(seen.filter(({ total }) => total === 2)).toHaveLength(2)
})

it('a session ended at one replica is refused at the others', async () => {
  const { connect, balancer, gateways } = await openReplicas(() => [neighbour()])
  const desk = await connect()
  for (const index of [0, 1]) {
    balancer.only(index)
    await desk.names()
  }
  const id = desk.transport.sessionId ?? ''
  balancer.only(0)
  await desk.transport.terminateSession()
  const headers = { 'mcp-session-id': id, accept: 'application/json, text/event-stream' }
  for (const { url } of gateways) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'tools/list' })
    const json = { ...headers, 'content-type': 'application/json' }
    await until(
      async () => (await fetch(url, { method: 'POST', headers: json, body })).status === 404,
      'it ended',
    )
  }
})

it('a cancellation that arrives at another replica cancels the call', async () => {
  const { connect, balancer } = await openReplicas(() => [library()])
  const desk = await connect()
  balancer.choose((_, body) => (body.includes('notifications/cancelled') ? 1 : 0))
  const controller = new AbortController()
  const waiting = desk.run('library__wait', {}, { signal: controller.signal }).catch(() => {})
  const heard = async () => JSON.parse(textOf(await desk.run('library__heard'))) as Loose[]
  await heard()
  controller.abort('enough')
  await waiting
  await until(async () => (await heard()).length > 0, 'the server is told')
  expect(await heard()).toMatchObject([{ method: 'cancelled' }])
})

it('a log message of a call reaches the stream at another replica, at the level chosen at a third', async () => {
  const { connect, balancer } = await openReplicas(() => [library()], { count: 3 })
  balancer.choose(({ method = '' }, body) =>
    method === 'GET' ? 0 : body.includes('logging/setLevel') ? 1 : body.includes('tools/call') ? 2 : 0,
  )
  const { run, client, told } = await connect()
  const tell = (level: string) =>
    run('library__tell', { method: 'notifications/message', params: { level, data: level } })
  const levels = () =>
    told.flatMap(({ method, params }) => (method === 'notifications/message' ? [params.level] : []))
  await until(async () => {
    await tell('info')
    return levels().length > 0
  }, 'the stream is open')
  await client.setLoggingLevel('error')
  await tell('notice')
  await tell('error')
  await until(() => levels().includes('error'), 'the error is told')
  expect(levels()).not.toContain('notice')
})

it('a stream at one replica gets updates of a resource subscribed at another', async () => {
  const { connect, balancer } = await openReplicas(() => [library()])
  balancer.choose(({ method = '' }, body) => (method === 'GET' ? 0 : body.includes('subscribe') ? 1 : 0))
  const { run, client, told } = await connect()
  await client.subscribeResource({ uri: 'library+book://one' })
  const heard = async () => textOf(await run('library__heard'))
  await until(async () => (await heard()).includes('"subscribe"'), 'the stream’s replica subscribes')
  await run('library__tell', { method: 'notifications/resources/updated', params: { uri: 'book://one' } })
  await until(() => told.some(({ method }) => method === 'notifications/resources/updated'), 'it is told')
})

it('a long result of one replica is read at another, and deleted when the client ends its session', async () => {
  const kept = createMemoryResults()
  const dropped: string[] = []
  const drop = async (owner: string) => {
    dropped.push(owner)
    await kept.drop(owner)
  }
  const results = { store: { ...kept, drop }, budget: 2000 }
  const { connect, balancer } = await openReplicas(() => [here('long', 'long-results')], {
    open: { results },
  })
  const desk = await connect()
  balancer.only(0)
  const shelved = textOf(await desk.run('long__list'))
  const [handle] = /result_\w+/.exec(shelved) ?? []
  balancer.only(1)
  expect(await desk.names()).toContain('ReadResult')
  const page = await desk.call('ReadResult', { handle, search: 'Row 499' })
  expect(textOf(page)).toContain('Row 499')
  const other = await connect()
  expect((await other.call('ReadResult', { handle, search: 'Row 499' })).isError).toBe(true)
  await desk.transport.terminateSession()
  expect(dropped).toHaveLength(1)
})

it('a question is answered by its own session alone, also for one who knows its id', async () => {
  const { gateways } = await openReplicas(() => [library()])
  const [one = '', other = ''] = gateways.map(({ url }) => url)
  const capabilities = { elicitation: {} }
  const params = { ...initialize.params, capabilities }
  const [asked, stranger] = [await open(one, params), await open(one, params)]
  const call = { method: 'tools/call', params: { name: 'library__ask', arguments: question } }
  const stream = await post(one, { id: 2, ...call }, asked)
  const messages = messagesOf(stream)
  const { id } = (await messages.next()).value ?? {}
  const answer = (name: string) => ({ id, result: { action: 'accept', content: { name } } })
  for (const url of [one, other]) expect((await post(url, answer('Eve'), stranger)).status).toBe(202)
  for (const wrong of [0, '0', `${'0'.repeat(24)}:0`, `${id}:0`, null])
    await post(other, { ...answer('Eve'), id: wrong }, asked)
  expect((await post(other, answer('Ada'), asked)).status).toBe(202)
  const { result } = (await messages.next()).value ?? {}
  expect(textOf(result)).toContain('Ada')
})

function post(url: string, message: object, session?: string): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session ? { 'mcp-session-id': session } : {}),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  })
}

async function open(url: string, params: object): Promise<string> {
  const response = await post(url, { ...initialize, params })
  await response.text()
  return response.headers.get('mcp-session-id') ?? ''
}

/** The messages of an event stream. */
async function* messagesOf(response: Response): AsyncGenerator<Loose> {
  let text = ''
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data: ')) yield JSON.parse(line.slice(6))
  }
}
