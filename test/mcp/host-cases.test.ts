// Whole lives of servers at a host, each as one log of requests, notifications and states. The servers answer in this process,
// and the clock is in the test's hands.
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { createMcpHost, type McpHostOptions, traceServers } from '../../src/mcp/host/index.ts'
import type { HostEvent, ListedTool, McpHost, ServerConfig } from '../../src/mcp/index.ts'
import { type Loose, quietShelf } from '../support/talk.ts'
import { type Handlers, initialized, noAnswer, serveHere, text, type Wire } from './support/server-here.ts'
import { type Given, httpServer } from './support/servers.ts'
import { answering, greeted, signal } from './support/session.ts'
import { tool } from './support/small-servers.ts'

const realTimeout = globalThis.setTimeout
const toFake = ['setTimeout', 'clearTimeout', 'Date', 'performance'] as const
beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1), toFake: [...toFake] })
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const file = (name: string) => `./parts/${name}.txt`

/** Tells what happens to a host and its servers, step by step. */
function story(options: Partial<McpHostOptions> = {}) {
  const lines: string[] = []
  let heard: string[] = []
  const shelf = quietShelf({ pendingWaitMs: 0 })
  let host: McpHost
  const brief = (value: unknown) => JSON.stringify(value) ?? 'nothing'
  const eventText = (event: HostEvent) => {
    if (event.type === 'state' || event.type === 'tools') {
      const { state, reason, tools } = event.status
      return `${event.type} ${event.server}: ${state} ${tools.length} ${reason ?? ''}`
    }
    return brief({ ...event, ...('client' in event && event.client ? { client: 'known' } : {}) })
  }
  /** A server that notes what it is asked; a test may replace its answers. */
  const server = (name: string, handlers: Handlers = {}, given: Given & { secret?: string } = {}) => {
    const { secret, ...rest } = given
    let wire: Wire | undefined
    const answers: Record<string, Handlers[string]> = {
      initialize: (params) => initialized(params),
      'tools/list': () => ({ tools: [tool('buy')] }),
      'tools/call': ({ name: called, arguments: input }) => text(`${called} ${JSON.stringify(input)}`),
      ping: () => ({}),
      ...handlers,
    }
    const url = serveHere((own) => {
      wire = own
      const note = (method: string) => (params: Loose, message: Loose) => {
        const { _meta, protocolVersion, ...shown } = params
        heard.push(`${name} ← ${method} ${JSON.stringify(shown)}`)
        const answer = answers[method]
        if (!answer && message.id === undefined) return
        if (!answer) throw Object.assign(new Error(`Method not found: ${method}`), { code: -32601 })
        return answer(params, message)
      }
      const methods = [...Object.keys(answers), ...METHODS]
      return Object.fromEntries(methods.map((method) => [method, note(method)]))
    })
    const config = httpServer(name, url, rest)
    const headers = secret ? { Authorization: `Bearer ${secret}` } : {}
    return {
      config: { ...config, transport: { ...config.transport, headers } } as ServerConfig,
      answers,
      notify: (method: string, params?: object) => wire?.notify(method, params),
    }
  }
  const begin = (servers: readonly ServerConfig[]) => {
    host = createMcpHost({
      shelf,
      servers,
      cacheFolder: false,
      trustsAnnotations: () => true,
      notify: (message) => heard.push(`! ${message}`),
      ...options,
    })
    onTestFinished(() => host.close())
    host.listen((event) => heard.push(eventText(event)))
    return host
  }
  /** Runs the work, waits until everything of it is heard, and writes that down; what may come in any order is sorted. */
  const step = async (title: string, work: () => unknown, ...expected: (string | (() => boolean))[]) => {
    const outcome = await Promise.resolve()
      .then(work)
      .then(brief, (error: Error) => `refused: ${error.message}`)
    const isHere = (one: string | (() => boolean)) =>
      typeof one === 'string' ? heard.some((other) => other.includes(one)) : one()
    for (let waits = 0; !expected.every(isHere); waits++) {
      if (waits > 30_000)
        throw new Error(`in vain waited for ${expected} at ${title}; heard:\n${heard.join('\n')}`)
      await new Promise((resolve) => realTimeout(resolve, 2))
    }
    const isOrdered = (one: string) => /^(?:state|tools) /.test(one)
    const nameIn = (one: string) => one.split(' ')[1] ?? ''
    const inOrder = (some: string[]) =>
      some.sort((one, other) => (nameIn(one) < nameIn(other) ? -1 : Number(nameIn(one) > nameIn(other))))
    lines.push(
      `— ${title} → ${outcome}`,
      ...inOrder(heard.filter(isOrdered)),
      ...heard.filter((one) => !isOrdered(one)).sort(),
    )
    heard = []
  }
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
  const count = (part: string) => () => heard.filter((one) => one.includes(part)).length
  return {
    begin,
    server,
    step,
    pass,
    shelf,
    count,
    /** The status of a server, without what never changes. */
    show: (name: string) => step(`status of ${name}`, () => host.status().find((one) => one.name === name)),
    tell: async (name: string) => {
      const shown = lines.join('\n').replace(/127\.0\.0\.1:\d+(?:\/\d+)?/g, '<host>')
      await expect(`${shown}\n`).toMatchFileSnapshot(file(name))
    },
  }
}

