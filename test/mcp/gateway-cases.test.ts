// Whole conversations with a gateway whose servers are only described: every request with its answer, and what the servers
// and the trace get meanwhile, compared with the texts in `gateway/`.
import { ProtocolError } from '@modelcontextprotocol/server'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createMemoryResults } from '../../src/index.ts'
import type { ListedTool, ServerStatus } from '../../src/mcp/index.ts'
import type { User } from '../../src/users/index.ts'
import type { Loose } from '../support/talk.ts'
import { profileOf } from '../users/support.ts'
import { status } from './support/noted-host.ts'
import { tool } from './support/small-servers.ts'
import { openStory } from './support/story.ts'

const file = (name: string) => `./gateway/${name}.txt`

// Durations are those that a test lets pass.
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

const page = { properties: { page: { type: 'integer' }, give: {} }, required: ['page'] }
const paged = (name: string, more = {}) => tool(name, { inputSchema: { type: 'object', ...page }, ...more })
const long = (count: number, word = 'row') =>
  Array.from({ length: count }, (_, at) => `${word} ${at}`).join('\n')
const says = (text: string, more = {}) => ({ content: [{ type: 'text', text }], ...more })
const traced =
  (story: { note(mark: string, ...values: unknown[]): void }, traceId?: string) => (start: Loose) =>
    Object.assign(
      (event: Loose) => {
        // Of the tools of a server, which server is enough.
        story.note('  event', event.type === 'tools' ? { type: event.type, server: event.server } : event)
      },
      { traceId, start: story.note('  conversation', start) },
    )

describe('calls', () => {
  const odd = paged('odd', { description: '' })

  it.each(['list', 'bridge'] as const)('by every way, in %s mode', async (mode) => {
    const take = async (_: User, kind: string) =>
      kind === 'searches' && ++searches > 7
        ? ({ status: 429, message: 'no searches are left' } as const)
        : undefined
    let searches = 0
    const story = openStory(
      {},
      {
        ...{
          mode,
          batches: true,
          usage: { take } as never,
          results: { store: createMemoryResults(), budget: 600 },
        },
        openTrace: (start) => traced(story)(start),
      },
    )
    vi.advanceTimersByTime(5000)
    story.describe(
      status('a', { held: ['kept'] }),
      status('b', { state: 'failed', reason: 'no such file' } as Partial<ServerStatus>),
      status('c', { state: 'failed' }),
      status('d', { state: 'disabled' }),
    )
    story.shelve('a', [paged('list'), paged('many'), odd, tool('plain', { description: 'Plain.\nMore.' })])
    story.shelve('e', [tool('always', { execution: { taskSupport: 'optional' }, title: 'Always' })], true)
    const user: User = { id: 'ada', uid: 'ada', profile: profileOf({}) }
    const desk = await story.connect({}, { user })
    const call = (name: string, input?: Loose) => story.call(desk, name, input)
    const wrapped = (name: unknown, input?: Loose) => call('CallTool', { name, arguments: input })
    await story.ask(desk, 'tools/list')
    await call('ToolSearch', { query: 'list' })
    await call('ToolSearch', { query: 'select:a__plain' })
    await call('ToolSearch', { query: 'zebra' })
    await call('ToolSearch', { query: 5 })
    await wrapped('ToolSearch', { query: 'odd' })
    await story.ask(desk, 'tools/list')
    for (const input of [{ page: 1 }, { page: 'one' }, undefined]) await call('a__list', input)
    await call('a__many', { page: 'one' })
    await call('a__many', { page: 'one' })
    await call('a__many', { page: 2, give: says('broken', { isError: true }) })
    await wrapped('a__plain', { fail: 'the server is gone' })
    await wrapped('a__plain', { code: -32_050, fail: 'own error' })
    await wrapped('a__plain', '{"x": 1}')
    for (const input of ['{', '[]', 'null', 5, null, []]) await wrapped('a__plain', input)
    await wrapped(5)
    await call('CallTool')
    for (const name of ['a__kept', 'b__any', 'c__any', 'd__any', 'bb__any', 'zebra']) await wrapped(name, {})
    await call('a__kept', {})
    const read = /<?result_[a-z0-9]+/.exec(
      (await wrapped('a__plain', { give: says(long(200)) })).content[0].text,
    )
    const handle = read?.[0]
    await call('ReadResult', { handle, search: 'row 150' })
    await wrapped('ReadResult', { handle, search: 'row 151' })
    await wrapped('ReadResult', { handle: 'none' })
    await story.ask(desk, 'tools/list')
    const stranger = await story.connect()
    await story.call(stranger, 'ReadResult', { handle, search: 'row 150' })
    await call('CallTools', {
      calls: [
        { name: 'a__list', arguments: { page: 1 } },
        { name: 'a__list', arguments: { page: 'x' } },
        { name: 'a__plain', arguments: { give: { content: [], structuredContent: { a: 1 } } } },
        { name: 'a__plain', arguments: { give: { content: [] } } },
        { name: 'a__plain', arguments: { give: says('own', { structuredContent: { a: 1 } }) } },
        { name: 'ReadResult', arguments: {} },
        { name: 'a__plain', arguments: { fail: 'gone' } },
      ],
    })
    await call('CallTools', { calls: [{ name: 'a__plain', arguments: { fail: 'gone' } }] })
    await call('CallTools', { calls: [] })
    await call('RunScript', { script: 'return 1' })
    for (let count = 0; count < 4; count++) await call('ToolSearch', { query: `plain ${count}` })
    await expect(story.text()).toMatchFileSnapshot(file(`calls-${mode}`))
  })
})

