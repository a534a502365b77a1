// Which values of a configuration are secret: each rule from both sides, as exact lists.
import { describe, expect, it } from 'vitest'
import type { RemoteConfig, ServerConfig, StdioConfig } from '../../src/mcp/index.ts'
import { collectSecrets } from '../../src/mcp/redact/collect.ts'
import { createRedactor, isHarmless, isKeyLike, isSecretName } from '../../src/mcp/redact/index.ts'

const stdio = (args: readonly string[], env: { [name: string]: string } = {}): StdioConfig => ({
  kind: 'stdio',
  command: 'npx',
  args,
  env,
  cwd: undefined,
})
const remote = (url: string, headers: { [name: string]: string } = {}): RemoteConfig => ({
  kind: 'http',
  url,
  headers,
})
const secretsOf = (transport: StdioConfig | RemoteConfig, variables: { [name: string]: string } = {}) =>
  [...collectSecrets({ name: 'one', transport, variables } as ServerConfig)].sort()

describe('names', () => {
  it.each<[string, boolean]>([
    ['API_KEY', true],
    ['apiKey', true],
    ['x-api-key', true],
    ['GITHUB_TOKEN', true],
    ['passphrase', true],
    ['DB_PASSWORD', true],
    ['Authorization', true],
    ['PAT', true],
    ['userPin', true],
    ['SESSION', true],
    ['SPINE', false],
    ['PATTERN', false],
    ['TOKEN_URL', false],
    ['KEY_FILE', false],
    ['AUTH_TYPE', false],
    ['max_tokens', false],
    ['maxTokens', false],
    ['maximum-tokens', false],
    ['max_tokens_secret', true],
    ['PORT', false],
    ['', false],
  ])('%s is that of a secret: %j', (name, isSecret) => expect(isSecretName(name)).toBe(isSecret))
})

describe('words that look like a key', () => {
  it.each<[string, boolean]>([
    ['sk-abc123', false],
    ['sk-abc1234', true],
    ['sk-abcdefgh', false],
    ['ghp_a1b2c3d4', true],
    ['AKIAIOSFODNN', true],
    ['AKIA12345', false],
    ['eyJhbGciOi', true],
    ['a1b2c3d4e5f6', true],
    ['a1b2c3d4e5f', false],
    ['a1bcdefg2hij', true],
    ['a1bcdefghijk', false],
    ['a12345678901', false],
    ['my-a1b2c3d4', false],
    ['mine-a1b2c3d4', true],
    ['mine-a1b2c3d', false],
    ['model2024abcd', true],
    ['mymodel2024x', true],
    ['longmodel2024', false],
    ['abcdefgh1234', false],
    ['abcdefgh12345', true],
    ['abcdefghijk1', false],
    ['1234567890 1', false],
    ['x-1234567890', true],
    ['xxx-123456789', false],
    ['abcdefghijklmnop', false],
    ['@scope/package@1.2.3', false],
    ['./server/index.js', false],
    ['/opt/a1b2c3d4e5', true],
    ['C:\\tools\\server', false],
    ['two words a1b2c3d4e5', false],
  ])('%s: %j', (word, isKey) => expect(isKeyLike(word)).toBe(isKey))
})

describe('harmless values', () => {
  it.each([
    ...[
      'true',
      'DEBUG',
      'utf-8',
      'us-east-1',
      'us-gov-west-1',
      'europe-west4',
      'us-central1-a',
      'eastus2',
      'en_US',
      'de_DE.UTF-8',
    ],
    ...[
      'Europe/Berlin',
      'America/Argentina/Salta',
      '2026-11-17',
      '2026-11-17T09:00:00.000Z',
      'v1.2.3',
      '1.2.3-beta.1',
      '127.0.0.1:80',
    ],
    ...[
      'localhost',
      'localhost:3000',
      'api.example.com',
      'db.internal:5432',
      'https://example.com',
      'http://example.com:80/',
      '~/x/y',
      './a b',
    ],
    ...['/etc/hosts', 'C:\\Users\\me', 'config.json', 'application/json'],
  ])('%s', (value) => expect(isHarmless(value)).toBe(true))

  it.each([
    ...[
      'hunter',
      'us-east',
      'https://example.com/a',
      'https://a1b2c3d4e5.example.com',
      'a1b2c3d4e5.json',
      '/a1b2c3d4e5/x',
      'en_us',
    ],
    ...['Berlin', '1', 'example.unknown', 'file.exe', 'x/json'],
  ])('not %s', (value) => expect(isHarmless(value)).toBe(false))
})

