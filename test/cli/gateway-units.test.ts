// The options that gateways share: each value from both sides of its bounds, without a server.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  openUpstream,
  reportServerChanges,
  savedInAll,
  savedInLog,
  untilSignalled,
} from '../../src/cli/gateway/index.ts'
import {
  drainDelayIn,
  gatewayUsersIn,
  hostsIn,
  serviceIn,
  storeIn,
  withUsers,
} from '../../src/cli/options.ts'
import type { Figures } from '../../src/core/figures/index.ts'
import type { RequestRecord } from '../../src/messages/index.ts'
import { createMemoryStore } from '../../src/store/index.ts'
import { profileOf } from '../users/support.ts'
import { inputOf, outcomeOf } from './support/input.ts'

type Options = Parameters<typeof inputOf>[0]
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Without the temporary folder, which has another name each time. */
const shown = (value: unknown) => JSON.stringify(value)?.replaceAll(folder, '')

test('certificates, proxies and the delay', async () => {
  const settings: readonly Options[] = [
    {},
    { 'tls-cert': 'c', 'tls-key': 'k', proxies: ['10.0.0.1', '10.0.0.0/8'], 'open-metrics': true },
    { 'tls-cert': 'c', 'tls-key': 'k', 'tls-ca': 'a' },
    { 'tls-cert': 'c' },
    { 'tls-key': 'k' },
    { 'tls-ca': 'a' },
  ]
  const outcomes = await Promise.all(settings.map((options) => outcomeOf(() => serviceIn(inputOf(options)))))
  expect(outcomes.map(shown)).toMatchInlineSnapshot(`
    [
      "{"proxies":[],"hasOpenMetrics":false}",
      "{"tls":{"cert":"c","key":"k"},"proxies":["10.0.0.1","10.0.0.0/8"],"hasOpenMetrics":true}",
      "{"tls":{"cert":"c","key":"k","ca":"a"},"proxies":[],"hasOpenMetrics":false}",
      ""UsageError: --tls-cert and --tls-key belong together; pass both."",
      ""UsageError: --tls-cert and --tls-key belong together; pass both."",
      ""UsageError: --tls-ca needs --tls-cert and --tls-key."",
    ]
  `)
  const delay = (text?: string) =>
    outcomeOf(() => drainDelayIn(inputOf(text === undefined ? {} : { 'drain-delay': text })))
  expect(
    await Promise.all([undefined, '0', '1.5', '1.25', '300', '300.1', '-1', '5s', 's5', '.5', ''].map(delay)),
  ).toMatchInlineSnapshot(`
    [
      0,
      0,
      1500,
      1250,
      300000,
      "UsageError: --drain-delay is "300.1"; use a number of seconds up to 300.",
      "UsageError: --drain-delay is "-1"; use a number of seconds up to 300.",
      "UsageError: --drain-delay is "5s"; use a number of seconds up to 300.",
      "UsageError: --drain-delay is "s5"; use a number of seconds up to 300.",
      "UsageError: --drain-delay is ".5"; use a number of seconds up to 300.",
      "UsageError: --drain-delay is ""; use a number of seconds up to 300.",
    ]
  `)
})

test('hosts are those of --allow and of the public URL', async () => {
  const hosts = (options: Options, address: string) => outcomeOf(() => hostsIn(inputOf(options), address))
  const url = { 'public-url': 'https://tools.example:8443/x' }
  expect(
    await Promise.all([
      hosts({}, '127.0.0.1'),
      hosts(url, '127.0.0.1'),
      hosts(url, '0.0.0.0'),
      hosts({ ...url, allow: ['a', 'b'] }, '0.0.0.0'),
      hosts({ allow: 'a' }, '0.0.0.0'),
      hosts({ 'public-url': 'https://x.example/?a' }, '127.0.0.1'),
      hosts({ 'public-url': 'https://x.example/#a' }, '127.0.0.1'),
      hosts({ 'public-url': 'ftp://x.example' }, '127.0.0.1'),
    ]),
  ).toMatchInlineSnapshot(`
    [
      [],
      [
        "tools.example",
      ],
      [],
      [
        "a",
        "b",
        "tools.example",
      ],
      [
        "a",
      ],
      "UsageError: --public-url is "https://x.example/?a"; use a URL without a query.",
      "UsageError: --public-url is "https://x.example/#a"; use a URL without a query.",
      "UsageError: --public-url is "ftp://x.example"; use an http(s) URL, such as http://127.0.0.1:3388.",
    ]
  `)
})

