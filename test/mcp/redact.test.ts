// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as files hold them
// H8: what is configured appears in nothing that Toolshelf writes, literally or as JSON, URLs and base64 write it.
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { cleanText } from '../../packages/core/src/lib/text.ts'
import { createRedactor, createTextRedactor } from '../../packages/mcp/src/redact.ts'
import type { ServerConfig } from '../../packages/mcp/src/types.ts'
import { runs } from '../../packages/testkit/src/runs.ts'

const local = (args: readonly string[], env: object = {}, variables: object = {}, command = 'npx') =>
  ({
    name: 'one',
    transport: { kind: 'stdio', command, args, env, cwd: undefined },
    variables,
  }) as ServerConfig
const remote = (url: string, headers: object = {}) =>
  ({ name: 'one', transport: { kind: 'http', url, headers } }) as ServerConfig
const shownBy = (config: ServerConfig, text: string) => createRedactor(config).text(text)
const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Where a configuration holds a secret. */
const places: { readonly [place: string]: (secret: string) => ServerConfig } = {
  env: (secret) => local([], { ACME: secret }),
  'quoted env': (secret) => local([], { ACME: `"${secret}"` }),
  'a reference': (secret) => local(['run', `x${secret}y`], {}, { ACME: secret }),
  'a header': (secret) => remote('https://x.example/mcp', { 'X-Acme': secret }),
  'Bearer in a header': (secret) => remote('https://x.example/mcp', { Authorization: `Bearer ${secret}` }),
  'a flag': (secret) => local(['-y', 'x', '--token', secret]),
  'a flag with =': (secret) => local(['-y', 'x', `--api-key=${secret}`]),
  'a variable among the arguments': (secret) => local(['run', '-e', `TOKEN=${secret}`, 'x']),
  'a variable behind =': (secret) => local(['run', `--env=TOKEN=${secret}`, 'x']),
  'a header among the arguments': (secret) => local(['x', '--header', `Authorization: Bearer ${secret}`]),
  'a header without a blank': (secret) => local(['x', '-H', `X-Api-Key:${secret}`]),
  'a field of a JSON argument': (secret) => local(['x', JSON.stringify({ to: { apiKey: secret, port: 1 } })]),
  'JSON in JSON': (secret) => local(['x', JSON.stringify({ h: JSON.stringify({ token: secret }) })]),
  'a field of JSON in env': (secret) =>
    local([], { H: JSON.stringify({ Authorization: `Bearer ${secret}` }) }),
  'the password of a URL': (secret) => remote(`https://ann:${encodeURIComponent(secret)}@x.example/mcp`),
  'the password of a URL in env': (secret) =>
    local([], { DB: `postgres://ann:${encodeURIComponent(secret)}@db:5432/main?a=b@c` }),
  'a parameter of a URL': (secret) =>
    remote(`https://x.example/mcp?page=1&token=${encodeURIComponent(secret)}`),
  'a script': (secret) => local(['-c', `TOKEN='${secret}' exec server --port 3000`], {}, {}, 'sh'),
  'a flag of a script': (secret) => local(['-c', `server --verbose --token ${secret}`], {}, {}, 'sh'),
  'a connection string': (secret) => local(['x', `Server=db;User Id=sa;Password=${secret};`]),
  'a whole command line': (secret) => local([], {}, {}, `server --token ${secret}`),
}
/** What a shell or a list of fields cannot hold without other signs. */
const PLAIN = /^(?:a script|a flag of a script|a connection string|a whole command line)$/

/** How what we write may contain it. */
const forms: { readonly [form: string]: (secret: string) => string } = {
  'as it is': (secret) => secret,
  'as JSON': (secret) => JSON.stringify({ argv: ['-e', secret] }),
  'as ASCII JSON': (secret) =>
    JSON.stringify(secret).replace(
      /[^ -~]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  'in a URL': encodeURIComponent,
  'in a form': (secret) => encodeURIComponent(secret).replaceAll('%20', '+'),
  'in a URL, in lower case': (secret) =>
    encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase()),
  'as base64': base64,
  'as base64 behind a name': (secret) => base64(`user:${secret}`),
  'as base64 for URLs': (secret) => Buffer.from(`x${secret}`).toString('base64url'),
  'with invisible characters inside': (secret) => [...secret].join('\u200b'),
  'in colours': (secret) => `${secret.slice(0, 5)}\u001b[31m${secret.slice(5)}\u001b[0m`,
}

const secrets = fc
  .tuple(
    fc.constantFrom('sk-', 'tok/', ''),
    fc.stringMatching(/^[A-Za-z][0-9][A-Za-z0-9]{6,30}$/),
    fc.constantFrom('', '+x', '"q', '&é', '\\n', ' two', "'!(x)"),
  )
  .map((parts) => parts.join(''))

