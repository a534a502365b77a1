// The greeting and the protocol's small rules: one rich example of each, and what every single change of it leads to.
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import {
  answerInitialize,
  greetingFor,
  joinInstructions,
  passableExtensions,
} from '../../src/mcp/greeting/index.ts'
import type { KnownServer, ListedTool } from '../../src/mcp/index.ts'
import { addressOutput, createAddresses, nameAll } from '../../src/mcp/lists/addresses.ts'
import { isPlainSchema } from '../../src/mcp/lists/plain-schema.ts'
import {
  connectionFailure,
  failureMessage,
  headerFault,
  isAnswer,
  isForModel,
  isForPages,
  isReservedKey,
  isUndelivered,
  missingRights,
  passableMeta,
  withErrorLine,
  withPassableMeta,
} from '../../src/mcp/protocol/index.ts'
import { effects } from '../support/variants.ts'

const written = (lines: readonly unknown[]) =>
  `${lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')}\n`
const file = (name: string) => `./parts/${name}.txt`

describe('the greeting', () => {
  const server = (name: string, more: Partial<KnownServer> = {}): KnownServer => ({
    ...{
      name,
      state: 'connected',
      instructions: `Use ${name} well.`,
      config: { description: `The ${name}.` },
    },
    capabilities: {
      extensions: {
        'com.example/a': { of: name },
        'io.modelcontextprotocol/ui': {},
        'io.modelcontextprotocol/x': {},
      },
    },
    ...more,
  })
  const servers = [
    server('mail'),
    server('fax', { state: 'disabled' }),
    server('files', { instructions: 'y'.repeat(200) }),
  ]

  it('is made of what servers say, as far as there is room', async () => {
    const write = (known: KnownServer[]) => {
      const { capabilities, instructions, serverInfo } = greetingFor(known, {
        version: '1',
        instructions: 300,
      })
      return [JSON.stringify({ capabilities, serverInfo }), ...instructions.split('\n')]
    }
    const story = await effects(servers, write)
    const one = [
      { name: 'a', description: undefined, instructions: `${'x'.repeat(90)}😀${'y'.repeat(90)}` },
      { name: 'b', description: 'B.', instructions: ' ' },
      { name: 'c', description: '', instructions: 'Short.' },
    ]
    const budgets = [0, 7, 8, 40, 160, 240, 250, 254, 255, 256, 300, 400].map((budget) => [
      budget,
      joinInstructions(one, budget),
    ])
    const stateless = greetingFor(servers, { isStateless: true }).capabilities
    const odd = [
      null,
      [],
      5,
      Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`com.x/${index}`, index])),
    ].map((value) => Object.keys(passableExtensions(value)).length)
    await expect(`${story}${written([...budgets, stateless, greetingFor([]), odd])}`).toMatchFileSnapshot(
      file('greeting'),
    )
  })

  it('answers an ordinary request at once, and leaves every other one to the SDK', async () => {
    const request = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-06-18',
        capabilities: { roots: {} },
        clientInfo: { name: 'c', version: '1', title: 'C' },
      },
    }
    const write = async (changed: unknown) => {
      const [input, output] = [new PassThrough(), new PassThrough()]
      input.end(`${JSON.stringify(changed)}\nrest`)
      const found = await answerInitialize(greetingFor([], { instructions: 0 }), { input, output })
      return [`found ${JSON.stringify(found)}`, `left ${input.read()}`, `sent ${output.read()}`]
    }
    const more = [
      { ...request, more: 1 },
      { ...request, params: { ...request.params, _meta: {} } },
      { ...request, params: { ...request.params, more: 1 } },
      { ...request, id: 1.5 },
      { ...request, id: 'a' },
      null,
      [],
    ]
    const others: string[] = []
    for (const one of more) others.push(...(await write(one)))
    await expect(`${await effects(request, write)}${written(others)}`).toMatchFileSnapshot(file('initialize'))
  })
})