describe('settings', () => {
  it.each<[string, string, boolean]>([
    ['ACME', 'hunter-22', true],
    ['ACME', 'hunte!', true],
    ['ACME', 'hunt!', false],
    ['ACME', 'password', false],
    ['ACME', 'passwords1', true],
    ['ACME', '12345', false],
    ['ACME', '123456', true],
    ['ACME', '30000 ms', false],
    ['ACME', '100MiB', false],
    ['ACME_KEY', 'abcd', true],
    ['ACME_KEY', 'abc', false],
    ['ACME_KEY', 'true', false],
    ['ACME_KEY', 'eu-central-1', false],
    ['MODEL', 'gpt-4o-mini', false],
    ['MODEL', 'gpt--4o-mini', true],
    ['MODEL', `${'a'.repeat(32)}-${'b'.repeat(31)}`, false],
    ['MODEL', `${'a'.repeat(32)}-${'b'.repeat(32)}`, true],
    ['ACME', '12.50 h', false],
    ['MODEL', 'a1b2c3d4e5f6', true],
    ['TOKEN_URL', 'https://x.example/token', false],
    ['ACME', '', false],
    ['ACME', ' "hunter-22" ', true],
  ])('%s=%s is secret: %j', (name, value, isSecret) => {
    expect(secretsOf(stdio([], { [name]: value })).length > 0).toBe(isSecret)
    expect(secretsOf(stdio([]), { [name]: value }).length > 0).toBe(isSecret)
  })
})

describe('parts of values', () => {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  it.each<[string, StdioConfig | RemoteConfig, string[]]>([
    ['quotes', stdio([], { A: '"hunter-22"' }), ['hunter-22']],
    [
      'lines',
      stdio([], { KEY: `-----BEGIN KEY-----\n${'ab'.repeat(8)}\n${'cd'.repeat(7)}x` }),
      [`-----BEGIN KEY-----\n${'ab'.repeat(8)}\n${'cd'.repeat(7)}x`, 'ab'.repeat(8)],
    ],
    [
      'escaped lines',
      stdio([], { KEY: `first-line-of-it\\nsecond-line-of-it` }),
      ['first-line-of-it', 'first-line-of-it\\nsecond-line-of-it', 'second-line-of-it'],
    ],
    [
      'key-like words',
      stdio([], { NOTE: 'use a1b2c3d4e5f6, please' }),
      ['a1b2c3d4e5f6', 'use a1b2c3d4e5f6, please'],
    ],
    [
      'base64 of a password',
      stdio([], { KEY: base64('ann:hunter22') }),
      ['ann:hunter22', base64('ann:hunter22'), 'hunter22'],
    ],
    [
      'user and password',
      stdio([], { KEY: 'ann:hunter22@db' }),
      ['ann:hunter22@db', 'hunter22@db'].slice(0, 1).concat('hunter22'),
    ],
    ['Bearer', remote('https://x.example', { 'X-A': 'Bearer hunter-22' }), ['hunter-22']],
    [
      'Bearer under a secret name',
      remote('https://x.example', { Authorization: 'Bearer hunter-22' }),
      ['Bearer hunter-22', 'hunter-22'],
    ],
    [
      'a scheme and two words',
      remote('https://x.example', { 'X-A': 'Bearer of bad news' }),
      ['Bearer of bad news'],
    ],
    [
      'a header as the name of one',
      remote('https://x.example', { 'Authorization: Bearer hunter-22': '' }),
      ['Bearer hunter-22', 'hunter-22'],
    ],
    ['a short credential', remote('https://x.example', { 'X-A': 'Bearer abc' }), []],
    [
      'JSON',
      stdio([], { CONFIG: '{"a":{"apiKey":"abcd","name":"x"},"list":["hunter-22"],"port":1}' }),
      ['abcd', 'hunter-22'],
    ],
    [
      'JSON of words',
      stdio(['x', '{"apiKey":"abcd","note":"hunter-22","env":{"A":"hunter-33"}}']),
      ['abcd', 'hunter-33'],
    ],
    [
      'a command line as the command',
      { ...stdio([]), command: 'run --token hunter-22 --port 80' },
      ['hunter-22'],
    ],
    ['no JSON', stdio([], { CONFIG: '{hunter-22' }), ['{hunter-22']],
    [
      'JSON under a secret name',
      stdio([], { SECRET: '{"a":"hunter-22"}' }),
      ['hunter-22', '{"a":"hunter-22"}'],
    ],
    ['fields', stdio([], { DB: 'Server=db;User Id=sa;Password=abcd' }), ['abcd']],
    ['fields of words', stdio([], { DB: 'host=db user=ann password=abcd' }), ['abcd']],
    ['one field', stdio([], { DB: 'password=abcd' }), ['password=abcd']],
  ])('%s', (_, transport, secrets) => expect(secretsOf(transport)).toEqual([...secrets].sort()))
})