const METHODS = [
  ...['prompts/list', 'prompts/get', 'resources/list', 'resources/templates/list'],
  ...['server/discover', 'logging/setLevel', 'notifications/roots/list_changed'],
]

it('H2 H4 a server from its start to its end', async () => {
  const { begin, server, step, show, tell, pass, shelf, count } = story({ times: { healthIntervalMs: 1e9 } })
  const secret = 'top-secret-token'
  const annotated = [
    tool('buy', { annotations: { readOnlyHint: true }, description: `Buys with ${secret}` }),
    tool('sell', { annotations: { readOnlyHint: 'yes' } }),
    tool('hidden'),
    tool('page', { _meta: { ui: { visibility: ['app'] } } }),
  ]
  const offers = { prompts: {}, resources: {} }
  const shop = server(
    'shop',
    {
      initialize: (params) => ({
        ...initialized(params, offers),
        instructions: `Use ${secret}.\u200b`,
      }),
      'tools/list': () => ({ tools: annotated }),
      'prompts/list': () => ({ prompts: [{ name: 'ask' }] }),
      'prompts/get': () => ({ messages: [] }),
      'resources/list': () => ({ resources: [{ uri: 'a://b', description: secret }] }),
      'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'a://{b}' }] }),
    },
    { deny: ['hidden'], description: 'Sells.', resultBudget: 7, secret },
  )
  const host = begin([shop.config])
  await show('shop')
  await step('settled, not started', () => Promise.race([host.settled({ timeoutMs: 5 }), pass(5)]))
  await step('notified before', () => host.notifyServers('notifications/roots/list_changed'))
  await step('start', () => host.start({ roots: { listChanged: true } }), 'state shop: connected')
  await step('start again', () => host.start({}))
  await step('settled', () => host.settled())
  await show('shop')
  await step('on the shelf', () => [...shelf.servers()])
  await step(
    'watched',
    () => host.watchLists(),
    () => host.status()[0]?.hasListed === true,
  )
  await show('shop')
  await step('refreshStaleLists', () => host.refreshStaleLists({ timeoutMs: 1000 }))
  await step('call', () => host.call('shop', 'buy', { what: 'bread' }))
  await step('it stays, used or not', () => pass(300_000))
  await step('call of a hidden tool', () => host.call('shop', 'hidden', {}))
  await step('call of nobody', () => host.call('else', 'buy', {}))
  const use = (name: string, input?: Loose) => ({ id: 'toolu_1', name, input })
  await step('run', () => host.run(use('mcp__shop__buy', { a: 1 })))
  await step('run without input', () => host.run(use('mcp__shop__buy')))
  await step('run of no tool of a server', () => host.run(use('Read')))
  const readOnly = ['buy', 'sell', 'page', 'nothing'].map((name) => use(`mcp__shop__${name}`))
  await step('read-only', () => [...readOnly, use('Read')].map((one) => host.isReadOnly(one)))
  shop.answers['tools/call'] = () => ({ ...text('failed'), isError: true })
  await step('run with an error', () => host.run(use('mcp__shop__buy', {})))
  shop.answers['tools/call'] = () => {
    throw Object.assign(new Error(`no ${secret}\u0007`), { code: -32000 })
  }
  await step('run refused', () => host.run(use('mcp__shop__buy', {})))
  await step('prompts/get', () => host.request('shop', 'prompts/get', { name: 'ask' }))
  await step('prompts/list', () => host.request('shop', 'prompts/list'))
  await step('resources/list', () => host.request('shop', 'resources/list', {}))
  await step('an unknown request', () => host.request('shop', 'logging/setLevel', { level: 'info' }))
  await step(
    'notified',
    () => host.notifyServers('notifications/roots/list_changed'),
    'shop ← notifications/roots/list_changed',
  )
  await step('it logs', () => shop.notify('notifications/message', { level: 'info', data: secret }), '"log"')
  await step(
    'it logs with a level',
    () => shop.notify('notifications/message', { level: 'error', data: 1, logger: 'l' }),
    '"log"',
  )
  await step(
    'a resource',
    () => shop.notify('notifications/resources/updated', { uri: 'a://b' }),
    '"resource"',
  )
  await step(
    'an elicitation',
    () => shop.notify('notifications/elicitation/complete', { elicitationId: '7' }),
    '"elicitation"',
  )
  shop.notify('notifications/else', {})
  shop.answers['tools/list'] = () => ({ tools: [tool('buy'), tool('new')] })
  await step(
    'tools changed',
    async () => {
      shop.notify('notifications/tools/list_changed')
      shop.notify('notifications/message', { level: 'info', data: 'then' })
    },
    '"log"',
  )
  await step('and are read', () => pass(500), 'tools shop: connected 2')
  shop.answers['prompts/list'] = () => ({ prompts: [{ name: 'ask' }, { name: 'tell' }] })
  shop.notify('notifications/prompts/list_changed')
  await step(
    'prompts changed',
    () => shop.notify('notifications/message', { level: 'info', data: 'then' }),
    '"log"',
  )
  await step('and are read', () => pass(500), '"prompts"')
  shop.notify('notifications/resources/list_changed')
  await step(
    'resources changed',
    () => shop.notify('notifications/message', { level: 'info', data: 'then' }),
    '"log"',
  )
  await step('and are read', () => pass(500), 'resources/list', 'templates/list')
  await step('refresh', () => host.refresh('shop'))
  const listed = shop.answers['tools/list']
  delete shop.answers['tools/list']
  await step('refresh in vain', () => host.refresh('shop'))
  shop.answers['tools/list'] = listed
  await show('shop')
  await step('disconnect', () => host.disconnect('shop'))
  await step('disconnect again', () => host.disconnect('shop'))
  await step('notified while it rests', () => host.notifyServers('notifications/roots/list_changed'))
  await step('refreshStaleLists while it rests', () => host.refreshStaleLists({ timeoutMs: 1000 }))
  await step(
    'refresh while it rests',
    () => host.refresh('shop'),
    ...['prompts/list', 'resources/list', 'resources/templates/list'],
    () => count('← tools/list')() === 2,
  )
  await step('connect', () => host.connect('shop'))
  await step('close', () => host.close())
  await step('close again', () => host.close())
  await step('call after the end', () => host.call('shop', 'buy', {}))
  await step('connect after the end', () => host.connect('shop'))
  await step('settled after the end', () => host.settled())
  await tell('host-life')
})

