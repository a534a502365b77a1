// What a tool is searched by: the texts of each field, as far as its definition is sane.
import { describe, expect, test } from 'vitest'
import type { PoolTool } from '../../src/index.ts'
import { createToolSlices } from '../../src/search/slices.ts'
import { ownName, searchFields } from '../../src/search/words/fields.ts'
import { toolsOf } from './tools.ts'

function fieldsOf(schema: unknown, more: Partial<PoolTool> = {}) {
  const [entry] = toolsOf({ name: 'tool' })
  const fields = searchFields({
    ...entry!,
    tool: { ...entry!.tool, input_schema: schema as object },
    ...more,
  })
  const [name, server, hint, description, names, descriptions, values] = fields
  return { name, server, hint, description, names, descriptions, values }
}

const argumentsOf = (schema: unknown) => {
  const { names, descriptions, values } = fieldsOf(schema)
  return [names, descriptions, values]
}

/** `depth` objects, each in the one before. */
const nested = (depth: number): object =>
  depth === 0 ? { type: 'string' } : { properties: { [`p${depth}`]: nested(depth - 1) } }

describe('the fields of a tool', () => {
  test('arguments at every depth with their descriptions and choices', () => {
    const schema = {
      properties: {
        a: { description: 'first', enum: ['x', 3, 'y'] },
        list: {
          type: 'array',
          items: { description: 'one of them', enum: ['z'], properties: { inner: {} } },
        },
        odd: { description: 7, enum: 'none' },
        nothing: null,
      },
      anyOf: [{ properties: { b: {} } }, 'no schema'],
      oneOf: [{ properties: { c: {} } }],
      allOf: [{ properties: { d: {} } }],
    }
    expect(argumentsOf(schema)).toEqual([
      ['a', 'list', 'inner', 'odd', 'nothing', 'b', 'c', 'd'],
      ['first', 'one of them'],
      ['x', 'y', 'z'],
    ])
  })

  test('H6 limits: depth, how many, how long', () => {
    expect(argumentsOf(nested(10))[0]).toHaveLength(7)
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, {}]))
    // A list is read to its end; behind one that was too long nothing more is.
    const long = { properties: many(401), anyOf: [{ properties: { late: {} } }] }
    expect(argumentsOf(long)[0]).toHaveLength(401)
    const full = { properties: many(400), anyOf: [{ properties: { late: {} } }] }
    expect(argumentsOf(full)[0]).toContain('late')
    const choices = Array.from({ length: 500 }, (_, at) => `v${at}`)
    expect(argumentsOf({ properties: { a: { enum: choices } } })[2]).toHaveLength(400)
    const [names, descriptions, values] = argumentsOf({
      properties: { ['n'.repeat(300)]: { description: 'd'.repeat(30_000), enum: ['v'.repeat(300)] } },
    })
    expect([names, descriptions, values].map((texts) => texts?.[0]?.length)).toEqual([200, 20_000, 200])
    const empty = Array.from({ length: 3_000 }, () => ({}))
    expect(argumentsOf({ anyOf: [...empty, { properties: { late: {} } }] })[0]).toEqual([])
    expect(argumentsOf({ anyOf: [...empty.slice(0, 1_900), { properties: { late: {} } }] })[0]).toEqual([
      'late',
    ])
    expect(fieldsOf({}, { server: 's'.repeat(300), hint: 'h'.repeat(30_000) })).toMatchObject({
      server: ['s'.repeat(200)],
      hint: ['h'.repeat(20_000)],
    })
  })

  test('a schema that is none has no arguments', () => {
    for (const schema of ['text', 3, null, undefined, { properties: null }, { properties: 'x' }])
      expect(argumentsOf(schema)).toEqual([[], [], []])
  })

  test.each([
    ['mcp__slack__send', 'slack', '__send'],
    ['Slack_Send', 'slack', '_Send'],
    ['slackSend', 'slack', 'Send'],
    ['my-git.hub_read', 'My GitHub', '_read'],
    ['zebra9_run', 'zebra 9', '_run'],
    ['slacksend', 'slack', 'slacksend'],
    ['slack', 'slack', 'slack'],
    ['sla', 'slack', 'sla'],
    ['send_slack', 'slack', 'send_slack'],
    ['MCP__run', undefined, 'run'],
  ])('the name %s without the server %s is %s', (original, server, expected) => {
    const [entry] = toolsOf({ name: 'tool' })
    expect(ownName({ ...entry!, original, server })).toBe(expected)
  })
})

test('S15 a slice is over at 3,000 characters of definitions and descriptions', () => {
  const [entry] = toolsOf({ name: 'tool' })
  const isOver = createToolSlices()
  const read = (json: number, description: number) =>
    isOver({
      ...entry!,
      json: 'x'.repeat(json),
      tool: { name: 'tool', description: 'y'.repeat(description) },
    })
  expect([read(1499, 1500), read(1, 0), read(1500, 1499), read(0, 1)]).toEqual([false, true, false, true])
})
