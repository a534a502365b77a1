// Lists that are known before their servers are up, corrected when those have changed, and as fresh as servers say.
import { describe, expect, it } from 'vitest'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { temporaryFolder } from './support/folder.ts'
import { type Desk, eras, openDesk, openGateway, untilFound } from './support/gateway.ts'
import { untilState } from './support/host.ts'
import { until } from './support/processes.ts'
import { initialized, serverHere, text } from './support/server-here.ts'
import type { Given } from './support/servers.ts'
import { tool } from './support/small-servers.ts'

type Lists = { readonly [field: string]: unknown }

const book = { uri: 'book://one', name: 'one' }
const full: Lists = {
  prompts: [{ name: 'review' }],
  resources: [book],
  resourceTemplates: [{ uriTemplate: 'book://{title}', name: 'any' }],
}

/** A server whose lists a test writes; not ready before it has. Its tool `tell` sends a notification. */
function shop(lists: Lists | undefined, given: Given = {}) {
  let now = lists
  let starts = 0
  const waiting: (() => void)[] = []
  const log: string[] = []
  const list = (method: string, field: string, own: readonly object[] = []) => ({
    [method]() {
      log.push(method)
      const { [field]: entries = [], ttlMs } = now as Loose
      const freshness = ttlMs === undefined ? {} : { ttlMs, cacheScope: 'public' }
      return { [field]: [...own, ...entries], ...freshness }
    },
  })
  const config = serverHere(
    'shop',
    ({ notify }) => ({
      async initialize(params) {
        starts += 1
        if (!now) await new Promise<void>((resolve) => waiting.push(resolve))
        return initialized(params, { prompts: { listChanged: true }, resources: { listChanged: true } })
      },
      'tools/call'({ name, arguments: input = {} }) {
        if (name === 'tell') notify(input.method)
        return text(`called ${name}`)
      },
      'prompts/get': ({ name }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: name } }],
      }),
      ...list('tools/list', 'tools', [tool('tell')]),
      ...list('prompts/list', 'prompts'),
      ...list('resources/list', 'resources'),
      ...list('resources/templates/list', 'resourceTemplates'),
    }),
    given,
  )
  return {
    config,
    write(next: Lists) {
      now = next
      for (const begin of waiting.splice(0)) begin()
    },
    /** It is not ready any more. */
    remove() {
      now = undefined
    },
    /** How often this list was asked for. */
    asked: (method: string) => log.filter((line) => line === method).length,
    starts: () => starts,
  }
}

async function namesOf({ client }: Pick<Desk, 'client'>) {
  const [{ prompts }, { resources }, { resourceTemplates }] = await Promise.all([
    client.listPrompts(),
    client.listResources(),
    client.listResourceTemplates(),
  ])
  return [...prompts, ...resources, ...resourceTemplates].map(({ name }) => name)
}

const known = ['shop__review', 'one', 'any']
const tell = ({ call }: Pick<Desk, 'call'>, kind: string) =>
  call('CallTool', { name: 'shop__tell', arguments: { method: `notifications/${kind}/list_changed` } })
const told = (desk: Desk, kind: string) =>
  desk.told.filter(({ method }) => method === `notifications/${kind}/list_changed`).length

/** A gateway on the definitions that an earlier one has kept. */
async function learned(server: ReturnType<typeof shop>): Promise<string> {
  const cacheFolder = temporaryFolder()
  const first = await openDesk([server.config], { cacheFolder })
  expect(await namesOf(first)).toEqual(known)
  await first.client.close()
  await first.over
  return cacheFolder
}

describe.each(eras)('prompts and resources, %s', (era) => {
  it('are answered from an earlier run while the server starts, and corrected when it is up', async () => {
    const server = shop(full)
    const cacheFolder = await learned(server)
    server.remove()
    const { connect, host } = openGateway([server.config], { cacheFolder })
    const desk = await connect({ era })
    expect(await namesOf(desk)).toEqual(known)
    expect(host.status()[0]?.state).toBe('pending')
    server.write({ ...full, prompts: [{ name: 'other' }] })
    await untilState(host, 'shop', 'connected')
    await until(async () => (await namesOf(desk))[0] === 'shop__other', 'the list is corrected')
    expect((await namesOf(desk)).slice(1)).toEqual(known.slice(1))
  })

  it('of a lazy server are there from the second start on, without starting it', async () => {
    const server = shop(full, { lazy: true })
    const cacheFolder = await learned(server)
    const before = server.starts()
    const { connect, host } = openGateway([server.config], { cacheFolder })
    const desk = await connect({ era })
    expect(await namesOf(desk)).toEqual(known)
    expect(host.status()[0]?.state).toBe('idle')
    expect(server.starts()).toBe(before)
    expect((await desk.client.getPrompt({ name: 'shop__review' })).messages).toHaveLength(1)
    expect(server.starts()).toBe(before + 1)
  })
})