it('H2 H4 a server that fails, is mended, and falls silent', async () => {
  const { begin, server, step, show, tell, pass, shelf } = story()
  const broken = () => {
    throw Object.assign(new Error('out of order'), { code: -32000 })
  }
  const shop = server('shop', { initialize: broken })
  const others = [
    server('disabled', {}, { disabled: true }).config,
    server('blocked', {}, { blocked: 'no \u0007trust' }).config,
  ]
  const host = begin([shop.config, ...others])
  const trace: unknown[] = []
  const untrace = traceServers(host, (event) => trace.push(event))
  await step('start', () => host.start(), 'state shop: failed', 'state blocked: failed')
  await step('call', () => host.call('shop', 'buy', {}))
  await step('connect', () => host.connect('shop'))
  await step('call of a disabled server', () => host.call('disabled', 'buy', {}))
  await step('call of a blocked server', () => host.call('blocked', 'buy', {}))
  await show('disabled')
  await show('blocked')
  await step('on the shelf', () => [...shelf.servers()])
  await step('too early', () => pass(3999))
  await step('tried again', () => pass(1), 'state shop: failed')
  shop.answers.initialize = (params) => initialized(params)
  shop.answers['tools/list'] = broken
  await step('mended by half', () => pass(8000), 'state shop: failed')
  shop.answers['tools/list'] = () => ({ tools: [tool('buy')] })
  await step('mended', () => pass(16_000), 'state shop: connected')
  await step('not asked yet', () => pass(59_999))
  await step('asked', () => pass(1), 'shop ← ping')
  shop.answers.ping = () => noAnswer
  await step('silent', () => pass(60_000), 'shop ← ping')
  await step('once', () => pass(10_000))
  await step('silent again', () => pass(60_000), 'shop ← ping')
  await step('twice', () => pass(10_000), 'state shop: failed')
  await show('shop')
  shop.answers.ping = () => ({})
  await step('a call begins another session', () => host.call('shop', 'buy', {}))
  await step('disconnect', () => host.disconnect('shop'))
  await step('and nothing is tried again', () => pass(1_000_000))
  await step('configured without it', () => host.configure(others))
  await step('configured without any', () => host.configure([]))
  await step('configured with others', () => host.configure(others), 'state blocked: failed')
  await step('traced', () => trace)
  untrace()
  await step('configured with it', () => host.configure([shop.config]), 'state shop: connected')
  await step('traced no more', () => trace.length)
  await tell('host-failing')
})

