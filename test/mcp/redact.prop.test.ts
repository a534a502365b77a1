// Secrets of a configuration, in every form in which people write them, and every form in which servers print them.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RemoteConfig, ServerConfig, StdioConfig } from '../../src/mcp/index.ts'
import { createRedactor } from '../../src/mcp/redact/index.ts'
import { runs } from '../support/runs.ts'

type Given = {
  readonly transport: StdioConfig | RemoteConfig
  readonly variables?: { [name: string]: string }
}

const configOf = (given: Given): ServerConfig => ({
  name: 'one',
  disabled: false,
  lazy: false,
  alwaysLoad: undefined,
  description: undefined,
  tools: {},
  allow: [],
  deny: [],
  connectTimeoutMs: 1000,
  callTimeoutMs: 1000,
  source: 'test',
  ...given,
})
const stdio = (args: string[], env = {}): Given => ({
  transport: { kind: 'stdio', command: 'npx', args, env, cwd: undefined },
})
const remote = (url: string, headers = {}): Given => ({ transport: { kind: 'http', url, headers } })

/** How a configuration may hold a secret. */
const forms: { readonly [form: string]: (secret: string) => Given } = {
  env: (secret) => stdio([], { ACME: secret }),
  variable: (secret) => ({ ...stdio(['run', `x${secret}y`]), variables: { ACME_THING: secret } }),
  'docker -e': (secret) => stdio(['run', '-e', `TOKEN=${secret}`, 'mcp/github']),
  '-e of a plain name': (secret) => stdio(['run', '-e', `ACME=${secret}`, 'mcp/github']),
  '--env=': (secret) => stdio(['run', `--env=TOKEN=${secret}`, 'mcp/github']),
  '--header': (secret) =>
    stdio(['mcp-remote', 'https://x.example', '--header', `Authorization: Bearer ${secret}`]),
  '--header without a blank': (secret) => stdio(['mcp-remote', '--header', `Authorization:${secret}`]),
  '-H': (secret) => stdio(['-y', 'x', '-H', `X-Api-Key: ${secret}`]),
  '--token': (secret) => stdio(['-y', 'x', '--token', secret]),
  '--token in front of all else': (secret) => stdio(['--token', secret, 'x']),
  '--api-key=': (secret) => stdio(['-y', 'x', `--api-key=${secret}`]),
  '--user': (secret) => stdio(['-y', 'x', '--user', `ann:${secret}`]),
  shell: (secret) => ({ ...stdio(['-c', `TOKEN='${secret}' exec server --port 3000`]) }),
  'connection string': (secret) =>
    stdio(['-y', 'x', `postgres://ann:${encodeURIComponent(secret)}@db:5432/main`]),
  'fields of a connection': (secret) => stdio(['-y', 'x', `Server=db;User Id=sa;Password=${secret};`]),
  'words of a connection': (secret) => stdio(['-y', 'x', `host=db user=ann password=${secret}`]),
  'JSON argument': (secret) => stdio(['-y', 'x', JSON.stringify({ server: { apiKey: secret, port: 3000 } })]),
  'headers in a JSON argument': (secret) => stdio(['x', JSON.stringify({ headers: { 'X-Acme': secret } })]),
  'JSON in env': (secret) =>
    stdio([], {
      HEADERS: JSON.stringify({ Authorization: `Bearer ${secret}`, 'Notion-Version': '2022-06-28' }),
    }),
  header: (secret) => remote('https://x.example/mcp', { 'X-Acme': secret }),
  bearer: (secret) => remote('https://x.example/mcp', { Authorization: `Bearer ${secret}` }),
  basic: (secret) =>
    remote('https://x.example/mcp', {
      Authorization: `Basic ${Buffer.from(`ann:${secret}`).toString('base64')}`,
    }),
  query: (secret) => remote(`https://x.example/mcp?profile=${encodeURIComponent(secret)}`),
  password: (secret) => remote(`https://ann:${encodeURIComponent(secret)}@x.example/mcp`),
}

const json = (text: string) => JSON.stringify(text).slice(1, -1)