it('the rules of the protocol, each by a table', async () => {
  const schema = {
    properties: {
      a: { type: 'string', 'x-mcp-header': 'X-A' },
      b: { type: 'object', properties: { c: { type: 'integer', 'x-mcp-header': 'X-B' } } },
      d: { anyOf: [{ type: 'string' }], enum: [{ 'x-mcp-header': 'X-A' }], default: { 'x-mcp-header': '' } },
    },
  }
  const faults = [
    {
      properties: {
        a: { type: 'string', 'x-mcp-header': 'x-a' },
        b: { type: 'string', 'x-mcp-header': 'X-A' },
      },
    },
    { properties: { a: { items: { type: 'string', 'x-mcp-header': 'X' } } } },
    { properties: [{ type: 'string', 'x-mcp-header': 'X' }] },
    { properties: { a: { type: 'number', 'x-mcp-header': 'X' } } },
    { anyOf: [{ properties: { a: { type: 'string', 'x-mcp-header': 'X' } } }] },
    { type: 'string', 'x-mcp-header': 'a b' },
  ].map((one) => headerFault(one) ?? 'fine')
  const headers = await effects(schema, (changed: unknown) => [headerFault(changed) ?? 'fine'])
  const meta = {
    progressToken: 1,
    traceparent: 't',
    'com.example/x': { a: 1 },
    'io.modelcontextprotocol/y': 2,
    'mcp/z': 3,
    'dev.mcp.x': 4,
    'a.mcp': 5,
  }
  const metas = await effects(meta, (changed: never) => [JSON.stringify(passableMeta(changed))])
  const big = {
    ...meta,
    'com.example/x': 'x'.repeat(66_000),
    baggage: 'b'.repeat(8193),
    tracestate: 'b'.repeat(8192),
  }
  const circle: { self?: unknown } = {}
  circle.self = circle
  const odd = [
    Object.keys(passableMeta(big)),
    passableMeta(null),
    passableMeta([1]),
    passableMeta({ circle }),
    withPassableMeta({ a: 1, _meta: { progressToken: 1 } }),
    withPassableMeta({ a: 1, _meta: { x: 1 } }),
  ]
  const keys = [
    'mcp/x',
    'mcp.x',
    'a.mcp/x',
    'a.b.mcp/x',
    'xmcp/x',
    'MCP/x',
    'modelcontextprotocol.io/x',
    'mcp',
  ].map((key) => `${key} ${isReservedKey(key)}`)
  const shown = [
    undefined,
    {},
    { ui: null },
    { ui: { visibility: ['app'] } },
    { ui: { visibility: ['model'] } },
    { ui: { visibility: [] } },
    { ui: { visibility: 'app' } },
  ].map((_meta) => {
    const one = { name: 'x', _meta } as unknown as ListedTool
    return `${JSON.stringify(_meta)} ${isForModel(one)} ${isForPages(one)}`
  })
  const config = (transport: object) => ({ name: 'srv', transport }) as never
  const stdio = config({ kind: 'stdio', command: 'run', cwd: '/nowhere/at/all' })
  const here = config({ kind: 'stdio', command: 'run', cwd: '/' })
  const bare = config({ kind: 'stdio', command: 'run' })
  const http = config({ kind: 'http', url: 'https://a.example:99/x' })
  const errors: object[] = [
    { code: 'ENOENT' },
    { code: 'EACCES' },
    { status: 401 },
    { name: 'UnauthorizedError', message: 'please login' },
    { status: 403 },
    { status: 500 },
    { message: 'm' },
    { message: 'm', cause: { code: 'ECONNREFUSED' } },
    { message: 'm', cause: { message: '', cause: { message: 'deep' } } },
  ]
  const failures = errors.flatMap((error) =>
    [stdio, here, bare, http, config({ kind: 'http', url: 'no url' })].flatMap((one) => [
      connectionFailure(error, undefined, one),
      connectionFailure(error, 'ended with 1', one),
    ]),
  )
  const reasons = failures.map(({ reason, category }) => `${reason} | ${category}`)
  const states = [true, false].flatMap((isOpen) =>
    [true, false].flatMap((wasOpen) => ['r', undefined].map((category) => ({ isOpen, wasOpen, category }))),
  )
  const complaints = states.flatMap((state) =>
    [{ code: 'EPIPE' }, { code: 5 }].map((error) => failureMessage('srv', error, 'm', state)),
  )
  const answers = [
    { code: 5 },
    { code: 'x' },
    { status: 404 },
    { status: 500 },
    { cause: { code: 'ECONNREFUSED' } },
    { cause: { code: 'x' } },
  ].map((error) => `${isAnswer(error)} ${isUndelivered(error)}`)
  const scopes = [undefined, '', 'a b', 'a;b', 'x'.repeat(500), 'x'.repeat(501)].map((scope) =>
    missingRights('srv', scope).slice(0, 90),
  )
  const words = [
    '',
    ' \n ',
    'one\ntwo\n',
    'Error: x\n    at y\nNode.js v20',
    'npm error A complete log of this run',
    'z'.repeat(400),
    'failed',
  ].map((said) => withErrorLine('it failed', said))
  const all = [
    headers,
    metas,
    ...faults,
    ...odd,
    ...keys,
    ...shown,
    ...reasons,
    ...complaints,
    ...answers,
    ...scopes,
    ...words,
  ]
  await expect(written(all)).toMatchFileSnapshot(file('protocol'))
})

