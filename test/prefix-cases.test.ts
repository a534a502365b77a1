// The prompt cache's prefix in tables: every change of one rich request, and the rare differences of two.
import { expect, it } from 'vitest'
import { explainBreak, type PrefixInput, prefixHash } from '../src/core/index.ts'
import { effects } from './support/variants.ts'

const deep = (leaf: unknown, levels: number): unknown =>
  levels === 0 ? leaf : { in: deep(leaf, levels - 1) }
const reference = { type: 'tool_reference', tool_name: 'Loaded' }

const sent = {
  headers: { 'anthropic-beta': 'a' },
  request: {
    model: 'm',
    max_tokens: 5,
    system: [{ type: 'text', text: 'You help.', cache_control: { type: 'ephemeral' } }],
    tools: [
      { name: 'Read', input_schema: { type: 'object', properties: { path: { enum: ['a', 'b'] } } } },
      { name: 'Write', description: 'Writes', schema: deep('leaf', 9) },
      { name: 'Loaded', description: 'Is loaded', defer_loading: true },
      { name: 'Named', description: 'Is loaded too', defer_loading: true },
      { name: 'Hidden', description: 'Is hidden', defer_loading: true },
    ],
    messages: [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'ToolSearch', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [reference] }] },
      {
        role: 'system',
        content: [{ type: 'tool_addition', tool: { type: 'tool_reference', name: 'Named' } }],
      },
    ],
  },
}

function causes(before: PrefixInput, after: PrefixInput): string {
  const all = explainBreak(before, after).map((cause) => {
    const { kind, ...rest } = cause
    return [kind, ...Object.values(rest).map((value) => JSON.stringify(value))].join(' ')
  })
  return all.length > 0 ? all.join(', ') : 'holds'
}

it('K1 K2 every change of a request has its cause, in both directions', async () => {
  const write = (next: PrefixInput) => [
    `there: ${causes(sent, next)}`,
    `back: ${causes(next, sent)}`,
    prefixHash(next) === prefixHash(sent) ? 'same hash' : 'other hash',
  ]
  await expect(await effects(sent, write)).toMatchFileSnapshot('./tables/prefix.txt')
})