describe('H8 a configured value', () => {
  it.each(Object.keys(places))('given as %s is hidden in every form', (place) => {
    fc.assert(
      fc.property(secrets, (secret) => {
        fc.pre(!PLAIN.test(place) || /^[\w/+-]+$/.test(secret))
        const { text } = createRedactor(places[place]!(secret))
        for (const [form, write] of Object.entries(forms)) {
          const shown = text(`failed: ${write(secret)} was refused`)
          expect(shown, form).toContain('[hidden]')
          expect(cleanText(shown), form).not.toContain(secret)
        }
      }),
      { numRuns: runs(20) },
    )
  })

  it.each<[string, ServerConfig, string]>([
    ['one that is the start of another', local([], { A: 'abcdef-1', B: 'abcdef-12345' }), 'abcdef-12345'],
    ['one that ends with another', local([], { A: '5432-end', B: 'abcdef-5432-end' }), 'abcdef-5432-end'],
    ['one that overlaps another', local([], { A: 'abc-middle', B: 'middle-xyz' }), 'abc-middle-xyz'],
    [
      'a key of many lines',
      local([], { KEY: `-----BEGIN-----\n${'aB3+/'.repeat(400)}\n` }),
      'aB3+/'.repeat(400),
    ],
    ['a password with signs of its own', local(['mysql://root:p@ss/w0rd#1@db/main']), 'p@ss/w0rd#1'],
    ['a name without a password in a URL', remote('https://ghp_a1B2c3D4@x.example/y'), 'ghp_a1B2c3D4'],
    [
      'a header pasted as a name',
      remote('https://x.example', { 'Authorization: Bearer hunter-22': '' }),
      'hunter-22',
    ],
    ['a number', local(['x', '{"pin":98765432}']), '98765432'],
  ])('%s leaves nothing behind', (_, config, text) => {
    const whole = text.startsWith('aB3') ? `-----BEGIN-----\n${text}` : text
    expect(shownBy(config, `used ${whole} here`)).toBe('used [hidden] here')
  })

  it('in errors, data, keys, numbers and depths is hidden', () => {
    const redactor = createRedactor(local([], { KEY: 'hunter2222', PIN: '12345678' }))
    const cause = new Error('inner hunter2222')
    const data = { hunter2222: ['hunter2222', 12345678, 1] }
    const error = Object.assign(new Error('outer \u0007hunter2222', { cause }), { data })
    redactor.error(error)
    expect(error.message).toBe('outer [hidden]')
    expect(error.data).toEqual({ '[hidden]': ['[hidden]', '[hidden]', 1] })
    expect([error.stack, cause.message, cause.stack].join()).not.toContain('hunter2222')
    let deep: object = { a: 'hunter2222' }
    for (let depth = 0; depth < 2000; depth++) deep = { a: deep }
    expect(JSON.stringify(redactor.data(deep))).not.toContain('hunter2222')
  })

  it('what a call must repeat stays as the server named it', () => {
    const { list } = createRedactor(local([], { REGION: 'us-east-1' }))
    const schema = {
      type: 'object',
      properties: { name: { enum: ['us-east-1'], description: 'Not us-east-1.' } },
    }
    expect(list([{ name: 'us-east-1', description: 'In us-east-1.', inputSchema: schema }])).toEqual([
      {
        name: 'us-east-1',
        description: 'In [hidden].',
        inputSchema: {
          type: 'object',
          properties: { name: { enum: ['us-east-1'], description: 'Not [hidden].' } },
        },
      },
    ])
  })

  it('the configuration that is shown holds no value of env or headers, and no secret argument', () => {
    const { config } = createRedactor(local(['x', '--token=a1B2c3', '--port', '80'], { A: 'b' }, { C: 'd' }))
    expect(config()).toEqual({
      name: 'one',
      transport: { ...local(['x', '--token=[hidden]', '--port', '80']).transport, env: { A: '[hidden]' } },
    })
  })

  it('a token learned later is hidden', () => {
    const redactor = createRedactor(remote('https://x.example'))
    redactor.add('learned-token')
    expect(redactor.text('with learned-token')).toBe('with [hidden]')
  })
})

describe('H8 what is not hidden', () => {
  test.each(['1', 'true', 'dev', 'debug', '8080', 'production', 'localhost', 'postgres'])(
    'a short value and a plain word: %s',
    (word) => {
      const config = local(
        ['--region', word, '-e', `ACME=${word}`],
        { MODE: word, PORT: word },
        { WHAT: word },
      )
      expect(shownBy(config, `cannot use "${word}" here`)).toBe(`cannot use "${word}" here`)
    },
  )

  test.each([
    [
      'programs and plain arguments',
      local(['-y', '@x/secrets-manager-mcp@1.2.3', '--verbose', './dist/index.js']),
    ],
    [
      'names of settings',
      local(['--key-file', '/etc/keys/one.pem', '--max-tokens', '100000', '--auth-mode', 'bearer']),
    ],
    ['what every program knows', local(['${HOME}/notes'], {}, { HOME: '/home/ann' })],
    ['what every client sends', remote('https://x.example:8080/mcp/@ann', { Accept: 'application/json' })],
    [
      'references that are not expanded',
      local(['--key', '${CONTEXT7_API_KEY}'], { CONTEXT7_API_KEY: '${env:CONTEXT7_API_KEY}' }),
    ],
  ])('%s', (_, config) => {
    const text = `${JSON.stringify(config)} @x/secrets-manager-mcp@1.2.3 ./dist/index.js /etc/keys/one.pem 100000 bearer`
    expect(shownBy(config, `${text} /home/ann application/json x.example:8080/mcp/@ann`)).not.toContain(
      '[hidden]',
    )
  })

  it('a text beside a reference is hidden, the reference is not', () => {
    const config = local([], { KEY: 'prefix-${NAME}' })
    expect(shownBy(config, 'KEY=prefix-${NAME}')).toBe('KEY=[hidden]${NAME}')
  })
})

test('H8 many secrets in a large text: each character is looked at once, however alike they are', () => {
  const keys = Array.from({ length: 2000 }, (_, index) => `ghp_${'x'.repeat(20)}${index}`)
  const redact = createTextRedactor([], keys)
  expect(redact(`ghp_${'x'.repeat(20)}`.repeat(40_000))).toHaveLength(24 * 40_000)
  expect(redact(`${keys[1234]} `.repeat(30_000))).toBe('[hidden] '.repeat(30_000))
})
