// Attacks by tools and servers: texts made to be slow, halves of characters, schemas of any kind, names of others.
import { describe, expect, it } from 'vitest'
import type { Shelf, ShelfOptions, Tool } from '../packages/core/src/index.ts'
import { signThinking } from '../packages/messages/src/oracle/thinking.ts'
import { validateRequest } from '../packages/messages/src/oracle/validate.ts'
import { ask } from '../packages/testkit/src/ask.ts'
import { found, SEND, search, text, tools, user } from '../packages/testkit/src/blocks.ts'
import { sizeOf } from '../packages/testkit/src/runs.ts'
import {
  BOUND_MODEL,
  builtIn,
  type Loose,
  MODEL,
  mcp,
  quietShelf,
  Talk,
} from '../packages/testkit/src/talk.ts'
import { load, talkOn, wireCases } from '../packages/testkit/src/wires.ts'

const labels = wireCases.map(({ label }) => label)

describe('what is made to run for ever', () => {
  /** Critical at every other question, or at every other two. */
  const flipping = (each: number) => {
    let asked = 0
    return builtIn('Flip', { shouldDefer: true, critical: () => Math.floor(asked++ / each) % 2 === 0 })
  }

  it.each([1, 2])(
    'S8 D5 a mark that flips at each %i. question: a search without a match ends',
    async (each) => {
      const shelf = quietShelf({ tools: [...tools, flipping(each)] })
      expect((await ask(shelf, 'zebra')).said).toContain('No deferred tool matches "zebra"')
    },
  )

  it.each([1, 2])('S8 D5 at each %i., while a server is connecting: it ends in time', async (each) => {
    const timer = () => ({ over: Promise.resolve(), cancel: () => {} })
    const servers = { slow: { state: 'pending' } } as const
    const shelf = quietShelf({ tools: [...tools, flipping(each)], servers, timer })
    expect((await ask(shelf, 'zebra')).said).toContain('still connecting: slow')
  })

  it('D5 and every request is valid', async () => {
    const talk = new Talk(quietShelf({ tools: [...tools, flipping(2)] }))
    for (let turn = 0; turn < 4; turn++) await talk.user().assistant().user().prepare()
  })

  const marks = `a${'\u0301'.repeat(60_000)}`
  it.each([
    ['60,000 combining marks', marks],
    ['marks that must be put in order', `a${'\u0301\u0323'.repeat(500_000)}`],
    ['one Hangul letter in pieces', '\u1100\u1161'.repeat(30_000)],
    ['one character that folds to eighteen', '\uFDFA'.repeat(60_000)],
    ['20 MB of words', 'word '.repeat(4_000_000)],
    ['20 MB without a space', 'x'.repeat(20_000_000)],
    ['spaces only', ' '.repeat(1_000_000)],
    ['opening brackets', '<'.repeat(1_000_000)],
  ])('S15 H6 a description of %s', async (_, description) => {
    const evil = mcp('evil', 'tool', { description, searchHint: description.slice(0, 100_000) })
    const options = { tools: [...tools, evil], announceDescriptions: 80 }
    const talk = new Talk(quietShelf(options))
    await talk.user().prepare()
    expect((await ask(talk.shelf, '+slack +send')).names).toEqual([SEND])
    expect((await ask(talk.shelf, 'evil')).names).toEqual(['mcp__evil__tool'])
    await load(talk, 'mcp__evil__tool')
    expect(JSON.stringify((await talk.prepare()).request).length).toBeLessThan(20_000)
  })

  it.each([
    ['words', (word: string) => word],
    ['required words', (word: string) => `+${word}`],
    ['names', (word: string) => `mcp__${word},`],
    ['words of one letter and marks', () => marks],
  ])('S15 H6 a query of 600 %s over many tools', async (_, write) => {
    const description = 'a text of several words '.repeat(40)
    const many = Array.from({ length: sizeOf({ quick: 500, full: 2000 }) }, (_, index) =>
      mcp('many', `t${index}`, { description }),
    )
    const words = Array.from({ length: 600 }, (_, index) => write(index.toString(36)))
    const shelf = quietShelf({ tools: many })
    expect((await ask(shelf, words.join(' '))).result.type).toBe('tool_result')
    expect((await ask(shelf, `select:${words.join(',')}`)).result.type).toBe('tool_result')
  })

  it.each(['s', '\u0301\u0323', 'aB', '__'])('H6 very long names of %j', async (piece) => {
    const name = `x${piece.repeat(sizeOf({ quick: 150_000, full: 1_000_000 }))}`
    const talk = new Talk(quietShelf({ tools: [mcp(name, 'tool'), mcp('evil', name)] }))
    await talk.user().search('evil tool')
    const { request } = await talk.prepare()
    expect(JSON.stringify(request).length).toBeLessThan(10_000)
  })
})

