// The host from start to close: states, lists that change, reconnection, lazy servers, the cache, what a server inherits.
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from './support/folder.ts'
import {
  expectWholeNeighbour,
  found,
  type OpenOptions,
  openHost,
  stateOf,
  statusOf,
  textOf,
  toolsOf,
  untilState,
} from './support/host.ts'
import { isAlive, startsIn, until } from './support/processes.ts'
import { here, initialized, noAnswer, serverHere, text } from './support/server-here.ts'
import { type Given, local } from './support/servers.ts'
import { neighbour, tool } from './support/small-servers.ts'

/** A server that is known by the file to which it writes its starts. */
function counted(script: string, given = {}) {
  const file = join(temporaryFolder(), 'starts')
  return {
    config: local('one', script, { env: { STARTS_FILE: file }, ...given }),
    starts: () => startsIn(file),
  }
}

/** The same in this process, which counts how often it is connected to. */
function countedHere(given: Given = {}) {
  const starts: number[] = []
  const config = serverHere(
    'one',
    () => ({
      initialize(params) {
        starts.push(starts.length)
        return initialized(params)
      },
      'tools/list': () => ({ tools: [tool('echo'), tool('add', { description: 'Adds two numbers' })] }),
      'tools/call': ({ arguments: { a, b } }) => text(a + b),
    }),
    given,
  )
  return { config, starts: () => starts }
}

const soon: OpenOptions = { times: { firstRetryMs: 20, maxRetryMs: 100, refreshMs: 20 } }
const never: OpenOptions = { times: { firstRetryMs: 3_600_000 } }

describe('H2 states', () => {
  it('a server is pending at first and connected when its tools are there', async () => {
    const { host, shelf, events } = openHost([neighbour()])
    expect(stateOf(host, 'neighbour')).toBe('pending')
    expect(shelf.servers().get('neighbour')?.state).toBe('pending')
    await host.settled()
    expect(statusOf(host, 'neighbour')).toMatchObject({
      state: 'connected',
      reason: undefined,
      isCached: false,
      info: { name: 'test-server', version: '1.0.0' },
      protocol: '2025-11-25',
    })
    expect(statusOf(host, 'neighbour').startMilliseconds).toBeGreaterThan(0)
    expect(shelf.servers().get('neighbour')?.state).toBe('connected')
    const states = events.flatMap((event) => (event.type === 'state' ? [event.status.state] : []))
    expect(states.at(-1)).toBe('connected')
    expect(events.filter(({ type }) => type === 'tools')).toHaveLength(1)
  })
})