test('an upstream is named by its kind and URL', async () => {
  const open = (text: string, environment = {}) =>
    outcomeOf(async () => {
      const { name } = (await openUpstream(text, undefined, environment)) as { name?: string }
      return name
    })
  const texts = [
    ...[
      'anthropic',
      'anthropic:http://a.example',
      'openai',
      'openai:https://b.example/v1',
      'responses',
      'responses:http://c.example',
    ],
    ...[
      'script:demo',
      'script:/none',
      'http://d.example',
      'https://u:p@e.example',
      'https://u@e.example',
      'https://:p@e.example',
    ],
    ...[
      'http://f.example/?api_key=1',
      'http://f.example/?page=1',
      'ftp://x',
      'ftp://u:p@x',
      'other',
      'openai:',
      'openai:x',
      'anthropicx',
    ],
  ]
  expect(
    (await Promise.all(texts.map(async (text) => `${text} → ${await open(text)}`))).join('\n'),
  ).toMatchInlineSnapshot(`
    "anthropic → api.anthropic.com
    anthropic:http://a.example → a.example
    openai → chat api.openai.com
    openai:https://b.example/v1 → chat b.example
    responses → responses api.openai.com
    responses:http://c.example → responses c.example
    script:demo → script:demo
    script:/none → CommandError: cannot read the script /none (ENOENT); check its path.
    http://d.example → d.example
    https://u:p@e.example → UsageError: --upstream contains a password or a key; set TOOLSHELF_UPSTREAM_KEY instead.
    https://u@e.example → UsageError: --upstream contains a password or a key; set TOOLSHELF_UPSTREAM_KEY instead.
    https://:p@e.example → UsageError: --upstream contains a password or a key; set TOOLSHELF_UPSTREAM_KEY instead.
    http://f.example/?api_key=1 → UsageError: --upstream contains a password or a key; set TOOLSHELF_UPSTREAM_KEY instead.
    http://f.example/?page=1 → f.example
    ftp://x → UsageError: --upstream is "ftp://x"; use anthropic, an http(s) URL, openai:URL, responses:URL, script:FILE or script:demo.
    ftp://u:p@x → UsageError: --upstream is "ftp://…@x"; use anthropic, an http(s) URL, openai:URL, responses:URL, script:FILE or script:demo.
    other → UsageError: --upstream is "other"; use anthropic, an http(s) URL, openai:URL, responses:URL, script:FILE or script:demo.
    openai: → chat api.openai.com
    openai:x → UsageError: --upstream is "x"; use anthropic, an http(s) URL, openai:URL, responses:URL, script:FILE or script:demo.
    anthropicx → UsageError: --upstream is "anthropicx"; use anthropic, an http(s) URL, openai:URL, responses:URL, script:FILE or script:demo."
  `)
})

test('a store is opened and answers, or the command says why not', async () => {
  const open = (options: Options, environment = {}) =>
    outcomeOf(async () => {
      const store = await storeIn(inputOf(options), environment, 1)
      await store?.close()
      return store !== undefined
    })
  expect([await open({}), await open({}, { TOOLSHELF_STORE: '' }), await open({ store: '' })]).toEqual([
    false,
    false,
    false,
  ])
  expect([await open({ store: 'memory:' }), await open({}, { TOOLSHELF_STORE: 'memory:' })]).toEqual([
    true,
    true,
  ])
  expect(
    [await open({ store: 'ftp://x' }), await open({}, { TOOLSHELF_STORE: 'ftp://x' })].map(String),
  ).toEqual([
    expect.stringMatching(/^UsageError: --store: .+[^.]\.$/),
    expect.stringMatching(/^UsageError: TOOLSHELF_STORE: .+[^.]\.$/),
  ])
  expect(await open({ store: 'redis://127.0.0.1:1' })).toMatch(
    /^CommandError: --store: .*127\.0\.0\.1:1.*[^.]\. Check that the server is up and the URL is right\.$/,
  )
})

