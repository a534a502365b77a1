import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { validateInput } from '../packages/core/src/validate.ts'
import { bundled } from '../packages/testkit/src/bundled.ts'

const draft07 = 'http://json-schema.org/draft-07/schema#'
const draft2020 = 'https://json-schema.org/draft/2020-12/schema'
const paths = (schema: unknown, input: unknown) => validateInput(schema, input).map(({ path }) => path)
const textWith = (keywords: object) => ({
  type: 'object',
  properties: { text: { type: 'string', ...keywords } },
})
const isValid = (keywords: object, text: string) => validateInput(textWith(keywords), { text }).length === 0

describe('dialects', () => {
  it('V1 draft-07: definitions, tuples, dependencies, and nothing beside a $ref', () => {
    const schema = {
      $schema: draft07,
      $ref: '#/definitions/Query',
      definitions: {
        Query: {
          type: 'object',
          required: ['limit'],
          properties: {
            limit: { $ref: '#/definitions/Limit', maximum: 1 },
            pair: { items: [{ type: 'string' }, { type: 'number' }], additionalItems: false },
          },
          dependencies: { after: ['before'] },
        },
        Limit: { type: 'integer', maximum: 50 },
      },
    }
    expect(validateInput(schema, { limit: 50, pair: ['a', 1] })).toEqual([])
    expect(validateInput(schema, {})).toEqual([{ path: 'limit', message: 'is required' }])
    expect(paths(schema, { limit: 51, pair: ['a', 'b', 'c'] })).toEqual(['limit', 'pair.2', 'pair.1'])
    expect(paths(schema, { limit: 1, after: 1 })).toEqual([''])
  })

  it('V1 2020-12: $defs, prefixItems, keywords beside a $ref, unevaluatedProperties', () => {
    const schema = {
      $schema: draft2020,
      allOf: [{ $ref: '#/$defs/base' }],
      properties: {
        limit: { $ref: '#/$defs/limit', maximum: 10 },
        pair: { prefixItems: [{ type: 'string' }] },
      },
      unevaluatedProperties: false,
      $defs: { base: { properties: { id: { type: 'string' } } }, limit: { type: 'number' } },
    }
    expect(validateInput(schema, { id: 'x', limit: 10, pair: ['a', 2] })).toEqual([])
    expect(paths(schema, { id: 'x', limit: 11, pair: [1] })).toEqual(
      expect.arrayContaining(['limit', 'pair.0']),
    )
    expect(validateInput(schema, { id: 'x', other: 1 })).toEqual([
      { path: 'other', message: 'is not a known property' },
    ])
  })

  it('V1 references lead into properties, anchors, other addresses and through cycles', () => {
    const schema = {
      $id: 'https://example.com/tree.json',
      type: 'object',
      properties: {
        name: { $anchor: 'name', type: 'string' },
        title: { $ref: '#/properties/name' },
        alias: { $ref: '#name' },
        owner: { $ref: 'owner.json' },
        'a/b %': { type: 'number' },
        escaped: { $ref: '#/properties/a~1b%20%25' },
        children: { type: 'array', items: { $ref: '#' } },
        shared: { $ref: '#/components/schemas/Shared' },
      },
      components: { schemas: { Shared: { type: 'boolean' } } },
      $defs: { owner: { $id: 'owner.json', type: 'integer' } },
    }
    const wrong = {
      title: 1,
      alias: 1,
      owner: 'x',
      escaped: 'x',
      children: [{ children: [{ name: 1 }] }],
      shared: 1,
    }
    expect(paths(schema, wrong).sort()).toEqual(
      ['alias', 'children.0.children.0.name', 'escaped', 'owner', 'shared', 'title'].sort(),
    )
    expect(
      validateInput(schema, { title: 'a', alias: 'b', owner: 1, escaped: 1, children: [{}], shared: true }),
    ).toEqual([])
  })

  it('V1 formats are checked where typebox knows them', () => {
    expect(isValid({ format: 'date-time' }, '2024-01-01T00:00:00Z')).toBe(true)
    expect(validateInput(textWith({ format: 'date-time' }), { text: 'soon' })).toEqual([
      { path: 'text', message: 'must be in date-time format' },
    ])
    expect(isValid({ format: 'email' }, 'nobody')).toBe(false)
    expect(isValid({ format: 'int32' }, 'anything')).toBe(true)
  })
})

