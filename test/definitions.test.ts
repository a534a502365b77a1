// What becomes of a server's definition, exactly: older schemas rewritten, large ones shortened, names and texts made sendable.
import { describe, expect, it } from 'vitest'
import { buildPool, type PoolOptions } from '../packages/core/src/pool.ts'
import { fitTools } from '../packages/core/src/signature.ts'
import type { Loose } from '../packages/testkit/src/talk.ts'

function built(tool: object, options: Partial<PoolOptions> = {}): Loose {
  const pool = buildPool([{ server: 's', name: 't', ...tool } as never], {
    reserved: [],
    warn: () => {},
    ...options,
  })
  return pool.tools[0]
}

const schemaOf = (input_schema: unknown) => built({ input_schema }).definition.input_schema

describe('H5 a schema of another draft, or none', () => {
  const object = (more: object) => ({ type: 'object', ...more })
  const property = (schema: unknown) => object({ properties: { p: schema } })

  it.each<[string, unknown, unknown]>([
    ['none', undefined, object({ properties: {} })],
    ['true', true, object({ properties: {} })],
    ['without a type', { properties: { a: {} } }, object({ properties: { a: {} } })],
    [
      'alternatives at the top',
      { anyOf: [{ properties: { a: {} } }, 5], properties: { b: {} }, required: ['b'] },
      object({ properties: { a: {}, b: {} }, required: ['b'] }),
    ],
    [
      'properties that are none',
      object({ properties: 5, title: 'T' }),
      object({ title: 'T', properties: {} }),
    ],
    [
      'required names that are none',
      object({ required: [1], properties: { a: {} } }),
      object({ properties: { a: {} } }),
    ],
  ])('%s', (_, given, sent) => expect(schemaOf(given)).toEqual(sent))

  it.each<[string, unknown, unknown]>([
    [
      'a list of items',
      { items: [{}, true], additionalItems: false },
      { prefixItems: [{}, true], items: false },
    ],
    ['a list of items alone', { items: [{}] }, { prefixItems: [{}] }],
    [
      'an exclusive limit',
      { minimum: 1, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: true },
      { exclusiveMinimum: 1, exclusiveMaximum: 5 },
    ],
    [
      'a limit that is not exclusive',
      { minimum: 1, exclusiveMinimum: false, maximum: 2 },
      { minimum: 1, maximum: 2 },
    ],
    ['types that are none', { type: ['string', 'text', 'string'] }, { type: ['string'] }],
    ['a type that is none', { type: 'text', title: 'T' }, { title: 'T' }],
    ['keywords of no draft', { type: 'text', unit: 'm' }, { unit: 'm' }],
    ['names that are none', { type: 'text', required: ['a', 5, 'a'] }, { required: ['a'] }],
    ['a schema that is none', { type: 'text', not: 5, items: 'x' }, {}],
    ['schemas in a list', { anyOf: [{ type: 'text' }, true, 7] }, { anyOf: [{}, true, {}] }],
    [
      'schemas by name',
      { type: 'text', properties: { __proto__: null, a: { type: 'text' }, b: 3 } },
      { properties: { a: {}, b: {} } },
    ],
    [
      'dependencies',
      { type: 'text', dependencies: { a: ['b'], c: { type: 'text' } } },
      { dependencies: { a: ['b'], c: {} } },
    ],
    [
      'required names by name',
      { type: 'text', dependentRequired: { a: ['b', 4], c: 5 } },
      { dependentRequired: { a: ['b'], c: [] } },
    ],
    [
      'numbers that are none',
      { type: 'text', multipleOf: 0, minLength: -1, maxLength: 3, minimum: '1', uniqueItems: 'yes' },
      { maxLength: 3 },
    ],
    [
      'a nested one',
      { properties: { q: { items: { type: 'text' } } } },
      { properties: { q: { items: {} } } },
    ],
  ])('%s', (_, given, sent) => expect(schemaOf(property(given))).toEqual(property(sent)))

  it('one without mistakes is sent as it is', () => {
    const schema = property({ type: ['string', 'null'], minimum: 1, items: { enum: [1] } })
    expect(schemaOf(schema)).toBe(schema)
  })

  it('a property called __proto__ stays one', () => {
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"text"},"a":{}}}')
    expect(JSON.stringify(schemaOf(schema))).toBe('{"type":"object","properties":{"__proto__":{},"a":{}}}')
  })
})