/** How a server may print it. */
const outputs: { readonly [output: string]: (secret: string) => string } = {
  'as it is': (secret) => secret,
  'in upper case': (secret) => secret.toUpperCase(),
  'in lower case': (secret) => secret.toLowerCase(),
  'in JSON': (secret) => JSON.stringify({ argv: ['-e', secret] }),
  'in JSON in JSON': (secret) => JSON.stringify({ body: JSON.stringify({ secret }) }),
  'in ASCII JSON': (secret) =>
    json(secret).replace(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  'URL-encoded': (secret) => encodeURIComponent(secret),
  'URL-encoded in lower case': (secret) => encodeURIComponent(secret).toLowerCase(),
  base64: (secret) => Buffer.from(secret).toString('base64'),
  'base64 of user and password': (secret) => `Basic ${Buffer.from(`ann:${secret}`).toString('base64')}`,
  base64url: (secret) => Buffer.from(`x${secret}`).toString('base64url'),
  hex: (secret) => Buffer.from(secret).toString('hex'),
  'over two lines': (secret) => `${secret.slice(0, 7)}\n    ${secret.slice(7)}`,
  'in colours': (secret) => `${secret.slice(0, 5)}\u001b[31m${secret.slice(5)}\u001b[0m`,
  'with hidden characters inside': (secret) => [...secret].join('\u200b'),
  'with tag characters inside': (secret) => [...secret].join('\u{E0020}'),
  'with variation selectors inside': (secret) => [...secret].join('\ufe0f'),
  'with titles of a terminal inside': (secret) => [...secret].join('\u001b]0;x\u0007'),
  'behind a terminal sequence that takes a letter': (secret) => `\u001b${secret}`,
  'for a shell': (secret) => secret.replace(/[^\w@%+=:,./-]/g, '\\$&'),
}

/** What a generator makes: letters and digits of both cases, at times with signs that have to be escaped. */
const token = fc
  .tuple(
    fc.constantFrom('sk-', 'ghp_', '', 'tok/'),
    fc.stringMatching(/^[A-Za-z][0-9][A-Za-z0-9]{10,30}$/),
    fc.constantFrom('', '+x', '"q', '&é', '\\n'),
  )
  .map((parts) => parts.join(''))

const cases = Object.keys(forms).flatMap((form) =>
  Object.keys(outputs).map((output) => [form, output] as const),
)

describe('H8 a secret', () => {
  it.each(cases)('given as %s and printed %s is hidden', (form, output) => {
    fc.assert(
      fc.property(token, (secret) => {
        // What a quoted shell word or a list of fields cannot hold is no case.
        fc.pre(
          !/['"\\;& ]/.test(secret) ||
            !['shell', 'fields of a connection', 'words of a connection'].includes(form),
        )
        const printed = `failed: ${outputs[output]!(secret)} was refused`
        const shown = createRedactor(configOf(forms[form]!(secret))).text(printed)
        expect(shown).toContain('[hidden]')
        for (const way of Object.values(outputs)) expect(shown).not.toContain(way(secret))
        for (let at = 0; at + 12 <= secret.length; at++)
          expect(shown.toLowerCase()).not.toContain(secret.slice(at, at + 12).toLowerCase())
      }),
      { numRuns: runs(2) },
    )
  })

  it('of which only a part is printed is hidden too', () => {
    const secret = 'ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'
    const { text } = createRedactor(configOf(stdio(['-e', `TOKEN=${secret}`])))
    expect(text(`token ${secret.slice(0, 20)}…`)).toBe('token [hidden]…')
    expect(text(`…${secret.slice(-16)} expired`)).toBe('…[hidden] expired')
  })

  it.each([
    ['a key among the arguments', ['-y', 'x', 'a8f5f167f44f4964e6c998dee827110c']],
    ['a vendor’s key', ['-y', 'x', 'sk-positional-4719']],
    ['one that says what it is', ['-y', 'x', 'MY_SECRET_VALUE']],
    ['a JSON list', ['x', '["--key", "a8f5f167f44f4964e6c998dee827110c"]']],
    ['a password with signs of its own', ['x', 'mysql://root:p@ss/w0rd#1@db/main']],
    ['a name without password in an address', ['x', 'https://ghp_a1B2c3D4e5F6@github.com/x/y']],
  ])('%s', (_, args) => {
    const { text } = createRedactor(configOf(stdio(args)))
    const secret = /a8f5\w+|sk-\S+|MY_\w+|p@ss.w0rd#1|ghp_\w+/.exec(args.join(' '))![0]
    expect(text(`argv: ${args.join(' ')}`)).not.toContain(secret)
  })

  it.each([
    ['a password without a scheme', { DB: 'ann:p4ssw0rd4714@db:5432/main' }, 'p4ssw0rd4714'],
    [
      'base64 of user and password',
      { AUTH: Buffer.from('ann:p4ssw0rd4715').toString('base64') },
      'p4ssw0rd4715',
    ],
    ['an id and a key', { AUTH: 'ApiKey my-id:k3y4716abc' }, 'k3y4716abc'],
    ['a scheme with several words', { AUTH: 'Bearer one two words' }, 'Bearer one two words'],
    ['fields under a secret’s name', { PASSWORD: 'a=b;c=d;e' }, 'a=b;c=d;e'],
    [
      'an address under a secret’s name',
      { WEBHOOK: 'https://x.example/in/abcdef' },
      'https://x.example/in/abcdef',
    ],
    ['a key with written line breaks', { KEY: 'BEGIN\\nAbCd1234EfGh5678IjKl\\nEND' }, 'AbCd1234EfGh5678IjKl'],
  ])('%s in env', (_, env, secret) => {
    const { text } = createRedactor(configOf(stdio([], env)))
    expect(text(`used ${secret} here`)).not.toContain(secret)
  })

  it('in errors is hidden in message, stack, data and causes', () => {
    const secret = 'sk-a1B2c3D4e5F6'
    const redactor = createRedactor(configOf(stdio([], { KEY: secret })))
    const cause = new Error(`inner ${secret}`)
    const error = Object.assign(new Error(`outer ${secret}`, { cause }), { data: { [secret]: [secret] } })
    redactor.error(error)
    expect(
      [error.message, error.stack, JSON.stringify(error.data), cause.message, cause.stack].join(),
    ).not.toContain(secret)
  })
})

describe('H8 public headers', () => {
  it.each([
    ['Mcp-Auth-Token', 'abc-def-ghi', true],
    ['Referer', 'https://x.example/?token=abc-def-ghi', true],
    ['User-Agent', 'abc-def-ghi', false],
  ])('%s', (name, value, isHidden) => {
    const { text } = createRedactor(configOf(remote('https://x.example/mcp', { [name]: value })))
    expect(text('said abc-def-ghi')).toBe(isHidden ? 'said [hidden]' : 'said abc-def-ghi')
  })
})

it('H6 texts that are nothing but blanks, or but a key, take no more time than others of their length', () => {
  const secret = 'sk-a1B2c3D4e5F6g7H8'
  const { text } = createRedactor(configOf(stdio([], { KEY: secret })))
  const blanks = ' '.repeat(400_000)
  expect(text(blanks)).toBe(blanks)
  expect(text(Buffer.from(secret).toString('base64url').repeat(20_000))).toBe('[hidden]')
})

describe('H8 harmless values stay readable', () => {
  const words = [
    ...[
      'us-east-1',
      'eu-central-1',
      'europe-west4',
      'eastus2',
      'true',
      'false',
      'debug',
      'production',
      'info',
    ],
    ...['3000', '8080', '127.0.0.1', 'localhost:5432', '10mb', '30s', '2026-07-28', 'v1.2.3', 'en_US.UTF-8'],
    ...['Europe/Berlin', 'read-only', 'utf-8', 'main', 'Ann', '/home/ann/data', './data', 'db.example.com'],
    ...['https://api.example.com', 'application/json', 'service.json', 'stdio'],
  ]
  it.each(words)('%s', (word) => {
    const names = { AWS_REGION: word, MODE: word, PORT: word, DATA_DIR: word, SETTING: word }
    const { text } = createRedactor({
      ...configOf(stdio(['--region', word, `--x=${word}`, '-e', `ACME=${word}`], names)),
      variables: { WHATEVER: word },
    })
    expect(text(`cannot use "${word}" here`)).toBe(`cannot use "${word}" here`)
  })

  it.each([
    ['@modelcontextprotocol/server-github@2025.4.8'],
    ['secrets-manager-mcp'],
    ['mcp/github:latest'],
    ['./dist/index.js'],
    ['python3.12'],
  ])('the program %s', (program) => {
    const { text } = createRedactor(configOf(stdio(['-y', program, '--verbose'])))
    expect(text(`could not run ${program}`)).toBe(`could not run ${program}`)
  })

  it('names that say so are public: models, regions, hosts', () => {
    const { text } = createRedactor(
      configOf(stdio([], { MODEL: 'claude-sonnet-4-5', DB_HOST: 'db-primary' })),
    )
    expect(text('claude-sonnet-4-5 at db-primary')).toBe('claude-sonnet-4-5 at db-primary')
  })
})

it('H8 the configuration that is shown holds no value of env or headers, and no secret argument', () => {
  const { config } = createRedactor(
    configOf(stdio(['x', '--token=a1B2c3D4e5F6', '--port', '80'], { A: 'b', K: 'long-value' })),
  )
  expect(config().transport).toMatchObject({
    args: ['x', '--token=[hidden]', '--port', '80'],
    env: { A: '[hidden]', K: '[hidden]' },
  })
})
