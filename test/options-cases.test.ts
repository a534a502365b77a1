// Every option with values of every kind: which are accepted, and what the error says about the others.
import { expect, it } from 'vitest'
import { createPureShelf, resolveOptions, ShelfError } from '../src/core/index.ts'
import type { Loose } from './support/talk.ts'

const method = () => {}
const store = { put: method, get: method, drop: method }
const results = { store, budget: 0, idOf: method, newOwner: method }

const names = Object.keys(resolveOptions({}))

const values: readonly unknown[] = [
  ...[undefined, null, true, '', 'x', 'bm25', 'value', 'staged', 'prepend', 'refuse', 'auto'],
  ...['A-z_09', 'a b', 'ä', 'a\n', 'n'.repeat(64), 'n'.repeat(65)],
  ...[-1, 0, 0.5, 1, 199, 200, 999, 1000, Number.NaN, Number.POSITIVE_INFINITY, {}, [], method],
]

const shownValue = (value: unknown): string =>
  typeof value === 'object' || typeof value === 'string'
    ? JSON.stringify(value).replace(/n{9,}/, (many) => `${many.length}n`)
    : typeof value === 'function'
      ? 'a function'
      : String(value)

/** The values with equal outcomes in one line. */
function outcomes(name: string, tried: readonly (readonly [string, unknown])[]): string[] {
  const groups = new Map<string, string[]>()
  for (const [shown, value] of tried) {
    let outcome = 'accepted'
    try {
      const settings: Loose = resolveOptions({ [name]: value } as Loose)
      expect(Object.is(settings[name], value) || value === undefined || name === 'capabilities').toBe(true)
    } catch (error) {
      if (!(error instanceof ShelfError)) throw error
      expect(error.value).toBe(value)
      outcome = error.message.replace(/.*; |, but was given.*/g, '')
    }
    groups.set(outcome, [...(groups.get(outcome) ?? []), shown])
  }
  return [...groups]
    .sort(([, some], [, more]) => some.length - more.length)
    .map(
      ([outcome, shown], at) =>
        `  ${at > 0 && at === groups.size - 1 ? 'others' : shown.join(' ')} → ${outcome}`,
    )
}

it('accepts and refuses values of every kind for each option', async () => {
  const tried = values.map((value) => [shownValue(value), value] as const)
  const lines = names.flatMap((name) => [name, ...outcomes(name, tried)])
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./tables/options.txt')
})

it('needs every part of the settings of results', () => {
  const cases: [string, unknown][] = [
    ['all', results],
    ['budget -1', { ...results, budget: -1 }],
    ['budget "5"', { ...results, budget: '5' }],
    ['store none', { ...results, store: undefined }],
    ...['budget', 'idOf', 'newOwner'].map((key): [string, unknown] => [key, { ...results, [key]: null }]),
    ...Object.keys(store).map((key): [string, unknown] => [
      `store.${key}`,
      { ...results, store: { ...store, [key]: 'x' } },
    ]),
  ]
  expect(outcomes('results', cases)).toMatchInlineSnapshot(`
    [
      "  all → accepted",
      "  others → use an object with store, budget, idOf and newOwner. [BAD_OPTION]",
    ]
  `)
})

it('has these defaults', () => {
  expect(
    JSON.stringify(resolveOptions({}), (key, value) => (key === 'capabilities' ? '…' : value), 1),
  ).toMatchInlineSnapshot(`
      "{
       "environment": {},
       "provider": "anthropic",
       "capabilities": "…",
       "additions": "reference",
       "strategy": "on-demand",
       "announce": "delta",
       "announceDescriptions": 0,
       "announceShare": 0.02,
       "announceInstructions": 2048,
       "tombstones": false,
       "unloadedCalls": "run",
       "countTimeoutMs": 3000,
       "maxResults": 5,
       "pendingWaitMs": 5000,
       "searchTool": "ToolSearch",
       "callTool": "CallTool",
       "namePrefix": "mcp__",
       "exactNames": false,
       "descriptionLimit": 2048,
       "definitionLimit": 100000,
       "answerTokens": 8000
      }"
    `)
  const { validate, notify } = resolveOptions({})
  expect([validate({}, {}), notify('x')]).toEqual([[], undefined])
})

it('takes the base URL of the environment unless the option names one', () => {
  const environment = { ANTHROPIC_BASE_URL: 'https://a.example' }
  expect(resolveOptions({ environment }).baseURL).toBe('https://a.example')
  expect(resolveOptions({ environment, baseURL: 'https://b.example' }).baseURL).toBe('https://b.example')
  expect(resolveOptions({}).baseURL).toBeUndefined()
})

it('names the options nearest to an unknown one, or where they are listed', () => {
  const messages = ['toolSerach', 'tool', 'server', 'stat', 'zzzzzzzzzz', 'toString'].map((name) => {
    try {
      return resolveOptions({ [name]: 1 } as Loose)
    } catch (error) {
      return (error as Error).message
    }
  })
  expect(messages).toMatchInlineSnapshot(`
    [
      "toolshelf: unknown option "toolSerach" (given 1); nearest: searchTool, toolSearch, callTool. [BAD_OPTION]",
      "toolshelf: unknown option "tool" (given 1); nearest: tools, callTool, searchTool. [BAD_OPTION]",
      "toolshelf: unknown option "server" (given 1); nearest: servers. [BAD_OPTION]",
      "toolshelf: unknown option "stat" (given 1); nearest: state, strategy. [BAD_OPTION]",
      "toolshelf: unknown option "zzzzzzzzzz" (given 1); the type ShelfOptions lists them. [BAD_OPTION]",
      "toolshelf: unknown option "toString" (given 1); the type ShelfOptions lists them. [BAD_OPTION]",
    ]
  `)
})

