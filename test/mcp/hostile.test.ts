// Servers that hang, crash or break the protocol, each beside a healthy one: they harm nobody else, and a person can
// read why they failed.
import { describe, expect, it } from 'vitest'
import { sizeOf } from '../support/runs.ts'
import {
  expectWholeNeighbour,
  openHost,
  shareHost,
  stateOf,
  statusOf,
  textOf,
  toolsOf,
  untilFailed,
  untilState,
} from './support/host.ts'
import { noAnswer, serverHere } from './support/server-here.ts'
import { type Given, local } from './support/servers.ts'
import { neighbour } from './support/small-servers.ts'

/** For servers that will never answer. */
const IMPATIENCE = 1500

const open = (script: string, given = {}) => openHost([local('bad', script, given), neighbour()])

const serverOf = (script: string) => script.replaceAll(' ', '_')

/** All of them get their turn at once: none waits behind those that hang. */
const AT_ONCE = { concurrency: 50 }

const badServers = (scripts: readonly string[], given: Given) =>
  scripts.map((script) => local(serverOf(script), script, given))

describe('H6 servers that fail to connect', () => {
  const silent = [
    ['hang start', /did not answer within/],
    ['hang initialize', /did not answer within/],
    ['hang deaf', /did not answer within/],
    ['garbled broken', /did not answer within/],
    ['garbled wrong-ids', /did not answer within/],
    // On a busy machine their time may be over before they answer at all.
    ['hang list', /did not (answer|list its tools) within/],
    ['hang page', /did not (answer|list its tools) within/],
  ] as const
  const ending = [
    ['crash start', /exit code 3/],
    ['crash initialize', /exit code 3/],
    ['crash list', /exit code 3/],
    ['crash clean', /exit code 0/],
    ['crash signal', /SIGKILL/],
  ] as const
  const misshapen = [
    ['garbled bare-errors', /error without a message/],
    ['garbled initialize', /./],
    ['garbled initialize-null', /./],
    ['garbled version', /1999-01-01/],
    ['garbled list', /no list "tools"/],
    ['garbled list-null', /not an object: null/],
    ['garbled list-text', /not an object: "none today"/],
  ] as const
  const scriptsOf = (cases: readonly (readonly [string, RegExp])[]) => cases.map(([script]) => script)
  const shared = shareHost(
    () => [
      ...badServers(scriptsOf(silent), { connectTimeoutMs: IMPATIENCE }),
      ...badServers(scriptsOf(ending), {}),
      ...badServers(scriptsOf(misshapen), {}),
      { ...local('missing', 'healthy'), transport: stdio('no-such-command-anywhere') },
      { ...local('nowhere', 'healthy'), transport: { ...stdio(process.execPath), cwd: '/no/such/folder' } },
      neighbour(),
    ],
    { ...AT_ONCE, times: { firstRetryMs: 5000 } },
  )

  it.each(silent)('%s: it fails by its time-out, which the reason names', async (script, reason) => {
    await untilFailed(shared(), serverOf(script), reason)
    expect(statusOf(shared().host, serverOf(script)).tools).toEqual([])
    await expectWholeNeighbour(shared())
  })

  it.each(ending)('%s: the reason says how the process ended', async (script, reason) => {
    await untilFailed(shared(), serverOf(script), reason)
    await expectWholeNeighbour(shared())
  })

  it.each(['crash start', 'crash initialize', 'crash list'])(
    '%s: its last words are shown',
    async (script) => {
      await untilFailed(shared(), serverOf(script), /Set ACME_KEY and start again\./)
      expect(statusOf(shared().host, serverOf(script)).stderr).toContain('Set ACME_KEY and start again.')
    },
  )

  it('a command that does not exist is named, with what to do', async () => {
    await untilFailed(shared(), 'missing', /"no-such-command-anywhere" was not found; install it/)
    await expectWholeNeighbour(shared())
  })

  it('a working directory that does not exist is named', async () => {
    await untilFailed(shared(), 'nowhere', /\/no\/such\/folder/)
    await expectWholeNeighbour(shared())
  })

  it.each(misshapen)(
    '%s: an answer of the wrong shape is a failure with a reason',
    async (script, reason) => {
      await untilFailed(shared(), serverOf(script), reason)
      await expectWholeNeighbour(shared())
    },
  )

  it('a search says which servers failed and why (S8)', async () => {
    await untilFailed(shared(), 'crash_start', /exit code 3/)
    const { remark } = await shared().shelf.search({ query: 'zeppelin' })
    expect(remark).toMatch(/crash_start.*exit code 3/s)
  })

  it('nothing waits for servers that hang, patient beyond measure: a later one is whole meanwhile (H2)', async () => {
    const hanging = Array.from({ length: 6 }, (_, index) =>
      serverHere(`hanging_${index}`, () => ({ initialize: () => noAnswer }), { connectTimeoutMs: 3_600_000 }),
    )
    const all = openHost([...hanging, neighbour()])
    await expectWholeNeighbour(all)
    expect(hanging.map(({ name }) => stateOf(all.host, name))).toEqual(hanging.map(() => 'pending'))
    expect(statusOf(all.host, 'neighbour').state).toBe('connected')
  })
})

