// Defines tools in odd ways, beside one that is right: shapes | cyclic | hints | deep | large | huge | names | twins | long-names |
// prototype | abyss (nested 50,000 deep; only as a process).
import { run, text, tool } from './wire.mjs'

const object = (properties, more = {}) => ({ type: 'object', properties, ...more })

function nested(depth) {
  let schema = { type: 'string' }
  for (let level = 0; level < depth; level += 1) schema = { type: 'object', properties: { a: schema } }
  return schema
}

/** JSON.stringify has too small a stack for it. */
function nestedText(depth) {
  return `${'{"type":"object","properties":{"a":'.repeat(depth)}{}${'}}'.repeat(depth)}`
}

const long = 'the_quick_brown_fox_jumps_over_the_lazy_dog_and_runs_away_from_it_'

const kinds = {
  shapes: () => [
    null,
    42,
    'tool',
    [],
    {},
    { name: '' },
    { name: 7 },
    { name: null, inputSchema: { type: 'object' } },
    { name: 'null_schema', inputSchema: null },
    { name: 'no_schema' },
    { name: 'text_schema', inputSchema: 'object' },
    { name: 'list_schema', inputSchema: [] },
    { name: 'no_type', inputSchema: { properties: { path: { type: 'string' } }, required: ['path'] } },
    { name: 'wrong_type', inputSchema: { type: 'string' } },
    { name: 'odd_properties', inputSchema: { type: 'object', properties: 'none', required: 'all' } },
    tool('number_description', { description: 5 }),
    tool('odd_fields', { annotations: 'none', _meta: 3, title: {}, outputSchema: 'text', icons: 9 }),
  ],
  cyclic: () => [
    tool('self', { inputSchema: { $ref: '#' } }),
    tool('ring', {
      inputSchema: object(
        { node: { $ref: '#/$defs/a' } },
        { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
      ),
    }),
    tool('tree', {
      inputSchema: object(
        { root: { $ref: '#/$defs/node' } },
        { $defs: { node: object({ children: { type: 'array', items: { $ref: '#/$defs/node' } } }) } },
      ),
    }),
    tool('into', { inputSchema: object({ first: object({}), second: { $ref: '#/properties/first' } }) }),
    tool('dangling', { inputSchema: object({ lost: { $ref: '#/$defs/nowhere' } }) }),
    tool('remote', { inputSchema: object({ far: { $ref: 'http://127.0.0.1:1/schema.json' } }) }),
  ],
  hints: () => [
    tool('look', { annotations: { readOnlyHint: true } }),
    tool('change', { annotations: { readOnlyHint: false } }),
    tool('truthy', { annotations: { readOnlyHint: 'yes' } }),
  ],
  deep: () => [tool('well', { inputSchema: nested(500) })],
  large: () => [
    tool('large_schema', {
      inputSchema: object(
        Object.fromEntries(
          Array.from({ length: 10_000 }, (_, index) => [
            `field_${index}`,
            {
              type: 'string',
              description: 'One of very many fields, each with a text of a hundred characters.',
            },
          ]),
        ),
      ),
    }),
    tool('large_description', { description: 'words and more words about it. '.repeat(35_000) }),
  ],
  huge: () => [
    tool('huge', { description: 'x'.repeat(3_000_000) }),
    tool('x'.repeat(3_000_000)),
    tool('huge_meta', { _meta: { more: 'x'.repeat(3_000_000) } }),
  ],
  names: () =>
    [
      'send 📨 mail',
      'with space',
      'x'.repeat(200),
      'a__b',
      'bell\u0007and\u001b[31mred',
      'a/b.c:d',
      '日本語',
      '\ud800',
    ].map((name) => tool(name, { description: 'An odd name' })),
  twins: () => [
    tool('twin', { description: 'The first twin' }),
    tool('twin', { description: 'The second twin' }),
    tool('my tool', { description: 'With a space' }),
    tool('my_tool', { description: 'With a line' }),
    tool('my.tool', { description: 'With a dot' }),
  ],
  'long-names': () => [tool(`${long}one`), tool(`${long}two`), tool(`${long}three`)],
  prototype: () => ['__proto__', 'constructor', 'toString', 'hasOwnProperty'].map((name) => tool(name)),
}

const good = tool('good', { description: 'The one that is right' })

export const server = (behaviour) => ({
  'tools/list'(_, { id }) {
    if (behaviour !== 'abyss') return { tools: [good, ...kinds[behaviour]()] }
    const abyss = `{"name":"abyss","inputSchema":${nestedText(50_000)}}`
    const tools = `[${JSON.stringify(good)},${abyss}]`
    process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":${tools}}}\n`)
    return new Promise(() => {})
  },
  'tools/call': ({ name }) => text(`called ${name}`),
})

run(import.meta, server)
