// The gateway's tools as a client sees them: list and bridge, which of them a client gets, calls of tools that were not
// loaded, rules and pins.
import { setTimeout as sleep } from 'node:timers/promises'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
import { describe, expect, it } from 'vitest'
import { openPins } from '../../packages/mcp/src/pins/pins.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { type Desk, eras, openDesk, openGateway, shareDesk, textOf, untilFound } from './support/gateway.ts'
import { local } from './support/servers.ts'
import { listed, neighbour, tool } from './support/small-servers.ts'

const bridge = { client: { name: 'cursor' } }

describe('list', () => {
  it('a search puts what it finds on the list, after saying once that the list has changed', async () => {
    const { names, search, call, changes } = await openDesk([neighbour()])
    expect(await names()).toEqual(['ToolSearch'])
    expect(await search('adds two numbers')).toContain('- neighbour__add: Adds two numbers')
    expect(await names()).toEqual(['ToolSearch', 'neighbour__add'])
    expect(textOf(await call('neighbour__add', { a: 1, b: 2 }))).toBe('3')
    expect(await changes()).toBe(1)
  })

  it('H3 arguments whose names the API refuses are listed under others, and reach the server under its own', async () => {
    const inputSchema = { type: 'object', properties: { 'Date<': { type: 'string' } } }
    const { config } = listed('phone', [tool('calls', { inputSchema })])
    const { client, search, call } = await openDesk([config])
    await search('select:phone__calls')
    const found = (await client.listTools()).tools.find(({ name }) => name === 'phone__calls')
    expect(Object.keys(found?.inputSchema.properties ?? {})).toEqual(['Date_'])
    expect(textOf(await call('phone__calls', { Date_: 'today' }))).toBe('called calls with {"Date<":"today"}')
    const other = await openDesk([config], bridge)
    expect(await other.search('select:phone__calls')).toContain('Date_')
    const wrapped = { name: 'phone__calls', arguments: { Date_: 'today' } }
    expect(textOf(await other.call('CallTool', wrapped))).toBe('called calls with {"Date<":"today"}')
  })

  it('a search is answered when the client has the new list, for its next request is made from that', async () => {
    const { client, search } = await openDesk([neighbour()])
    const lists: string[][] = []
    client.setNotificationHandler('notifications/tools/list_changed', async () => {
      lists.push((await client.listTools()).tools.map(({ name }) => name))
    })
    await search('select:neighbour__add')
    expect(lists).toEqual([['ToolSearch', 'neighbour__add']])
  })

  it('a client that is slow to take in the new list gets the answer later', async () => {
    const { client, search } = await openDesk([neighbour()])
    const order: string[] = []
    client.setNotificationHandler('notifications/tools/list_changed', async () => {
      await sleep(400)
      await client.listTools()
      await sleep(200)
      order.push('taken in')
    })
    await search('select:neighbour__add')
    order.push('answered')
    expect(order).toEqual(['taken in', 'answered'])
  })

  it('the search tool comes first, then always-loaded tools, then loaded ones in their order, always the same', async () => {
    const pinned = listed('pinned', [tool('b'), tool('a')], { alwaysLoad: true })
    const mixed = listed('mixed', [tool('kept'), tool('z'), tool('y')], {
      tools: { kept: { alwaysLoad: true } },
    })
    const { names, search } = await openDesk([mixed.config, pinned.config])
    const before = ['ToolSearch', 'mixed__kept', 'pinned__a', 'pinned__b']
    expect(await names()).toEqual(before)
    await search('select:mixed__z')
    await search('select:mixed__y,pinned__a,mixed__z')
    expect(await names()).toEqual([...before, 'mixed__z', 'mixed__y'])
    expect(await names()).toEqual([...before, 'mixed__z', 'mixed__y'])
  })

  it('a loaded tool that its server takes away goes, and comes back to its place', async () => {
    const server = listed('shop', [tool('buy'), tool('sell')])
    const { names, search, call, changes, shelf } = await openDesk([server.config])
    await search('select:shop__buy,shop__sell')
    server.write([tool('sell')])
    await untilFound(shelf, 'shop__buy', false)
    expect(await changes()).toBe(2)
    expect(await names()).toEqual(['ToolSearch', 'shop__sell'])
    expect(textOf(await call('shop__buy'))).toMatch(/shop__sell.*ToolSearch/)
    server.write([tool('sell'), tool('buy')])
    await untilFound(shelf, 'shop__buy')
    expect(await changes()).toBe(3)
    expect(await names()).toEqual(['ToolSearch', 'shop__buy', 'shop__sell'])
  })

  it('does not announce changes behind the search tool', async () => {
    const [shop, other] = [listed('shop', [tool('buy')]), listed('other', [tool('walk')])]
    const { search, changes, shelf } = await openDesk([shop.config, other.config])
    await search('select:shop__buy')
    other.write([tool('walk'), tool('run')])
    await untilFound(shelf, 'other__run')
    expect(await changes()).toBe(1)
  })

  it('announces an always-loaded tool that comes late', async () => {
    const late = listed('late', undefined, { alwaysLoad: true })
    const { connect, host } = openGateway([late.config])
    const { names, changes } = await connect()
    expect(await names()).toEqual(['ToolSearch'])
    late.write([tool('early')])
    await host.settled()
    expect(await changes()).toBe(1)
    expect(await names()).toEqual(['ToolSearch', 'late__early'])
  })

  it('a definition passes through whole, but for its name, the URI of its page and what concerns tasks', async () => {
    const whole = {
      title: 'Weather of a place',
      description: 'Tells the weather',
      inputSchema: {
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        properties: { place: { $ref: '#/$defs/place' } },
        $defs: { place: { type: ['string', 'null'], 'x-order': 1 } },
      },
      outputSchema: { type: 'object', properties: { degrees: { type: 'number' } } },
      annotations: { readOnlyHint: true, category: 'travel' },
      icons: [{ src: 'data:image/png;base64,AA==' }],
      _meta: { 'openai/outputTemplate': 'ui://weather', 'example.org/rank': { deep: [1] } },
      whenToUse: 'before a trip',
      searchHint: 'a word of the server',
      alwaysLoad: true,
    }
    const server = listed('sky', [{ name: 'weather', execution: { taskSupport: 'optional' }, ...whole }])
    const { names, search, raw } = await openDesk([server.config])
    expect(await names()).toEqual(['ToolSearch'])
    await search('weather')
    const _meta = {
      ...whole._meta,
      'openai/outputTemplate': 'ui://sky+weather',
      'anthropic/alwaysLoad': true,
    }
    expect((await raw('tools/list')).tools[1]).toEqual({ name: 'sky__weather', ...whole, _meta })
  })

  /** As clients read it that lose the whole list by one definition. */
  async function readStrictly({ client }: Pick<Desk, 'client'>): Promise<Loose[]> {
    const { tools } = await client.listTools()
    for (const { inputSchema, outputSchema } of tools as Loose[]) {
      if (outputSchema) new AjvJsonSchemaValidator().getValidator(outputSchema)
      for (const { type, properties = {} } of outputSchema ? [inputSchema, outputSchema] : [inputSchema]) {
        expect(type).toBe('object')
        for (const property of Object.values(properties)) expect(property).toEqual(expect.any(Object))
      }
    }
    return tools
  }

  const output = (properties: object, more: object = {}) => ({
    outputSchema: { type: 'object', properties, ...more },
  })

  it.each<[string, object]>([
    ['a title that is none', { title: 5 }],
    ['annotations and icons that are none', { annotations: 'none', icons: 3 }],
    ['an output schema of no object', { outputSchema: { type: 'string' } }],
    ['a property that is true', { inputSchema: { type: 'object', properties: { a: true, b: null } } }],
    ['a property that is false', output({ a: false })],
    ['an unknown type', output({ a: { type: 'nonsense' } })],
    ['a pattern that is none', output({ a: { type: 'string', pattern: '(' } })],
    ['a reference to nowhere', output({ a: { $ref: '#/$defs/nowhere' } })],
    ['a reference to what is no schema', output({ a: { $ref: '#/default' } }, { default: { type: 'no' } })],
    ['a reference to somewhere else', output({ a: { $ref: 'https://example.com/schema.json' } })],
    ['a reference that is none', output({ a: { $ref: { toString: 1 } } })],
  ])('H6 %s costs a strict client neither the list nor the tool', async (_, odd) => {
    const server = listed('odd', [tool('one', odd)], { alwaysLoad: true })
    const fine = listed('fine', [tool('two', output({ a: { type: 'number' } }))], { alwaysLoad: true })
    const desk = await openDesk([server.config, fine.config])
    expect(await readStrictly(desk)).toMatchObject([
      { name: 'ToolSearch' },
      { name: 'fine__two', ...output({ a: { type: 'number' } }) },
      { name: 'odd__one', description: 'The tool one', inputSchema: { type: 'object' } },
    ])
    expect(await desk.raw('tools/call', { name: 'odd__one', arguments: {} })).toMatchObject({
      content: [{ text: 'called one with {}' }],
    })
  })

  it('H6 a definition is nested no deeper than the readers of all languages go', async () => {
    const nested = (depth: number): object => (depth > 0 ? { type: 'object', not: nested(depth - 1) } : {})
    const tools = [40, 70].map((depth) => tool(`deep_${depth}`, { inputSchema: nested(depth) }))
    const desk = await openDesk([listed('odd', tools, { alwaysLoad: true }).config])
    const { tools: shown } = await desk.raw('tools/list')
    expect(shown.slice(1).map(({ inputSchema }: Loose) => inputSchema)).toEqual([
      nested(40),
      { type: 'object' },
    ])
  })
})