it('H4 a lazy server that an earlier run has stored', async () => {
  const stored = {
    tools: [tool('buy'), tool('old')],
    freshUntil: 0,
    lists: {
      prompts: { entries: [{ name: 'ask' }], freshUntil: 0 },
    },
    info: { name: 'test-server', version: '1.0.0' },
    clientCapabilities: {},
    capabilities: { tools: {} },
    instructions: 'Be kind.',
    isLegacy: true,
    ageMs: 1000,
  }
  const writes: unknown[] = []
  const reads: string[] = []
  const state = { stored: stored as Loose }
  const cache = {
    read: async ({ name }: ServerConfig) => {
      reads.push(name)
      return state.stored
    },
    write: async ({ name }: ServerConfig, about: unknown) => void writes.push([name, about]),
  }
  const judged: unknown[] = []
  const pins = {
    judge: async (name: string, items: readonly ListedTool[], kind?: string) => {
      judged.push([name, kind, items.map((item) => item.name)])
      return []
    },
  }
  const { begin, server, step, show, tell, pass, shelf } = story({
    cache,
    pins,
    times: { healthIntervalMs: 1e9 },
  })
  const shop = server('shop', {}, { lazy: true, callTimeoutMs: 1e9 })
  const pinned = server('pinned', {}, { lazy: true, tools: { buy: { alwaysLoad: true } } })
  const host = begin([shop.config, server('off', {}, { disabled: true }).config, pinned.config])
  const written = () => writes.splice(0)
  await step('readCache', () => host.readCache())
  await show('shop')
  await show('pinned')
  await step('publishCachedTools', () => host.publishCachedTools())
  await step('read', () => reads.splice(0))
  await show('shop')
  await step('on the shelf', () => [...shelf.servers()])
  await step('judged', () => judged.splice(0))
  await step('start', () => host.start())
  await step('settled', () => host.settled())
  await step('read', () => reads.splice(0))
  await step('call', () => host.call('shop', 'buy', {}))
  await step('written', written)
  await step('judged', () => judged.splice(0))
  await show('shop')
  await step('not idle for long enough', () => pass(299_999))
  await step('another call', () => host.call('shop', 'buy', {}))
  const gate = signal()
  const began = signal()
  shop.answers['tools/call'] = async () => {
    began.resolve()
    await gate.promise
    return text('late')
  }
  const slow = host.call('shop', 'buy', {})
  await began.promise
  await step('idle but for a call', () => pass(300_000))
  await step('another request meanwhile', () => host.request('shop', 'ping'))
  await step('idle but for the call', () => pass(300_000))
  gate.resolve()
  await step('the call ends', () => slow)
  await step('idle', () => pass(300_000), 'state shop: idle')
  shop.answers['tools/list'] = () => ({ tools: [tool('buy')], ttlMs: 600_000 })
  await step('connect', () => host.connect('shop'))
  await step('written', written)
  await step('disconnect', () => host.disconnect('shop'))
  await step('connect while the list is fresh', () => host.connect('shop'))
  await step('refreshStaleLists while it is fresh', () => host.refreshStaleLists({ timeoutMs: 1000 }))
  await step('time', () => pass(299_999))
  await step('a request keeps it awake', () => host.request('shop', 'ping'))
  await step('time', () => pass(299_999))
  await step('one more', () => host.request('shop', 'ping'))
  await step('time', () => pass(2))
  await step('refreshStaleLists when it is stale', () => host.refreshStaleLists({ timeoutMs: 1000 }))
  shop.answers.ping = () => noAnswer
  const waiting = host.request('shop', 'ping', {}, { timeoutMs: 50 }).catch((error: Error) => error.message)
  await step('a request', () => {}, 'shop ← ping')
  await step('without an answer', () => Promise.all([waiting, pass(50)]))
  shop.answers.initialize = () => {
    throw Object.assign(new Error('out of order'), { code: -32000 })
  }
  await step('disconnect', () => host.disconnect('shop'))
  await step('a call in vain', () => host.call('shop', 'buy', {}))
  await step('is not tried again', () => pass(1_000_000))
  await show('shop')
  await step('configured anew', () => host.configure([{ ...shop.config, deny: ['old'] }]), 'state shop: idle')
  await show('shop')
  await step('close', () => host.close())
  judged.length = 0
  const holding = createMcpHost({ shelf, servers: [shop.config], cache, pins, onChange: 'hold' })
  await step('with hold', async () => {
    await holding.readCache()
    await holding.publishCachedTools()
    return judged
  })
  await holding.close()
  const ignoring = createMcpHost({ shelf, servers: [shop.config], cache, isCacheIgnored: true })
  await step('ignored', async () => {
    await ignoring.readCache()
    await ignoring.publishCachedTools()
    return ignoring.status()[0]?.isRemembered
  })
  await ignoring.close()
  await tell('host-lazy')
})

