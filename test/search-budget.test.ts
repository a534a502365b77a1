// S17: a search answer keeps within its budget, whatever the servers send, and says what it shortens.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ShelfOptions, Tool } from '../packages/core/src/index.ts'
import { estimateTokens } from '../packages/core/src/index.ts'
import { ask } from '../packages/testkit/src/ask.ts'
import { runs } from '../packages/testkit/src/runs.ts'
import { builtIn, type Loose, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'
import { callOf, seen, talkOn } from '../packages/testkit/src/wires.ts'

/** A tool whose definition takes about so many tokens, and has no compact form because of its `not`. */
function sized(name: string, tokens: number, more: Partial<Tool> = {}): Tool {
  const description = 'x'.repeat(tokens * 3)
  const input_schema = {
    type: 'object',
    properties: {
      path: { type: 'string', description, not: { const: '' } },
      mode: { enum: ['read', 'write'] },
      other: {},
    },
    required: ['path', 'mode'],
  }
  return mcp('files', name, { description: `Opens a file. ${name} does more.`, input_schema, ...more })
}

const many = (count: number, tokens: number) =>
  Array.from({ length: count }, (_, index) => sized(`open_${index}`, tokens))

const bridge = (options: ShelfOptions): Talk => talkOn('bridge', options)

async function searchOn(talk: Talk, query: string): Promise<string> {
  await talk.user('start').prepare()
  const { content } = await talk.search(query)
  return content[0].text
}

describe('S17 a search answer', () => {
  it('S17 whole definitions, then signatures, then names; each shortened one says so, and how to get the rest', async () => {
    const tools = [...many(6, 500), ...many(30, 100).map((tool) => ({ ...tool, name: `far_${tool.name}` }))]
    const shelf = quietShelf({ tools, wire: 'bridge', answerTokens: 2500 })
    const talk = new Talk(shelf)
    await talk.user('start').prepare()
    const call = talk.call('ToolSearch', { query: 'open', max_results: 36 })
    const { said } = await ask(shelf, call.input.query, call.input.max_results)
    const lines = said.split('\n')
    const whole = lines.filter((line) => line.startsWith('{'))
    const signatures = lines.filter((line) => line.startsWith('- [shortened] '))
    const names = lines.filter((line) => line.endsWith(' [name only]'))
    expect(whole.length).toBeGreaterThan(1)
    expect(signatures.length).toBeGreaterThan(1)
    expect(names.length).toBeGreaterThan(1)
    expect(whole.length + signatures.length + names.length).toBe(36)
    for (const line of whole)
      expect(JSON.parse(line)).toMatchObject({ input_schema: { required: ['path', 'mode'] } })
    expect(signatures[0]).toMatch(
      /^- \[shortened\] mcp__files__\w+\(path: string, mode: "read" \| "write"; optional: other\) Opens a file\.$/,
    )
    expect(said).toContain('Call ToolSearch with {"query": "select:<name>"} for the whole definition')
    expect(estimateTokens(said)).toBeLessThanOrEqual(2500)
  })

  it('S17 select gives a single tool whole, however little the budget', async () => {
    const text = await searchOn(
      bridge({ tools: many(4, 3000), answerTokens: 300 }),
      'select:mcp__files__open_2',
    )
    const definition = JSON.parse(text.split('\n').find((line) => line.startsWith('{')) ?? '')
    expect(definition.input_schema.properties.path.description).toHaveLength(9000)
  })

  it('S17 shortened hits are not loaded; select loads them', async () => {
    for (const label of ['reference', 'append', 'bridge']) {
      const talk = talkOn(label, { tools: many(2, 3000), answerTokens: 4000 })
      await talk.user('start').prepare()
      await talk.search('open')
      expect((await talk.prepare()).loaded, label).toEqual(['mcp__files__open_0'])
      await talk.search('select:mcp__files__open_1')
      const { loaded } = await talk.prepare()
      expect(loaded).toEqual(['mcp__files__open_0', 'mcp__files__open_1'])
      expect(seen(talk.last as Loose, loaded)).toEqual(loaded)
    }
  })

  it('S17 V2 answers an invalid call of a shortened tool with how to see the definition; runs a valid one', async () => {
    const talk = bridge({ tools: many(2, 3000), answerTokens: 4000 })
    await talk.user('start').prepare()
    await talk.search('open')
    await talk.prepare()
    const call = (input: object) =>
      talk.shelf.check(callOf(talk.last as Loose, 'call_1', 'mcp__files__open_1', input))
    expect(JSON.stringify(call({ path: 7 }))).toContain('select:mcp__files__open_1')
    expect(call({ path: 'a', mode: 'read' })).toBeUndefined()
  })

  it('S17 after a compaction loaded tools are shown again within the budget, once', async () => {
    const talk = bridge({ tools: many(8, 1000), answerTokens: 3000 })
    await talk.user('start').prepare()
    for (let index = 0; index < 8; index++) await talk.search(`select:mcp__files__open_${index}`)
    const { loaded } = await talk.prepare()
    expect(loaded).toHaveLength(8)
    talk.messages = await talk.shelf.compact(talk.messages, { summarize: async () => 'so far' } as Loose)
    const after = await talk.user('go on').prepare()
    expect(after.loaded).toEqual(loaded)
    const length = JSON.stringify(after.request.messages).length
    expect(estimateTokens('x'.repeat(length))).toBeLessThan(4500)
    const again = await talk.assistant('fine').user('more').prepare()
    expect(JSON.stringify(again.request.messages).length).toBeLessThan(length + 500)
    expect(again.loaded).toEqual(loaded)
  })
})

const json = fc.jsonValue({ maxDepth: 3 })
const name = fc.stringMatching(/^[a-z]{1,8}$/)
const property: fc.Arbitrary<Loose> = fc.oneof(
  fc.record({ type: fc.constantFrom('string', 'number', 'boolean') }),
  fc.record({ enum: fc.array(json, { maxLength: 30 }) }),
  fc.record({ type: fc.constant('array'), items: fc.record({ type: fc.constantFrom('string', 'object') }) }),
  json,
)
const anyTool = fc.record({
  name: fc.string({ minLength: 1, maxLength: 80 }),
  description: fc.string({ maxLength: 1500 }),
  input_schema: fc
    .tuple(
      fc.dictionary(fc.oneof(name, fc.string()), property, { maxKeys: 8 }),
      fc.array(fc.oneof(name, fc.string()), { maxLength: 12 }),
    )
    .map(([properties, required]) => ({
      type: 'object',
      properties,
      required: [...required, ...Object.keys(properties).slice(0, 3)],
    })),
})

describe('S17 for any tools and any budget', () => {
  const pools = fc.uniqueArray(anyTool, { selector: (tool) => tool.name, minLength: 2, maxLength: 50 })

  it('S17 the answer keeps within the budget, drops nothing, and is the same each time', async () => {
    await fc.assert(
      fc.asyncProperty(pools, fc.integer({ min: 200, max: 6000 }), async (given, answerTokens) => {
        const tools = given.map((tool) => mcp('any', tool.name, tool))
        const answer = async () => {
          const talk = bridge({ tools, answerTokens })
          await talk.user('start').prepare()
          const all = talk.shelf.partition().deferred.map((entry) => entry)
          const outcome = await talk.shelf.search({ query: '+any', max_results: 50 }, { isCompact: true })
          const said = (await ask(talk.shelf, '+any', 50)).said
          return { said, all, outcome }
        }
        const { said, all, outcome } = await answer()
        expect((await answer()).said).toBe(said)
        if (outcome.tools.length + outcome.shortened.length > 1)
          expect(estimateTokens(said)).toBeLessThanOrEqual(answerTokens)
        expect(new Set([...outcome.tools, ...outcome.shortened].map((entry) => entry.name))).toEqual(
          new Set(all.map((entry) => entry.name)),
        )
        const lines = said.split('\n')
        for (const definition of outcome.definitions) expect(said).toContain(definition)
        for (const line of lines.filter((one) => one.startsWith('{'))) JSON.parse(line)
        const named = outcome.shortened.filter((entry) => said.includes(entry.name))
        const unnamed = Number(/- and (\d+) more, not named/.exec(said)?.[1] ?? 0)
        expect(named.length + unnamed).toBeGreaterThanOrEqual(outcome.shortened.length)
        for (const entry of outcome.shortened) {
          const line = lines.find((one) => one.startsWith(`- [shortened] ${entry.name}(`))
          const { required } = entry.definition.input_schema as { required: string[] }
          for (const field of line ? required : [])
            expect(line?.includes(`${field}: `) || line?.includes(`${JSON.stringify(field)}: `)).toBe(true)
        }
      }),
      { numRuns: runs(15), seed: 20261116 },
    )
  })
})

describe('S17 one definition', () => {
  const values = Array.from({ length: 200_000 }, (_, index) => `value_${index}`)
  const huge = mcp('bad', 'pick', {
    description: 'Picks one.',
    input_schema: {
      type: 'object',
      properties: {
        choice: { type: 'string', enum: values, description: 'What to pick' },
        note: { type: 'string' },
      },
      required: ['choice'],
    },
  })

  it('S17 V1 calls are checked by the whole schema', async () => {
    const shelf = quietShelf({ tools: [huge] })
    const check = (choice: string) => shelf.check({ id: 'a', name: 'mcp__bad__pick', input: { choice } })
    expect(check('value_199999')).toBeUndefined()
    expect(check('value_200000')).toBeDefined()
  })

  it.each([
    [
      '100,000 optional fields',
      {
        type: 'object',
        properties: Object.fromEntries(values.map((key) => [key, { type: 'string' }])),
        required: ['value_3'],
        additionalProperties: false,
      },
      { properties: { value_3: { type: 'string' } }, required: ['value_3'] },
    ],
    [
      'a description of 1 MB',
      {
        type: 'object',
        properties: { a: { type: 'number', description: 'long '.repeat(200_000) } },
        required: ['a'],
      },
      { properties: { a: { type: 'number' } }, required: ['a'] },
    ],
    [
      'alternatives',
      {
        type: 'object',
        properties: { a: { oneOf: [{ const: 'x'.repeat(200_000) }, { type: 'string' }] } },
        required: ['a'],
      },
      { properties: { a: { anyOf: [{}, { type: 'string' }] } } },
    ],
    ['200,000 required fields', { type: 'object', properties: {}, required: values }, { type: 'object' }],
  ])('S17 with %s is cut so that it allows no less', (_, input_schema, kept) => {
    const [entry] = quietShelf({ tools: [mcp('bad', 'pick', { input_schema })] }).partition().deferred
    expect(entry?.json.length).toBeLessThan(100_000)
    expect(entry?.definition.input_schema).toMatchObject(kept)
    expect(entry?.json).not.toContain('additionalProperties')
  })

  it('S17 of the host itself stays as it is', () => {
    const [entry] = quietShelf({ tools: [builtIn('Pick', { input_schema: huge.input_schema })] }).partition()
      .immediate
    expect(entry?.json.length).toBeGreaterThan(2_000_000)
  })
})