describe('Q9 fields of a definition', () => {
  it('of a server: only examples and strictness, where they have the right type', () => {
    const { definition } = built({
      description: 'D',
      input_examples: [{}],
      strict: true,
      type: 'custom',
      title: 'T',
      eager: 1,
    })
    expect(Object.keys(definition)).toEqual([
      'name',
      'description',
      'input_schema',
      'input_examples',
      'strict',
    ])
    expect(Object.keys(built({ description: 5, input_examples: {}, strict: 'yes' }).definition)).toEqual([
      'name',
      'input_schema',
    ])
  })

  it("of the host: all but ours; a hosted tool's schema is its own business", () => {
    const host = {
      server: undefined,
      alwaysLoad: true,
      title: 'T',
      call: () => {},
      eager: 1,
      none: undefined,
    }
    expect(Object.keys(built(host).definition)).toEqual(['name', 'input_schema', 'eager'])
    expect(Object.keys(built({ ...host, type: 'web_search_20250305' }).definition)).toEqual([
      'name',
      'eager',
      'type',
    ])
    expect(built({ ...host, type: 'custom' }).definition.input_schema).toEqual({
      type: 'object',
      properties: {},
    })
    expect(built({ ...host, type: 'hosted', input_schema: {} }).definition.input_schema).toEqual({
      type: 'object',
    })
  })

  it('what JSON cannot write is left out, with a warning; half a character is replaced', () => {
    const warnings: string[] = []
    const warn = (message: string) => warnings.push(message)
    const big = { type: 'object', default: 1n }
    expect(built({ server: undefined, size: 1n }, { warn }).definition).toEqual({
      name: 't',
      input_schema: { type: 'object', properties: {} },
    })
    expect(built({ server: undefined, input_schema: big, eager: 1 }, { warn }).definition).toEqual({
      name: 't',
      input_schema: { type: 'object', properties: {} },
      eager: 1,
    })
    expect(built({ server: undefined, input_schema: big, size: 1n }, { warn }).definition).toEqual({
      name: 't',
      input_schema: { type: 'object', properties: {} },
    })
    expect(warnings.map((warning) => warning.replace(/.*"t" /, ''))).toEqual([
      'cannot be serialised as JSON; the parts that cannot are left out.',
      'cannot be serialised as JSON; the parts that cannot are left out.',
      'is sent without its schema.',
    ])
    expect(built({ server: undefined, description: 'a\ud800\\\ud801' }).definition.description).toBe(
      'a\ufffd\\\ufffd',
    )
  })
})

describe('S17 a definition that is too large', () => {
  const shortened = (schema: object, definitionLimit: number, description?: string): Loose =>
    built({ description, input_schema: { type: 'object', ...schema } }, { definitionLimit }).definition
  const long = 'x'.repeat(300)
  const cutLong = `${'x'.repeat(199)}…`
  const filler = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `filler_${index}`,
        { type: 'string', title: 'y'.repeat(60) },
      ]),
    )

  it('loses what would forbid more than the original, and long lists of values', () => {
    const values = Array.from({ length: 30 }, (_, index) => `value-${index}`)
    const schema = {
      properties: {
        a: { enum: values, description: 'One.', not: {}, if: {}, default: long },
        b: { enum: values },
        c: { enum: values.slice(0, 20), oneOf: [{ const: 1 }, { const: [long] }] },
        d: { enum: [...values, long].reverse(), examples: ['e'] },
        e: false,
      },
      additionalProperties: false,
    }
    const { input_schema } = shortened(schema, 2_300)
    const examples = values.slice(0, 20)
    expect(input_schema.properties).toEqual({
      a: { description: 'One. [shortened: one of 30 values, of which 20 are shown]', examples },
      b: { description: '[shortened: one of 30 values, of which 20 are shown]', examples },
      c: { enum: examples, anyOf: [{ const: 1 }, {}] },
      d: {
        description: '[shortened: one of 31 values, of which 19 are shown]',
        examples: [...values].reverse().slice(0, 19),
      },
      e: false,
    })
    expect(input_schema.additionalProperties).toBe(false)
  })

  it('then drops long texts, then depth, then optional parts, then everything', () => {
    const schema = {
      properties: {
        a: { type: 'string', description: long, title: long, pattern: long, format: 'date' },
        b: { type: 'object', properties: { c: { type: 'object', properties: { d: filler(12) } } } },
        ...filler(20),
      },
      required: ['b', 'none'],
    }
    const whole = built({ input_schema: { type: 'object', ...schema } }).json.length
    const at = (limit: number) => shortened(schema, limit).input_schema
    expect(at(whole).properties).toEqual(schema.properties)
    const { a, b } = at(whole - 100).properties
    expect(a).toEqual({ type: 'string', description: cutLong, title: cutLong, format: 'date' })
    expect(b).toEqual(schema.properties.b)
    expect(at(whole - 700).properties.b).toEqual({
      type: 'object',
      properties: { c: { type: 'object', properties: { d: { description: '[shortened]' } } } },
    })
    const flat = at(whole - 2_200)
    expect(flat.properties.b).toEqual({ type: 'object', description: '[shortened]' })
    expect(Object.keys(flat.properties)).toHaveLength(22)
    expect(at(400)).toEqual({
      type: 'object',
      properties: { b: { type: 'object', description: '[shortened]' } },
      required: ['b', 'none'],
    })
    expect(at(190)).toEqual({
      type: 'object',
      description: '[shortened: the schema is too large to be shown]',
    })
  })
})