describe('long results', () => {
  const json = JSON.stringify({ rows: Array.from({ length: 40 }, (_, id) => ({ id, name: `row ${id}` })) })
  const structured = JSON.parse(json)
  const text = long(100)
  const embedded = (resource: unknown) => ({ type: 'resource', resource })
  const outputs: { [name: string]: Loose } = {
    short: says('short'),
    exact: says('x'.repeat(600)),
    long: says('x'.repeat(601)),
    failed: says(text, { isError: true }),
    embedded: {
      content: [embedded({ uri: 'x://1', text }), { type: 'image', data: 'AA==', mimeType: 'image/png' }],
    },
    blob: { content: [embedded({ uri: 'x://1', blob: 'A'.repeat(700) })] },
    link: { content: [{ type: 'resource_link', uri: 'x://2', name: 'x' }] },
    both: { ...says(json), structuredContent: structured },
    told: { ...says(text), structuredContent: structured, _meta: { 'com.example/x': 1 } },
    wrapped: { ...says(text), structuredContent: { content: text } },
    small: { ...says(text), structuredContent: { content: 'less' } },
    silent: { content: [], structuredContent: structured },
    brief: { ...says('40 rows'), structuredContent: structured },
    lone: says(`${'y'.repeat(700)}\ud800`),
  }

  it.each(['list', 'bridge'] as const)('of every kind, in %s mode', async (mode) => {
    const story = openStory(
      { call: async (...[, , { give }]: Loose[]) => give },
      {
        ...{ mode, results: { store: createMemoryResults(), budget: 600 } },
        notify: (message) => story.note('  notice', message),
        openTrace: () => (event: Loose) => event.type === 'shelved' && story.note('  event', event),
      },
    )
    const outputSchema = { type: 'object', properties: { rows: { type: 'array' } } }
    story.shelve(
      'a',
      [
        tool('one'),
        tool('typed', { outputSchema }),
        tool('shown', { _meta: { 'ui/resourceUri': 'ui://a' } }),
        tool('drawn', { _meta: { ui: { resourceUri: 'ui://a' } } }),
        tool('marked', { _meta: { ui: {} } }),
      ],
      true,
    )
    story.shelve('b', [tool('one'), tool('terse')], true, {
      ...{ resultBudget: 0, tools: { terse: { resultBudget: 700 } } },
    } as never)
    const desk = await story.connect()
    await story.ask(desk, 'tools/list')
    const call = async (title: string, name: string, given: Loose, { raw } = desk) =>
      story.note(`# ${title}`, await raw('tools/call', { name, arguments: given }))
    for (const [name, give] of Object.entries(outputs)) await call(name, 'a__one', { give })
    for (const name of ['a__typed', 'a__shown', 'a__drawn', 'a__marked', 'b__one', 'b__terse'])
      await call(name, name, { give: outputs.both })
    await call('by CallTool', 'CallTool', { name: 'a__typed', arguments: { give: outputs.both } })
    await call('own budget', 'b__terse', { give: says('x'.repeat(650)) })
    const user: User = { id: 'ada', uid: 'ada', profile: profileOf({ resultBudget: 100 }) }
    await call('of a user', 'a__one', { give: says('x'.repeat(101)) }, await story.connect({}, { user }))
    await expect(story.text()).toMatchFileSnapshot(file(`results-${mode}`))
  })

  it('belong to a client, to a user or to a name, and go whole where the store fails', async () => {
    const kept = createMemoryResults()
    const told: string[] = []
    const store = {
      ...kept,
      async drop(owner: string) {
        told.push(`drop ${owner.replace(/[0-9a-f-]{36}|[A-Za-z0-9_-]{16,}/g, '<random>')}`)
        await kept.drop(owner)
      },
    }
    const open = (results: object) => {
      const story = openStory({}, { mode: 'list', results: { store, budget: 50, ...results } })
      story.shelve('a', [tool('one')], true)
      return story
    }
    const handleOf = async (desk: Loose) =>
      /result_[a-z0-9]+/.exec((await desk.call('a__one', { give: says(long(99)) })).content[0].text)?.[0]
    const reads = async (desk: Loose, handle?: string) =>
      (await desk.call('ReadResult', { handle, search: 'row 98' })).isError !== true
    const plain = open({})
    const [one, two] = [await plain.connect(), await plain.connect()]
    const handle = await handleOf(one)
    told.push(`plain ${await reads(one, handle)} ${await reads(two, handle)}`)
    await one.client.close()
    const user: User = { id: 'ada', uid: 'ada', profile: profileOf({}) }
    const [mine, also] = [await plain.connect({}, { user }), await plain.connect({}, { user })]
    const own = await handleOf(mine)
    await mine.client.close()
    told.push(`user ${await reads(also, own)} ${await reads(two, own)}`)
    const named = open({ owner: 'me' })
    const first = await named.connect({ name: 'x' })
    const third = await handleOf(first)
    await first.client.close()
    told.push(`named ${await reads(await named.connect({ name: 'x' }), third)}`)
    told.push(`other name ${await reads(await named.connect({ name: 'y' }), third)}`)
    const notices: string[] = []
    const put = async () => Promise.reject(new Error('disk full'))
    const full = openStory(
      {},
      {
        ...{ mode: 'list', results: { store: { ...store, put, add: put, write: put } as never, budget: 50 } },
        notify: (message) => notices.push(message),
      },
    )
    full.shelve('a', [tool('one')], true)
    const { content } = await (await full.connect()).call('a__one', { give: says(long(99)) })
    expect([content[0].text === long(99), notices]).toEqual([
      true,
      ['a result of a__one cannot be put on the shelf; it is sent whole: disk full'],
    ])
    expect(told).toEqual([
      ...['plain true false', 'drop <random>', 'user true false', 'named true', 'other name false'],
    ])
  })
})