it('H4 servers that are configured anew', async () => {
  const { begin, server, step, show, tell, pass, shelf } = story({ times: { drainMs: 100 } })
  const [a, b] = ['a', 'b'].map((name) => server(name))
  const c = server('c', { 'tools/list': () => ({ tools: [tool('buy'), tool('sell')] }) }, { maxTools: 1 })
  const host = begin([a!.config, b!.config, a!.config])
  await step('start', () => host.start(), 'state a: connected', 'state b: connected')
  const gate = signal()
  const began = signal()
  b!.answers['tools/call'] = async () => {
    began.resolve()
    await gate.promise
    return text('late')
  }
  const late = host.call('b', 'buy', {})
  await began.promise
  a!.answers['tools/list'] = () => ({ tools: [tool('buy'), tool('new')] })
  for (const list of ['tools', 'prompts', 'resources']) a!.notify(`notifications/${list}/list_changed`)
  await step(
    'lists changed',
    () => a!.notify('notifications/message', { level: 'info', data: 'then' }),
    '"log"',
  )
  await step('and only tools are read', () => pass(500), 'tools a: connected 2', '"prompts"', '"resources"')
  host.watchLists()
  const other = { ...a!.config, deny: ['buy'] }
  await step(
    'others',
    () => host.configure([c.config, other, { ...c.config, deny: ['buy'] }]),
    'state c: connected',
    'state a: connected',
  )
  await step('who is there', () => host.status().map(({ name, hidden }) => [name, hidden]))
  await step('on the shelf', () => [...shelf.servers()])
  await step('one that left', () => host.call('b', 'buy', {}))
  b!.notify('notifications/message', { level: 'info', data: 'unheard' })
  gate.resolve()
  await step('its call', () => late)
  await step('refresh', () => host.refresh('c'))
  await step('the same again', () => host.configure([c.config, { ...other }]))
  await show('c')
  c.answers['tools/call'] = () => noAnswer
  const lost = host.call('c', 'buy', {}).catch((error: Error) => error.message)
  await step('another call', () => {}, 'c ← tools/call')
  await step('none', () => host.configure([]))
  await step('farewell', () => Promise.all([lost, pass(100)]))
  await step('nobody', () => host.call('c', 'buy', {}))
  await step('close', () => host.close())
  await tell('host-configured')
})

