// Wrong configuration throws once, early, with a code, the value and the remedy. Odd tools and odd calls never throw.
import { describe, expect, it } from 'vitest'
import { mcpName, type Shelf, ShelfError, type ShelfOptions, type Tool } from '../packages/core/src/index.ts'
import { sizeOf } from '../packages/testkit/src/runs.ts'
import { builtIn, type Loose, MODEL, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'

const read = builtIn('Read')
const send = mcp('slack', 'send_message')
const SEND = 'mcp__slack__send_message'

async function errorOf(action: () => unknown): Promise<Loose> {
  try {
    await action()
  } catch (error) {
    return error
  }
  return undefined
}

/** The error is ours: a code, and a message that holds each of the parts. */
function expectShelfError(error: Loose, code: string, ...parts: string[]): void {
  expect(error, String(error?.stack)).toBeInstanceOf(ShelfError)
  expect(error.code).toBe(code)
  expect(error.message).toContain(code)
  for (const part of parts) expect(error.message).toContain(part)
}

describe('wrong configuration', () => {
  const wrong: [string, Loose, string][] = [
    ['wire', 'telepathy', 'reference'],
    ['hostedSearch', 'grep', 'bm25'],
    ['additions', 'both', 'value'],
    ['strategy', 'eager', 'on-demand'],
    ['announce', 'shout', 'prepend'],
    ['unloadedCalls', 'maybe', 'refuse'],
    ['contextWindow', 0, 'number'],
    ['contextWindow', Number.NaN, 'number'],
    ['announceDescriptions', -1, 'number'],
    ['announceShare', '2 %', 'number'],
    ['announceInstructions', Number.POSITIVE_INFINITY, 'number'],
    ['countTimeoutMs', '3 s', 'number'],
    ['maxResults', 0, 'number'],
    ['pendingWaitMs', -5, 'number'],
    ['descriptionLimit', 0, 'number'],
    ['validate', {}, 'function'],
    ['timer', 5, 'function'],
    ['notify', 'loud', 'function'],
    ['trace', [], 'function'],
    ['countTokens', 12, 'function'],
    ['rank', 'nonsense', 'function'],
    ['isHidden', ['Bash'], 'function'],
    ['allowLoad', true, 'function'],
    ['toolSearch', 5, 'auto'],
    ['searchTool', 'search tool', 'letters'],
    ['searchTool', '', 'letters'],
    ['callTool', 'x'.repeat(65), 'letters'],
    ['tombstones', 'yes', 'use'],
    ['provider', 5, 'use'],
    ['baseURL', 5, 'use'],
    ['environment', null, 'use'],
    ['cacheControl', 'ephemeral', 'use'],
    ['toolSerach', true, 'toolSearch'],
    ['constructor', 1, 'unknown option'],
  ]

  it.each(wrong)(
    'option %s = %j throws BAD_OPTION at once, with name, value and remedy',
    async (name, value, remedy) => {
      const error = await errorOf(() => quietShelf({ [name]: value } as ShelfOptions))
      const shown = JSON.stringify(value)?.slice(0, 20) ?? 'function'
      expectShelfError(error, 'BAD_OPTION', `"${name}"`, shown, remedy)
      expect(error.value).toBe(value)
    },
  )

  it.each([
    [{ models: 'all' }, '"models"'],
    [{ models: [{ match: '(' }] }, 'position 0'],
    [{ providers: [{ provider: 'x' }] }, '"providers"'],
    [{ withoutReferences: [''] }, '"withoutReferences"'],
    ['none', 'must be an object'],
    [[], 'must be an object'],
    [null, 'must be an object'],
  ])('capabilities %j throw BAD_CAPABILITIES', async (capabilities, part) => {
    const error = await errorOf(() => quietShelf({ capabilities } as Loose))
    expectShelfError(error, 'BAD_CAPABILITIES', part, 'defaultCapabilities')
  })

  it('D10 two built-ins of one name throw DUPLICATE_TOOL and name both owners', async () => {
    const tools = [read, builtIn('Bash'), builtIn('Read')]
    const error = await errorOf(() => quietShelf({ tools }))
    expectShelfError(error, 'DUPLICATE_TOOL', '"Read"', 'built-in number 1', 'built-in number 3', 'Rename')
  })

  it('D10 two of one name in one add throw, and the shelf stays as it was', async () => {
    const talk = new Talk(quietShelf({ tools: [read, send] })).user()
    const error = await errorOf(() =>
      talk.shelf.add([builtIn('Edit'), { ...builtIn('Edit'), description: 'other' }]),
    )
    expectShelfError(error, 'DUPLICATE_TOOL', '"Edit"')
    await talk.prepare()
    expect(talk.sentTools).not.toContain('Edit')
  })

  it.each(['ToolSearch', 'CallTool', 'DeferredToolPlaceholder'])(
    'D10 a built-in that takes the name %s throws DUPLICATE_TOOL',
    async (name) => {
      const error = await errorOf(() => quietShelf({ tools: [builtIn(name)] }))
      expectShelfError(error, 'DUPLICATE_TOOL', `"${name}"`, 'searchTool')
    },
  )

  it('D10 the search tool and the call tool cannot have one name', async () => {
    const error = await errorOf(() => quietShelf({ searchTool: 'Tool', callTool: 'Tool' }))
    expect(error).toBeInstanceOf(ShelfError)
  })

  it('H3 accepts the same name at several servers, or twice at one', async () => {
    const told: string[] = []
    const tools = [mcp('a', 'x'), mcp('b', 'x'), mcp('a', 'x', { description: 'again' })]
    const talk = new Talk(quietShelf({ tools, notify: (message) => told.push(message) })).user()
    const { history: messages }: Loose = await talk.prepare()
    expect(messages[1].addedNames).toEqual(['mcp__a__x', 'mcp__b__x'])
    expect(told).toEqual([expect.stringContaining('"x" twice')])
  })

  it.each([
    ['a tool with a space', 'BAD_TOOL_NAME'],
    ['x'.repeat(129), 'BAD_TOOL_NAME'],
    ['naïve', 'BAD_TOOL_NAME'],
    ['', 'BAD_TOOL'],
    [undefined, 'BAD_TOOL'],
    [5, 'BAD_TOOL'],
  ])('a built-in named %j throws %s', async (name, code) => {
    const error = await errorOf(() => quietShelf({ tools: [builtIn(name as string)] }))
    expectShelfError(error, code)
    const talk = new Talk(quietShelf({ tools: [read] })).user()
    expectShelfError(await errorOf(() => talk.shelf.add(builtIn(name as string))), code)
    expect((await talk.prepare()).request.tools).toHaveLength(1)
  })

  it.each([[[null]], [['Read']], [[undefined]], [[[]]]])('tools %j throw BAD_TOOL', async (tools) => {
    expectShelfError(await errorOf(() => quietShelf({ tools } as Loose)), 'BAD_TOOL')
    expectShelfError(await errorOf(() => quietShelf().add(tools as Loose)), 'BAD_TOOL')
  })

  it.each([
    ['tools', null],
    ['tools', 'Read'],
    ['tools', { Read: {} }],
    ['servers', null],
    ['servers', { slack: null }],
    ['servers', { slack: { state: 'asleep' } }],
  ])('%s = %j throws a ShelfError at once', async (name, value) => {
    const error = await errorOf(() => quietShelf({ [name]: value } as Loose))
    expectShelfError(error, 'BAD_OPTION', name)
  })

  it.each(['saved', { betas: null }, { kept: 5 }, { step: 'x', search: 'y' }, null])(
    'a spoilt state %j is refused at once, or does no harm',
    async (state) => {
      let shelf: Shelf | undefined
      const error = await errorOf(() => {
        shelf = quietShelf({ tools: [send], state } as Loose)
      })
      if (error) expectShelfError(error, 'BAD_OPTION', 'state')
      else if (shelf) await new Talk(shelf).user().prepare()
    },
  )

  it.each([
    ['nothing', undefined],
    ['no messages', { model: MODEL }],
    ['messages that are no list', { model: MODEL, messages: 'hi' }],
    ['no model', { messages: [{ role: 'user', content: 'hi' }] }],
    ['a model that is no text', { model: 5, messages: [] }],
  ])('a request with %s is refused with BAD_REQUEST', async (_, request) => {
    expectShelfError(
      await errorOf(() => quietShelf({ tools: [send] }).prepare(request as Loose)),
      'BAD_REQUEST',
    )
  })

  it.each([
    ['keep', { summarize: 'x', keep: -1 }],
    ['keep', { summarize: 'x', keep: 1.5 }],
    ['summarize', { keep: 1 }],
    ['summarize', { summarize: () => undefined }],
    ['summarize', { summarize: 5 }],
  ])('compact with a wrong %s throws BAD_OPTION: %j', async (name, options) => {
    const messages = [{ role: 'user', content: 'hi' }]
    const error = await errorOf(() => quietShelf({ tools: [send] }).compact(messages, options as Loose))
    expectShelfError(error, 'BAD_OPTION', `"${name}"`)
  })
})

const prototypeNames = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']

describe.each(prototypeNames)('the name %s', (name) => {
  it('H3 works as a built-in, as a tool and as a server', async () => {
    const servers = JSON.parse(`{ "${name}": { "instructions": "Mind this." } }`)
    const tools = [read, builtIn(name, { shouldDefer: true }), mcp(name, name), mcp('a', name)]
    const full = [name, mcpName(name, name), `mcp__a__${name}`]
    for (const wire of ['reference', 'append', 'bridge', 'addition'] as const) {
      const talk = new Talk(quietShelf({ tools, servers, wire })).user()
      const { history: messages }: Loose = await talk.prepare()
      expect(messages[1].addedNames).toEqual([...full].sort())
      expect(messages[1].content).toContain('Mind this.')
      await talk.search(`select:${full.join(',')}`)
      expect((await talk.prepare()).loaded).toEqual(full)
      for (const one of full) {
        expect(talk.shelf.check({ id: 'x', name: one, input: {} })).toBeUndefined()
        expect(talk.shelf.resolve({ id: 'x', name: one, input: {} }).original).toBe(name)
      }
    }
  })

  it('S1 is unknown to select: and to a call if no tool has it', async () => {
    const talk = new Talk(quietShelf({ tools: [read, send] })).user()
    await talk.prepare()
    const result = await talk.search(`select:${name}`)
    expect(result.content).toEqual([
      { type: 'text', text: expect.stringContaining(`There is no tool named "${name}"`) },
    ])
    expect((await talk.prepare()).loaded).toEqual([])
    expect(talk.shelf.check({ id: 'x', name, input: {} })).toMatchObject({ is_error: true })
    const wrapped = { id: 'x', name: 'CallTool', input: { name, arguments: {} } }
    expect(talk.shelf.check(wrapped)).toMatchObject({ is_error: true })
  })

  it('S12 as a query, an input and a server’s state never throws', async () => {
    const { shelf } = quietTalk([send])
    shelf.failed(name, name)
    expect(
      await shelf.answer({ id: 'x', name: 'ToolSearch', input: { query: `+${name} ${name}` } }),
    ).toBeDefined()
    shelf.remove({ server: name })
    shelf.remove(name)
    const input = JSON.parse(`{ "${name}": { "query": "slack" }, "query": "slack" }`)
    expect(await shelf.answer({ id: 'x', name: 'ToolSearch', input })).toMatchObject({
      content: [{ tool_name: SEND }],
    })
  })
})

function quietTalk(tools: readonly Tool[], options: ShelfOptions = {}) {
  return new Talk(quietShelf({ tools, ...options })).user()
}

describe('long names', () => {
  it.each([
    ['s', 't'.repeat(200)],
    ['s'.repeat(200), 't'],
    ['ü'.repeat(70), '名前'.repeat(40)],
  ])('H3 a name over 64 characters is shortened, found, called and mapped back', async (server, tool) => {
    const talk = quietTalk([mcp(server, tool), mcp(server, `${tool}x`)])
    const { history: messages }: Loose = await talk.prepare()
    const [name, other] = messages[1].addedNames
    expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    expect(name).not.toBe(other)
    await talk.search(`select:${name},${other}`)
    await talk.prepare()
    expect(talk.visible).toEqual(expect.arrayContaining([name, other]))
    const originals = [name, other].map((one) => talk.shelf.resolve({ id: 'x', name: one, input: {} }))
    expect(originals.map(({ original }) => original).sort()).toEqual([tool, `${tool}x`])
    expect(originals.map((found) => found.server)).toEqual([server, server])
  })
})

describe('schemas', () => {
  const cyclic: Loose = { type: 'object', properties: { self: {} } }
  cyclic.properties.self = cyclic
  const manifold: Loose = { type: 'object', properties: {} }
  manifold.anyOf = Array.from({ length: 48 }, () => manifold)
  manifold.properties.self = manifold
  /** A small object whose JSON has no end: each level holds the next one twice. */
  const doubled = Array.from({ length: 60 }).reduce<Loose>(
    (inner) => ({ type: 'object', properties: { a: inner, b: inner } }),
    { type: 'object' },
  )
  const deep: Loose = { type: 'object' }
  for (let level = 0, at = deep; level < 20_000; level++, at = at.properties.next) {
    at.properties = { next: { type: 'object' } }
  }
  const wide = Object.fromEntries(
    Array.from({ length: sizeOf({ quick: 5000, full: 20_000 }) }, (_, index) => [
      `p${index}`,
      { type: 'string' },
    ]),
  )
  const schemas: [string, Loose][] = [
    ['true', true],
    ['false', false],
    ['null', null],
    ['missing', undefined],
    ['empty', {}],
    ['a list', []],
    ['text', 'object'],
    ['without a type', { properties: { a: { type: 'string' } } }],
    ['of several types', { type: ['object', 'null'] }],
    [
      'cyclic through $ref',
      { type: 'object', properties: { a: { $ref: '#' } }, $defs: { b: { $ref: '#/$defs/b' } } },
    ],
    ['a $ref to itself', { $ref: '#' }],
    ['a cyclic JS object', cyclic],
    ['a JS object that holds itself many times', manifold],
    ['a JS object that holds parts many times over', doubled],
    ['a number no JSON has', { type: 'object', default: 10n }],
    ['very deep', deep],
    ['huge', { type: 'object', properties: wide }],
    [
      'with prototype keys',
      JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{}}}'),
    ],
  ]

  it.each(schemas)('V1 a schema that is %s harms nobody', async (_, schema) => {
    for (const field of ['input_schema', 'inputSchema'] as const) {
      const odd = { ...mcp('odd', 'tool'), input_schema: undefined, [field]: schema }
      const plain = { ...builtIn('Odd'), input_schema: undefined, [field]: schema }
      for (const wire of ['reference', 'bridge'] as const) {
        const talk = quietTalk([plain, odd, send], { wire, toolSearch: 'auto:1', contextWindow: 1000 })
        await talk.prepare()
        await talk.search('odd tool')
        expect((await talk.prepare()).loaded).toEqual(['mcp__odd__tool'])
        const call = { id: 'x', name: 'mcp__odd__tool', input: { a: { a: {} } } }
        expect([undefined, true]).toContain(talk.shelf.check(call)?.is_error)
        expect(talk.shelf.check({ ...call, name: 'Odd', input: undefined })).toBeUndefined()
      }
    }
  })

  it('a built-in that brings its own cyclic fields can still be sent', async () => {
    const client: Loose = {}
    client.self = client
    const talk = quietTalk([{ ...read, client } as Tool, { ...send, client } as Tool])
    expect(JSON.stringify((await talk.prepare()).request)).toContain('"Read"')
  })
})