const tool = (name: string, more: object = {}) => ({ name, ...more })
const later = (name: string, more: object = {}) => tool(name, { defer_loading: true, ...more })
const [a, b, c] = [tool('a'), tool('b'), tool('c')]
const [x, y] = [later('x'), later('y')]
const referring = (name: string, levels = 0) => ({
  role: 'user',
  content: [deep({ type: 'tool_reference', tool_name: name }, levels)],
})
const eachTools: [string, unknown[], unknown[], object[]?][] = [
  ['first deferred tool', [a], [a, x]],
  ['last deferred tool', [a, x], [a]],
  ['last deferred tools, one loaded', [a, x, y], [a], [referring('y')]],
  ['last deferred tool becomes a tool', [a, x], [a, tool('x')]],
  ['nothing in a message', [a, x], [a, y], [{ role: 'user', content: [null, 'text'] }]],
  ['a number for an object', [tool('a', { n: {} })], [tool('a', { n: 5 })]],
  ['an object for a number', [tool('a', { n: 5 })], [tool('a', { n: {} })]],
  ['an object for nothing', [tool('a', { n: null })], [tool('a', { n: [] })]],
  [
    'ephemeral elsewhere',
    [tool('a', { n: { type: 'ephemeral', m: 1 } })],
    [tool('a', { n: { type: 'ephemeral' } })],
  ],
  ['first deferred tools and another', [a], [a, b, x, y]],
  ['first deferred tool instead of a tool', [a, b], [a, x]],
  ['a tool deferred', [a, b], [a, later('b')]],
  ['another deferred tool', [a, x], [a, x, y]],
  ['a deferred tool for another', [a, x], [a, y]],
  ['a deferred tool for another that was loaded', [a, x], [a, y], [referring('x')]],
  ['a loaded tool changed', [a, x], [a, later('x', { n: 1 })], [referring('x')]],
  ['a loaded tool loaded by a deep reference', [a, x], [a, later('x', { n: 1 })], [referring('x', 97)]],
  ['a reference too deep to be one', [a, x], [a, later('x', { n: 1 })], [referring('x', 98)]],
  ['a reference in a message that is a list', [a, x, y], [a, y], [[{ type: 'tool_reference', name: 'x' }]]],
  ['a new tool that was referred to', [a, y], [a, y, x], [referring('x')]],
  ['a new tool beside a removed one, referred to', [a, b, y], [a, y, x], [referring('x')]],
  ['a tool and a deferred one that was referred to', [a, y], [a, y, b, x], [referring('x')]],
  ['a tool deferred that was referred to', [a, y], [later('a'), y], [referring('a')]],
  ['another number', [tool('a', { n: 1 })], [tool('a', { n: 2 })]],
  ['a number for a text', [tool('a', { n: 1 })], [tool('a', { n: '1' })]],
  ['reordered', [a, b, c], [c, b, a]],
  ['reordered around deferred tools', [a, x, b], [b, x, a]],
  ['deferred tools reordered', [a, x, y], [a, y, x]],
  ['deferred tools reordered among others', [x, a, y, b], [y, a, x, b]],
  ['reordered and added', [a, b], [c, b, a]],
  ['a tool twice', [a, b], [a, a, b]],
  ['a tool twice, at first', [a, a, b], [a, b]],
  ['removed at the start', [a, b, c], [b, c]],
  ['removed in the middle', [a, b, c], [a, c]],
  ['added in the middle', [a, c], [a, b, c]],
  ['fields in another order', [tool('a', { n: 1, m: 2 })], [tool('a', { m: 2, n: 1 })]],
  ['a list for an object', [tool('a', { n: [] })], [tool('a', { n: {} })]],
  ['a list for an object with its keys', [tool('a', { n: ['v'] })], [tool('a', { n: { 0: 'v' } })]],
  ['null for an object', [tool('a', { n: null })], [tool('a', { n: {} })]],
  ['a field more', [tool('a', { n: {} })], [tool('a', { n: { m: 1 } })]],
  ['undefined and no field', [tool('a', { n: undefined })], [a]],
  ['a breakpoint more', [a], [tool('a', { cache_control: { type: 'ephemeral', ttl: '1h' } })]],
  ['a cache_control that is none', [a], [tool('a', { cache_control: null })]],
  ['a cache_control of another type', [a], [tool('a', { cache_control: { type: 'other' } })]],
  ['a tool that is text', ['a'], ['b']],
  ['a tool without a name', [{}], [{ n: 1 }]],
]

it('K2 two lists of tools differ in what the model reads', () => {
  const rows = eachTools.map(([title, before, after, messages = []]) => {
    const [old, now] = [{ request: { tools: before, messages } }, { request: { tools: after, messages } }]
    return `${title}: ${causes(old, structuredClone(now))}`
  })
  expect(rows.join('\n')).toMatchInlineSnapshot(`
    "first deferred tool: tool-added "x"
    last deferred tool: tool-removed "x"
    last deferred tools, one loaded: tool-removed "y", tool-removed "x"
    last deferred tool becomes a tool: tool-added "x", tool-removed "x"
    nothing in a message: holds
    a number for an object: tool-changed "a"
    an object for a number: tool-changed "a"
    an object for nothing: tool-changed "a"
    ephemeral elsewhere: tool-changed "a"
    first deferred tools and another: tool-added "b", tool-added "x"
    first deferred tool instead of a tool: tool-removed "b", tool-added "x"
    a tool deferred: tool-removed "b", tool-added "b"
    another deferred tool: holds
    a deferred tool for another: holds
    a deferred tool for another that was loaded: tool-removed "x"
    a loaded tool changed: tool-changed "x"
    a loaded tool loaded by a deep reference: tool-changed "x"
    a reference too deep to be one: holds
    a reference in a message that is a list: tool-removed "x"
    a new tool that was referred to: holds
    a new tool beside a removed one, referred to: tool-removed "b", tool-added "x"
    a tool and a deferred one that was referred to: tool-added "b"
    a tool deferred that was referred to: tool-changed "a"
    another number: tool-changed "a"
    a number for a text: tool-changed "a"
    reordered: tools-reordered
    reordered around deferred tools: tools-reordered
    deferred tools reordered: holds
    deferred tools reordered among others: holds
    reordered and added: tool-added "c"
    a tool twice: tool-added "a"
    a tool twice, at first: tool-removed "a"
    removed at the start: tool-removed "a"
    removed in the middle: tool-removed "b"
    added in the middle: tool-added "b"
    fields in another order: tool-changed "a"
    a list for an object: tool-changed "a"
    a list for an object with its keys: tool-changed "a"
    null for an object: tool-changed "a"
    a field more: tool-changed "a"
    undefined and no field: holds
    a breakpoint more: holds
    a cache_control that is none: tool-changed "a"
    a cache_control of another type: tool-changed "a"
    a tool that is text: tool-changed "undefined"
    a tool without a name: tool-changed "undefined""
  `)
})

