// Arguments whose names the API refuses: they are sent under others, and reach the server under its own.
import { describe, expect, it } from 'vitest'
import { createShelf } from '../packages/core/src/index.ts'
import { builtIn, type Loose, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'
import { load, talkOn, wireCases } from '../packages/testkit/src/wires.ts'

const schema = {
  type: 'object',
  properties: {
    'Date<': { type: 'string', description: 'Before this day.' },
    'Date>': { type: 'string' },
    Date_: { type: 'string' },
    'filter[]': { type: 'array', items: { type: 'integer' } },
    名前: { type: 'string' },
    ['x'.repeat(70)]: { type: 'string' },
    plain: { type: 'object', properties: { 'a<': { type: 'string' } } },
  },
  required: ['Date<', 'plain'],
}
const calls = mcp('twilio', 'list_calls', { input_schema: schema })
const CALLS = 'mcp__twilio__list_calls'
const tools = [builtIn('Bash'), calls]
const input = {
  Date__2: '2026-01-01',
  Date__3: '2026-02-01',
  Date_: 'own',
  filter_: [1],
  plain: { 'a<': 'x' },
}
const own = {
  'Date<': '2026-01-01',
  'Date>': '2026-02-01',
  Date_: 'own',
  'filter[]': [1],
  plain: { 'a<': 'x' },
}

const definitionOf = (shelf: ReturnType<typeof quietShelf>): Loose =>
  shelf.partition().pool.byName.get(CALLS)?.definition

describe('names of arguments', () => {
  it.each(wireCases.map(({ label }) => label))(
    '%s: a tool with names that the API refuses can be loaded',
    async (label) => {
      const talk = talkOn(label, { tools })
      await talk.user('start').prepare()
      await load(talk, CALLS)
      await expect(talk.prepare()).resolves.toMatchObject({ loaded: [CALLS] })
    },
  )

  it('with tool search off too', async () => {
    await expect(new Talk(quietShelf({ tools, toolSearch: false })).user().prepare()).resolves.toBeDefined()
  })

  it('are changed at the top only, kept distinct, and reported with the server’s own', () => {
    const { properties, required } = definitionOf(quietShelf({ tools })).input_schema
    expect(Object.keys(properties)).toEqual([
      'Date__2',
      'Date__3',
      'Date_',
      'filter_',
      '_',
      'x'.repeat(64),
      'plain',
    ])
    expect(required).toEqual(['Date__2', 'plain'])
    expect(properties.Date__2.description).toBe('("Date<") Before this day.')
    expect(properties.plain).toEqual(schema.properties.plain)
  })

  it('reach the server as it has them, directly and through the bridge', () => {
    const shelf = quietShelf({ tools })
    expect(shelf.resolve({ id: 'c', name: CALLS, input }).input).toEqual(own)
    const wrapped = { id: 'c', name: 'CallTool', input: { name: CALLS, arguments: input } }
    expect(shelf.resolve(wrapped).input).toEqual(own)
  })

  it('are checked by the schema as the server gave it, and named as the model knows them (V1)', () => {
    const shelf = createShelf({ environment: {}, notify: () => {}, rank: 'classic', tools })
    const check = (given: object) => shelf.check({ id: 'c', name: CALLS, input: given }) as Loose
    expect(check(input)).toBeUndefined()
    expect(check({ ...input, Date__2: 7 })?.content[0].text).toContain('Date__2')
    expect(check({ ...input, filter_: '[1]' })?.content[0].text).toContain('filter_ must be a JSON list')
  })

  it('of examples change with them', () => {
    const shelf = quietShelf({ tools: [{ ...calls, input_examples: [own, 'odd'] } as Loose] })
    expect(definitionOf(shelf).input_examples).toEqual([input, 'odd'])
  })

  it('that the API takes stay, as does the definition', () => {
    const plain = mcp('a', 'b', { input_schema: { type: 'object', properties: { 'a.b-c': {} } } })
    const { definition, names } = quietShelf({ tools: [plain] }).tools()[0] as Loose
    expect(definition.input_schema).toBe(plain.input_schema)
    expect(names).toBeUndefined()
  })
})
