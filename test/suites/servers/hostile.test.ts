// Each server of the table, on stdio and over HTTP, behind a gateway on stdio and over HTTP: what it does harms nobody else,
// is said to people and, as a category, to the model, and is over when the server is mended.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isThorough } from '../../../packages/testkit/src/runs.ts'
import { everyCapability } from '../../mcp/support/gateway.ts'
import { statusOf, untilState } from '../../mcp/support/host.ts'
import { pipedHere } from '../../mcp/support/piped.ts'
import { until } from '../../mcp/support/processes.ts'
import { text } from '../../mcp/support/server-here.ts'
import { neighbour, tool } from '../../mcp/support/small-servers.ts'
import { type Front, fronts, openFront, type Served } from './fronts.ts'
import { hostile, OWN_WORDS, type Row, rows, transports } from './table.ts'

const MAX_GROWTH = 300 * 2 ** 20
const MAX_SAID = 100_000
/** Rows that send more than the limit of the others. */
const HEAVY = /pages without end|megabytes|any stack/
const MAX_LISTED = 16_100_000

let before: number
let highest: number
let watch: NodeJS.Timeout

beforeEach(() => {
  before = process.memoryUsage.rss()
  highest = before
  watch = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage.rss())
  }, 20)
})

afterEach(() => {
  clearInterval(watch)
  expect(highest - before).toBeLessThan(MAX_GROWTH)
})

const local = () =>
  pipedHere('local', () => ({
    'tools/list': () => ({ tools: [tool('shout', { description: 'Says it in capitals' })] }),
    'tools/call': ({ arguments: input }) => text(input.text.toUpperCase()),
  }))

/** Two good servers are listed, found and called, whatever their neighbour does, and each answer is that of its call. */
async function expectWhole({ desk, call, host }: Served): Promise<void> {
  await Promise.all(['neighbour', 'local'].map((name) => untilState(host, name, 'connected')))
  expect(await desk.search('adds two numbers')).toContain('neighbour__add')
  expect(await desk.search('says it in capitals')).toContain('local__shout')
  const numbers = Array.from({ length: 5 }, (_, number) => number)
  const answers = await Promise.all(
    numbers.flatMap((a) => [
      call('neighbour__add', { a, b: 1 }),
      call('local__shout', { text: `at ${a}` }),
      desk.names().then((names) => String(names.includes('ToolSearch'))),
    ]),
  )
  expect(answers).toEqual(numbers.flatMap((a) => [String(a + 1), `AT ${a}`, 'true']))
}

async function expectSaid({ host, desk, shelf, call }: Served, row: Row): Promise<void> {
  const status = () => statusOf(host, 'bad')
  const said = () => `${status().state}: ${status().reason}`
  const { state, reason = /(?:)/, category, problems } = row
  await until(
    () => status().state === state && reason.test(status().reason ?? ''),
    () => `it is ${state} with ${reason}; it is ${said()}`,
  )
  if (problems)
    expect(
      status()
        .problems.map(({ message }) => message)
        .join('\n'),
    ).toMatch(problems)
  const { tools, ...rest } = status()
  expect(JSON.stringify(rest).length).toBeLessThan(MAX_SAID)
  expect(JSON.stringify(tools).length).toBeLessThan(MAX_LISTED)
  expect(shelf.servers().get('bad')?.state).toBe(state)
  if (state === 'failed') {
    expect(status().category).toMatch(category!)
    expect(status().tools).toEqual([])
    for (const answer of [await desk.search('zeppelin'), await call('bad__quick')]) {
      expect(answer).toMatch(category!)
      expect(answer).not.toContain(OWN_WORDS)
      expect(answer.length).toBeLessThan(MAX_SAID)
    }
  }
  if (state === 'pending') expect(await desk.search('zeppelin')).toContain('bad')
}

/** Its wrong call ends as the table says, and others of it go on. */
async function expectCalls(served: Served, { call: outcome, isError = false }: Row): Promise<void> {
  if (!outcome) return
  const steps: unknown[] = []
  const wrong = served.call('bad__misbehave', {}, { onprogress: (step: unknown) => steps.push(step) })
  await expectWhole(served)
  const answer = await wrong
  expect(answer.replace(/^!/, '')).toMatch(outcome)
  expect([answer.startsWith('!'), answer.includes(OWN_WORDS)]).toEqual([isError, false])
  expect(answer.length).toBeLessThan(MAX_SAID)
  expect(steps.length).toBeLessThan(400)
}

const quickly = '{"of":"everything"}'

/** Its tools are there, found and called. */
async function expectTools({ desk, call }: Served, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await until(async () => (await desk.search(`select:bad__${name}`)).includes(`bad__${name}`), name)
    await until(
      async () => (await call(`bad__${name}`, { of: 'everything' })) === `${name} ${quickly}`,
      `${name} answers`,
    )
  }
}

function expectBounded({ desk, notices }: Served): void {
  expect(desk.told.length).toBeLessThan(450)
  expect(desk.asked.length).toBeLessThanOrEqual(10)
  for (const { params } of desk.asked) expect(params.message).toMatch(/^The MCP server "bad" asks:\n/)
  expect(notices.join().length).toBeLessThan(MAX_SAID)
}

const options = {
  // What is tried again is tried soon, and what is too large is so at a megabyte.
  times: { firstRetryMs: 50, maxRetryMs: 200, refreshMs: 20 },
  limits: { maxMessageBytes: 1_000_000, graceMs: 200 },
  on: { pendingWaitMs: 50 },
  client: { capabilities: everyCapability },
}

// Each on both transports and behind both gateways; in all four pairs only if somebody has the time.
const all = rows.flatMap((row, number) =>
  (row.on ?? transports).flatMap((transport, at) =>
    fronts
      .filter((_, front) => isThorough || (number + at + front) % 2 === 0)
      .map((front) => [row.name, transport, front.mode, { row, transport, front }] as const),
  ),
)

describe('H6 H9 a server that', () => {
  it.each(all)(
    '%s, on %s, behind a gateway with %s',
    async (_name, _on, _mode, { row, transport, front }) => {
      const { life, config } = hostile(row, transport)
      const limits = HEAVY.test(row.name) ? undefined : options.limits
      const served = await openFront(front, [config, neighbour(), local()], { ...options, limits })
      await expectWhole(served)
      await expectSaid(served, row)
      if (row.state === 'connected') await expectTools(served, ['quick'])
      await expectCalls(served, row)
      await expectWhole(served)
      if (row.state === 'connected') await expectTools(served, ['quick'])
      expectBounded(served)
      life.mend()
      await expectTools(served, ['quick', 'misbehave'])
      expect(statusOf(served.host, 'bad').state).toBe('connected')
      await expectWhole(served)
    },
  )
})

it.each(fronts)('H6 all of them at once harm nobody: $serve, $mode', async (front: Front) => {
  const light = rows.filter(({ name }) => !HEAVY.test(name))
  const configs = light.flatMap((row, number) =>
    (row.on ?? transports).map(
      (transport) => hostile(row, transport, { name: `${transport}_${number}` }).config,
    ),
  )
  const served = await openFront(front, [...configs, neighbour(), local()], { ...options, concurrency: 60 })
  await expectWhole(served)
  for (const { name, state, reason } of served.host.status()) {
    expect(['connected', 'failed', 'pending'], name).toContain(state)
    if (state === 'failed') expect(reason, name).toBeTruthy()
  }
  expect(await served.desk.search('zeppelin')).not.toContain(OWN_WORDS)
  await expectWhole(served)
})