describe("the gateway's tables", () => {
  it('let an output schema pass that every client can compile, and no other', async () => {
    const schema = {
      type: 'object',
      title: 'T',
      'x-own': 1,
      required: ['a'],
      properties: {
        a: { type: ['string', 'null'], minLength: 1, pattern: '^x', format: 'date', enum: ['x'] },
        b: { type: 'array', items: { $ref: '#/$defs/c' }, uniqueItems: true, prefixItems: [true] },
        d: { anyOf: [{ not: { const: 1 } }, { $ref: '#' }], additionalProperties: false },
      },
      $defs: { c: { type: 'integer', maximum: 5 } },
    }
    const others = [
      { type: 'object', $id: 'x' },
      { type: 'object', pattern: '(' },
      { type: 'object', properties: [] },
      { type: 'object', anyOf: [] },
      { type: 'object', enum: [] },
      { type: ['object'] },
      { type: 'object', type2: 'x' },
      { type: 'object', description: 'x'.repeat(65_600) },
      { type: 'object', properties: { a: { $ref: '#/definitions/a' } }, definitions: { b: {} } },
      { type: 'object', properties: { a: { $ref: '#/$defs/toString' } }, $defs: {} },
      { type: 'object', items: 5 },
      { type: 'object', $ref: 'x#/$defs/a', $defs: { a: {} } },
      { type: 'object', $ref: '#/$defs/a/b', $defs: { a: {}, 'a/b': {} } },
      { type: 'object', properties: { a: { type: [] } } },
    ].map((one) => `${isPlainSchema(one)} ${JSON.stringify(one).slice(0, 80)}`)
    const story = await effects(schema, (changed: unknown) => [String(isPlainSchema(changed))])
    await expect(`${story}${written(others)}`).toMatchFileSnapshot(file('plain-schema'))
  })

  it('lead every name and address back to its server', async () => {
    const servers = ['GitHub', 'git_hub', '123', 'git-hub', 'gh_123', '-a_1']
    const addresses = createAddresses(() => servers)
    const uris = ['repo://x', 'ui://page', 'a+b', '']
    const lines = servers.flatMap((server) =>
      uris.map((uri) => {
        const there = addresses.uri(server, uri)
        return `${server} ${uri} → ${there} → ${JSON.stringify(addresses.uriBack(there))}`
      }),
    )
    const lost = ['x', '+x', 'nobody+x', 'ui://+x', 'ui://nobody+x'].map(
      (uri) => `${uri} ${addresses.uriBack(uri)}`,
    )
    const named = [
      ...nameAll(
        [
          ['a', 'b'],
          ['a', 'b'],
          ['a_b', 'c'],
          ['a', 'b__c'],
          ['A', 'b'],
          ['a', 'B'],
        ].map(([server = '', own = '']) => ({ server, own })),
      ),
    ]
    const output = {
      content: [
        { type: 'text', text: 'x', uri: 'a' },
        { type: 'resource_link', uri: 'repo://y', name: 'y' },
        { type: 'resource', resource: { uri: 'repo://z', text: 'z' } },
        { type: 'resource', resource: null },
        null,
      ],
      _meta: {
        'ui/resourceUri': 'ui://p',
        'openai/outputTemplate': 5,
        ui: { resourceUri: 'ui://q', other: 1 },
      },
    }
    const outputs = await effects(output, (changed: never) => [
      JSON.stringify(addressOutput(changed, 'GitHub', addresses)),
    ])
    await expect(`${written([...lines, ...lost, ...named])}${outputs}`).toMatchFileSnapshot(file('addresses'))
  })
})