it('H9 what changed is held back until it is accepted', async () => {
  const changed = new Map<string, readonly object[]>()
  const pins = {
    judge: async (_: string, __: readonly ListedTool[], kind?: string) =>
      (changed.get(String(kind)) ?? []) as never,
  }
  const { begin, server, step, show, tell, pass, shelf, count } = story({ pins, onChange: 'hold' })
  const offers = { prompts: {}, resources: {} }
  const shop = server('shop', {
    initialize: (params) => ({ ...initialized(params, offers), instructions: 'New.' }),
    'tools/list': () => ({ tools: [tool('buy'), tool('sell')] }),
    'prompts/list': () => ({ prompts: [{ name: 'ask' }, { name: 'tell' }] }),
    'prompts/get': () => ({ messages: [] }),
    'resources/list': () => ({ resources: [] }),
    'resources/templates/list': () => ({ resourceTemplates: [] }),
    'resources/read': () => ({ contents: [] }),
  })
  changed.set('tool', [{ name: 'buy' }])
  changed.set('instructions', [{ name: 'instructions', isWhole: true, before: { description: 'Old.' } }])
  changed.set('prompt', [{ name: 'ask' }])
  const host = begin([shop.config])
  host.watchLists()
  await step(
    'start',
    () => host.start(),
    'state shop: connected',
    '"type":"prompts"',
    () => host.status()[0]?.hasListed === true,
  )
  await show('shop')
  await step('on the shelf', () => [...shelf.servers()])
  await step('call', () => host.call('shop', 'buy', {}))
  await step('call of another', () => host.call('shop', 'sell', {}))
  await step('prompt', () => host.request('shop', 'prompts/get', { name: 'ask' }))
  await step('another prompt', () => host.request('shop', 'prompts/get', { name: 'tell' }))
  await step('prompts', () => host.request('shop', 'prompts/list'))
  await step('not accepted', () => pass(2000))
  changed.clear()
  await step(
    'accepted',
    () => pass(2000),
    'tools shop',
    '"type":"prompts"',
    () => count('"type":"pins"')() === 3 && shelf.servers().get('shop')?.instructions === 'New.',
  )
  await show('shop')
  await step('call', () => host.call('shop', 'buy', {}))
  await step('prompt', () => host.request('shop', 'prompts/get', { name: 'ask' }))
  await tell('host-held')
})

