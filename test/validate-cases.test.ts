// Two schemas with every keyword and inputs that they accept: what each single change of schema or input leads to.
import { expect, it } from 'vitest'
import { validateInput } from '../src/validate/index.ts'
import { effects, expectDigest } from './support/variants.ts'

const current = {
  schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    required: ['id', 'when'],
    properties: {
      id: { type: 'string', pattern: '^[a-z]+$', minLength: 2, maxLength: 5 },
      when: { type: 'string', format: 'date' },
      count: { $ref: '#/$defs/count', maximum: 9 },
      tags: {
        type: 'array',
        uniqueItems: true,
        minItems: 1,
        maxItems: 3,
        contains: { const: 'a' },
        items: { enum: ['a', 'b', 5] },
      },
      pair: { prefixItems: [{ type: 'string' }, { type: ['number', 'null'] }], items: false },
      shape: {
        oneOf: [
          { properties: { kind: { const: 'round' }, size: { type: 'number' } }, required: ['kind', 'size'] },
          {
            properties: { kind: { const: 'square' }, side: { type: 'number', multipleOf: 2 } },
            required: ['kind', 'side'],
          },
        ],
      },
      either: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
      far: { $ref: 'https://example.com/other#tail' },
      'a/b~c': { type: 'boolean' },
    },
    patternProperties: { '^x-': { type: 'string' } },
    propertyNames: { maxLength: 6 },
    dependentRequired: { count: ['id'] },
    not: { required: ['never'] },
    if: { properties: { count: { const: 4 } }, required: ['count'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON schema
    then: { required: ['tags'] },
    unevaluatedProperties: false,
    $defs: {
      count: { type: 'integer', exclusiveMinimum: 0 },
      other: { $id: 'https://example.com/other', $anchor: 'tail', type: 'string' },
    },
  },
  input: {
    id: 'abc',
    when: '2026-01-31',
    count: 4,
    tags: ['a', 'b'],
    pair: ['x', 1],
    shape: { kind: 'round', size: 1 },
    either: 'one',
    far: 'x',
    'a/b~c': true,
    'x-a': 'y',
  },
}
const old = {
  schema: {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $ref: '#/definitions/Query',
    definitions: {
      Query: {
        type: 'object',
        additionalProperties: { type: 'number' },
        minProperties: 2,
        properties: {
          limit: { $ref: '#/definitions/Limit', maximum: 1 },
          list: { items: [{ type: 'string' }, { $ref: '#/definitions/Query' }], additionalItems: false },
          after: { const: 1 },
        },
        dependencies: { after: ['limit'], list: { required: ['after'] } },
      },
      Limit: { $id: '#limit', type: 'integer', maximum: 50 },
    },
  },
  input: { limit: 5, list: ['a', { limit: 1, other: 2 }], after: 1, more: 3 },
}
const broken = {
  schema: {
    type: ['object'],
    properties: {
      odd: { type: 'float', pattern: '(', multipleOf: 0, enum: [] },
      lost: { $ref: '#/nowhere' },
      bad: { $ref: 'http://[', type: 'string' },
      raw: 5,
      name: { pattern: '(?=x)', format: 'unknown' },
    },
    patternProperties: { '(?=a)': false },
    additionalProperties: false,
  },
  input: { odd: 1, lost: 2, bad: 3, raw: 4, name: 'y', other: 1, constructor: 5 },
}

it.each([
  ['current', current, '17b30cade83a'],
  ['old', old, '35cf2217fe31'],
  ['broken', broken, '821e95e13ccd'],
])('V1 every change of a schema and its input is judged: %s', async (_, both, digest) => {
  const write = ({ schema, input }: { schema: unknown; input: unknown }) =>
    validateInput(schema, input).map((problem) => JSON.stringify(problem))
  expectDigest(await effects(both, write), digest)
})

const wrong: readonly object[] = [
  { id: 'A', when: 'soon', count: 0, tags: [], pair: [1, 'x', 2] },
  { id: 'abcdefg', count: 10, tags: ['b', 'b', 'c', 'd'], pair: ['x', 'y'] },
  { count: 4, tags: undefined, shape: { kind: 'square', side: 3 }, either: true, far: 5 },
  { shape: { kind: 'round', size: 'big' }, either: 1.5, never: 1, 'a/b~c': 1, 'x-a': 2, unknown: 3 },
  { shape: { kind: 'other' } },
  { shape: { kind: 'round', size: 1, side: 2 } },
  { shape: 5, tags: 'a', pair: {}, longer_name: 1 },
  { pair: ['x', null], tags: ['a', 5], toString: 1 },
  { either: null, tags: [null] },
  { ['n'.repeat(1001)]: 1, either: null },
]

it('V1 every kind of mistake is explained, ten of them at most', async () => {
  const lines = [...wrong, null, 5, 'text', []].flatMap((input) => {
    const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
    const given = isObject ? { id: 'abc', when: '2026-01-31', ...input } : input
    const problems = validateInput(current.schema, given).map((problem) => `  ${JSON.stringify(problem)}`)
    return [JSON.stringify(given).slice(0, 120), ...problems]
  })
  const many = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`p${index}`, { type: 'string' }]))
  const numbers = Object.fromEntries(Object.keys(many).map((name, index) => [name, index]))
  const rules = [
    { type: 'object', properties: many },
    { required: Object.keys(many) },
    { oneOf: [{ required: ['p1'] }, { required: ['p2'] }] },
    { anyOf: [{ required: ['a'] }, { properties: { p1: { enum: ['x'.repeat(400)] } } }] },
    { anyOf: [{ type: 'string' }, { enum: [1, 2] }] },
    { if: { required: ['p1'] }, else: { required: ['b'] } },
    { properties: { propertyNames: { type: 'string' } }, propertyNames: { pattern: '^q' } },
    { maxProperties: 3, minProperties: 20 },
    false,
    true,
  ]
  for (const schema of rules)
    lines.push(
      ...validateInput(schema, { ...numbers, propertyNames: 5 }).map((problem) => JSON.stringify(problem)),
      '',
    )
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./problems/mistakes.txt')
})
