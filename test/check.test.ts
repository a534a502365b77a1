// Calls of tools that were not loaded, that do not exist, or whose input does not fit.
import { describe, expect, it } from 'vitest'
import type { Shelf, ShelfOptions, Tool } from '../packages/core/src/index.ts'
import {
  builtIn,
  exampleTools,
  type Loose,
  mcp,
  OLD_MODEL,
  quietShelf,
  Talk,
} from '../packages/testkit/src/talk.ts'

const SEARCH = 'mcp__shop__search'
const schema = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    limit: { type: 'integer' },
    price: { type: 'number' },
    sale: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    filter: { type: 'object', properties: { stock: { type: 'number' } } },
    sizes: { type: 'array', items: { type: 'number' } },
  },
  required: ['text'],
}
const shop = mcp('shop', 'search', { input_schema: schema })

/** What a check says; undefined when the call may run. */
function said(shelf: Shelf, name: string, input: unknown, messages?: Loose[]): string | undefined {
  const result: Loose = shelf.check({ id: 'toolu_1', name, input }, messages)
  if (result === undefined) return undefined
  expect(result).toMatchObject({ type: 'tool_result', tool_use_id: 'toolu_1', is_error: true })
  expect(result.content.map(({ type }: Loose) => type)).toEqual(['text'])
  return result.content[0].text
}

async function talkWith(tools: readonly Tool[], options: ShelfOptions = {}, model?: string): Promise<Talk> {
  const talk = new Talk(quietShelf({ tools, ...options }), model)
  talk.user('hello')
  await talk.prepare()
  return talk
}

const HINT = /schema was not sent[\s\S]*ToolSearch[\s\S]*"select:mcp__shop__search"[\s\S]*call it again/

describe('validation', () => {
  it("V1 MCP's own spelling of the schema counts too", () => {
    const { input_schema, ...tool } = shop
    const shelf = quietShelf({ tools: [{ ...tool, inputSchema: input_schema }] })
    expect(said(shelf, SEARCH, { text: 'shoes' })).toBeUndefined()
    expect(said(shelf, SEARCH, {})).toMatch(/text: is required/)
  })

  it('V1 a validator given by the host is asked; one that throws refuses nothing', () => {
    const asked: unknown[] = []
    const validate = (given: unknown, input: unknown) => {
      asked.push(given, input)
      return [{ path: 'limit', message: 'is odd' }]
    }
    expect(said(quietShelf({ tools: [shop], validate }), SEARCH, { limit: 3 })).toContain('limit: is odd')
    expect(asked).toEqual([schema, { limit: 3 }])
    const broken = () => {
      throw new Error('broken')
    }
    expect(said(quietShelf({ tools: [shop], validate: broken }), SEARCH, {})).toBeUndefined()
  })

  it('V1 the call of the search tool itself is not checked', async () => {
    const { shelf } = await talkWith([shop])
    expect(said(shelf, 'ToolSearch', {})).toBeUndefined()
  })
})

describe('a tool that was not loaded', () => {
  it('V2 an invalid call gets the error, and the way to the schema', async () => {
    const { shelf } = await talkWith([shop])
    const text = said(shelf, SEARCH, { limit: 3 })
    expect(text).toMatch(/text: is required/)
    expect(text).toMatch(HINT)
  })

  it('V2 with the option, a valid call is refused until the tool is loaded', async () => {
    const talk = await talkWith([shop], { unloadedCalls: 'refuse' })
    expect(said(talk.shelf, SEARCH, { text: 'shoes' })).toMatch(HINT)
    await talk.search(`select:${SEARCH}`)
    expect(said(talk.shelf, SEARCH, { text: 'shoes' }, talk.messages)).toBeUndefined()
    await talk.prepare()
    expect(said(talk.shelf, SEARCH, { text: 'shoes' })).toBeUndefined()
  })

  it('V2 once it is loaded, an invalid call gets the error alone', async () => {
    const talk = await talkWith([shop])
    await talk.search('shop')
    expect(said(talk.shelf, SEARCH, {}, talk.messages)).not.toMatch(/ToolSearch/)
    await talk.prepare()
    const text = said(talk.shelf, SEARCH, {})
    expect(text).toMatch(/text: is required/)
    expect(text).not.toMatch(/ToolSearch|not sent/)
  })

  it('V2 a tool that is not deferred gets the error alone, and is never refused', async () => {
    const { shelf } = await talkWith([{ ...shop, alwaysLoad: true }, ...exampleTools], {
      unloadedCalls: 'refuse',
    })
    const text = said(shelf, SEARCH, {})
    expect(text).toMatch(/text: is required/)
    expect(text).not.toMatch(/ToolSearch|not sent/)
    expect(said(shelf, SEARCH, { text: 'shoes' })).toBeUndefined()
  })

  it.each<[string, ShelfOptions, string?]>([
    ['the mode is off', { toolSearch: false }],
    ['the kill switch is on', { environment: { TOOLSHELF_DISABLE_BETAS: '1' } }],
    ['the model cannot', {}, OLD_MODEL],
    ['permissions hide the search tool', { isHidden: ({ name }) => name === 'ToolSearch' }],
  ])(
    'V2 no hint and no refusal when the search tool is not in the working set: %s',
    async (_, options, model) => {
      const talk = await talkWith([shop], { ...options, unloadedCalls: 'refuse' }, model)
      expect(talk.sentTools).toEqual([SEARCH])
      const text = said(talk.shelf, SEARCH, {})
      expect(text).toMatch(/text: is required/)
      expect(text).not.toMatch(/ToolSearch|not sent/)
      expect(said(talk.shelf, SEARCH, { text: 'shoes' })).toBeUndefined()
      expect(said(talk.shelf, 'mcp__shop__find', {})).not.toMatch(/ToolSearch/)
    },
  )

  it('V2 through the bridge, the wrapped call is checked and gets the same hint', async () => {
    const talk = await talkWith([shop], { wire: 'bridge' })
    const wrapped = (input: Loose) => ({ name: SEARCH, arguments: input })
    expect(said(talk.shelf, 'CallTool', wrapped({ text: 'shoes' }))).toBeUndefined()
    expect(said(talk.shelf, 'CallTool', wrapped({}))).toMatch(HINT)
    await talk.search('shop')
    await talk.prepare()
    expect(said(talk.shelf, 'CallTool', wrapped({}))).toMatch(/text: is required/)
    expect(said(talk.shelf, 'CallTool', wrapped({}))).not.toMatch(/ToolSearch/)
    for (const input of [{ arguments: {} }, { name: 5 }, null, undefined])
      expect(said(talk.shelf, 'CallTool', input)).toContain('CallTool')
  })
})