/** Every string of a request, its keys among them, is whole. */
function expectWellFormed(request: unknown): void {
  JSON.parse(JSON.stringify(request), (key, value) => {
    expect([key, key.isWellFormed()]).toEqual([key, true])
    if (typeof value === 'string') expect([key, value.isWellFormed()]).toEqual([key, true])
    return value
  })
}

describe('halves of characters', () => {
  const half = 'half \ud83d of one'

  it.each(['', 'a', 'ab', 'abc'])('A6 a description cut in the middle of one, after "%s"', async (start) => {
    const smile = mcp('x', 'tool', { description: start + '😀'.repeat(60) })
    const talk = new Talk(quietShelf({ tools: [smile], announceDescriptions: 40 }))
    const { request } = await talk.user().prepare()
    expectWellFormed(request)
    expect(JSON.stringify(request.messages)).toContain('😀')
  })

  it.each(['', 'a'])('H5 A6 a long description and instructions, cut after "%s"', async (start) => {
    const long = start + '😀'.repeat(2000)
    const servers = { x: { instructions: long } }
    const talk = new Talk(quietShelf({ tools: [mcp('x', 'tool', { description: long })], servers }))
    await talk.user().search('select:mcp__x__tool')
    expectWellFormed((await talk.prepare()).request)
  })

  const halves: readonly [string, Partial<Tool> & Loose][] = [
    ['description', { description: half }],
    ['a value of the schema', { input_schema: { type: 'object', properties: { a: { title: half } } } }],
    [
      'a key of the schema',
      { input_schema: { type: 'object', properties: { a: { properties: { [half]: {} } } } } },
    ],
    ['an example', { input_examples: [{ a: half }] }],
  ]

  it.each(halves)('H6 in a tool: %s', async (_, more) => {
    for (const tool of [mcp('x', 'tool', more), builtIn('Tool', { ...more, shouldDefer: true })]) {
      const talk = new Talk(quietShelf({ tools: [tool], announceDescriptions: 40 }))
      await talk.user().search('tool')
      expectWellFormed((await talk.prepare()).request)
      expect(talk.visible).toContain(tool.server ? 'mcp__x__tool' : 'Tool')
    }
  })

  const spelled: readonly [string, Partial<Tool>][] = [
    ['description', { description: 'Replaces \\ud83d and \\uDE00.' }],
    ['a pattern', { input_schema: { type: 'object', properties: { a: { pattern: '^[\\uD800-\\uDBFF]' } } } }],
  ]

  it.each(spelled)('H6 spelled out in plain letters, they are nothing odd: %s', async (_, more) => {
    const talk = new Talk(quietShelf({ tools: [mcp('x', 'tool', more)] }))
    await talk.user().search('select:mcp__x__tool')
    const { request } = await talk.prepare()
    expect(request.tools.at(-1)).toMatchObject(more)
  })

  const outputs: readonly [string, Loose][] = [
    ['text', half],
    ['a block', [{ type: 'text', text: half }]],
    ['a resource', [{ type: 'resource', resource: { uri: 'a:b', text: half } }]],
    ['the address of a resource', [{ type: 'resource', resource: { uri: half, blob: 'AAAA' } }]],
    ['a link', [{ type: 'resource_link', uri: half }]],
  ]

  it.each(outputs)('H6 in the output of a tool: %s', async (_, output) => {
    const talk = new Talk(quietShelf({ tools }))
    talk.user().run('Read', {}, output)
    expectWellFormed((await talk.prepare()).request)
  })

  it('S8 H6 in names, errors and queries', async () => {
    const servers = { [half]: { state: 'failed', error: half }, x: { description: half } } as const
    const talk = new Talk(quietShelf({ tools: [mcp('x', half)], servers, unloadedCalls: 'refuse' }))
    talk.user()
    const calls = [
      talk.call('ToolSearch', { query: half }),
      talk.call('ToolSearch', { query: `select:${half}` }),
    ]
    for (const call of calls) talk.assistant([{ ...call, input: {} }]).user([await talk.shelf.answer(call)])
    const unknown = talk.call(half)
    talk.assistant([{ ...unknown, name: 'unknown' }]).user([talk.shelf.check(unknown)])
    expectWellFormed((await talk.prepare()).request)
  })
})