describe('H6 servers that break the protocol and still can be used', () => {
  const usable = ['half', 'bytes', 'noise', 'values', 'twice', 'unasked', 'null-error'].map(
    (way) => `garbled ${way}`,
  )
  const doubtful = ['garbled batch', 'garbled text-ids']
  const reactions = ['dies', 'garbage', 'error-text', 'wrong-shape', 'hangs']
  const results = [
    ['garbled call', 'not a list'],
    ['garbled call-text', 'fine'],
    ['garbled call-null', 'null'],
  ] as const
  const shared = shareHost(
    () => [
      ...badServers([...usable, ...results.map(([script]) => script)], {}),
      ...badServers(doubtful, { connectTimeoutMs: IMPATIENCE }),
      ...badServers(
        reactions.map((reaction) => `discover ${reaction}`),
        {},
      ),
      neighbour(),
    ],
    AT_ONCE,
  )

  it.each(usable)('%s: connected, listed, called', async (script) => {
    const { host } = shared()
    const name = serverOf(script)
    await untilState(host, name, 'connected')
    expect(toolsOf(host, name)).toEqual(['echo_back'])
    expect(textOf(await host.call(name, 'echo_back', {}))).toBe('right in the end')
    await expectWholeNeighbour(shared())
  })

  it.each(doubtful)('%s: used or failed with a reason, never pending', async (script) => {
    await shared().host.settled()
    const { state, reason } = statusOf(shared().host, serverOf(script))
    expect(state === 'connected' || (state === 'failed' && reason)).toBeTruthy()
    await expectWholeNeighbour(shared())
  })

  it.each(reactions)('the newer first request (%s): asked the older way it connects', async (reaction) => {
    const { host } = shared()
    const name = `discover_${reaction}`
    await untilState(host, name, 'connected')
    expect(textOf(await host.call(name, 'old_hand', {}))).toBe('as ever')
    expect(statusOf(host, name).protocol).toBe('2025-11-25')
    await expectWholeNeighbour(shared())
  })

  it.each(results)('%s: a result of the wrong shape is an answer that can be read', async (script, text) => {
    const { host } = shared()
    await untilState(host, serverOf(script), 'connected')
    const toolName = `mcp__${serverOf(script)}__echo_back`
    const { content } = await host.run({ id: 'toolu_1', name: toolName, input: {} })
    expect(content).toEqual([{ type: 'text', text: expect.stringContaining(text) }])
    await expectWholeNeighbour(shared())
  })
})