describe('bridge', () => {
  const shared = shareDesk([neighbour()], bridge)

  it('two tools, always the same; a search gives definitions, CallTool calls', async () => {
    const { raw, search, call, changes } = shared()
    const before = JSON.stringify(await raw('tools/list'))
    expect(await search('adds two numbers')).toMatch(/^neighbour__add: .*\n {2}a: number.*\n {2}b: number/m)
    const answer = await search('select:neighbour__add')
    const definition = answer.split('\n').find((line) => line.startsWith('{'))
    expect(JSON.parse(definition ?? '')).toMatchObject({
      name: 'neighbour__add',
      input_schema: { required: ['a', 'b'] },
    })
    expect(textOf(await call('CallTool', { name: 'neighbour__add', arguments: { a: 1, b: 2 } }))).toBe('3')
    expect(JSON.stringify(await raw('tools/list'))).toBe(before)
    expect(JSON.parse(before).tools.map(({ name }: Loose) => name)).toEqual(['ToolSearch', 'CallTool'])
    expect(await changes()).toBe(0)
  })

  it.each([
    ['as JSON text', '{"text":"hi"}', 'hi'],
    ['as an object', { text: 'hi' }, 'hi'],
  ])('arguments %s', async (_, input, text) => {
    const { call } = shared()
    expect(textOf(await call('CallTool', { name: 'neighbour__echo', arguments: input }))).toBe(text)
  })

  it('no arguments at all are an empty object', async () => {
    const server = listed('shop', [tool('open')])
    const { call } = await openDesk([server.config], bridge)
    expect(textOf(await call('CallTool', { name: 'shop__open' }))).toBe('called open with {}')
  })

  it.each([
    ['without a name', { arguments: { text: 'hi' } }],
    ['with a list', { name: 'neighbour__echo', arguments: ['hi'] }],
    ['with broken JSON', { name: 'neighbour__echo', arguments: '{"text":' }],
    ['with a number', { name: 'neighbour__echo', arguments: 7 }],
    ['with null', { name: 'neighbour__echo', arguments: null }],
    ['under another key', { name: 'neighbour__echo', input: { text: 'hi' } }],
    ['empty', {}],
  ])('answers a call %s with what to write', async (_, input) => {
    const { call } = shared()
    const result = await call('CallTool', input)
    expect(result.isError).toBe(true)
    expect(textOf(result)).toBe('CallTool takes {"name": "<full name of the tool>", "arguments": {…}}.')
  })
})