describe('addresses', () => {
  it.each<[string, string[]]>([
    ['https://x.example/mcp', []],
    ['https://x.example:8080/mcp@home', []],
    ['https://ann@x.example', []],
    ['https://sk-abc1234@x.example', ['sk-abc1234']],
    ['https://ann:abcd@x.example', ['abcd']],
    ['https://ann:abc@x.example', []],
    ['https://ann:ab:cd@x.example', ['ab:cd']],
    ['https://ann:8080x@x.example/a@b', ['8080x', '8080x@x.example/a']],
    ['https://ann:a/b@c@x.example/y', ['a/b@c']],
    ['postgres://ann:p%40ss@db:5432/main?sslmode=require', ['p%40ss', 'p@ss']],
    ['jdbc:mysql://ann:abcd@db/x', ['abcd']],
    ['https://x.example/a1b2c3d4e5f6/mcp', ['a1b2c3d4e5f6']],
    ['https://x.example/my-secret-path', ['my-secret-path']],
    ['https://x.example/?key=abcd', ['abcd']],
    ['https://x.example/?key=abc', []],
    ['https://x.example/?page=hunter-22#token=abcd', ['abcd', 'hunter-22']],
    ['https://x.example/?a=b&token=a%20bc', ['a bc', 'a%20bc']],
    ['https://x.example/?token=%zzabc', ['%zzabc']],
    ['https://x.example/?flag', []],
  ])('%s', (url, secrets) => expect(secretsOf(remote(url))).toEqual([...secrets].sort()))
})

describe('command lines', () => {
  it.each<[string[], string[]]>([
    [['-y', 'secret-server'], []],
    [['-y', 'a1b2c3d4e5f6'], ['a1b2c3d4e5f6']],
    [['x', '--token', 'abcd'], ['abcd']],
    [['x', '--token', 'abc'], []],
    [['x', '--token', 'true'], []],
    [['--token', 'abcd', 'x'], ['abcd']],
    [['x', '--token=abcd'], ['abcd']],
    [['x', '--name', 'hunter-22'], []],
    [['x', 'my-secret-word'], ['my-secret-word']],
    [['x', 'secrets'], []],
    [['x', '-e', 'ACME=hunter-22'], ['hunter-22']],
    [['x', '--env=ACME=hunter-22'], ['hunter-22']],
    [['x', '-H', 'X-Acme: hunter-22'], ['hunter-22']],
    [['x', '-H', 'X-Acme:hunter-22'], ['hunter-22']],
    [['x', '-H', 'Acme:hunter-22'], []],
    [['x', '-H', 'Authorization:hunter-22'], ['hunter-22']],
    [['x', '-H', 'Accept: text/plain'], []],
    [['x', '-H', 'User-Agent: me a1b2c3d4e5f6'], ['a1b2c3d4e5f6']],
    [['x', '-u', 'ann:abcd'], ['abcd']],
    [
      ['x', '--credential', 'ann:ab'],
      ['ab', 'ann:ab'],
    ],
    [['x', '--other', 'ann:abcd'], []],
    [['x', '--a1b2c3d4e5f6'], ['--a1b2c3d4e5f6']],
    [
      ['-c', 'TOKEN=\'ab cd\' exec server --key "abcd"'],
      [`'ab cd' exec server --key "abcd"`, 'ab cd', 'abcd'],
    ],
    [['x', 'https://ann:abcd@x.example'], ['abcd']],
    [['x', 'a=1;password=abcd'], ['abcd']],
  ])('%j', (args, secrets) => expect(secretsOf(stdio(args))).toEqual([...secrets].sort()))
})