describe('S17 a definition in one line', () => {
  /** Two tools, of which the budget takes only lines. */
  function lineOf(schema: object, description?: string, budget = 3_000): string {
    const definition = {
      name: 't',
      ...(description === undefined ? {} : { description }),
      input_schema: schema,
    } as never
    const tools = [0, 1].map((index) => ({ name: `t${index}`, definition, json: 'x'.repeat(budget) }))
    return fitTools(tools, budget, 'Search').text.split('\n')[1] ?? ''
  }
  const typed = (schema: unknown, more: object = {}) =>
    lineOf({ properties: { p: schema }, required: ['p'], ...more }).replace(
      /^- \[shortened\] t\(p: (.*)\)$/,
      '$1',
    )

  it.each<[unknown, string]>([
    [{ type: 'string' }, 'string'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ type: 'of-more-than-20-characters' }, 'of-more-than-20-cha…'],
    [undefined, 'any'],
    [{}, 'any'],
    [[], 'any'],
    [{ properties: {} }, 'any'],
    [{ properties: { a: {} } }, 'object'],
    [{ const: 5 }, '5'],
    [{ const: undefined }, 'any'],
    [{ enum: ['a', 2, null] }, '"a" | 2 | null'],
    [{ enum: [1, 2, 3, 4, 5, 6] }, '1 | 2 | 3 | 4 | 5 | 6'],
    [{ enum: [1, 2, 3, 4, 5, 6, 7, 8] }, '1 | 2 | 3 | 4 | 5 | 6 | … 2 more'],
    [{ enum: ['x'.repeat(38)] }, `"${'x'.repeat(38)}"`],
    [{ enum: ['x'.repeat(39)] }, `"${'x'.repeat(38)}…`],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'string' }] }, 'string | number'],
    [{ oneOf: [1, 2, 3, 4, 5].map((value) => ({ const: value })) }, '1 | 2 | 3 | 4 | … 1 more'],
    [{ anyOf: [{ anyOf: [{ anyOf: [{ type: 'string' }], type: 'deep' }] }] }, 'deep'],
    [{ type: 'array', items: { type: 'string' } }, 'Array<string>'],
    [{ type: 'array', items: { type: 'array', items: { type: 'array', items: {} } } }, 'Array<Array<array>>'],
    [{ type: 'object', properties: { a: { type: 'string' } } }, 'object'],
    [{ type: 'object', properties: { a: { type: 'string' } }, required: ['a', 'a', 5] }, '{ a: string }'],
    [{ type: 'object', properties: { a: { const: 1 }, b: {} }, required: ['a', 'c'] }, '{ a: 1, c: any }'],
    [{ type: 'object', properties: { a: {}, b: {} }, required: ['a'] }, '{ a: any, … }'],
    [{ type: 'string', required: ['a'] }, 'string'],
    [{ $ref: '#/$defs/x' }, 'number'],
    [{ $ref: '#/definitions/y' }, 'boolean'],
    [{ $ref: '#/$defs/toString' }, 'any'],
    [{ $ref: '#/$defs/x/y' }, 'any'],
    [{ $ref: 'other#/$defs/x', type: 'string' }, 'string'],
  ])('%j is %s', (schema, text) => {
    expect(typed(schema, { $defs: { x: { type: 'number' } }, definitions: { y: { type: 'boolean' } } })).toBe(
      text,
    )
  })
})