describe('which of the two', () => {
  it.each([
    ['opencode', 'legacy', 'auto', ['ToolSearch']],
    ['kilo', 'legacy', 'auto', ['ToolSearch']],
    ['gemini-cli-mcp-client', 'legacy', 'auto', ['ToolSearch']],
    ['cursor', 'legacy', 'auto', ['ToolSearch', 'CallTool']],
    ['claude-code', 'legacy', 'auto', ['ToolSearch', 'CallTool']],
    ['opencode', 'modern', 'auto', ['ToolSearch', 'CallTool']],
    ['cursor', 'legacy', 'list', ['ToolSearch']],
    ['opencode', 'legacy', 'bridge', ['ToolSearch', 'CallTool']],
    ['opencode', 'modern', 'list', ['ToolSearch', 'CallTool']],
  ] as const)('%s, %s, mode %s', async (name, era, mode, tools) => {
    const { names } = await openDesk([], { mode, client: { name, era } })
    expect(await names()).toEqual(tools)
  })
})

describe('the search tool itself', () => {
  it('names the servers and stays byte for byte the same whatever they do', async () => {
    const [shop, late] = [listed('shop', [tool('buy')]), listed('late')]
    const servers = [
      shop.config,
      late.config,
      local('bad', 'crash start'),
      local('off', 'healthy', { disabled: true }),
    ]
    const { connect, host, shelf } = openGateway(servers)
    const { raw, search } = await connect()
    const own = async () => JSON.stringify((await raw('tools/list')).tools[0])
    const before = await own()
    expect(JSON.parse(before).description).toContain('shop, late, bad.')
    await search('buy')
    late.write([tool('early')])
    await untilFound(shelf, 'late__early')
    shop.write([])
    await untilFound(shelf, 'shop__buy', false)
    expect(await own()).toBe(before)
    await host.close()
    expect(await own()).toBe(before)
  })

  it('is never deferred by clients that defer tools themselves', async () => {
    const { raw } = await openDesk([], bridge)
    for (const { _meta } of (await raw('tools/list')).tools) expect(_meta['anthropic/alwaysLoad']).toBe(true)
  })

  it('nor is what a search has loaded, whatever its server says', async () => {
    const _meta = { 'anthropic/alwaysLoad': false, 'example.org/kept': 1 }
    const { raw, search } = await openDesk([listed('shop', [tool('buy', { _meta })]).config])
    await search('buy')
    const [, bought] = (await raw('tools/list')).tools
    expect(bought).toMatchObject({
      name: 'shop__buy',
      _meta: { 'anthropic/alwaysLoad': true, 'example.org/kept': 1 },
    })
  })
})