describe('odd schemas', () => {
  it('V1 ignores a $ref that is not text, and keeps the keywords beside it', () => {
    for (const $ref of [3, null, {}, ['#/properties/b']])
      expect(paths({ properties: { a: { $ref, type: 'string' }, b: true } }, { a: 1, b: 1 })).toEqual(['a'])
  })

  it('V1 a missing, empty or non-object schema accepts everything; false accepts nothing', () => {
    for (const schema of [undefined, null, true, {}, [], 'object', 7]) {
      for (const input of [undefined, null, {}, [1], 'text']) expect(validateInput(schema, input)).toEqual([])
    }
    expect(validateInput(false, {})).toEqual([{ path: '', message: 'no input is allowed' }])
  })

  it('V1 ignores a broken keyword, and keeps those beside it', () => {
    const broken = {
      type: 'object',
      properties: {
        limit: { type: 'number' },
        nothing: null,
        odd: { type: 'function' },
        untyped: { type: [] },
        empty: { enum: [] },
        zero: { multipleOf: 0 },
        lost: { $ref: '#/$defs/missing' },
        remote: { $ref: 'https://elsewhere.example/schema.json' },
        unreadable: { $ref: 'http://[' },
        strange: { required: true, minLength: 'x', allOf: {}, anyOf: 3, items: 'x', properties: [1] },
      },
    }
    const input = {
      nothing: 1,
      odd: 1,
      untyped: 1,
      empty: 1,
      zero: 1,
      lost: 1,
      remote: 1,
      unreadable: 1,
      strange: 1,
    }
    expect(validateInput(broken, { ...input, limit: 1 })).toEqual([])
    expect(validateInput(broken, { ...input, limit: 'x' })).toMatchObject([
      { path: 'limit', message: 'must be number' },
    ])
  })

  it('V1 keywords that only typebox knows are not obeyed', () => {
    const refuse = { check: () => false, error: () => 'refused' }
    expect(validateInput({ '~refine': [refuse] }, {})).toEqual([])
  })
})

describe('names that every object inherits', () => {
  const inherited = [...Object.getOwnPropertyNames(Object.prototype)]

  it('V1 are missing when required and not given, at any depth', () => {
    expect(paths({ type: 'object', required: inherited }, {})).toEqual(inherited.slice(0, 10))
    for (const name of inherited) {
      const schema = {
        properties: { list: { items: { $ref: '#/$defs/item' } } },
        $defs: { item: { required: [name] } },
      }
      expect(validateInput(schema, { list: [{}] })).toEqual([
        { path: `list.0.${name}`, message: 'is required' },
      ])
      expect(validateInput(schema, { list: [JSON.parse(`{"${name}":1}`)] })).toEqual([])
    }
  })
})

