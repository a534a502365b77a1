// Single behaviours of servers behind a host or a gateway, each with the smallest server that has it.
import { describe, expect, it } from 'vitest'
import { type Loose, quietShelf } from '../../../packages/testkit/src/talk.ts'
import { createMcpHost, type ServerConfig } from '../../doors.ts'
import { everyCapability } from '../../mcp/support/gateway.ts'
import { openHost, statusOf, untilState } from '../../mcp/support/host.ts'
import { pipedHere } from '../../mcp/support/piped.ts'
import { until } from '../../mcp/support/processes.ts'
import { initialized, serverHere, text, type Wire } from '../../mcp/support/server-here.ts'
import { neighbour, tool } from '../../mcp/support/small-servers.ts'
import { fronts, openFront } from './fronts.ts'

const [stdio, http] = fronts as [(typeof fronts)[number], (typeof fronts)[number]]

const one = (
  call: (wire: Wire, params: Loose) => unknown,
  given: Partial<ServerConfig> = {},
): ServerConfig => ({
  ...serverHere('one', (wire) => ({
    initialize: (params) => initialized(params, { logging: {}, resources: { subscribe: true } }),
    'tools/list': () => ({ tools: [tool('work')] }),
    'tools/call': (params) => call(wire, params),
    'resources/list': () => ({ resources: [{ uri: 'a://b', name: 'b' }] }),
    'resources/templates/list': () => ({ resourceTemplates: [] }),
  })),
  ...given,
})
const never = { times: { firstRetryMs: 3_600_000 } }

describe('H2 a server that is not to be called', () => {
  it.each([
    [{ disabled: true, source: 'my.json' }, 'disabled', /"neighbour" is disabled in my\.json/],
    [{ blocked: 'not trusted yet' }, 'failed', /not trusted yet/],
  ] as const)('because it is %j says so', async (given, state, reason) => {
    const { host } = openHost([neighbour(given)], never)
    await untilState(host, 'neighbour', state)
    await expect(host.call('neighbour', 'add', { a: 1, b: 2 })).rejects.toThrow(reason)
    await expect(host.connect('neighbour')).rejects.toThrow(reason)
  })

  it('is disconnected on demand, and connected by its next call', async () => {
    const { host } = openHost([neighbour()])
    await host.settled()
    await host.disconnect('neighbour')
    expect(statusOf(host, 'neighbour')).toMatchObject({ state: 'idle', reason: undefined })
    expect((await host.call('neighbour', 'add', { a: 1, b: 2 })).content).toEqual(text(3).content)
    expect(statusOf(host, 'neighbour').state).toBe('connected')
  })

  it('because there is none is an error; a list that is none is one at once', async () => {
    const { host } = openHost([])
    await expect(host.call('neighbour', 'add', {})).rejects.toThrow('neighbour')
    expect(() => createMcpHost({ shelf: quietShelf() } as never)).toThrow(
      'the `servers` that readConfig() returns',
    )
  })
})

it('a listener that throws ends nothing and is reported', async () => {
  const { host, notices, shelf } = openHost([neighbour()])
  host.listen(() => {
    throw new Error('not now')
  })
  await host.settled()
  expect(shelf.partition().deferred).toHaveLength(2)
  expect(notices.join()).toContain('a listener failed: not now')
})