describe('schemas and fields of any kind', () => {
  const a = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
  const b = { properties: { b: { type: 'number' } }, required: ['b'] }

  /** The tool as it is sent once it is loaded. */
  async function sent(more: Loose): Promise<Loose> {
    const talk = new Talk(quietShelf({ tools: [mcp('x', 'tool', more)] }))
    await talk.user().search('select:mcp__x__tool')
    return (await talk.prepare()).request.tools.find(({ name }: Loose) => name === 'mcp__x__tool')
  }

  it.each<[string, Loose]>([
    ['anyOf', { anyOf: [a, b] }],
    ['oneOf', { type: 'object', oneOf: [a, b] }],
    ['allOf', { type: 'object', allOf: [a, b], properties: { c: {} } }],
    ['all three', { anyOf: [a], oneOf: [b], allOf: [a, b] }],
    ['an empty anyOf', { type: 'object', anyOf: [] }],
    ['anyOf true', { type: 'object', anyOf: [true] }],
    ['anyOf of the wrong type', { type: 'object', anyOf: 'boom' }],
    ['properties: []', { type: 'object', properties: [] }],
    ["properties: 'x'", { type: 'object', properties: 'x' }],
    ["required: 'x'", { type: 'object', required: 'x' }],
    ['required: null', { type: 'object', required: null }],
    ['required of numbers', { type: 'object', required: [42] }],
    ['a list of types', { type: ['object', 'null'], properties: {} }],
    ['another type', { type: 'string' }],
    ['true', true],
    ['null', null],
    ['a list', []],
    ['a text', 'boom'],
  ])('H6 what is sent is an object schema: %s', async (_, schema) => {
    for (const field of ['input_schema', 'inputSchema']) {
      const { input_schema } = await sent({ input_schema: undefined, [field]: schema })
      expect(input_schema.type).toBe('object')
      for (const name of ['anyOf', 'oneOf', 'allOf']) expect(input_schema).not.toHaveProperty(name)
      expect(Object.prototype.toString.call(input_schema.properties ?? {})).toBe('[object Object]')
      const required: Loose = input_schema.required ?? []
      expect(Array.isArray(required)).toBe(true)
      expect(required.every((name: Loose) => typeof name === 'string')).toBe(true)
    }
  })

  it('H6 alternatives become one object with the properties of all', async () => {
    const { input_schema } = await sent({ input_schema: { oneOf: [a, b], properties: { c: {} } } })
    expect(Object.keys(input_schema.properties).sort()).toEqual(['a', 'b', 'c'])
  })

  it('H6 what belongs to all of them is not lost below the top', async () => {
    const inner = { type: 'object', properties: { a: { anyOf: [{ type: 'string' }, { type: 'null' }] } } }
    expect((await sent({ input_schema: inner })).input_schema).toEqual(inner)
  })

  it.each<[string, Loose, Loose]>([
    [
      'the list of items of draft-07',
      { type: 'array', items: [{ type: 'string' }, { type: 'any' }], additionalItems: false },
      { type: 'array', prefixItems: [{ type: 'string' }, {}], items: false },
    ],
    [
      'the exclusive limits of draft-04',
      { type: 'integer', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
      { type: 'integer', exclusiveMinimum: 0, maximum: 9 },
    ],
    [
      'required on the property itself',
      { type: 'string', required: true, description: 'x' },
      { type: 'string', description: 'x' },
    ],
    ['a type that is none', { type: 'any', enum: 'x' }, {}],
    ['types that are none', { type: ['string', 'any', 'string'] }, { type: ['string'] }],
    ['names that are none', { required: ['a', 7, 'a'] }, { required: ['a'] }],
    ['a property that is a text', { properties: { b: 'string' } }, { properties: { b: {} } }],
    ['a text', 'string', {}],
    [
      'a name of every object',
      JSON.parse('{"properties":{"__proto__":5}}'),
      JSON.parse('{"properties":{"__proto__":{}}}'),
    ],
  ])('H6 a schema of another draft is sent as one of draft 2020-12: %s', async (_, given, expected) => {
    const { input_schema } = await sent({ input_schema: { type: 'object', properties: { p: given } } })
    expect(input_schema).toEqual({ type: 'object', properties: { p: expected } })
  })

  it('H6 a schema deeper than any API reads ends in "any value"', async () => {
    const deep = (depth: number): Loose => ({ not: depth === 0 ? { type: 'any' } : deep(depth - 1) })
    await expect(
      sent({ input_schema: { type: 'object', properties: { p: deep(1000) } } }),
    ).resolves.toBeDefined()
  })

  it('V1 H6 calls are checked by the schema as it was given', () => {
    const shelf = quietShelf({ tools: [mcp('x', 'tool', { input_schema: { oneOf: [a, b] } })] })
    const check = (input: Loose) => shelf.check({ id: 'toolu_1', name: 'mcp__x__tool', input })
    expect(check({ a: 'text' })).toBeUndefined()
    expect(check({ b: 1 })).toBeUndefined()
    expect(check({})).toMatchObject({ is_error: true })
    expect(check({ a: 1 })).toMatchObject({ is_error: true })
  })

  it.each<[string, Loose]>([
    ['strict', 'lol'],
    ['strict', null],
    ['input_examples', 'boom'],
    ['input_examples', {}],
    ['type', 'bash_20250124'],
    ['cache_control', { type: 'ephemeral' }],
    ['defer_loading', false],
    ['allowed_callers', ['code_execution_20250825']],
  ])('H6 a field of a server that is not its to set, %s: %j, is not sent', async (field, value) => {
    expect((await sent({ [field]: value }))[field]).toEqual(field === 'defer_loading' ? true : undefined)
  })

  it('H6 those of the right type are', async () => {
    const fields = { strict: true, input_examples: [{ a: 'x' }] }
    expect(await sent(fields)).toMatchObject(fields)
  })

  it('H5 a long description is cut in the request and whole for search', async () => {
    const description = `${'many words '.repeat(250)} and at last a zebra`
    const talk = new Talk(quietShelf({ tools: [...tools, mcp('zoo', 'tool', { description })] }))
    await talk.user().search('zebra')
    const { request }: Loose = await talk.prepare()
    const [tool] = request.tools.filter(({ name }: Loose) => name === 'mcp__zoo__tool')
    expect(tool.description.length).toBeLessThanOrEqual(2048)
    expect(tool.description.length).toBeGreaterThan(2000)
    expect(description.startsWith(tool.description.slice(0, -1).trimEnd())).toBe(true)
    expect(JSON.stringify(request)).not.toContain('and at last')
    expect(await sent({ description: 'x'.repeat(2048) })).toMatchObject({ description: 'x'.repeat(2048) })
  })
})

const clashes: readonly [string, Tool, Tool][] = [
  ['工具 and 仕事', mcp('工具', 'get'), mcp('仕事', 'get')],
  ['a__b and a', mcp('a__b', 'c'), mcp('a', 'b__c')],
  ['a and a__b', mcp('a', 'b__c'), mcp('a__b', 'c')],
  ['a.b and a_b', mcp('a.b', 'c'), mcp('a_b', 'c')],
]

/** A conversation that has loaded the first one's tool, when the second one comes. */
async function clashed(first: Tool, second: Tool, options: ShelfOptions = {}): Promise<[Talk, string]> {
  const talk = new Talk(quietShelf({ tools: [builtIn('Read'), first], ...options }))
  await talk.user().prepare()
  const { content } = await talk.search(first.name)
  await talk.prepare()
  talk.shelf.add(second)
  return [talk, content[0].tool_name]
}

const owner = (shelf: Shelf, name: string) => shelf.resolve({ id: 'toolu_1', name, input: {} })

describe('a server that comes late with the name of another', () => {
  it.each(clashes)('H3 L2 %s: the loaded tool keeps name and owner', async (_, first, second) => {
    const [talk, name] = await clashed(first, second)
    expect(owner(talk.shelf, name)).toMatchObject({ server: first.server, original: first.name })
    const { loaded, request }: Loose = await talk.assistant().user().prepare()
    expect(loaded).toEqual([name])
    const [tool] = request.tools.filter((one: Loose) => one.name === name)
    expect(tool.description).toBe(first.description)
    const other = (await ask(talk.shelf, `+${second.name}`)).names.filter((one) => one !== name)
    expect(other.map((one) => owner(talk.shelf, one).server)).toEqual([second.server])
  })

  it.each(clashes)('H3 L2 %s: also when both list their tools again', async (_, first, second) => {
    const [talk, name] = await clashed(first, second)
    talk.shelf.add([{ ...second }, { ...first }])
    expect(owner(talk.shelf, name)).toMatchObject({ server: first.server, original: first.name })
  })

  it.each(clashes)('H3 L2 %s: also when the first one goes and comes back', async (_, first, second) => {
    const [talk, name] = await clashed(first, second)
    talk.shelf.remove({ server: String(first.server) })
    expect(owner(talk.shelf, name).server).not.toBe(second.server)
    talk.shelf.add({ ...first })
    expect(owner(talk.shelf, name)).toMatchObject({ server: first.server, original: first.name })
  })
})

describe('tool_choice', () => {
  const choice = (name: string) => ({ tool_choice: { type: 'tool', name } })

  it.each(labels)('Q6 %s: a deferred tool that is not loaded is declared openly', async (label) => {
    const talk = talkOn(label, { tools })
    const { request } = await talk.user().prepare(choice(SEND))
    expect(request.tool_choice).toEqual(choice(SEND).tool_choice)
    expect(talk.sentTools.filter((name) => name === SEND)).toHaveLength(1)
    expect(talk.visible).toContain(SEND)
  })

  it.each(labels)('Q6 %s: so is one that is loaded', async (label) => {
    const talk = talkOn(label, { tools })
    await talk.user().prepare()
    await load(talk, SEND)
    await talk.prepare(choice(SEND))
    expect(talk.visible).toContain(SEND)
  })

  it.each(labels)('Q6 %s: the search is never forced', async (label) => {
    const talk = talkOn(label, { tools })
    const { request }: Loose = await talk.user().prepare()
    expect((await talk.prepare(choice(request.tools[0].name))).request).not.toHaveProperty('tool_choice')
    expect((await talk.prepare(choice('ToolSearch'))).request).not.toHaveProperty('tool_choice')
    const auto = { tool_choice: { type: 'auto' } }
    expect((await talk.prepare(auto)).request).toMatchObject(auto)
  })

  it('Q6 a model that refuses forced choices: the user is warned once', async () => {
    const told: string[] = []
    const talk = new Talk(quietShelf({ tools, notify: (message) => told.push(message) }), BOUND_MODEL)
    talk.user()
    await talk.prepare()
    expect(told).toEqual([])
    for (let turn = 0; turn < 3; turn++) await talk.prepare(choice('Read'))
    expect(told).toHaveLength(1)
    expect(told[0]).toContain(BOUND_MODEL)
    expect(told[0]).toContain('tool_choice')
  })

  it('Q6 N5 on a model that takes them and binds thinking, nothing sent before changes', async () => {
    const talk = new Talk(quietShelf({ tools }), 'claude-sonnet-5-5')
    const first = JSON.parse(JSON.stringify((await talk.user().prepare()).request))
    talk
      .assistant([{ type: 'thinking', thinking: 'hm', signature: signThinking(first) }, text('done')])
      .user()
    const second = JSON.parse(JSON.stringify((await talk.prepare(choice(SEND))).request))
    expect(validateRequest(second, { bindsThinking: true })).toBeUndefined()
    expect(talk.visible).toContain(SEND)
  })

  it('Q6 a name of nobody is left to the API', async () => {
    const messages = [user(text('start')), search('toolu_1'), user(found('toolu_1', SEND))]
    const request = { model: MODEL, max_tokens: 100, messages, ...choice('Nobody') }
    expect((await quietShelf({ tools }).prepare(request)).request).toMatchObject(choice('Nobody'))
  })
})