test('users come from the file or the store; their errors are those of a command', async () => {
  const file = join(folder, 'users.json')
  writeFileSync(file, '{"users":{"ada":{"profile":"p"}},"profiles":{"p":{}}}')
  const find = (options: Options) =>
    outcomeOf(() =>
      withUsers(inputOf(options), { mayCreate: false }, async (directory) => directory.findUser('ada')),
    )
  expect(shown(await find({ users: file }))).toContain('"profile":"p"')
  expect(await find({ users: join(folder, 'none.json') })).toContain('CommandError')
  expect(await find({ store: 'memory:' })).toBe(undefined)
  const failing = (name: string) =>
    outcomeOf(() =>
      withUsers(inputOf({ users: file }), { mayCreate: false }, async () => {
        throw Object.assign(new Error('no'), { name })
      }),
    )
  expect([await failing('UsersError'), await failing('StoreError'), await failing('Error')]).toEqual([
    ...['CommandError: no.', 'CommandError: no.', 'Error: no'],
  ])
  const spoiled = join(folder, 'spoiled.json')
  writeFileSync(spoiled, '{"users":{}}')
  const told: string[] = []
  const opened = await gatewayUsersIn(
    inputOf({ users: spoiled }),
    undefined,
    (message) => void told.push(message),
  )
  writeFileSync(spoiled, '{')
  await opened?.reload()
  await opened?.close()
  expect(told.join('\n')).toContain('spoiled.json')
  const open = (options: Options, acceptsTokens = true) =>
    outcomeOf(async () => {
      const store = createMemoryStore()
      const opened = await gatewayUsersIn(
        inputOf(options),
        options?.store === undefined ? undefined : store,
        () => {},
        { acceptsTokens },
      )
      if (opened) opened.setServedUrl('http://127.0.0.1:9/mcp')
      const metadata = opened?.protectedResource.metadataAt('/.well-known/oauth-protected-resource/mcp')
      await opened?.reload()
      await opened?.close()
      await store.close()
      return opened && (metadata ?? 'no tokens')
    })
  const issuer = { 'oauth-issuer': 'https://id.example' }
  const cases: readonly [Options, boolean?][] = [
    [{}],
    [{ users: file }],
    [{ users: file }, false],
    [{ users: file, ...issuer }],
    [{ users: true, store: 'x' }],
    [issuer],
    [issuer, false],
    [{ ...issuer, address: '0.0.0.0' }],
    [{ ...issuer, address: '0.0.0.0', 'public-url': 'https://x.example/' }],
    [{ ...issuer, 'public-url': 'https://x.example/mcp//', 'oauth-audience': 'a' }],
    [{ 'oauth-audience': 'a' }],
    [{ 'oauth-issuer': 'no url' }],
  ]
  const outcomes: unknown[] = []
  for (const [options, acceptsTokens] of cases) outcomes.push(shown(await open(options, acceptsTokens)))
  expect(outcomes).toMatchInlineSnapshot(`
    [
      undefined,
      ""no tokens"",
      ""no tokens"",
      "{"resource":"http://127.0.0.1:9/mcp","authorization_servers":["https://id.example"],"bearer_methods_supported":["header"],"resource_name":"Toolshelf"}",
      ""no tokens"",
      "{"resource":"http://127.0.0.1:9/mcp","authorization_servers":["https://id.example"],"bearer_methods_supported":["header"],"resource_name":"Toolshelf"}",
      undefined,
      ""UsageError: access tokens are bound to the URL of the gateway; pass the URL that clients use with --public-url."",
      "{"resource":"https://x.example/mcp","authorization_servers":["https://id.example"],"bearer_methods_supported":["header"],"resource_name":"Toolshelf"}",
      "{"resource":"https://x.example/mcp","authorization_servers":["https://id.example"],"bearer_methods_supported":["header"],"resource_name":"Toolshelf"}",
      ""UsageError: --oauth-audience requires --oauth-issuer."",
      ""CommandError: oauth: the issuer \\"no url\\" cannot be used; use the https URL that its tokens have in \\"iss\\", without a query and \\"|\\" (http only on loopback)."",
    ]
  `)
})

test('the use of users is counted in the store, or else in this process', async () => {
  const file = join(folder, 'limited.json')
  writeFileSync(file, '{"users":{}}')
  const ada = { id: 'ada', uid: 'ada', profile: profileOf({ limits: { requestsPerDay: 1 } }) }
  const store = createMemoryStore()
  const refused: boolean[] = []
  for (const shared of [store, store, undefined, undefined]) {
    const opened = await gatewayUsersIn(inputOf({ users: file }), shared, () => {})
    for (let time = 0; time < 2; time++)
      refused.push((await opened?.usage.take(ada, 'requests')) !== undefined)
    await opened?.close()
  }
  await store.close()
  expect(refused).toEqual([false, true, true, true, false, true, false, true])
})

