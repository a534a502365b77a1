// The small pure parts between the protocol and the host, each by a table: lines, the first request, headers declared in
// schemas, blocks of a result, reasons of a failure, differences of definitions.
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { answerInitialize, greetingFor } from '../../src/mcp/greeting/index.ts'
import { toBlocks } from '../../src/mcp/host/content.ts'
import type { RemoteConfig, ServerConfig, StdioConfig } from '../../src/mcp/index.ts'
import {
  CallError,
  connectionFailure,
  failureMessage,
  headerFault,
  isAnswer,
  isUndelivered,
  lastLinesWithError,
  missingRights,
  withErrorLine,
} from '../../src/mcp/protocol/index.ts'
import { createLineReader } from '../../src/mcp/session/lines.ts'

const configOf = (transport: StdioConfig | RemoteConfig, variables = {}): ServerConfig => ({
  ...{
    name: 'one',
    disabled: false,
    lazy: false,
    alwaysLoad: undefined,
    description: undefined,
    source: 'test',
  },
  ...{ tools: {}, allow: [], deny: [], connectTimeoutMs: 1000, callTimeoutMs: 1000 },
  transport,
  variables,
})
const stdio = (more: Partial<StdioConfig> = {}): StdioConfig => ({
  ...{ kind: 'stdio', command: 'run', args: [], env: {}, cwd: undefined },
  ...more,
})
const remote = (more: Partial<RemoteConfig> = {}): RemoteConfig => ({
  ...{ kind: 'http', url: 'https://x.example:8080/mcp?a=1', headers: {} },
  ...more,
})