describe('patterns', () => {
  const bait = 'a'.repeat(60)

  it('V1 plain patterns are enforced', () => {
    const uuid = '^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$'
    const cases: [pattern: string, good: string, bad: string][] = [
      ['^[a-z]+$', 'abc', 'abC'],
      ['^\\d{4}-\\d{2}-\\d{2}$', '2024-01-31', '2024-1-31'],
      ['^(foo|bar)$', 'bar', 'bard'],
      [uuid, '123e4567-e89b-12d3-a456-426614174000', '123e4567-e89b-12d3-a456-42661417400g'],
      ['^[a-z0-9]+(-[a-z0-9]+)*$', 'a-b-c', 'a--b'],
      ['b{2,}', 'abba', 'abab'],
      ['^\\p{Lu}.?\\u{1F600}\\b\\w*?$', 'Éx😀x', 'éx😀x'],
      ['\\bcat\\b', 'a cat.', 'concat'],
      ['^[^\\s\\]]*$', 'a[b', 'a]b'],
      ['^\\\\u0041$', '\\u0041', 'A'],
      ['^\\u0041\\/\\cJ$', 'A/\n', 'A/J'],
      ['', '', ''],
    ]
    for (const [pattern, good, bad] of cases) {
      expect([pattern, isValid({ pattern }, good)]).toEqual([pattern, true])
      expect([pattern, isValid({ pattern }, bad)]).toEqual([pattern, pattern === ''])
    }
  })

  it('V1 no pattern is slow, and those that would be are enforced all the same', () => {
    for (const pattern of [
      '^(a+)+$',
      '^(a|a)*$',
      '^(a|aa)+$',
      '^(.*a){20}$',
      '^(([a-z])+.)+[A-Z]([a-z])+$',
      '^(a?){60}b$',
    ]) {
      expect([pattern, isValid({ pattern }, `${bait}!`)]).toEqual([pattern, false])
    }
    expect(isValid({ pattern: '^(a+)+$' }, bait)).toBe(true)
  })

  it('V1 patterns that are not JavaScript, look around, refer back or are huge are dropped', () => {
    const dropped = [
      '(?i)abc',
      '(?P<year>\\d+)',
      '\\Aabc\\z',
      '[',
      '(',
      'a**',
      '^(?=b)',
      '(?<!a)b',
      '(x)\\1',
      'a{1001}b',
      '(((){1000}){1000}){1000}b',
      '(b{1000}){1000}',
    ]
    for (const pattern of dropped)
      expect([pattern, isValid({ pattern }, `${bait}!`)]).toEqual([pattern, true])
  })

  it('V1 very long texts are left to the server', () => {
    expect(isValid({ pattern: '^(a+)+$' }, `${'a'.repeat(2_000_000)}!`)).toBe(true)
    expect(isValid({ format: 'uri' }, ' '.repeat(2_000_000))).toBe(true)
    expect(isValid({ pattern: '^a+$' }, `${'a'.repeat(50_000)}!`)).toBe(false)
  })

  it('V1 no known format is slow on long texts', () => {
    const formats = [
      'date-time',
      'duration',
      'email',
      'hostname',
      'idn-email',
      'idn-hostname',
      'ipv6',
      'iri',
      'json-pointer',
      'regex',
      'uri',
      'uri-reference',
      'uri-template',
      'uuid',
    ]
    const texts = ['a', 'a.', 'a-', ':', '/a', '%61', '1', '[', '{a,', '"\\a', 'é', '\u200d'].map((part) =>
      part.repeat(20_000),
    )
    for (const format of formats) {
      for (const text of texts)
        for (const start of ['', 'a@', 'http://']) isValid({ format }, `${start + text}!`)
    }
  })

  it('V1 patternProperties: plain ones are enforced, others dropped together with what depends on them', () => {
    const plain = {
      patternProperties: { '^x-': { type: 'number' }, '^(foo|bar)$': true },
      additionalProperties: false,
    }
    expect(validateInput(plain, { 'x-a': 1, foo: 1 })).toEqual([])
    expect(paths(plain, { 'x-a': 'text', baz: 1 })).toEqual(['baz', 'x-a'])
    for (const pattern of ['^(a+)+$', '(a|a)(a|a)(a|a)', '^(?=a)', '[', '(a)\\1']) {
      const slow = {
        patternProperties: { [pattern]: { type: 'number' }, '^y': { type: 'number' } },
        additionalProperties: false,
      }
      expect(paths(slow, { [`${bait}!`]: 'text', z: 1, y: 'text' })).toEqual(['y'])
    }
    expect(
      validateInput({ patternProperties: { 'a+$': true } }, { [`${'a'.repeat(5_000_000)}!`]: 1 }),
    ).toEqual([])
  })

  it('V1 patterns hide neither in data nor behind references to it', () => {
    const evil = { pattern: '^(?=(a+)+$)', patternProperties: { '^(a+)+$': false }, '~refine': 1 }
    expect(validateInput({ $ref: '#/const', const: evil }, evil)).toEqual([])
    expect(
      validateInput({ properties: { text: { $ref: '#/default' } }, default: evil }, { text: `${bait}!` }),
    ).toEqual([])
    expect(validateInput(textWith({ const: { pattern: 1 } }), { text: { pattern: 1 } })).toHaveLength(1)
  })
})