describe('H4 lists and connections that change', () => {
  it('a server that dies while it lists anew keeps its last list and comes back', async () => {
    const { host } = openHost([local('one', 'crash list-again')], soon)
    await host.settled()
    await expect(host.refresh('one')).rejects.toThrow()
    expect(toolsOf(host, 'one')).toEqual(['explode', 'survive'])
    await untilState(host, 'one', 'connected')
    expect(textOf(await host.call('one', 'survive', {}))).toMatch(/answered/)
  })

  it('a call to a server that ended starts it at once, without waiting for its turn', async () => {
    const { host } = openHost([local('one', 'crash after-call'), neighbour()], never)
    await host.settled()
    const first = textOf(await host.call('one', 'survive', {}))
    await untilState(host, 'one', 'failed')
    expect(statusOf(host, 'one').reason).toMatch(/exit code 3/)
    const second = textOf(await host.call('one', 'survive', {}))
    expect(second).toMatch(/answered by \d+/)
    expect(second).not.toBe(first)
  })

  it('a call to a server that could not start tries it at once', async () => {
    const { config, starts } = counted('crash start')
    const { host } = openHost([config], never)
    await host.settled()
    const before = starts().length
    await expect(host.call('one', 'survive', {})).rejects.toThrow(/exit code 3/)
    expect(starts().length).toBeGreaterThan(before)
  })

  it('a server that connects and ends, again and again, is started ever less often', async () => {
    const { config, starts } = counted('crash after-list')
    const { host } = openHost([config], { times: { firstRetryMs: 200 } })
    await host.settled()
    await new Promise((resolve) => setTimeout(resolve, 4000))
    await until(() => starts().length > 1, 'it was started again')
    expect(starts().length).toBeLessThanOrEqual(8)
  })

  it('calls that fail do not add up to ever more attempts', async () => {
    const { host, events } = openHost([local('one', 'crash start')], {
      times: { firstRetryMs: 1000, maxRetryMs: 1000 },
    })
    const failures = () =>
      events.filter((event) => event.type === 'state' && event.status.state === 'failed').length
    await host.settled()
    for (let time = 0; time < 8; time += 1) await host.call('one', 'survive', {}).catch(() => {})
    const before = failures()
    await new Promise((resolve) => setTimeout(resolve, 2500))
    expect(failures() - before).toBeLessThanOrEqual(4)
  })

  it('a server that no longer answers is noticed and started again', async () => {
    const { host } = openHost([local('one', 'hang reading', { callTimeoutMs: 300 })], {
      times: { ...soon.times, healthIntervalMs: 50, pingTimeoutMs: 200 },
    })
    await host.settled()
    const { pid } = statusOf(host, 'one')
    await host.call('one', 'quick', {})
    await until(
      () => statusOf(host, 'one').pid !== pid && stateOf(host, 'one') === 'connected',
      'it is new',
      50_000,
    )
  }, 60_000)
})