describe('resources and prompts', () => {
  const resources = [
    { uri: 'book://one', name: 'one' },
    { uri: 'ui://page', name: 'page' },
  ]
  const request = (story: () => Loose) => async (server: string, method: string, params: Loose) => {
    story().note('  server', server, method, params)
    const { uri, name } = params
    if (method === 'resources/read' && uri === 'book://bad')
      throw new Error('wrapped', { cause: new ProtocolError(-32_002, 'not here') })
    if (method === 'resources/read')
      return uri === 'book://none'
        ? { x: 1 }
        : { contents: [{ uri, text: 'T' }, { uri: 5 }, { text: 'no uri' }] }
    if (method === 'completion/complete') return { completion: { values: ['v'] } }
    if (name === 'bare') return { description: 'without messages' }
    const link = { type: 'resource_link', uri: 'book://one', name: 'one' }
    return {
      messages: [
        { role: 'user', content: link },
        { role: 'user', content: { type: 'text', text: 'x' } },
      ],
    }
  }
  const able = { resources: {}, prompts: {}, completions: {} }
  const prompt = (name: string) => ({ name, description: `About ${name}` })

  it('of several servers, by every name', async () => {
    const waits: unknown[] = []
    const story: Loose = openStory({
      request: request(() => story),
      settled: async (given: Loose) => void waits.push(given),
    })
    const known = (name: string, more: Partial<ServerStatus> = {}) =>
      status(name, { capabilities: able, info: { name, version: '1' }, ...more } as Partial<ServerStatus>)
    const odd = [
      { uri: 'book://two', name: 5, description: 'kept' },
      { uri: 'book://three', name: 'a\u200bb', title: 'T\u200b' },
      { name: 'without uri' },
      null,
    ]
    story.describe(
      known('a', {
        resources,
        prompts: [prompt('ask'), prompt('bare')],
        resourceTemplates: [{ uriTemplate: 'book://{id}', name: 't' }],
      }),
      known('b', {
        resources: [resources[0], ...odd] as never,
        prompts: [prompt('ask'), prompt('ask'), { description: 'nameless' }] as never,
      }),
      known('c', { state: 'disabled', resources, prompts: [prompt('gone')] }),
      known('d', { state: 'failed', capabilities: {} }),
      known('e', { state: 'failed', capabilities: {}, info: undefined } as never),
    )
    story.emit({ type: 'servers' })
    const desk = await story.connect({ capabilities: { extensions: { 'io.modelcontextprotocol/ui': {} } } })
    for (const list of ['resources/list', 'resources/templates/list', 'prompts/list'])
      await story.ask(desk, list)
    const uris = [
      'a+book://one',
      'book://one',
      'book://two',
      'book://three',
      'book://7',
      'zebra://x',
      'c+book://one',
      'x'.repeat(600),
      'a+book://none',
      'a+book://bad',
      'ui://a+page',
    ]
    for (const uri of uris) await story.ask(desk, 'resources/read', { uri })
    for (const name of ['a__ask', 'b__ask', 'a__bare', 'c__gone', 'ask'])
      await story.ask(desk, 'prompts/get', { name, arguments: { x: '1' }, _meta: { 'com.example/y': 1 } })
    const argument = { name: 'id', value: 'v' }
    for (const ref of [
      { type: 'ref/prompt', name: 'a__ask' },
      { type: 'ref/prompt', name: 'zebra' },
      { type: 'ref/resource', uri: 'a+book://{id}' },
      { type: 'ref/resource', uri: 'zebra://x' },
    ])
      await story.ask(desk, 'completion/complete', { ref, argument })
    story.note('waits', waits)
    story.describe(known('a', { resources, resourceTemplates: [{ uriTemplate: 'book://{id}', name: 't' }] }))
    for (const uri of ['book://7', 'zebra://x']) await story.ask(desk, 'resources/read', { uri })
    await story.ask(desk, 'prompts/get', { name: 'ask' })
    story.describe(
      ...Array.from({ length: 7 }, (_, at) =>
        known(`s${at}`, {
          resources: at === 6 ? resources : [],
          prompts: [0, 1, 2].map((one) => prompt(`p${one}`)),
        }),
      ),
    )
    story.emit({ type: 'servers' })
    for (const uri of ['book://one', 'book://two']) await story.ask(desk, 'resources/read', { uri })
    await story.ask(desk, 'prompts/get', { name: 'zebra' })
    story.describe(known('x', { capabilities: {} }))
    await story.ask(desk, 'resources/read', { uri: 'book://one' })
    await expect(story.text()).toMatchFileSnapshot(file('offers'))
  })

  it('pages of apps, and the tools that only they call', async () => {
    const story: Loose = openStory({ request: request(() => story) })
    const forPages = (name: string, more = {}) =>
      tool(name, { _meta: { ui: { visibility: ['app'], resourceUri: 'ui://page' } }, ...more })
    const shown = tool('both', { _meta: { ui: { visibility: ['app', 'model'] } } })
    const app = (name: string, more: Partial<ServerStatus> = {}) =>
      status(name, {
        capabilities: able,
        tools: [shown] as never,
        pageTools: [forPages('save', { execution: {} }), forPages('load')] as never,
        resources,
        ...more,
      })
    story.describe(
      app('a'),
      app('b', { pageTools: [forPages('save')] as never }),
      app('c', { state: 'disabled' }),
    )
    story.emit({ type: 'servers' })
    const desk = await story.connect({ capabilities: { extensions: { 'io.modelcontextprotocol/ui': {} } } })
    const plain = await story.connect()
    for (const one of [desk, plain]) await story.ask(one, 'tools/list')
    for (const name of ['a__save', 'save', 'load', 'c__save']) await story.call(desk, name, { x: 1 })
    await story.ask(desk, 'resources/read', { uri: 'a+book://one' })
    await story.call(desk, 'save', {})
    await story.ask(desk, 'resources/read', { uri: 'ui://a+page' })
    for (const name of ['save', 'both', 'zebra']) await story.call(desk, name, {})
    await story.call(plain, 'save', {})
    await story.ask(desk, 'resources/read', { uri: 'ui://b+page' })
    for (const name of ['save', 'load', 'b__save']) await story.call(desk, name, {})
    const many = Array.from({ length: 202 }, (_, at) => forPages(`t${at}`))
    const large = Array.from({ length: 6 }, (_, at) =>
      forPages(`t${at}`, { description: 'x'.repeat(99_000) }),
    )
    for (const pageTools of [many, large]) {
      story.describe(app('a', { pageTools: pageTools as never }))
      const { tools } = await desk.raw('tools/list')
      story.note('listed', tools.length)
    }
    await expect(story.text()).toMatchFileSnapshot(file('pages'))
  })
})