const named = (start: string, count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${start}${index}`, value]))

describe('too much work', () => {
  it('V1 a schema that multiplies by its references is given up', () => {
    const $defs: Record<string, unknown> = { d60: { type: 'string' } }
    for (let index = 0; index < 60; index += 1) {
      $defs[`d${index}`] = { anyOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] }
    }
    expect(validateInput({ $ref: '#/$defs/d0', $defs }, 1)).toEqual([])
  })

  it.each([
    ['names that are required again and again', { allOf: Array(2000).fill({ $ref: '#/$defs/d' }) }, {}],
    ['properties by thousands of patterns', { patternProperties: named('^', 2000, {}) }, named('k', 2000, 1)],
    [
      'properties that nothing has looked at',
      { allOf: Array(300).fill({ unevaluatedProperties: false }) },
      named('k', 2000, 1),
    ],
    ['other properties', { allOf: Array(300).fill({ additionalProperties: false }) }, named('k', 5000, 1)],
    [
      'properties that are compared with as many known ones',
      { properties: named('k', 5000, {}), additionalProperties: false, required: ['missing'] },
      named('k', 5000, 1),
    ],
    ['items that must differ', { properties: { k0: { uniqueItems: true } } }, { k0: Array(60_000).fill(1) }],
  ])('V1 H6 %s are given up', (_, schema, input) => {
    const $defs = { d: { required: Object.keys(named('r', 1000, 1)) } }
    expect(validateInput({ ...schema, $defs }, input)).toEqual([])
  })

  it('V1 works where code may not be made from strings', async () => {
    const script = `
      import { validateInput } from './packages/core/src/validate.ts'
      const schema = { type: 'object', properties: { limit: { $ref: '#/$defs/n' } }, $defs: { n: { type: 'number' } } }
      console.log(JSON.stringify([validateInput(schema, { limit: 1 }), validateInput(schema, { limit: 'x' })]))
    `
    const flags = ['--disallow-code-generation-from-strings', await bundled({ text: script })]
    const output = execFileSync(process.execPath, flags, {
      encoding: 'utf8',
      cwd: new URL('..', import.meta.url),
    })
    expect(JSON.parse(output)).toMatchObject([[], [{ path: 'limit', message: 'must be number' }]])
  })
})

describe('problems', () => {
  const messages = (schema: unknown, input: unknown) =>
    validateInput({ properties: { value: schema } }, { value: input }).map(
      ({ path, message }) => `${path} ${message}`,
    )

  it('V1 are at most ten, without duplicates', () => {
    const items = { type: 'array', items: { type: 'number' } }
    expect(validateInput(items, Array(5_000).fill('x'))).toHaveLength(10)
    expect(messages({ allOf: [{ type: 'string' }, { type: 'string' }] }, 1)).toEqual(['value must be string'])
  })

  it('V1 are short and name the expected value', () => {
    expect(messages({ type: ['string', 'null'] }, 1)).toEqual(['value must be string or null'])
    expect(messages({ enum: ['a', 2] }, 'b')).toEqual(['value must be one of "a", 2'])
    expect(messages({ const: { a: 1 } }, 'b')).toEqual(['value must be {"a":1}'])
    expect(messages({ minimum: 1 }, 0)).toEqual(['value must be >= 1'])
    expect(messages({ properties: {}, additionalProperties: false }, { x: 1 })).toEqual([
      'value.x is not a known property',
    ])
    expect(messages({ propertyNames: { pattern: '^a' } }, { b: 1 })).toEqual([
      'value.b the property name must match the pattern ^a',
    ])
    expect(
      messages({ uniqueItems: true }, [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ]),
    ).toEqual(['value must not have duplicate items'])
    expect(messages({ not: {} }, 1)).toEqual(['value must not have the form that the schema rules out'])
    expect(messages(JSON.parse('{"if":{},"then":false}'), 1)).toEqual([
      'value breaks a conditional rule (if, then)',
    ])
    expect(messages({ if: false, else: { type: 'string' } }, 1)).toEqual(['value must be string'])
    const many = { enum: Array.from({ length: 500 }, (_, index) => `option ${index}`) }
    expect(messages(many, 1)[0]?.length).toBeLessThan(310)
  })

  it('V1 of a union are those of the branch that was meant, or one line', () => {
    const cat = {
      type: 'object',
      properties: { kind: { const: 'cat' }, lives: { type: 'number' } },
      required: ['kind'],
    }
    const dog = {
      type: 'object',
      properties: { kind: { const: 'dog' }, tricks: { type: 'array' } },
      required: ['kind'],
    }
    expect(messages({ anyOf: [{ type: 'string' }, { type: 'null' }] }, 1)).toEqual([
      'value must be string or null',
    ])
    expect(messages({ anyOf: [cat, { type: 'null' }] }, {})).toEqual(['value.kind is required'])
    expect(messages({ oneOf: [cat, dog] }, { kind: 'dog', tricks: 1 })).toEqual([
      'value.tricks must be array',
    ])
    expect(messages({ oneOf: [cat, dog] }, { kind: 'cow' })).toEqual([
      'value has none of the allowed forms: kind must be "cat"; or kind must be "dog"',
    ])
    expect(messages({ oneOf: [{ type: 'number' }, { minimum: 0 }] }, 1)).toEqual([
      'value matches more than one form, where only one is allowed',
    ])
    const map = { additionalProperties: { anyOf: [cat, { type: 'null' }] } }
    expect(messages(map, { ab: {}, a: 1 })).toEqual([
      'value.ab.kind is required',
      'value.a must be object or null',
    ])
    const nested = { anyOf: [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, { type: 'null' }] }
    expect(messages(nested, true)).toEqual(['value must be string or number or null'])
  })
})