it('H9 who is asked, and who receives the progress of a call', async () => {
  const asked: unknown[] = []
  const handler = (name: string) => ({
    ask: async (method: string, params: object) => {
      asked.push([name, method, params])
      return method === 'elicitation/create' ? { action: 'accept', content: { by: name } } : { by: name }
    },
  })
  const { begin, server, step, tell } = story({
    questionHandler: handler('host'),
    clientInfo: { name: 'me', version: '1' },
  })
  let wire: Wire | undefined
  const url = serveHere((own) => {
    wire = own
    return {
      'tools/list': () => ({ tools: [tool('ask')] }),
      'tools/call': async ({ arguments: { method, params }, _meta }) => {
        const { progressToken } = _meta ?? {}
        if (progressToken !== undefined)
          own.notify('notifications/progress', { progressToken, progress: 1, message: 'secret-text half' })
        own.notify('notifications/message', { level: 'info', data: 'in a call' })
        if (method === 'pages')
          throw Object.assign(new Error('pages'), { code: -32042, data: { elicitations: [params] } })
        const { result, error } = await own.ask(method, params)
        return text(JSON.stringify(result ?? error))
      },
      'prompts/get': async () => ({ ...(await own.ask('roots/list')).result, messages: [] }),
      'prompts/list': async () => ({
        prompts: [],
        ...(await own.ask('sampling/createMessage', { messages: [], maxTokens: 1 })),
      }),
    }
  })
  const config = httpServer('asking', url, { sampling: 'deny' })
  const transport = {
    ...config.transport,
    headers: { Authorization: 'secret-text' },
  } as ServerConfig['transport']
  const noted = server('noted', {}, { sampling: 'deny' })
  const host = begin([{ ...config, transport }, noted.config])
  await step(
    'start',
    () => host.start({ sampling: {}, elicitation: {}, roots: {} }),
    'state asking: connected',
    'state noted: connected',
  )
  const progress: unknown[] = []
  const onProgress = (one: object) => void progress.push(one)
  const ask = (method: string, params: object = {}, options: Loose = {}) =>
    host.call('asking', 'ask', { method, params }, { onProgress, ...options })
  const form = { message: 'Name?', requestedSchema: { type: 'object', properties: {} } }
  await step('of the host', () => ask('elicitation/create', form), '"log"')
  await step(
    'of a client',
    () => ask('elicitation/create', form, { questionHandler: handler('client') }),
    '"log"',
  )
  await step('what is denied', () => ask('sampling/createMessage', { messages: [], maxTokens: 1 }), '"log"')
  await step('roots', () => ask('roots/list', {}, { onProgress: undefined }), '"log"')
  await step(
    'pages',
    () =>
      ask('pages', { url: 'https://a.example/' }).catch(({ message, cause }) => ({
        message,
        data: cause.data,
      })),
    '"log"',
  )
  await step('a prompt', () =>
    host.request('asking', 'prompts/get', { name: 'a' }, { questionHandler: handler('client') }),
  )
  await step('a list', () =>
    host.request('asking', 'prompts/list', {}, { questionHandler: handler('client') }),
  )
  await step('outside of calls', async () => (await wire!.ask('roots/list')).result)
  await step('asked', () => asked)
  await step('progress', () => progress)
  await tell('host-asked')
})

it('H4 a session that the server has forgotten is begun anew, and its call sent again', async () => {
  const { begin, step, tell } = story({ times: { idleMs: 1000 } })
  const state = { isLost: false }
  const { url, asked } = await answering({
    initialize: (...given) => {
      state.isLost = false
      greeted()(...given)
    },
    'prompts/get': (_, { reply, response }) => {
      if (state.isLost) response.writeHead(404).end()
      else reply({ messages: [] })
    },
    'resources/read': (_, { response }) => response.writeHead(404).end(),
    'logging/setLevel': (_, { response }) => response.destroy(),
  })
  const host = begin([httpServer('shop', url)])
  const methods = () => asked.splice(0).flatMap(({ method }) => (method === 'GET' ? [] : [method]))
  await step('start', () => host.start(), 'state shop: connected')
  await step('asked', methods)
  state.isLost = true
  await step('prompt', () => host.request('shop', 'prompts/get', {}))
  await step('asked', methods)
  await step('always', () => host.request('shop', 'resources/read', {}))
  await step('asked', methods)
  await step('cut', () => host.request('shop', 'logging/setLevel', {}))
  await step('no tools', () =>
    host.status().map(({ tools, capabilities, problems }) => [tools, capabilities, problems]),
  )
  await tell('host-forgotten')
})