describe('lines of a server', () => {
  const read = (text: string, longest = 1_000_000) => createLineReader(longest).read(Buffer.from(text))
  const only = (message: unknown) => read(`${JSON.stringify(message)}\n`)[0]

  it('come in pieces, each with its bytes', () => {
    const reader = createLineReader(30)
    const answer = '{"jsonrpc":"2.0","id":1,"result":{}}'
    expect(reader.read(Buffer.from(answer.slice(0, 10)))).toEqual([])
    expect(reader.read(Buffer.from(`${answer.slice(10)}\n \t${answer} \r\n{"jsonrpc":`))).toEqual([
      { bytes: 37, message: JSON.parse(answer), isAnswer: true },
      { bytes: 41, message: JSON.parse(answer), isAnswer: true },
    ])
    expect(reader.read(Buffer.from('"2.0","method":"ping"}\n'))[0]?.message).toEqual({
      jsonrpc: '2.0',
      method: 'ping',
    })
  })

  it('H6 with millions of values are refused before they are parsed, which would take seconds', () => {
    const many = (count: number) => `{"jsonrpc":"2.0","id":1,"result":{"x":[${'[],'.repeat(count - 1)}[]]}}\n`
    expect(() => read(many(5_000_001))).toThrow('it wrote a message that has more than 5000000 values')
    expect(read(many(100_000))[0]?.isAnswer).toBe(true)
  })

  it('that are not messages are skipped', () => {
    for (const line of [
      '',
      'hello',
      '[]',
      '{',
      '{}',
      '{"jsonrpc":"1.0"}',
      '{"jsonrpc":"2.0"',
      '{"jsonrpc":"2.0"]',
      'x{"jsonrpc":"2.0"}',
    ])
      expect(read(`${line}\n`), line).toEqual([
        { bytes: line.length + 1, message: undefined, isAnswer: false },
      ])
  })

  it('that are too long end it, and only those', () => {
    expect(read('x'.repeat(30), 30)).toEqual([])
    expect(() => read('x'.repeat(2_000_001), 2_000_000)).toThrow('it wrote a line of more than 2 MB')
    expect(read(`${'x'.repeat(20)}\n${'x'.repeat(20)}\n`, 30)).toHaveLength(2)
  })

  it('hold well-formed answers, or an error in their place', () => {
    const base = { jsonrpc: '2.0', id: 1 }
    expect(only({ ...base, method: 'ask' })?.isAnswer).toBe(false)
    expect(only({ ...base, result: { a: 1 }, error: null })?.message).toEqual({ ...base, result: { a: 1 } })
    const message = 'its answer is not an object: '
    for (const result of [null, 3, [1], 'x'])
      expect(only({ ...base, result })?.message).toEqual({
        ...base,
        error: { code: -32603, message: message + JSON.stringify(result) },
      })
    expect(only({ ...base, result: 'y'.repeat(600) })?.message).toMatchObject({
      error: { message: expect.stringMatching(/^its answer is not an object: "y{499}$/) },
    })
    expect(only({ ...base, error: { code: 5, message: 'm', data: 1 } })?.message).toEqual({
      ...base,
      error: { code: 5, message: 'm', data: 1 },
    })
    for (const error of ['broken', null, { code: 1.5 }])
      expect(only({ ...base, error })?.message).toMatchObject({
        error: { code: -32603, message: `an error without a message: ${JSON.stringify(error)}` },
      })
  })
})

describe('the first request', () => {
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'c', version: '1' },
  }
  const ordinary = { jsonrpc: '2.0', id: 1, method: 'initialize', params }

  async function answered(request: unknown) {
    const [input, output] = [new PassThrough(), new PassThrough()]
    input.end(`${JSON.stringify(request)}\nrest`)
    const found = await answerInitialize(greetingFor([]), { input, output })
    return { found, left: String(input.read() ?? ''), sent: String(output.read() ?? '') }
  }

  it('is answered and taken where it is ordinary', async () => {
    for (const request of [ordinary, { ...ordinary, id: 'a' }]) {
      const { found, left, sent } = await answered(request)
      expect([found, left]).toEqual([request, 'rest'])
      expect(JSON.parse(sent)).toMatchObject({ id: request.id, result: { protocolVersion: '2025-06-18' } })
    }
  })

  it('is answered with what the gateway can do, and what its servers add', () => {
    const capabilities = {
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      prompts: { listChanged: true },
      completions: {},
    }
    expect(greetingFor([]).capabilities).toEqual({ ...capabilities, logging: {} })
    const server = (state: string) => ({
      ...{ name: 'one', state, config: {}, capabilities: { extensions: { 'com.example/x': { a: 1 } } } },
      instructions: 'Do.',
    })
    const stateless = greetingFor([server('connected')] as never, { isStateless: true })
    expect(stateless.capabilities).toEqual({ ...capabilities, extensions: { 'com.example/x': { a: 1 } } })
    expect(stateless.instructions).toMatch(/one.*Do\./s)
    expect(greetingFor([server('disabled')] as never)).toMatchObject({
      capabilities: { ...capabilities, logging: {} },
      instructions: expect.not.stringMatching(/Do\./),
    })
  })

  it.each<[string, object]>([
    ['another version of JSON-RPC', { ...ordinary, jsonrpc: '1.0' }],
    ['another method', { ...ordinary, method: 'ping' }],
    ['no id', { ...ordinary, id: null }],
    ['half an id', { ...ordinary, id: 1.5 }],
    ['an unknown version', { ...ordinary, params: { ...params, protocolVersion: '1' } }],
    ['no capabilities', { ...ordinary, params: { ...params, capabilities: 1 } }],
    ['no client', { ...ordinary, params: { ...params, clientInfo: undefined } }],
    ['a client without a name', { ...ordinary, params: { ...params, clientInfo: { version: '1' } } }],
    ['a client without a version', { ...ordinary, params: { ...params, clientInfo: { name: 'c' } } }],
    ['_meta', { ...ordinary, params: { ...params, _meta: {} } }],
    ['an unknown field', { ...ordinary, more: 1 }],
    ['an unknown parameter', { ...ordinary, params: { ...params, more: 1 } }],
  ])('is left in the input where it has %s', async (_, request) => {
    expect(await answered(request)).toEqual({
      found: undefined,
      left: `${JSON.stringify(request)}\nrest`,
      sent: '',
    })
  })
})