it('K2 copies of up to six levels are compared without writing JSON', () => {
  let written = 0
  const toJSON = () => {
    written++
    return 'x'
  }
  const nested = (levels: number): object => (levels === 1 ? { toJSON } : { n: 'x', in: nested(levels - 1) })
  const writes = (before: object, after: object) => {
    written = 0
    expect(explainBreak({ request: { tools: [before] } }, { request: { tools: [after] } })).toEqual([])
    return written
  }
  const shared = nested(9)
  expect([writes(shared, shared), writes(nested(6), nested(6)), writes([{ toJSON }], [{ toJSON }])]).toEqual([
    0, 0, 0,
  ])
  expect(writes(nested(7), nested(7))).toBe(2)
})

it('K2 messages and other fields that are odd differ or do not, and nothing throws', () => {
  const odd: [object, object][] = [
    [{}, {}],
    [{ model: 'm' }, {}],
    [{ model: 5 }, { model: 6 }],
    [{ model: true }, { model: 1 }],
    [{ system: null }, {}],
    [{ system: null }, { system: '' }],
    [{ system: ['a'] }, { system: ['a'] }],
    [{ messages: [null] }, { messages: [undefined] }],
    [{ messages: [null] }, { messages: [null, null] }],
    [{ messages: [null, 5, 'x'] }, { messages: [null, 5, 'y'] }],
    [{ messages: 'x' }, { messages: [] }],
    [{ messages: ['x'] }, { messages: 'x' }],
    [{ tools: 'x' }, { tools: [a] }],
    [
      { tools: [a, x], messages: [null, 'x', referring('x')] },
      { tools: [a, y], messages: 'x' },
    ],
    [
      { tools: [a, x], messages: 'x' },
      { tools: [a, y], messages: 'x' },
    ],
  ]
  const rows = odd.map(([before, after]) => {
    const [old, now] = [{ request: { ...before } }, { request: { ...after } }]
    const hashes = prefixHash(old) === prefixHash(now) ? 'same hash' : 'other hash'
    return `${JSON.stringify(before)} ${JSON.stringify(after)}: ${causes(old, now)}; ${hashes}`
  })
  expect(rows.join('\n')).toMatchInlineSnapshot(`
    "{} {}: holds; same hash
    {"model":"m"} {}: model "m" ; other hash
    {"model":5} {"model":6}: model 5 6; other hash
    {"model":true} {"model":1}: model true 1; other hash
    {"system":null} {}: system null ; same hash
    {"system":null} {"system":""}: system null ""; other hash
    {"system":["a"]} {"system":["a"]}: holds; same hash
    {"messages":[null]} {"messages":[null]}: message-edited 0; same hash
    {"messages":[null]} {"messages":[null,null]}: holds; same hash
    {"messages":[null,5,"x"]} {"messages":[null,5,"y"]}: message-edited 2; same hash
    {"messages":"x"} {"messages":[]}: holds; same hash
    {"messages":["x"]} {"messages":"x"}: message-edited 0; same hash
    {"tools":"x"} {"tools":[{"name":"a"}]}: tool-added "a"; other hash
    {"tools":[{"name":"a"},{"name":"x","defer_loading":true}],"messages":[null,"x",{"role":"user","content":[{"type":"tool_reference","tool_name":"x"}]}]} {"tools":[{"name":"a"},{"name":"y","defer_loading":true}],"messages":"x"}: tool-removed "x", message-edited 0; same hash
    {"tools":[{"name":"a"},{"name":"x","defer_loading":true}],"messages":"x"} {"tools":[{"name":"a"},{"name":"y","defer_loading":true}],"messages":"x"}: holds; same hash"
  `)
})