it('definitions that a strict client would refuse are made fit, and no others', async () => {
  const deep = (levels: number): Loose => (levels === 0 ? {} : { a: deep(levels - 1) })
  const object = (properties: unknown, more = {}) => ({ type: 'object', properties, ...more })
  const tools: { [name: string]: Loose } = {
    good: {
      title: 'G',
      annotations: { readOnlyHint: true },
      outputSchema: object({ a: { type: 'string' } }),
    },
    hidden: { title: 'G\u200b', description: 'D\u200b' },
    booleans: {
      inputSchema: object({ a: true, b: false, c: {} }),
      outputSchema: object({ a: true, b: false }),
    },
    odd_output: { outputSchema: { type: 'string' } },
    odd_title: { title: 5, annotations: { readOnlyHint: true } },
    odd_input: { inputSchema: { type: 'string' } },
    no_input: { inputSchema: undefined },
    odd_properties: { inputSchema: object(5) },
    odd_description: { description: 5 },
    deep_input: { inputSchema: object({ a: { default: deep(50) } }), title: 'G' },
    deep_enough: { inputSchema: object({ a: { default: deep(45) } }), title: 'G' },
    deep_meta: { _meta: { 'com.example/x': deep(60) } },
    deep_output: { outputSchema: object({ a: { default: deep(60) } }) },
    odd_names: { inputSchema: object({ 'a b!': { type: 'string' }, 'a.b': { type: 'string' } }) },
    tasks: { execution: { taskSupport: 'required' } },
  }
  const story = openStory()
  story.shelve('a', Object.entries(tools).map(([name, more]) => tool(name, more)) as ListedTool[], true)
  const desk = await story.connect()
  const { tools: listed } = await desk.raw('tools/list')
  for (const one of listed) story.note(one.name ?? '', one)
  expect((await desk.raw('tools/list')).tools).toEqual(listed)
  await expect(story.text()).toMatchFileSnapshot(file('definitions'))
})