describe('headers that a schema declares', () => {
  const header = (name: unknown, more = { type: 'string' }) => ({ ...more, 'x-mcp-header': name })
  const schema = (...inner: object[]) => ({
    type: 'object',
    properties: Object.fromEntries(inner.map((one, at) => [`a${at}`, one])),
  })
  const nested = (depth: number): object =>
    depth === 0 ? header('', { type: 'string' }) : schema(nested(depth - 1))

  it.each([
    [
      schema(header('Region'), header('Zone', { type: 'integer' }), header('On', { type: 'boolean' })),
      undefined,
    ],
    [schema({ properties: { inner: header('Deep') } }), undefined],
    [
      { ...schema(), default: header(1), enum: [header(1)], const: header(1), examples: [header(1)] },
      undefined,
    ],
    [schema(header(7)), '7 is not a valid header name'],
    [schema(header('a b')), '"a b" is not a valid header name'],
    [schema(header('')), '"" is not a valid header name'],
    [schema({ items: header('X') }), 'the header "X" is declared outside of an argument'],
    [{ anyOf: [schema(header('X'))] }, 'the header "X" is declared outside of an argument'],
    [schema(header('X', { type: 'number' })), 'the header "X" is of a type that headers cannot hold'],
    [schema(header('X'), header('x')), 'the header "x" is declared twice'],
    [nested(64), '"" is not a valid header name'],
    [nested(65), undefined],
    [null, undefined],
    ['text', undefined],
  ])('%j', (given, fault) => {
    expect(headerFault(given)).toBe(fault)
  })
})

describe('blocks of a result', () => {
  const blocks = (...content: object[]) => toBlocks({ content } as never)
  const text = (written: string) => ({ type: 'text', text: written })
  const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }

  it.each<[object, object]>([
    [{ type: 'text', text: 'a' }, text('a')],
    [{ type: 'text' }, text('')],
    [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }, png],
    [
      { type: 'image', mimeType: 'image/bmp', data: 'AAAA' },
      text('[image of type image/bmp, 4 base64 characters]'),
    ],
    [{ type: 'audio', mimeType: 'audio/wav' }, text('[audio of type audio/wav, 0 base64 characters]')],
    [{ type: 'resource_link', uri: 'a://b' }, text('[resource a://b]')],
    [
      { type: 'resource_link', uri: 'a://b', name: 'n', title: 't', description: 'd' },
      text('[resource a://b (t: d)]'),
    ],
    [{ type: 'resource_link', uri: 'a://b', name: 'n' }, text('[resource a://b (n)]')],
    [{ type: 'resource', resource: { uri: 'a://b', text: 'w' } }, text('[resource a://b]\nw')],
    [{ type: 'resource', resource: { uri: 'a://b', mimeType: 'image/png', blob: 'AAAA' } }, png],
    [
      { type: 'resource', resource: { uri: 'a://b', blob: 'AA' } },
      text('[resource a://b of type unknown, 2 base64 characters]'),
    ],
    [
      { type: 'resource', resource: { uri: 'a://b', mimeType: 'x/y' } },
      text('[resource a://b of type x/y, 0 base64 characters]'),
    ],
    [{ type: 'other', a: 1 }, text('{"type":"other","a":1}')],
  ])('%j', (given, block) => {
    expect(blocks(given)).toEqual([block])
  })

  it('without any are the structured content, or none', () => {
    expect(toBlocks({ content: [], structuredContent: { a: 1 } } as never)).toEqual([text('{"a":1}')])
    expect(blocks()).toEqual([])
  })
})

