// The limits of a gateway and which client it asks, over a fake host.
import { describe, expect, it } from 'vitest'
import type { User } from '../../src/users/index.ts'
import type { Loose } from '../support/talk.ts'
import { profileOf } from '../users/support.ts'
import { everyCapability, textOf } from './support/gateway.ts'
import { notedGateway } from './support/noted-host.ts'
import { until } from './support/processes.ts'
import { tool } from './support/small-servers.ts'

const messageOf = (work: Promise<unknown>) => work.then(String, (error: Error) => `! ${error.message}`)
const user: User = { id: 'ada', uid: 'ada', profile: profileOf({}) } as never

describe('questions outside of a call', () => {
  it('are for the only client, and only about roots', async () => {
    const { questionHandler, connect } = notedGateway()
    expect(questionHandler.client).toBeUndefined()
    expect(await messageOf(questionHandler.ask('roots/list', {}))).toBe('! no client supports roots/list')
    const desk = await connect({ capabilities: everyCapability })
    expect(questionHandler.client).toBeDefined()
    expect(await questionHandler.ask('roots/list', {})).toEqual({
      roots: [{ uri: 'file:///home', name: 'home' }],
    })
    for (const method of ['elicitation/create', 'sampling/createMessage'])
      expect(await messageOf(questionHandler.ask(method, {}))).toBe(
        '! questions are passed on only during a call',
      )
    expect(desk.asked.map(({ method }) => method)).toEqual(['roots/list'])
    const other = await connect({ capabilities: everyCapability })
    expect(questionHandler.client).toBeUndefined()
    expect(await messageOf(questionHandler.ask('roots/list', {}))).toBe('! no client supports roots/list')
    await other.client.close()
    expect(questionHandler.client).toBeDefined()
    const single = await connect({ era: 'modern' })
    await single.names()
    await single.client.close()
    expect(questionHandler.client).toBeUndefined()
  })

  it('go to no client that cannot answer', async () => {
    const { questionHandler, connect } = notedGateway()
    await connect()
    expect(questionHandler.client).toBeDefined()
    expect(await messageOf(questionHandler.ask('roots/list', {}))).toBe('! no client supports roots/list')
  })
})

it('a client has 500 calls at once, and then room again', async () => {
  const ends: (() => void)[] = []
  const call = () =>
    new Promise((resolve) => ends.push(() => resolve({ content: [{ type: 'text', text: 'late' }] })))
  const { connect, shelve } = notedGateway({ call })
  shelve('a', [tool('one')], true)
  const desk = await connect()
  const running = Array.from({ length: 500 }, () => desk.call('a__one'))
  expect(await messageOf(desk.call('a__one'))).toContain('500 requests of this client are running')
  await until(
    () => ends.length === 500,
    () => `${ends.length} calls are running`,
  )
  for (const end of ends.splice(0)) end()
  expect(new Set((await Promise.all(running)).map(textOf))).toEqual(new Set(['late']))
  const next = desk.call('a__one')
  await until(() => ends.length === 1, 'a call is running')
  ends[0]?.()
  expect(textOf(await next)).toBe('late')
})

describe('searches', () => {
  it('of a user are counted, and refused above the limit', async () => {
    const taken: unknown[] = []
    const take = async (...given: unknown[]) => {
      taken.push(given)
      return taken.length > 1 ? { status: 429, message: 'enough searches for today' } : undefined
    }
    const { connect, shelve } = notedGateway({}, { usage: { take } as never })
    shelve('a', [tool('walk')])
    const desk = await connect({}, { user })
    expect(await desk.search('walk')).toContain('a__walk')
    expect(await desk.call('ToolSearch', { query: 'walk' })).toMatchObject({
      isError: true,
      content: [{ text: 'enough searches for today' }],
    })
    expect(taken).toEqual([
      [user, 'searches', 1],
      [user, 'searches', 1],
    ])
    const stranger = await connect()
    expect(await stranger.search('walk')).toContain('a__walk')
    expect(taken).toHaveLength(2)
  })
})

it('a definition of more than 120,000 characters is listed short, with its _meta if that is short', async () => {
  const { connect, shelve } = notedGateway()
  const large = (name: string, length: number, mark: string) =>
    tool(name, { title: name, description: 'x'.repeat(length), _meta: { mark } })
  shelve(
    'a',
    [
      large('small', 100_000, 'kept'),
      large('meta', 130_000, 'kept'),
      large('bare', 130_000, 'y'.repeat(10_000)),
    ],
    true,
  )
  const { raw } = await connect()
  const { tools } = await raw('tools/list')
  const about = (name: string) => {
    const found = tools.find((one: Loose) => one.name === `a__${name}`)
    return [found.title, found._meta?.mark]
  }
  expect([about('small'), about('meta'), about('bare')]).toEqual([
    ['small', 'kept'],
    [undefined, 'kept'],
    [undefined, undefined],
  ])
})

it.each(['list', 'bridge'] as const)(
  'the cost of a call does not grow with the servers: %s',
  async (mode) => {
    let described = 0
    const status = () => {
      described++
      return []
    }
    const { connect, shelve } = notedGateway(
      { status, isReadOnly: () => true },
      { mode, batches: true, scripts: true },
    )
    shelve('a', [tool('one')], mode === 'list')
    const desk = await connect()
    await desk.names()
    described = 0
    const calls = [{ name: 'a__one', arguments: {} }]
    const script = 'return await tools.a.one({})'
    const texts = [
      await desk.run('a__one'),
      await desk.call('RunScript', { script }),
      ...(mode === 'bridge' ? [await desk.call('CallTools', { calls })] : []),
    ].map(textOf)
    for (const text of texts) expect(text).toContain('called')
    expect(described).toBe(0)
  },
)