describe('lazy servers and kept definitions', () => {
  const listed = ['mcp__one__echo', 'mcp__one__add']

  async function knownServer({ config, starts } = countedHere({ lazy: true })) {
    const cacheFolder = temporaryFolder()
    const first = openHost([config], { cacheFolder })
    await first.host.settled()
    await until(() => readdirSync(cacheFolder).some((file) => file.endsWith('.json')), 'it is kept')
    await first.host.close()
    expect(starts()).toHaveLength(1)
    return { cacheFolder, config, starts }
  }

  it('a lazy server known from before is found without a process, and started by its first call', async () => {
    const { config, cacheFolder, starts } = await knownServer(counted('healthy', { lazy: true }))
    const { host, shelf } = openHost([config], { cacheFolder })
    await host.settled()
    expect(statusOf(host, 'one')).toMatchObject({ state: 'idle', isCached: true, pid: undefined })
    expect(await found(shelf, 'adds two numbers')).toContain('mcp__one__add')
    expect(shelf.partition().deferred.map(({ name }) => name)).toEqual(expect.arrayContaining(listed))
    expect(starts()).toHaveLength(1)
    expect(textOf(await host.call('one', 'add', { a: 1, b: 2 }))).toBe('3')
    expect(starts()).toHaveLength(2)
    expect(statusOf(host, 'one')).toMatchObject({ state: 'connected', isCached: false })
  })

  it('many first calls at once start it once', async () => {
    const { config, cacheFolder, starts } = await knownServer()
    const { host } = openHost([config], { cacheFolder })
    await host.settled()
    const calls = Array.from({ length: 10 }, (_, a) => host.call('one', 'add', { a, b: 0 }))
    expect((await Promise.all(calls)).map(textOf)).toEqual(calls.map((_, a) => String(a)))
    expect(starts()).toHaveLength(2)
  })

  it('a lazy server stops when it was idle for long, and starts again', async () => {
    const { config, cacheFolder, starts } = await knownServer(counted('healthy', { lazy: true }))
    const { host, shelf } = openHost([config], { cacheFolder, times: { idleMs: 100 } })
    await host.settled()
    await host.call('one', 'echo', { text: 'hello' })
    await untilState(host, 'one', 'idle')
    await until(() => !isAlive(starts()[1]!), 'its process is gone')
    expect(await found(shelf, 'adds two numbers')).toContain('mcp__one__add')
    expect(textOf(await host.call('one', 'echo', { text: 'again' }))).toBe('again')
    expect(starts()).toHaveLength(3)
  })

  it('a lazy server that crashes rests until its next call', async () => {
    const cacheFolder = temporaryFolder()
    const { host } = openHost([local('one', 'crash call', { lazy: true })], { cacheFolder })
    await host.settled()
    await expect(host.call('one', 'explode', {})).rejects.toThrow(/exit code 3/)
    expect(toolsOf(host, 'one')).toEqual(['explode', 'survive'])
    expect(textOf(await host.call('one', 'survive', {}))).toMatch(/answered/)
  })

  it('definitions from before are there at once, until the server says what it has now', async () => {
    const { config, cacheFolder } = await knownServer(countedHere())
    const { host, events } = openHost([config], { cacheFolder })
    await host.settled()
    const tools = events.flatMap((event) => (event.type === 'tools' ? [event.status] : []))
    expect(tools[0]).toMatchObject({ isCached: true, state: 'pending' })
    expect(tools[0]?.tools.map(({ name }) => name)).toEqual(['echo', 'add'])
    expect(statusOf(host, 'one')).toMatchObject({ state: 'connected', isCached: false })
  })

  it('definitions from before count for a client that can do as much, and for no other', async () => {
    const cacheFolder = temporaryFolder()
    const samples = serverHere('one', () => {
      let canSample = false
      return {
        initialize: (params) => {
          canSample = params.capabilities.sampling !== undefined
          return initialized(params)
        },
        'tools/list': () => ({ tools: [tool('always'), ...(canSample ? [tool('sample')] : [])] }),
      }
    })
    const namesFor = async (capabilities: object) => {
      const { host, events } = openHost([samples], { cacheFolder, capabilities: { ...capabilities } })
      await host.settled()
      await host.close()
      return events.flatMap((event) =>
        event.type === 'tools' ? [event.status.tools.map(({ name }) => name).join(' ')] : [],
      )
    }
    expect(await namesFor({ sampling: {}, roots: {} })).toEqual(['always sample'])
    expect((await namesFor({ sampling: {}, roots: {} }))[0]).toBe('always sample')
    expect(await namesFor({ roots: {} })).toEqual(['always'])
    expect(await namesFor({ roots: {}, sampling: {} })).toEqual(['always', 'always sample'])
  })

  it('a search finds the tools of a server that is still starting', async () => {
    const { config, cacheFolder } = await knownServer(countedHere())
    const hanging = serverHere('slow', () => ({ initialize: () => noAnswer }))
    const { host, shelf } = openHost([hanging, config], { cacheFolder, concurrency: 1 })
    await until(() => toolsOf(host, 'one').length === 2, 'the kept list is there')
    await until(async () => (await found(shelf, 'adds two numbers')).length > 0, 'it is found')
    expect(stateOf(host, 'slow')).toBe('pending')
  })

  it.each([
    '',
    '{',
    'null',
    '[]',
    '{"version":1}',
    '{"version":1,"at":0,"server":{"tools":[null,7,{}]}}',
    '\u0000',
  ])('a broken cache (%j) is ignored and written anew', async (broken) => {
    const { config, cacheFolder, starts } = await knownServer()
    for (const file of readdirSync(cacheFolder)) writeFileSync(join(cacheFolder, file), broken)
    const all = openHost([config], { cacheFolder })
    await all.host.settled()
    expect(textOf(await all.host.call('one', 'add', { a: 1, b: 1 }))).toBe('2')
    expect(toolsOf(all.host, 'one')).toEqual(['echo', 'add'])
    expect(starts()).toHaveLength(2)
  })

  it('a server that is configured otherwise is another one', async () => {
    const { config, cacheFolder } = await knownServer()
    const { transport } = here('one', 'results')
    const { host } = openHost([{ ...config, transport }], { cacheFolder })
    await host.settled()
    expect(toolsOf(host, 'one')).toEqual(['give', 'slow'])
  })

  it('reports a cache that cannot be written, and nothing else', async () => {
    const file = join(temporaryFolder(), 'file')
    writeFileSync(file, '')
    const all = openHost([neighbour()], { cacheFolder: join(file, 'folder') })
    await expectWholeNeighbour(all)
    await until(() => all.notices.length > 0, 'it is told')
    expect(all.notices.join()).toMatch(/cannot store definitions/)
  })
})