describe('why a connection failed', () => {
  const coded = (code: string) => Object.assign(new Error('no luck'), { code })
  const status = (number: number) => Object.assign(new Error('no luck'), { status: number })

  it.each<[unknown, string | undefined, StdioConfig | RemoteConfig, string]>([
    [
      coded('ENOENT'),
      undefined,
      stdio({ cwd: '/none/such' }),
      'its folder "/none/such" does not exist; create it, or correct "cwd"',
    ],
    [
      coded('ENOENT'),
      undefined,
      stdio({ cwd: '/' }),
      'the command "run" was not found; install it, or write its full path',
    ],
    [
      coded('ENOENT'),
      undefined,
      stdio(),
      'the command "run" was not found; install it, or write its full path',
    ],
    [coded('EACCES'), undefined, stdio(), 'the command "run" is not executable; check its permissions'],
    [coded('EPIPE'), undefined, stdio(), 'no luck'],
    [coded('EPIPE'), undefined, stdio({ cwd: '/none/such' }), 'no luck'],
    [coded('EPIPE'), 'ended with 1', stdio(), 'the process ended with 1 before it was ready'],
    ['text', undefined, stdio(), 'text'],
    [status(401), undefined, remote(), 'needs a login: supply a token through the option "authorize"'],
    [
      Object.assign(new Error('run this'), { name: 'UnauthorizedError', isForUser: true }),
      undefined,
      remote(),
      'run this',
    ],
    [
      Object.assign(new Error('no login page'), { name: 'UnauthorizedError' }),
      undefined,
      remote(),
      'needs a login: supply a token through the option "authorize"',
    ],
    [status(403), undefined, remote(), 'x.example:8080 answered with HTTP 403; check its key'],
    [status(500), undefined, remote(), 'x.example:8080 answered with HTTP 500'],
    [coded('ENOENT'), undefined, remote(), 'x.example:8080: no luck'],
    [coded('EACCES'), undefined, remote({ url: 'nowhere' }), 'nowhere: no luck'],
    [
      new Error('fetch failed', { cause: { code: 'ECONNREFUSED' } }),
      undefined,
      remote(),
      'x.example:8080: ECONNREFUSED',
    ],
  ])('%s, %s', (error, ending, transport, reason) => {
    expect(connectionFailure(error, ending, configOf(transport)).reason).toBe(reason)
  })

  it('the line that names the error of its process is added once, without frames', () => {
    const stderr = 'first\nError: no key\n    at file.js:1\n\nNode.js v20\n'
    expect(withErrorLine('it ended', stderr)).toBe('it ended. It said: Error: no key')
    expect(withErrorLine('Error: no key', stderr)).toBe('Error: no key')
    expect(withErrorLine('it ended', ' \n')).toBe('it ended')
    expect(withErrorLine('it ended', 'x'.repeat(400))).toBe(`it ended. It said: ${'x'.repeat(300)}`)
  })

  const group = [
    '  + Exception Group Traceback (most recent call last):',
    '  |   File "<string>", line 3, in <module>',
    '  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)',
    '  +-+---------------- 1 ----------------',
    '    | Traceback (most recent call last):',
    '    |   File "s.py", line 2, in main',
    '    | ValueError: no key',
    '    +------------------------------------',
  ]
  it.each([
    [
      'Node',
      [
        'node:internal/modules/cjs/loader:1210',
        '  throw err;',
        '  ^',
        '',
        "Error: Cannot find module '/nope.js'",
        '    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)',
        "    at node:internal/main/run_main_module:28:49 {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}",
        '',
        'Node.js v20.20.2',
      ],
      "Error: Cannot find module '/nope.js'",
    ],
    [
      'Node with a code and a cause',
      [
        'Error [ERR_X]: outer',
        '    at a.js:1:1 {',
        '  [cause]: Error: inner',
        '      at b.js:1:1',
        '}',
        'bye',
      ],
      'Error [ERR_X]: outer',
    ],
    ['a thrown object', ['[eval]:1', 'throw {a:1}', '^', '', '{ a: 1 }', '', 'Node.js v20'], '{ a: 1 }'],
    [
      'a list of issues',
      ['ZodError: [', '  {', '    "path": ["KEY"]', '  }', ']', '    at x.js:1:1 {', '  issues: []', '}'],
      'ZodError: [ { "path": ["KEY"] } ]',
    ],
    [
      'Python',
      [
        'Error: an old one',
        'Traceback (most recent call last):',
        '  File "s.py", line 3, in <module>',
        'mod.Missing: no key',
        'Sorry',
      ],
      'mod.Missing: no key',
    ],
    ['a group of Python', group, 'ValueError: no key'],
    [
      'Python without a traceback',
      ["python3: can't open file '/nope.py': [Errno 2]"],
      "can't open file '/nope.py'",
    ],
    [
      'argparse',
      ['usage: s.py [-h] --key KEY', 's.py: error: --key is required'],
      's.py: error: --key is required',
    ],
    ['Deno and Rust', ['error: Module not found "x.ts".', '    at y', ''], 'error: Module not found "x.ts".'],
    [
      'Docker',
      [
        'docker: Error response from daemon: no such image',
        '',
        "Run 'docker run --help' for more information",
      ],
      'docker: Error response from daemon: no such image',
    ],
    [
      'npm',
      [
        'npm error code E404',
        'npm error 404 Not Found - GET https://example.test/x',
        'npm error 404',
        'npm notice New version!',
        'npm error A complete log of this run can be found in: /x.log',
      ],
      'npm error 404 Not Found - GET https://example.test/x',
    ],
    ['Go', ['panic: no key', '', 'goroutine 1 [running]:', 'main.main()', 'exit status 2'], 'panic: no key'],
    ['no error', ['starting', '  on port 1', '}'], 'starting'],
  ])('of %s', (_, lines, line) => {
    const reason = withErrorLine('it ended', lines.join('\n'))
    expect(reason.startsWith('it ended. It said: ')).toBe(true)
    expect(reason).toContain(line)
    expect(reason.length).toBeLessThan(100)
  })

  it('stays in front of the last lines of a long output', () => {
    const lines = ['Error: x', ...Array.from({ length: 9 }, (_, index) => `    at ${index}`)]
    expect(lastLinesWithError(lines, 4)).toEqual(['Error: x', '…', '    at 7', '    at 8'])
    expect(lastLinesWithError(lines, 10)).toEqual(lines)
    expect(lastLinesWithError(lines.slice(1), 2)).toEqual(['    at 7', '    at 8'])
    expect(lastLinesWithError([], 2)).toEqual([])
  })

  it('of a call: who ended it, and whether it may be sent again', () => {
    const cause = coded('ECONNREFUSED')
    expect(new CallError('m', cause)).toMatchObject({ message: 'm', cause })
    expect([status(404), new Error('x', { cause }), status(500), new Error('x')].map(isUndelivered)).toEqual([
      ...[true, true],
      ...[false, false],
    ])
    expect([{ code: -32603 }, coded('EPIPE'), {}].map(isAnswer)).toEqual([true, false, false])
    const told = (error: object, isOpen: boolean, wasOpen: boolean, category?: string) =>
      failureMessage('one', error, 'm', { isOpen, wasOpen, category })
    const unknown = 'Whether the call took effect is not known.'
    expect([
      told(coded('EPIPE'), true, true),
      told({ code: 1 }, true, true, 'r'),
      told(coded('EPIPE'), false, true),
      told({}, false, false, 'r'),
      told({}, false, true, 'r'),
    ]).toEqual([
      `the server "one" cannot be reached (EPIPE). ${unknown}`,
      'm',
      'm',
      'the server "one" is not running: r',
      `the server "one" ended during the call: r. ${unknown}`,
    ])
  })

  it('a scope that a shell would read is not repeated', () => {
    const hint = (server: string, scope?: string) => `run login ${server}${scope ? ` ${scope}` : ''}`
    expect(missingRights('one', 'repo read:org', hint)).toBe(
      'It needs more permissions: run login one repo read:org',
    )
    expect(missingRights('one', 'repo read:org')).toBe(
      'It needs more permissions: supply a token with the scope "repo read:org" through the option "authorize"',
    )
    for (const scope of ['', '$(rm)', 'a"b', 'x'.repeat(501)])
      expect(missingRights('one', scope, hint)).toBe('It needs more permissions: run login one')
  })
})