it('refuses one name for the search tool and the call tool, also if one of them is the default', () => {
  const pairs: Loose[] = [
    { searchTool: 'Tool', callTool: 'Tool' },
    { searchTool: 'CallTool' },
    { callTool: 'ToolSearch' },
  ]
  for (const options of pairs) expect(() => resolveOptions(options)).toThrow('another name than searchTool')
})

it('refuses tools and servers of another kind, and a request without its fields', async () => {
  const thrown = async (action: () => unknown): Promise<string> => {
    try {
      await action()
      return 'accepted'
    } catch (error) {
      return (error as Error).message
    }
  }
  const shelf = createPureShelf()
  const messages: Loose[] = []
  const lines = [
    ...[{ tools: {} }, { tools: null }, { servers: 'x' }, { servers: null }, { servers: { a: null } }],
    ...[{ servers: { a: 5 } }, { servers: { a: { state: 'odd' } } }, { servers: { a: { state: null } } }],
    ...[{ servers: { a: {} } }, { servers: { a: { state: 'failed' } } }],
    ...[
      { tools: [null] },
      { tools: [5] },
      { tools: [{}] },
      { tools: [{ name: '' }] },
      { tools: [{ name: 5 }] },
    ],
    { results, tools: [{ name: 'ReadResult' }] },
    { results, tools: [{ name: 'ReadResult', server: 'a' }] },
    { tools: [{ name: 'ReadResult' }] },
  ].map(
    async (options) => `${JSON.stringify(options)}: ${await thrown(() => createPureShelf(options as Loose))}`,
  )
  const requests = [undefined, null, {}, { model: 5, messages }, { model: 'm' }, { model: 'm', messages: {} }]
  for (const request of [...requests, { model: 'm', messages }])
    lines.push(
      thrown(() => shelf.prepare(request as Loose)).then((text) => `${JSON.stringify(request)}: ${text}`),
    )
  for (const options of [undefined, {}, { execute: 'x' }])
    lines.push(thrown(() => shelf.run({ id: 'a', name: 'b', input: {} } as Loose, options as Loose)))
  expect((await Promise.all(lines)).join('\n')).toMatchInlineSnapshot(`
    "{"tools":{}}: toolshelf: option "tools" is {}; use a list of tools. [BAD_OPTION]
    {"tools":null}: toolshelf: option "tools" is null; use a list of tools. [BAD_OPTION]
    {"servers":"x"}: toolshelf: option "servers" is "x"; use an object by server name. [BAD_OPTION]
    {"servers":null}: toolshelf: option "servers" is null; use an object by server name. [BAD_OPTION]
    {"servers":{"a":null}}: toolshelf: option "servers.a" is null; use an object with a state of pending, connected, failed, disabled. [BAD_OPTION]
    {"servers":{"a":5}}: toolshelf: option "servers.a" is 5; use an object with a state of pending, connected, failed, disabled. [BAD_OPTION]
    {"servers":{"a":{"state":"odd"}}}: toolshelf: option "servers.a" is {"state":"odd"}; use an object with a state of pending, connected, failed, disabled. [BAD_OPTION]
    {"servers":{"a":{"state":null}}}: toolshelf: option "servers.a" is {"state":null}; use an object with a state of pending, connected, failed, disabled. [BAD_OPTION]
    {"servers":{"a":{}}}: accepted
    {"servers":{"a":{"state":"failed"}}}: accepted
    {"tools":[null]}: toolshelf: a tool must be an object with a name, but was null. Remove it or give it a name. [BAD_TOOL]
    {"tools":[5]}: toolshelf: a tool must be an object with a name, but was 5. Remove it or give it a name. [BAD_TOOL]
    {"tools":[{}]}: toolshelf: a tool must be an object with a name, but was {}. Remove it or give it a name. [BAD_TOOL]
    {"tools":[{"name":""}]}: toolshelf: a tool must be an object with a name, but was {"name":""}. Remove it or give it a name. [BAD_TOOL]
    {"tools":[{"name":5}]}: toolshelf: a tool must be an object with a name, but was {"name":5}. Remove it or give it a name. [BAD_TOOL]
    {"results":{"store":{},"budget":0},"tools":[{"name":"ReadResult"}]}: toolshelf: option "tools" is "ReadResult"; use another name for this tool, or leave the option "results" out. [BAD_OPTION]
    {"results":{"store":{},"budget":0},"tools":[{"name":"ReadResult","server":"a"}]}: accepted
    {"tools":[{"name":"ReadResult"}]}: accepted
    undefined: toolshelf: prepare() needs "model", the id of a model, but was given undefined. [BAD_REQUEST]
    null: toolshelf: prepare() needs "model", the id of a model, but was given undefined. [BAD_REQUEST]
    {}: toolshelf: prepare() needs "model", the id of a model, but was given undefined. [BAD_REQUEST]
    {"model":5,"messages":[]}: toolshelf: prepare() needs "model", the id of a model, but was given 5. [BAD_REQUEST]
    {"model":"m"}: toolshelf: prepare() needs "messages", the list of messages, but was given undefined. [BAD_REQUEST]
    {"model":"m","messages":{}}: toolshelf: prepare() needs "messages", the list of messages, but was given {}. [BAD_REQUEST]
    {"model":"m","messages":[]}: accepted
    toolshelf: option "execute" is undefined; use a function that runs a tool. [BAD_OPTION]
    toolshelf: option "execute" is undefined; use a function that runs a tool. [BAD_OPTION]
    toolshelf: option "execute" is "x"; use a function that runs a tool. [BAD_OPTION]"
  `)
})