it('H2 waits no longer than needed, and only for the servers concerned', async () => {
  const { begin, server, step, tell, pass } = story({ concurrency: 1, times: { startSlotMs: 100 } })
  const gates = [signal(), signal()]
  const waiting = (gate: Loose) => async (params: Loose) => {
    await gate.promise
    return initialized(params)
  }
  const first = server('first', { initialize: waiting(gates[0]) })
  const second = server('second', { initialize: waiting(gates[1]) }, { alwaysLoad: true })
  const host = begin([first.config, second.config])
  const settled: string[] = []
  const stop = host.listen(() => {
    throw new Error('not interested')
  })
  await step('start', () => host.start(), 'second ← initialize')
  void host.settled({ only: 'alwaysLoad' }).then(() => settled.push('always loaded'))
  void host.settled().then(() => settled.push('all'))
  void host.settled({ timeoutMs: 50 }).then(() => settled.push('50 ms'))
  await step('one at a time', () => pass(49))
  await step('settled', () => settled)
  await step('a little later', () => pass(1))
  await step('settled', () => settled)
  await step('its turn is over', () => pass(50), 'first ← initialize')
  gates[1]!.resolve()
  await step('the second', () => {}, 'state second: connected', '! a listener failed')
  await step(
    'settled',
    () => settled,
    () => settled.length === 2,
  )
  stop()
  gates[0]!.resolve()
  await step('the first', () => {}, 'state first: connected')
  await step(
    'settled',
    () => settled,
    () => settled.length === 3,
  )
  expect(() => createMcpHost({ servers: 'none' } as never)).toThrow('createMcpHost takes the `servers`')
  expect(() => createMcpHost({ servers: [{ name: 'a' }] } as never)).toThrow(TypeError)
  expect(() => createMcpHost({ servers: [undefined] } as never)).toThrow(TypeError)
  const third = server('third', { initialize: () => noAnswer })
  await step('a server that never answers', () => host.configure([third.config]), 'third ← initialize')
  const fourth = server('fourth', { 'tools/list': () => noAnswer })
  await step(
    'one that never lists',
    () => host.configure([third.config, fourth.config]),
    'state fourth: pending',
  )
  await step('its turn', () => pass(100), 'fourth ← tools/list')
  const pending = host.settled()
  const waited = host.call('third', 'buy', {})
  await step('close', () =>
    Promise.all([host.close(), pending, waited.catch((error: Error) => error.message)]),
  )
  await tell('host-waiting')
})

it('asks for tokens of remote servers alone', async () => {
  const authorized: string[] = []
  const { begin, server, step } = story({
    authorize: ({ name }) => {
      authorized.push(name)
      return undefined
    },
  })
  const program = { kind: 'stdio', command: '/no/such/program', args: [], env: {}, cwd: undefined } as const
  const missing = { ...server('local').config, transport: program }
  const host = begin([server('remote').config, missing])
  await step('start', () => host.start(), 'state remote: connected', 'state local: failed')
  expect(authorized).toEqual(['remote'])
})

it('H4 a server that answers a ping with an error is not silent, whatever the error says', async () => {
  const { begin, server, pass } = story({ times: { idleMs: 1e9 } })
  let pings = 0
  const shop = server('shop', {
    ping() {
      pings++
      throw new Error('the database did not answer')
    },
  })
  const host = begin([shop.config])
  await host.start()
  await host.settled()
  for (let round = 1; round <= 3; round++) {
    await pass(60_000)
    await vi.waitFor(() => expect(pings).toBe(round), 60_000)
  }
  expect(host.status()).toMatchObject([{ state: 'connected' }])
})

it('H4 a lazy server that falls silent rests until the next call', async () => {
  const { begin, server, step, tell, pass } = story({ times: { idleMs: 1e9 } })
  const shop = server('shop', {}, { lazy: true })
  const host = begin([shop.config])
  await step('start', () => host.start(), 'state shop: connected')
  shop.answers.ping = () => noAnswer
  for (const time of ['once', 'twice']) {
    await step(`silent ${time}`, () => pass(60_000), 'shop ← ping')
    if (time === 'once') await step('no answer', () => pass(10_000))
  }
  await step('no answer again', () => pass(10_000), 'state shop: idle')
  await step('rests', () => pass(1_000_000))
  await step('call', () => host.call('shop', 'buy', {}))
  await step('disconnect', () => host.disconnect('shop'))
  await step('is not asked any more', () => pass(60_000))
  await tell('host-silent')
})