describe('configuration', () => {
  it('alwaysLoad of a server and of a tool decide what is on the shelf; a hint is found', async () => {
    const { host, shelf } = openHost([
      neighbour({ name: 'always', alwaysLoad: true, tools: { echo: { alwaysLoad: false } } }),
      neighbour({ name: 'single', tools: { add: { alwaysLoad: true }, echo: { hint: 'parrot' } } }),
    ])
    await host.settled()
    const { immediate, deferred } = shelf.partition()
    expect(immediate.map(({ name }) => name).sort()).toEqual(['mcp__always__add', 'mcp__single__add'])
    expect(deferred.map(({ name }) => name).sort()).toEqual(['mcp__always__echo', 'mcp__single__echo'])
    expect(await found(shelf, 'parrot')).toEqual(['mcp__single__echo'])
  })

  it('secrets of the configuration are in no reason and no last words', async () => {
    const all = openHost([local('one', 'crash secret', { env: { ACME_KEY: 'sk-very-secret' } })], never)
    await untilState(all.host, 'one', 'failed')
    const { reason, stderr } = statusOf(all.host, 'one')
    expect(stderr).toContain('the key [hidden] was refused')
    const failure = await all.host.call('one', 'x', {}).catch((error: Error) => error)
    const result = await all.host.run({ id: 'toolu_1', name: 'mcp__one__x', input: {} })
    const { remark } = await all.shelf.search({ query: 'nothing' })
    expect(
      [reason, stderr, String(failure), JSON.stringify(result), remark, ...all.notices].join(),
    ).not.toContain('sk-very-secret')
  })
})

describe('close', () => {
  /** Servers have their input closed, then get SIGTERM, then SIGKILL. */
  const limits = { maxMessageBytes: 32_000_000, graceMs: 200 }

  it.each(['stubborn', 'stubborn family'])(
    '%s: what ignores the end of its input and SIGTERM is killed',
    async (script) => {
      const { config, starts } = counted(script)
      const { host } = openHost([config, neighbour()], { limits })
      await host.settled()
      const wanted = script.endsWith('family') ? 2 : 1
      await until(() => starts().length === wanted, 'all are started')
      await host.close()
      await until(() => !starts().some(isAlive), 'none is left')
    },
  )

  it('what a crashed server started goes with it', async () => {
    const { config, starts } = counted('stubborn orphan')
    const { host } = openHost([config], { limits, ...never })
    await host.settled()
    await until(() => starts().length === 2, 'both are started')
    await expect(host.call('one', 'stay', {})).rejects.toThrow(/exit code 1/)
    await until(() => !starts().some(isAlive), 'none is left')
  })

  it('servers that are still starting are ended at once, not after their time-out', async () => {
    const { config, starts } = counted('hang start', { connectTimeoutMs: 3_600_000 })
    const { host } = openHost([config], { limits })
    await until(() => starts().length === 1, 'it is started')
    await host.close()
    await until(() => !starts().some(isAlive), 'none is left')
  })

  it('calls under way end, later ones are refused, and nothing is started again', async () => {
    const { config, starts } = counted('results')
    const { host } = openHost([config], { limits, ...soon })
    await host.settled()
    const call = host.call('one', 'slow', { steps: 1000, pause: 1000 })
    const ended = expect(call).rejects.toThrow()
    await host.close()
    await ended
    await expect(host.call('one', 'give', { kind: 'text' })).rejects.toThrow(/closed/)
    await host.close()
    expect(starts()).toHaveLength(1)
  })
})