describe('odd calls', () => {
  const inputs: Loose[] = [
    undefined,
    null,
    'text',
    5,
    [],
    {},
    { query: null },
    { query: {} },
    { query: ['a'] },
  ]

  it.each(inputs)('S12 a search with the input %j gets an answer', async (input) => {
    const { shelf } = quietTalk([send])
    expect(await shelf.answer({ id: 'x', name: 'ToolSearch', input })).toMatchObject({
      type: 'tool_result',
      tool_use_id: 'x',
      is_error: true,
      content: [{ type: 'text', text: expect.stringContaining('select:') }],
    })
  })

  it.each([
    {},
    { id: 'x' },
    { id: 'x', name: null },
    { id: 'x', name: 5, input: {} },
    { id: 'x', name: '', input: {} },
    { id: 'x', name: 'n'.repeat(100_000), input: {} },
    { id: 'x', name: 'CallTool' },
    { id: 'x', name: 'CallTool', input: null },
    { id: 'x', name: 'CallTool', input: 'text' },
    { id: 'x', name: 'CallTool', input: { name: 5, arguments: 'x' } },
    { id: 'x', name: SEND },
    { id: 'x', name: SEND, input: null },
  ])('V4 a call %j is checked, resolved and answered without a throw', async (call: Loose) => {
    for (const wire of ['reference', 'bridge'] as const) {
      const talk = quietTalk([send], { wire })
      await talk.prepare()
      const checked = talk.shelf.check(call)
      if (call.name !== SEND) expect(checked).toMatchObject({ is_error: true })
      expect(JSON.stringify(checked ?? '').length).toBeLessThan(1000)
      talk.shelf.resolve(call)
      expect(await talk.shelf.answer(call)).toBeUndefined()
    }
  })

  it.each([[undefined], [null], [[]], [[null]]])(
    'L1 the output %j of a tool becomes a tool_result without a throw',
    async (output: Loose) => {
      const talk = quietTalk([read, send])
      const call = talk.call('Read')
      talk.assistant([call]).user([talk.shelf.result(call, output)])
      expect(talk.messages.at(-1).content[0].content).toMatchObject([{ type: 'text' }])
      await talk.prepare()
    },
  )
})