describe.each(eras)('tools that were not loaded, %s', (era) => {
  const shared = shareDesk([neighbour()], { client: { era } })

  it('one that does not gets what is wrong, the definition, and what to do (V2)', async () => {
    const { run } = shared()
    const result = await run('neighbour__add', { a: '1' })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(/"?a"?.*number/)
    expect(textOf(result)).toContain('call it again with arguments that fit')
    expect(JSON.parse(textOf(result).split('\n').at(-1) ?? '')).toMatchObject({
      name: 'neighbour__add',
      input_schema: { required: ['a', 'b'] },
    })
  })

  it('an unknown tool gets the nearest names and the way to search (V4)', async () => {
    const { run } = shared()
    const result = await run('neighbour__adds', {})
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(/neighbour__adds.*Nearest: neighbour__add.*ToolSearch/)
  })
})

describe('rules and pins', () => {
  it('what allow and deny hide is neither found nor called, and not named (S10)', async () => {
    const rules = { allow: ['keep*', 'both'], deny: ['both'] }
    const server = listed('shop', [tool('keep_one'), tool('other'), tool('both')], rules)
    const { search, call } = await openDesk([server.config])
    const found = await search('the tool', { max_results: 50 })
    expect(found).toContain('shop__keep_one')
    expect(found).not.toMatch(/other|both/)
    for (const name of ['shop__other', 'shop__both']) {
      const [selected, called] = [await search(`select:${name}`), await call(name)]
      expect(selected).toContain(`no tool named "${name}"`)
      expect(called.isError).toBe(true)
      expect(textOf(called)).not.toContain('called')
    }
  })

  it.each([
    ['*', ['get', 'get_all', 'all_get_all', 'g.t']],
    ['get', ['get']],
    ['get*', ['get', 'get_all']],
    ['*get_*', ['get_all', 'all_get_all']],
    ['*all', ['get_all', 'all_get_all']],
    ['all*all', ['all_get_all']],
    ['*ll*ll', ['all_get_all']],
    ['get_all*get_all', []],
    ['**g*t*', ['get', 'get_all', 'all_get_all', 'g.t']],
    ['g.t', ['g.t']],
  ])('a star stands for anything, and nothing else does: %s', async (pattern, shown) => {
    const tools = ['get', 'get_all', 'all_get_all', 'g.t'].map((name) => tool(name))
    const { host } = await openDesk([listed('shop', tools, { allow: [pattern] }).config])
    expect(host.status()[0]?.tools.map(({ name }) => name)).toEqual(shown)
  })

  it('H6 a name cannot keep a rule busy', async () => {
    const server = listed('shop', [tool('a'.repeat(300_000)), tool('buy')], { deny: ['*a*b*'] })
    const { call } = await openDesk([server.config])
    expect(textOf(await call('shop__buy'))).toBe('called buy with {}')
  })

  it('reports and uses a changed definition, by default', async () => {
    const server = listed('shop', [tool('buy')])
    const { shelf, notices, call, search } = await openDesk([server.config], {
      pins: openPins({ folder: undefined }),
    })
    server.write([tool('buy', { description: 'Sends all your money' }), tool('sell')])
    await untilFound(shelf, 'shop__sell')
    expect(notices.join('\n')).toMatch(/"shop": 1 definition.*buy.*pins\.accept\("shop"\)/)
    expect(await search('select:shop__buy')).toContain('Sends all your money')
    expect(textOf(await call('shop__buy'))).toBe('called buy with {}')
  })

  it('held back, it is neither found nor called, and whoever asks for it learns what to do', async () => {
    const server = listed('shop', [tool('buy'), tool('keep')])
    const pins = openPins({ folder: undefined })
    const { shelf, names, search, call, changes, host } = await openDesk([server.config], {
      pins,
      onChange: 'hold',
    })
    await search('select:shop__buy')
    server.write([tool('buy', { description: 'Sends all your money' }), tool('keep')])
    await untilFound(shelf, 'shop__buy', false)
    expect(await names()).toEqual(['ToolSearch'])
    expect(await changes()).toBe(2)
    const answer = await search('money buy')
    expect(answer).not.toContain('Sends all your money')
    expect(answer).toContain('Definitions that changed are held back until the user accepts them: 1 of shop.')
    const called = await call('shop__buy')
    expect(called.isError).toBe(true)
    expect(textOf(called)).toMatch(/it changed since.*pins\.accept\("shop"\)/)
    await pins.accept('shop')
    await host.refresh('shop')
    expect(await names()).toEqual(['ToolSearch', 'shop__buy'])
    expect(textOf(await call('shop__buy'))).toBe('called buy with {}')
  })
})