describe('what a model reads of a result', () => {
  const png = { mimeType: 'image/png', data: 'iVBORw==' }
  it.each<[object, object]>([
    [
      { type: 'image', ...png },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw==' } },
    ],
    [
      { type: 'image', mimeType: 'image/tiff', data: 'AAAA' },
      { type: 'text', text: '[image of type image/tiff, 4 base64 characters]' },
    ],
    [
      { type: 'audio', mimeType: 'audio/wav', data: 'AAAA' },
      { type: 'text', text: '[audio of type audio/wav, 4 base64 characters]' },
    ],
    [
      { type: 'resource_link', uri: 'a://b', name: 'b', description: 'The b' },
      { type: 'text', text: '[resource a://b (b: The b)]' },
    ],
    [
      { type: 'resource', resource: { uri: 'a://b', text: 'dear' } },
      { type: 'text', text: '[resource a://b]\ndear' },
    ],
    [
      { type: 'resource', resource: { uri: 'a://b', mimeType: 'image/png', blob: 'iVBORw==' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw==' } },
    ],
    [
      { type: 'resource', resource: { uri: 'a://b', blob: 'AAAA' } },
      { type: 'text', text: '[resource a://b of type unknown, 4 base64 characters]' },
    ],
    [
      { type: 'hologram', rays: 7 },
      { type: 'text', text: '{"type":"hologram","rays":7}' },
    ],
  ])('%j', async (block, read) => {
    const { host } = openHost([one(() => ({ content: [block] }))])
    await host.settled()
    expect((await host.run({ id: 'toolu_1', name: 'mcp__one__work', input: {} })).content).toEqual([read])
  })
})

it('H9 the progress of calls in one batch is one, and never goes back', async () => {
  const config = one(async ({ notify }, { arguments: { total }, _meta: { progressToken } }) => {
    for (const progress of [1, 3, 2])
      notify('notifications/progress', {
        progressToken,
        progress,
        ...(total ? { total } : {}),
        message: `at ${progress}`,
      })
    return text('worked')
  })
  const { desk, host } = await openFront(http, [config], { batches: true })
  await host.settled()
  const steps: Loose[] = []
  const calls = [4, undefined].map((total) => ({ name: 'one__work', arguments: total ? { total } : {} }))
  const { content } = await desk.call(
    'CallTools',
    { calls },
    { onprogress: (step: Loose) => steps.push(step) },
  )
  expect(JSON.stringify(content)).toContain('worked')
  const progress = steps.map((step) => step.progress as number)
  expect(progress).toEqual([...progress].sort((a, b) => a - b))
  expect(progress.at(-1)).toBe(2)
  expect(progress.some((part) => part % 1 !== 0)).toBe(true)
  expect(steps.map(({ total }) => total)).toEqual(progress.map(() => 2))
})

it('H6 what a server logs to nobody is told to the operator, ten times a minute', async () => {
  const told: string[] = []
  const config = one(({ notify }) => {
    setTimeout(() => {
      for (let number = 0; number < 40; number++)
        notify('notifications/message', { level: number % 2 ? 'error' : 'info', data: { number } })
    }, 20)
    return text('worked')
  })
  const { call, desk, host } = await openFront(http, [config], { told: (message) => told.push(message) })
  await host.settled()
  await desk.names()
  expect(await call('one__work')).toBe('worked')
  await until(() => told.length > 0, 'the operator is told')
  expect(await call('one__work')).toBe('worked')
  expect(told.length).toBeLessThanOrEqual(10)
  expect(told[0]).toBe('server "one" logs (error): {"number":1}')
})

describe('subscriptions to resources', () => {
  it('H4 are made anew when their server comes back, and dropped when it refuses', async () => {
    const asked: string[] = []
    let isRefused = true
    const config = pipedHere('one', (wire) => ({
      initialize: (params) => initialized(params, { resources: { subscribe: true } }),
      'tools/list': () => ({ tools: [tool('die')] }),
      'tools/call'() {
        wire.die()
        return text('never')
      },
      'resources/list': () => ({ resources: [{ uri: 'a://b', name: 'b' }] }),
      'resources/templates/list': () => ({ resourceTemplates: [] }),
      'resources/subscribe'({ uri }) {
        asked.push(uri)
        if (isRefused) throw new Error('not this one')
        return {}
      },
    }))
    const { desk, host, call } = await openFront(stdio, [config, neighbour()])
    await host.settled()
    await desk.client.listResources()
    await expect(desk.client.subscribeResource({ uri: 'one+a://b' })).rejects.toThrow('not this one')
    isRefused = false
    await desk.client.subscribeResource({ uri: 'one+a://b' })
    expect(asked).toEqual(['a://b', 'a://b'])
    await call('one__die')
    await until(async () => {
      await call('one__die')
      return asked.length > 2
    }, 'it is subscribed to again')
    expect(new Set(asked)).toEqual(new Set(['a://b']))
  })
})

describe('H9 pages that an error names', () => {
  const pages = (...elicitations: unknown[]) =>
    one(() => {
      throw Object.assign(new Error('open these first'), { code: -32042, data: { elicitations } })
    })
  const good = { elicitationId: '1', url: 'https://a.example/x', message: 'Open it.' }

  it('are passed on under the name of the server, without those that cannot be shown', async () => {
    const wrong = [
      null,
      7,
      {},
      { ...good, url: 'file:///etc/passwd' },
      { ...good, message: 'x'.repeat(30_000) },
    ]
    const { desk, host } = await openFront(stdio, [pages(good, ...wrong)], {
      client: { capabilities: everyCapability },
    })
    await host.settled()
    const { code, data } = await desk.call('one__work').catch((error) => error)
    expect(code).toBe(-32042)
    expect(data.elicitations).toEqual([
      {
        ...good,
        mode: 'url',
        message: 'The MCP server "one" asks you to open a page of a.example:\nOpen it.',
      },
    ])
  })

  it('are refused where the configuration denies them', async () => {
    const config = { ...pages(good), elicitation: 'deny', source: 'my.json' } as const
    const { call, host } = await openFront(stdio, [config], { client: { capabilities: everyCapability } })
    await host.settled()
    expect(await call('one__work')).toMatch(
      /^!"one" asks to open a page: "elicitation" is "deny" in my\.json/,
    )
  })
})

it('H6 a tool that runs only as a task is left out, and a large one is reported', async () => {
  const properties = Object.fromEntries(
    Array.from({ length: 3000 }, (_, index) => [
      `field_${index}`,
      { type: 'string', description: 'One of many fields' },
    ]),
  )
  const tools = [
    tool('work', { execution: { taskSupport: 'required' } }),
    tool('large', { inputSchema: { type: 'object', properties } }),
  ]
  const { host } = openHost([serverHere('one', () => ({ 'tools/list': () => ({ tools }) }))])
  await host.settled()
  expect(statusOf(host, 'one').tools.map(({ name }) => name)).toEqual(['large'])
  expect(statusOf(host, 'one').problems.map(({ kind }) => kind)).toEqual(['unsupported', 'large'])
})