describe('H6 servers that fail in a call', () => {
  it('hang call: the call ends by its time-out and says so; the neighbour and the next call do not wait', async () => {
    const all = open('hang call')
    await untilState(all.host, 'bad', 'connected')
    const waiting = expect(all.host.call('bad', 'wait', {}, { timeoutMs: 1000 })).rejects.toThrow(
      /"bad".*within 1 s/,
    )
    const [quick] = await Promise.all([all.host.call('bad', 'quick', {}), expectWholeNeighbour(all)])
    expect(textOf(quick)).toBe('done')
    await waiting
    expect(textOf(await all.host.call('bad', 'quick', {}))).toBe('done')
  })

  it('hang reading: messages to a server that no longer reads do not stop the others', async () => {
    const all = open('hang reading')
    await untilState(all.host, 'bad', 'connected')
    await all.host.call('bad', 'quick', {})
    const large = { text: 'x'.repeat(500_000) }
    const calls = [1, 2, 3].map(() => all.host.call('bad', 'quick', large, { timeoutMs: 500 }))
    const outcomes = Promise.allSettled(calls)
    await expectWholeNeighbour(all)
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    await expectWholeNeighbour(all)
  })

  it('hang reading: what it never reads does not pile up without end', async () => {
    const limits = { maxMessageBytes: 1_000_000, graceMs: 200 }
    const all = openHost([local('bad', 'hang reading'), neighbour()], { limits })
    await untilState(all.host, 'bad', 'connected')
    await all.host.call('bad', 'quick', {})
    const large = { text: 'x'.repeat(500_000) }
    const outcomes = await Promise.allSettled(
      [1, 2, 3, 4, 5, 6].map(() => all.host.call('bad', 'quick', large, { timeoutMs: 500 })),
    )
    expect(outcomes.map((outcome) => String((outcome as PromiseRejectedResult).reason)).join()).toMatch(
      /no longer reads/,
    )
    await expectWholeNeighbour(all)
  })

  it('hang busy: a client that sends more than a busy server reads is refused, and ends nobody else’s call', async () => {
    const { host } = openHost([local('bad', 'hang busy')], {
      limits: { maxMessageBytes: 100_000, graceMs: 200 },
    })
    await untilState(host, 'bad', 'connected')
    const others = host.call('bad', 'wait', {})
    const working = host.call('bad', 'quick', {})
    const large = { text: 'x'.repeat(90_000) }
    const flood = await Promise.allSettled(
      [1, 2, 3, 4, 5, 6].map(async (count) => {
        await new Promise((resolve) => setTimeout(resolve, 30 * count))
        return host.call('bad', 'wait', large)
      }),
    )
    const refused = flood.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
    expect(refused.length).toBeGreaterThan(0)
    for (const { reason } of refused) expect(reason.message).toMatch(/no longer reads.*try again later/)
    expect([textOf(await others), textOf(await working)]).toEqual(['done', 'done'])
  })

  it('hang reading: one that reads nothing any more is ended, and says so', async () => {
    const { host } = openHost([local('bad', 'hang reading')], {
      limits: { maxMessageBytes: 100_000, graceMs: 200, stuckMs: 0 },
      times: { firstRetryMs: 3_600_000 },
    })
    await untilState(host, 'bad', 'connected')
    await host.call('bad', 'quick', {})
    const large = { text: 'x'.repeat(90_000) }
    await Promise.allSettled(Array.from({ length: 10 }, () => host.call('bad', 'quick', large)))
    expect(statusOf(host, 'bad').reason).toContain('it no longer reads its input')
  })

  it('crash call: the call says how the server ended; all calls under way end; the tools stay', async () => {
    const all = open('crash call')
    await untilState(all.host, 'bad', 'connected')
    const calls = [1, 2, 3].map(() => all.host.call('bad', 'explode', {}))
    for (const { reason } of (await Promise.allSettled(calls)) as PromiseRejectedResult[]) {
      expect(String(reason)).toMatch(/bad/)
    }
    expect(toolsOf(all.host, 'bad')).toEqual(['explode', 'survive'])
    await expectWholeNeighbour(all)
  })

  it('crash pipe: a call that finds the pipe broken says how the server ended', async () => {
    const { host } = open('crash pipe')
    await untilState(host, 'bad', 'connected')
    const first = host.call('bad', 'explode', {}).catch(String)
    let second = ''
    for (let tries = 0; second === '' && tries < 10_000; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      second = await Promise.race([
        host.call('bad', 'survive', {}).then(() => '', String),
        first.then(() => ''),
      ])
    }
    for (const told of [second, await first]) expect(told).toMatch(/"bad".*exit code 3/s)
  })

  it('run never rejects: the model reads what happened', async () => {
    const { host } = open('crash call')
    await untilState(host, 'bad', 'connected')
    const result = await host.run({ id: 'toolu_1', name: 'mcp__bad__explode', input: {} })
    expect(result).toMatchObject({ type: 'tool_result', tool_use_id: 'toolu_1', is_error: true })
    expect(JSON.stringify(result.content)).toMatch(/exit code 3/)
  })
})

describe('H6 all of them at once', () => {
  const scripts = [
    ...['hang start', 'hang deaf', 'crash start', 'crash signal', 'garbled broken', 'garbled unasked'],
    ...['flood lines', 'flood stderr', 'lists new-cursor', 'lists changing', 'lists storm'],
    ...['definitions shapes', 'definitions large', 'discover dies'],
  ]

  it('the neighbour stays whole, and every server has a state and failures a reason', async () => {
    const bad = scripts.map((script) =>
      local(serverOf(script), script, { connectTimeoutMs: sizeOf({ quick: 700, full: 2000 }) }),
    )
    const all = openHost([...bad, neighbour()], AT_ONCE)
    await expectWholeNeighbour(all)
    await all.host.settled()
    for (const status of all.host.status()) {
      expect(['connected', 'failed'], status.name).toContain(status.state)
      if (status.state === 'failed') expect(status.reason, status.name).toBeTruthy()
    }
    await expectWholeNeighbour(all)
  }, 90_000)
})

function stdio(command: string) {
  return { kind: 'stdio', command, args: [], env: {}, cwd: undefined } as const
}