describe('changes of prompts and resources', () => {
  it('are announced if the lists really differ', async () => {
    const server = shop(full)
    const desk = await openDesk([server.config], { mode: 'bridge' })
    expect(await namesOf(desk)).toEqual(known)
    const before = [told(desk, 'prompts'), told(desk, 'resources')]
    await tell(desk, 'prompts')
    await until(() => server.asked('prompts/list') === 2, 'it is listed again')
    server.write({ ...full, resources: [book, { uri: 'book://two', name: 'two' }] })
    await tell(desk, 'resources')
    await until(() => told(desk, 'resources') > (before[1] ?? 0), 'the client is told')
    expect(await namesOf(desk)).toEqual(['shop__review', 'one', 'two', 'any'])
    expect(told(desk, 'prompts')).toBe(before[0])
  })

  it('a client of the newest protocol hears of them too', async () => {
    const server = shop(full, { alwaysLoad: true })
    const desk = await openDesk([server.config], { client: { era: 'modern' } })
    expect(await namesOf(desk)).toEqual(known)
    await desk.client.listen({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true })
    server.write({ tools: [tool('buy')] })
    for (const kind of ['prompts', 'resources', 'tools']) await tell(desk, kind)
    await until(() => new Set(desk.told.map(({ method }) => method)).size === 3, 'all three are told')
  })
})

describe('for how long a list is fresh', () => {
  const HOUR = 3_600_000

  it('what a server calls fresh is not listed again when it starts again', async () => {
    const server = shop({ ...full, ttlMs: HOUR }, { lazy: true })
    const cacheFolder = await learned(server)
    const { connect, host } = openGateway([server.config], { cacheFolder })
    const desk = await connect()
    await desk.run('shop__tell', { method: 'notifications/nothing' })
    expect(host.status()[0]?.state).toBe('connected')
    expect(server.starts()).toBe(2)
    for (const method of ['tools/list', 'prompts/list', 'resources/list'])
      expect(server.asked(method), method).toBe(1)
    server.write({ ...full, tools: [tool('buy')], ttlMs: HOUR })
    await desk.run('shop__tell', { method: 'notifications/tools/list_changed' })
    await until(() => server.asked('tools/list') === 2, 'a change counts at once')
  })

  it('a stale list is listed again for the next request', async () => {
    const server = shop({ ...full, ttlMs: 1 })
    const desk = await openDesk([server.config])
    expect(await namesOf(desk)).toEqual(known)
    server.write({ prompts: [{ name: 'other' }], tools: [tool('buy')], ttlMs: HOUR })
    expect(await desk.search('select:shop__buy')).toContain('- shop__buy')
    await until(async () => (await namesOf(desk)).join() === 'shop__other', 'the lists are new')
    const before = server.asked('prompts/list')
    await namesOf(desk)
    expect(server.asked('prompts/list')).toBe(before)
  })

  it('what a server says nothing about stays until it says that it has changed', async () => {
    const server = shop(full)
    const desk = await openDesk([server.config])
    await namesOf(desk)
    await desk.search('tell')
    await namesOf(desk)
    for (const method of ['tools/list', 'prompts/list', 'resources/list'])
      expect(server.asked(method), method).toBe(1)
  })

  it('tells a client how long our lists are fresh: not while servers are missing', async () => {
    const server = shop(undefined)
    const { connect, shelf } = openGateway([server.config])
    const { raw } = await connect({ era: 'modern' })
    expect(await raw('tools/list')).toMatchObject({ ttlMs: 0, cacheScope: 'private' })
    server.write(full)
    await untilFound(shelf, 'shop__tell')
    await until(async () => (await raw('prompts/list')).ttlMs > 0, 'all is known')
    for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'])
      expect(await raw(method), method).toMatchObject({ ttlMs: 60_000, cacheScope: 'private' })
  })
})
