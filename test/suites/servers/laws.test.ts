// What holds for every server behind a gateway, on stdio and over HTTP, listed and bridged, for clients of both eras: names
// lead back, every page is listed, results come as they are, and what belongs to a call reaches its client and its server.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { endOnFailure, runs, seedOr } from '../../../packages/testkit/src/runs.ts'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import type { ServerConfig } from '../../doors.ts'
import { defaultAnswer, everyCapability } from '../../mcp/support/gateway.ts'
import { statusOf, untilState } from '../../mcp/support/host.ts'
import { pipedHere } from '../../mcp/support/piped.ts'
import { until } from '../../mcp/support/processes.ts'
import { type HandlersOf, initialized, noAnswer, serverHere, text } from '../../mcp/support/server-here.ts'
import { neighbour, tool } from '../../mcp/support/small-servers.ts'
import { fronts, openFront, type Served } from './fronts.ts'
import { hostile, rows, type Transport, transports } from './table.ts'

const served = (transport: Transport, name: string, handlersOf: HandlersOf, given = {}): ServerConfig =>
  (transport === 'stdio' ? pipedHere : serverHere)(name, handlersOf, given)

const ways = transports.flatMap((transport) =>
  fronts.map((front) => [transport, front.mode, { transport, front }] as const),
)

/** The text of a result, as an answer to the call itself. */
const answerOf = async (
  { desk }: Pick<Served, 'desk'>,
  mode: string,
  name: string,
  input: object = {},
  options: object = {},
): Promise<Loose> =>
  mode === 'bridge'
    ? desk.call('CallTool', { name, arguments: input }, options)
    : desk.call(name, input, options)

/** Every name that the model sees, by the description of its tool. */
function namesOf({ shelf }: Served): Map<string, string> {
  const { immediate, deferred } = shelf.partition()
  return new Map(
    [...immediate, ...deferred].map(({ name, definition }) => [String(definition.description), name]),
  )
}

const anyName = fc.oneof(
  fc.string({ minLength: 1, maxLength: 12 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 90 }),
  fc.constantFrom(
    'my tool',
    'my_tool',
    'my.tool',
    'a__b',
    '__proto__',
    'constructor',
    'search',
    'ToolSearch',
    '\ud800',
  ),
  fc
    .constantFrom('one', 'two', 'one ')
    .map((end) => `${'the_quick_brown_fox_jumps_over_the_lazy_dog_'.repeat(2)}${end}`),
)