test('reports failures and idle rules of servers once', () => {
  const told: string[] = []
  let hear: (event: object) => void = () => {}
  const listen = (listener: typeof hear) => {
    hear = listener
  }
  reportServerChanges({ listen } as never, (message) => void told.push(message))
  const status = (state: string, reason?: string) => ({
    name: 'a',
    state,
    reason,
    config: {},
    tools: [],
    hidden: [],
    held: [],
  })
  const event = (type: string, ...given: Parameters<typeof status>) =>
    hear({ type, status: status(...given) })
  event('state', 'failed', 'x')
  event('state', 'failed', 'x')
  event('state', 'pending', 'z')
  event('state', 'failed', 'x')
  event('state', 'failed', 'y')
  event('state', 'connected')
  event('state', 'failed', 'y')
  event('other', 'failed', 'never')
  expect(told.splice(0)).toEqual(['x', 'y', 'y'].map((reason) => `server "a" failed: ${reason}`))
  const config = { allow: ['reed'], deny: ['x'], tools: {} }
  const listing = (type: string, tools: readonly string[]) =>
    hear({
      type,
      status: { ...status('connected'), config, tools: tools.map((name) => ({ name })) },
    })
  listing('other', ['read'])
  expect(told).toEqual([])
  listing('tools', ['read'])
  listing('state', ['read'])
  listing('state', ['read', 'reed'])
  expect(told.splice(0)).toEqual([
    'server "a": no tool matches the rule "allow" "reed"; did you mean "read"?',
    'server "a": no tool matches the rule "deny" "x"',
  ])
})

test('a service ends gently at the first signal and at once at the second', async () => {
  // Others may stop listening meanwhile: a signal of this test reaches them too.
  const listeners = () =>
    (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).flatMap((signal) => process.listeners(signal))
  const run = async (hasTerminal: boolean, signals: readonly NodeJS.Signals[]) => {
    const done: string[] = []
    const before = listeners()
    let drained = () => {}
    const service = {
      reload: async () => void done.push('reload'),
      drain: (isUrgent: boolean) => {
        done.push(`drain ${isUrgent}`)
        return new Promise<void>((resolve) => {
          drained = resolve
        })
      },
      close: async () => void done.push('close'),
    }
    const ended = untilSignalled(service, { hasTerminal })
    for (const signal of signals) {
      process.emit(signal, signal)
      await new Promise((resolve) => setImmediate(resolve))
    }
    if (!done.includes('close')) drained()
    await ended
    expect(before).toEqual(expect.arrayContaining(listeners()))
    return done.join(', ')
  }
  expect(await run(false, ['SIGHUP', 'SIGTERM'])).toBe('reload, drain false')
  expect(await run(false, ['SIGINT', 'SIGTERM'])).toBe('drain true, close')
  expect(await run(true, ['SIGHUP'])).toBe('drain true')
  expect(await run(true, ['SIGTERM', 'SIGHUP'])).toBe('drain false, close')
})

test('what was saved, in tokens and in money, names the direction where they differ', () => {
  const figures = (tokensSaved: number, dollarsSaved?: number) => ({
    ...{ requests: 1, rounds: 1, extraRoundTrips: 0, searchOutputTokens: 0, isEstimated: false },
    ...{ tokensWith: 1000 - tokensSaved, tokensWithout: 1000, tokensSaved },
    ...(dollarsSaved === undefined ? {} : { dollarsWith: 1, dollarsWithout: 1, dollarsSaved }),
  })
  const recordOf = (one: Figures): RequestRecord => ({
    ...{ method: 'POST', path: '/v1/messages', status: 200, milliseconds: 1, model: 'm', error: undefined },
    outcome: { figures: () => one } as NonNullable<RequestRecord['outcome']>,
  })
  const cases = [figures(750), figures(750, 2), figures(750, -2), figures(-250, 2), figures(-250, -2)]
  expect(cases.map((one) => [savedInLog(one), savedInAll([recordOf(one)], '').join()])).toEqual([
    ['saved ~750 tokens', expect.stringMatching(/750 saved \(75.0 %\)$/)],
    ['saved ~750 tokens ($2.00)', expect.stringMatching(/750 saved \(75.0 %\), \$2.00 at list prices$/)],
    ['saved ~750 tokens ($2.00 more)', expect.stringMatching(/%\), \$2.00 more at list prices$/)],
    ['cost ~250 tokens more ($2.00 saved)', expect.stringMatching(/%\), \$2.00 saved at list prices$/)],
    ['cost ~250 tokens more ($2.00 more)', expect.stringMatching(/%\), \$2.00 more at list prices$/)],
  ])
})