describe('forms in which a secret is hidden', () => {
  const secret = `a'b"c/d é&<$ ü1`
  const redactor = createRedactor({
    name: 'one',
    transport: stdio([], { KEY: secret }),
  } as unknown as ServerConfig)
  const url = encodeURIComponent(secret)
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  it.each<[string, string]>([
    ['plain', secret],
    ['upper case', secret.toUpperCase()],
    ['JSON', JSON.stringify(secret).slice(1, -1)],
    ['JSON in JSON', JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
    ['ASCII JSON', JSON.stringify(secret).slice(1, -1).replace('é', '\\u00e9').replace('ü', '\\u00fc')],
    ['JSON with slashes escaped', JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/')],
    ['single quotes escaped', secret.replaceAll("'", "\\'")],
    ['single quotes of a shell', secret.replaceAll("'", "'\\''")],
    ['double quotes of a shell', secret.replace(/["$`\\]/g, '\\$&')],
    ['a URL', url],
    ['a form', url.replaceAll('%20', '+')],
    ['a strict URL', url.replace("'", '%27')],
    [
      'HTML',
      secret
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('"', '&quot;')
        .replaceAll("'", '&#39;'),
    ],
    [
      'other HTML',
      secret
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('"', '&#34;')
        .replaceAll("'", '&#39;'),
    ],
    ['HTML without quotes', secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;')],
    ['hex', Buffer.from(secret).toString('hex')],
  ])('%s', (_, form) => {
    expect(redactor.text(`x ${form} y`)).toBe('x [hidden] y')
    expect(redactor.hasSecret(form)).toBe(true)
  })

  it('base64, wherever in the text it begins', () => {
    for (const before of ['', 'a', 'ab', 'user:'])
      expect(redactor.text(base64(`${before}${secret}:z`)), before).toContain('[hidden]')
    expect(redactor.hasSecret(base64('something else entirely'))).toBe(false)
  })

  it('a long one also in part, a short one not', () => {
    const long = 'abc1def2ghi3jkl4'
    const hiding = createRedactor({
      name: 'one',
      transport: stdio([], { KEY: long }),
    } as unknown as ServerConfig)
    expect(hiding.hasSecret(long.slice(0, 12))).toBe(true)
    expect(hiding.hasSecret(long.slice(4))).toBe(true)
    expect(hiding.hasSecret(long.slice(0, 11))).toBe(false)
    const short = createRedactor({
      name: 'one',
      transport: stdio([], { KEY: long.slice(1) }),
    } as unknown as ServerConfig)
    expect([short.hasSecret(long.slice(1)), short.hasSecret(long.slice(1, 14))]).toEqual([true, false])
  })

  it('secrets that are learned later count from eight characters on, the last twenty of them', () => {
    const learning = createRedactor({ name: 'one', transport: stdio([]) } as unknown as ServerConfig)
    learning.add('1234567')
    expect(learning.hasSecret('1234567')).toBe(false)
    learning.add('12345678')
    expect(learning.hasSecret('12345678')).toBe(true)
    for (let index = 0; index < 21; index++) learning.add(`learned-${index}-later`)
    expect([0, 1, 20].map((index) => learning.hasSecret(`learned-${index}-later`))).toEqual([
      false,
      true,
      true,
    ])
  })

  it('errors, five deep, and configurations', () => {
    const deep = (depth: number): Error =>
      new Error(`${secret}\u0007 ${depth}`, depth > 0 ? { cause: deep(depth - 1) } : {})
    const error = redactor.error(Object.assign(deep(5), { data: { [secret]: [secret, 1] } })) as Error & {
      data: unknown
    }
    const messages: string[] = []
    for (let one: unknown = error; one instanceof Error; one = one.cause) messages.push(one.message)
    expect(messages.slice(0, 5)).toEqual([5, 4, 3, 2, 1].map((depth) => `[hidden] ${depth}`))
    expect(messages[5]).toContain(secret)
    expect(error.data).toEqual({ '[hidden]': ['[hidden]', 1] })
    expect(error.stack).not.toContain(secret)
    expect(redactor.error('text')).toBe('text')
    const shown = createRedactor({
      name: 'one',
      variables: { A: 'x' },
      transport: remote('https://ann:abcd@x.example', { Accept: 'x' }),
    } as unknown as ServerConfig).config()
    expect(shown).toEqual({
      name: 'one',
      transport: remote('https://ann:[hidden]@x.example', { Accept: '[hidden]' }),
    })
    expect(redactor.config().transport).toMatchObject({ env: { KEY: '[hidden]' }, args: [] })
  })
})

it('H8 every value, as a variable, an argument, a header and in an address', async () => {
  const values = [
    ...[
      'hunter2x',
      'abc',
      'abcd',
      'true',
      '8080',
      '/usr/bin/x',
      'sk-abc1234xyz',
      '"sk-quoted12345"',
      "'x'",
      '',
    ],
    ...[
      'Bearer tok12345',
      'Bearer a b',
      'Basic dXNlcjpwYXNzd29yZA==',
      'ApiKey id:secret1',
      'Token abc',
      'token: abcd1',
    ],
    ...[
      '{"key":"k1234567","list":["a","sk-list1234567"],"n":12345,"pin":98765}',
      '{"env":{"A":"plainvalue"}}',
      '[1',
      '{broken',
    ],
    ...[
      'https://user:pass1234@host/x',
      'https://tok3n1234567@host',
      'postgres://a:p/w@rd1@db:5432/x',
      'https://h/?token=abc1234&x=1#key=fff12345',
    ],
    ...[
      'https://h/sk-path1234567/x',
      'jdbc:mysql://u:p%40ss1@h/db',
      'http://host:80/@x',
      'https://h/?a=%E0%A4%A',
      'no://a b',
    ],
    ...[
      'Server=db;User Id=sa;Password=pw12345',
      'host=db user=sa password=pw123456',
      'a=b',
      'a=b;c',
      ';a=1;b=2',
    ],
    ...[
      '-----BEGIN KEY-----\nabcdefghijklmnopqrst\nshort\n-----END KEY-----',
      'line1234567890abcdef\\nline2',
    ],
    ...[
      'me:password1@host',
      'me:password1',
      'dXNlcjpwYXNzd29yZDEyMzQ=',
      'one sk-word1234567, two',
      'a|ghp_a1b2c3d4e5|b',
    ],
    ...[
      'X-Key: abcdef12',
      'x-other:abcdef12',
      'Accept: text/html',
      'NAME=value1234',
      'API_KEY=v',
      'A_TOKEN=Bearer abcd12345',
    ],
    ...[
      '--token=abcd1234',
      '--name=plain',
      '-k',
      '--sk-flag12345678',
      'curl -u me:pw1234 "x y"',
      "sh -c 'echo $KEY' sk-in1234567",
    ],
  ]
  const lines = values.flatMap((value) => {
    const ways = {
      setting: secretsOf(stdio([], { NAME: value })),
      secret: secretsOf(stdio([], { API_KEY: value })),
      variable: secretsOf(stdio([]), { TOKEN: value }),
      argument: secretsOf(stdio(['run', value])),
      first: secretsOf(stdio(['--api-key', value])),
      flag: secretsOf(stdio(['run', '--password', value])),
      user: secretsOf(stdio(['run', '-u', value])),
      public: secretsOf(remote('https://h', { Accept: value })),
      header: secretsOf(remote('https://h', { 'X-Mine': value })),
      query: secretsOf(
        remote(`https://h/p?token=${encodeURIComponent(value)}&page=${encodeURIComponent(value)}`),
      ),
    }
    const byFound = new Map<string, string[]>()
    for (const [way, found] of Object.entries(ways)) {
      const text = JSON.stringify(found)
      byFound.set(text, [...(byFound.get(text) ?? []), way])
    }
    return [JSON.stringify(value), ...[...byFound].map(([found, names]) => `  ${names.join(', ')}: ${found}`)]
  })
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./parts/secrets.txt')
})