it('a search names the tools that gave way, ten of them, and a call brings one back', async () => {
  const limits = { tools: 0, tokens: 1e9, maxTools: 99, maxTokens: 1e9, unusedMs: 0 }
  const story = openStory({}, { mode: 'list', loadedTools: limits })
  const many = (count: number) => Array.from({ length: count }, (_, at) => `x${at}`)
  story.shelve(
    'a',
    [...many(12), 'y', 'z'].map((name) => tool(name)),
  )
  const desk = await story.connect()
  const select = (names: string[]) =>
    story.call(desk, 'ToolSearch', { query: `select:${names.map((name) => `a__${name}`).join(',')}` })
  for (const names of [many(10), ['y'], many(12), ['z']]) await select(names)
  await story.call(desk, 'a__x0', {})
  story.note('listed', (await desk.names()).join(' '))
  await expect(story.text()).toMatchFileSnapshot(file('dropped'))
})

it('a call that is traced has its own span, and servers get that as their parent', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const parent = `00-${traceId}-b7ad6b7169203331-01`
  const events: Loose[] = []
  const metas: Loose[] = []
  const story = openStory(
    {
      async call(...given: Loose[]) {
        metas.push(given[3].meta)
        return says('done')
      },
    },
    {
      mode: 'list',
      openTrace: (start) =>
        Object.assign((event: Loose) => events.push(event), { traceId, start: events.push(start) }),
    },
  )
  story.shelve('a', [tool('one')], true)
  const desk = await story.connect()
  const send = (_meta?: Loose) =>
    desk.raw('tools/call', { name: 'a__one', arguments: {}, ...(_meta ? { _meta } : {}) })
  await send({ traceparent: parent, tracestate: 'a=b', 'com.example/x': 1 })
  await send({ traceparent: 'wrong', tracestate: 'a=b' })
  await send()
  const calls = events.filter(({ type }) => type === 'call')
  const own = calls.map(({ id }) => `00-${traceId}-${id}-01`)
  expect(metas.map(({ traceparent }) => traceparent)).toEqual(own)
  expect(metas.map(({ traceparent: _, ...rest }) => rest)).toEqual([
    { tracestate: 'a=b', 'com.example/x': 1 },
    {},
    {},
  ])
  expect(calls.map(({ traceparent }) => traceparent)).toEqual([parent, undefined, undefined])
  expect(events[0]).toMatchObject({ client: { name: 'opencode' }, traceparent: parent })
})