describe('strings that should have been something else', () => {
  it.each<[string, Loose, RegExp]>([
    ['a whole number', { limit: '5' }, /limit must be a whole number, not the string "5"/],
    ['a number', { price: '9.50' }, /price must be a number, not the string "9\.50"/],
    ['a boolean', { sale: 'true' }, /sale must be true or false, not the string "true"/],
    ['a list', { tags: '["a","b"]' }, /tags must be a JSON list, not the string/],
    ['an object', { filter: '{"stock":1}' }, /filter must be a JSON object, not the string/],
    [
      'a number in an object',
      { filter: { stock: '1' } },
      /filter\.stock must be a number, not the string "1"/,
    ],
    ['a number in a list', { sizes: [1, '42'] }, /sizes\.1 must be a number, not the string "42"/],
  ])('V3 %s', async (_, input, explanation) => {
    const { shelf } = await talkWith([shop])
    const text = said(shelf, SEARCH, { text: 'shoes', ...input })
    expect(text).toMatch(explanation)
    expect(text).toMatch(HINT)
  })

  it.each<[string, Loose]>([
    ['a type or null', { type: ['integer', 'null'] }],
    ['a union', { anyOf: [{ type: 'integer' }, { type: 'null' }], default: null }],
    ['a reference', { $ref: '#/$defs/count' }],
    ['an allOf', { allOf: [{ type: 'integer' }] }],
  ])('V3 where the schema says it by %s', async (_, limit) => {
    const input_schema = { type: 'object', properties: { limit }, $defs: { count: { type: 'integer' } } }
    const { shelf } = await talkWith([mcp('shop', 'search', { input_schema })])
    expect(said(shelf, SEARCH, { limit: '5' })).toMatch(
      /limit must be a whole number[\s\S]*not the string "5"/,
    )
  })

  it('V3 accepts a string for a string or a number', async () => {
    const limit = { type: ['string', 'number'] }
    const input_schema = {
      type: 'object',
      properties: { limit, text: { type: 'string' } },
      required: ['text'],
    }
    const { shelf } = await talkWith([mcp('shop', 'search', { input_schema })])
    expect(said(shelf, SEARCH, { limit: '5', text: '5' })).toBeUndefined()
    expect(said(shelf, SEARCH, { limit: '5' })).not.toMatch(/not the string/)
  })
})

describe('a name that nobody has', () => {
  it('V4 gets the nearest names', async () => {
    const { shelf } = await talkWith([...exampleTools, shop, builtIn('Read')])
    expect(said(shelf, 'mcp__slack__send_mesage', {})).toMatch(/send_mesage[\s\S]*mcp__slack__send_message/)
    expect(said(shelf, 'slack_send_message', {})).toContain('mcp__slack__send_message')
    expect(said(shelf, 'mcp__Shop__Search', {})).toContain(SEARCH)
    expect(said(shelf, 'Raed_file', {})).toContain('no tool named "Raed_file"')
    expect(said(shelf, 'Reads', {})).toContain('Read')
  })

  it('V4 never a name that permissions hide, and such a tool cannot be called', async () => {
    const isHidden = ({ name }: Tool) => name === 'send_message'
    const { shelf } = await talkWith(exampleTools, { isHidden })
    expect(said(shelf, 'slack_send_messages', {})).not.toContain('mcp__slack__send_message')
    expect(said(shelf, 'mcp__slack__send_message', {})).toMatch(/no tool named/)
  })
})