describe.each(ways)('servers on %s, a gateway with %s', (_on, _mode, { transport, front }) => {
  it('H3 every name leads back to one tool of one server, which is called by its own name', async () => {
    const parameters = { numRuns: runs(8), seed: seedOr(1), endOnFailure }
    const names = fc.uniqueArray(anyName, { minLength: 1, maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(names, names, async (one, other) => {
        const lists = { one, o_ne: other, 'o-ne': one }
        const configs = Object.entries(lists).map(([name, own]) =>
          served(transport, name, () => ({
            'tools/list': () => ({
              tools: own.map((called, number) =>
                tool(called, { description: `${name} has number ${number}` }),
              ),
            }),
            'tools/call': ({ name: called }) => text(`${name} heard ${called}`),
          })),
        )
        const open = await openFront(front, configs)
        await open.host.settled()
        const shown = namesOf(open)
        expect(new Set(shown.values()).size).toBe(one.length * 2 + other.length)
        for (const [name, own] of Object.entries(lists))
          for (const [number, called] of own.entries()) {
            const seen = shown.get(`${name} has number ${number}`) ?? ''
            expect(seen).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
            expect(await open.call(seen)).toBe(`${name} heard ${called.toWellFormed()}`)
          }
        await open.gateway.close()
      }),
      parameters,
    )
  })

  it('H4 every page is listed, in its order, once; and again when it changes', async () => {
    let total = 700
    const open = await openFront(front, [
      served(transport, 'pages', ({ notify }) => ({
        'tools/list'({ cursor = '0' }) {
          const start = Number(cursor)
          const size = Math.min(99, total - start)
          const page = Array.from({ length: size }, (_, index) =>
            tool(`item_${start + index}`, { description: `Handles item number ${start + index}` }),
          )
          return { tools: page, ...(start + size < total ? { nextCursor: String(start + size) } : {}) }
        },
        'tools/call'({ name, arguments: input }) {
          if (input?.total) total = input.total
          if (input?.total) notify('notifications/tools/list_changed')
          return text(name)
        },
      })),
      neighbour(),
    ])
    await untilState(open.host, 'pages', 'connected')
    const listed = () => statusOf(open.host, 'pages').tools.map(({ name }) => name)
    const all = () => Array.from({ length: total }, (_, index) => `item_${index}`)
    expect(listed()).toEqual(all())
    expect(await open.desk.search('item number 698')).toContain('pages__item_698')
    expect(await open.call('pages__item_699')).toBe('item_699')
    expect(await open.desk.search('select:pages__item_650')).toContain('pages__item_650')
    const changes = await open.desk.changes()
    for (const next of [710, 205]) {
      await open.call('pages__item_0', { total: next })
      await until(() => listed().length === next, 'it is listed again')
      expect(listed()).toEqual(all())
    }
    // A client in list mode that had one of those that are gone is told.
    await until(
      async () => front.mode === 'bridge' || (await open.desk.changes()) > changes,
      'the client is told',
    )
    expect(await open.desk.names()).not.toContain('pages__item_650')
    expect(await open.call('pages__item_650')).toMatch(/^!/)
    expect(await open.call('neighbour__add', { a: 1, b: 2 })).toBe('3')
  })

  it('H4 a list that cannot be read again stays as it was', async () => {
    let isLost = false
    const open = await openFront(front, [
      served(transport, 'one', ({ notify }) => ({
        'tools/list': () => (isLost ? { tools: 'lost' } : { tools: [tool('steady')] }),
        'tools/call'() {
          isLost = true
          notify('notifications/tools/list_changed')
          return text('lost')
        },
      })),
    ])
    await open.host.settled()
    const { pool } = open.shelf.partition()
    await open.call('one__steady')
    await expect(open.host.refresh('one')).rejects.toThrow(/no list "tools"/)
    expect(open.shelf.partition().pool).toBe(pool)
    expect(await open.call('one__steady')).toBe('lost')
  })

  it('results come as they are, whatever they hold', async () => {
    const results: readonly Loose[] = [
      { content: [] },
      { content: [{ type: 'text', text: 'plain', _meta: { of: 1 }, annotations: { audience: ['user'] } }] },
      { content: [{ type: 'image', mimeType: 'image/png', data: 'iVBORw==' }] },
      { content: [{ type: 'audio', mimeType: 'audio/wav', data: 'UklGRg==' }] },
      { content: [{ type: 'text', text: 'bad' }], isError: true },
      { content: [{ type: 'text', text: '21' }], structuredContent: { degrees: 21 }, _meta: { 'x/y': 'z' } },
    ]
    const open = await openFront(front, [
      served(transport, 'results', () => ({
        'tools/list': () => ({ tools: [tool('give')] }),
        'tools/call': ({ arguments: input }) => results[input.number],
      })),
    ])
    await open.host.settled()
    for (const [number, result] of results.entries()) {
      const { resultType: _, _meta, ...given } = await answerOf(open, front.mode, 'results__give', { number })
      // A gateway of the newest protocol adds its own name.
      const { 'io.modelcontextprotocol/serverInfo': _info, ...meta } = _meta ?? {}
      expect({ _meta: meta, ...given }).toEqual({ _meta: {}, ...result })
    }
  })

  it('H6 a server’s own refusal is an error with its code and data', async () => {
    const open = await openFront(front, [
      served(transport, 'one', () => ({
        'tools/list': () => ({ tools: [tool('refuse')] }),
        'tools/call': () => {
          throw Object.assign(new Error('no bread'), { code: -32050, data: { why: 'sold' } })
        },
      })),
    ])
    await open.host.settled()
    await expect(answerOf(open, front.mode, 'one__refuse')).rejects.toMatchObject({
      code: -32050,
      message: expect.stringContaining('no bread'),
      data: { why: 'sold' },
    })
  })

  it('H4 a call ends at its server too: when it is cancelled, and when its time is over', async () => {
    const { life, config } = hostile(
      { does: rows.find(({ name }) => name === 'hangs in a call')!.does },
      transport,
      {
        callTimeoutMs: 1500,
      },
    )
    const open = await openFront(front, [config])
    await open.host.settled()
    const controller = new AbortController()
    const called = open.call('bad__misbehave', {}, { signal: controller.signal })
    await until(() => life.calls.length === 1, 'it is called')
    controller.abort('changed my mind')
    expect(await called).toContain('changed my mind')
    await until(() => life.cancelled.length === 1, 'the server is told')
    // Without a session, a client cancels by closing the connection.
    if (front.serve === 'stdio') expect(life.cancelled).toEqual(['changed my mind'])
    expect(await open.call('bad__misbehave')).toMatch(/^!.*within 1\.5 s/)
    await until(() => life.cancelled.length === 2, 'the server is told')
    expect(await open.call('bad__quick', { after: 1 })).toBe('quick {"after":1}')
  })

  it('H4 a call that goes on with progress is not over', async () => {
    const open = await openFront(front, [
      served(
        transport,
        'slow',
        ({ notify }) => ({
          'tools/list': () => ({ tools: [tool('work')] }),
          async 'tools/call'({ _meta: { progressToken } }) {
            for (let progress = 1; progress <= 5; progress++) {
              notify('notifications/progress', { progressToken, progress, total: 5 })
              await new Promise((resolve) => setTimeout(resolve, 300))
            }
            return text('worked')
          },
        }),
        { callTimeoutMs: 1000 },
      ),
    ])
    await open.host.settled()
    const steps: Loose[] = []
    expect(await open.call('slow__work', {}, { onprogress: (step: Loose) => steps.push(step) })).toBe(
      'worked',
    )
    expect(steps.map(({ progress }) => progress)).toEqual([1, 2, 3, 4, 5])
  })

  it('H2 nothing waits for a server that never comes', async () => {
    const never = served(transport, 'never', () => ({ initialize: () => noAnswer }), {
      connectTimeoutMs: 3_600_000,
    })
    const open = await openFront(front, [never, neighbour()], { on: { pendingWaitMs: 0 } })
    await untilState(open.host, 'neighbour', 'connected')
    expect(await open.desk.search('adds two numbers')).toContain('neighbour__add')
    expect(await open.call('neighbour__add', { a: 2, b: 3 })).toBe('5')
    expect(await open.desk.search('zeppelin')).toMatch(/never.*try again shortly|still connecting.*never/s)
    expect(statusOf(open.host, 'never').state).toBe('pending')
  })
})

const talk: HandlersOf = ({ notify, ask }) => ({
  initialize: (params) => initialized(params, { logging: {} }),
  'tools/list': () => ({ tools: [tool('talk')] }),
  async 'tools/call'({ arguments: { of }, _meta: { progressToken } = {} as Loose }) {
    notify('notifications/message', { level: 'error', data: `log of ${of}` })
    if (progressToken !== undefined)
      notify('notifications/progress', { progressToken, progress: 1, message: `step of ${of}` })
    const question = { mode: 'form', message: `${of}?`, requestedSchema: { type: 'object', properties: {} } }
    const { result } = await ask('elicitation/create', question)
    return text(`${of} said ${result?.content?.name}`)
  },
})

const clientCalled = (name: string) => ({
  capabilities: everyCapability,
  answer: (question: Loose) =>
    question.method === 'elicitation/create'
      ? { action: 'accept', content: { name } }
      : defaultAnswer(question),
})

describe.each([...fronts, { serve: 'http', mode: 'list', era: 'legacy' } as const])(
  'H9 clients of a gateway on $serve, $era',
  (front) => {
    it.each(transports)(
      'have the progress, questions and logs of their own calls alone, on %s',
      async (transport) => {
        const open = await openFront(front, [served(transport, 'one', talk)], {
          client: clientCalled('first'),
        })
        await open.host.settled()
        // A gateway on stdio has one client.
        const others = front.serve === 'http' ? ['second', 'third'] : []
        const desks = new Map([['first', open.desk]])
        for (const name of others) desks.set(name, await open.connect(clientCalled(name)))
        for (const [of, desk] of desks) {
          await desk.names()
          const steps: string[] = []
          const onprogress = ({ message }: Loose) => steps.push(message)
          const { content } = await answerOf({ desk }, front.mode, 'one__talk', { of }, { onprogress })
          expect(content).toEqual([{ type: 'text', text: `${of} said ${of}` }])
          // The client itself says how it answers questions.
          expect(steps.filter((step) => step.startsWith('step of'))).toEqual([`step of ${of}`])
          expect(desk.asked.map(({ params }) => params.message)).toEqual([
            `The MCP server "one" asks:\n${of}?`,
          ])
        }
        for (const [of, { told }] of desks) {
          const logs = () => told.filter(({ method }) => method === 'notifications/message')
          // Without a session, no client hears logs.
          if (front.era === 'legacy') await until(() => logs().length > 0, `${of} hears its log`)
          for (const { params } of logs()) expect(params.data).toBe(`log of ${of}`)
        }
      },
    )
  },
)
