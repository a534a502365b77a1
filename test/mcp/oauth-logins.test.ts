// Stored logins: how they are renewed, revoked and kept, with an authorization server that is only a function.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createOAuth } from '../../packages/mcp/src/oauth/authorize.ts'
import { type CredentialFile, defaultTokenFolder } from '../../packages/mcp/src/oauth/credentials.ts'
import { type LoginOptions, listenForCallback, login, logout } from '../../packages/mcp/src/oauth/login.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { type AuthOptions, browse, startAuthServer } from './support/auth-server.ts'
import { temporaryFolder } from './support/folder.ts'
import { httpServer } from './support/servers.ts'
import { messageOf } from './support/session.ts'

const url = 'https://notes.example/mcp'
const issuer = 'https://login.example'
const metadata = {
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  revocation_endpoint: `${issuer}/revoke`,
  response_types_supported: ['code'],
}
const stored = (more: Loose = {}) => ({
  tokens: { access_token: 'access-1', refresh_token: 'refresh-1', token_type: 'Bearer', scope: 'all' },
  client: { client_id: 'id' },
  discovery: {
    authorizationServerUrl: issuer,
    authorizationServerMetadata: metadata,
    resourceMetadata: { resource: url },
  },
  ...more,
})
const refused = { response: new Response(null, { status: 401 }), serverUrl: new URL(url), fetchFn: fetch }

/** Notes every request, and answers it as the test says. */
function stubFetch(lines: unknown[]) {
  const state = { answer: (): Response | Promise<Response> => new Response('{}') }
  const spy = vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init = {}) => {
    const { method, body, headers, redirect } = init
    const shown = Object.fromEntries(new Headers(headers))
    lines.push(`${method} ${input} ${body} ${JSON.stringify(shown)} ${redirect}`)
    return state.answer()
  })
  onTestFinished(() => spy.mockRestore())
  return state
}

/** A login that is kept in the test. */
function keptHere(first: Loose) {
  const state = { kept: first }
  const keep = (credentials: Loose) => {
    state.kept = credentials
  }
  const file: CredentialFile = {
    read: async () => state.kept,
    write: async (credentials) => keep({ server: 'notes', url, ...credentials }),
    remove: async () => keep(undefined),
    alone: (work) => work(),
  }
  const provider = createOAuth({ server: 'notes', file, command: 'log in, please' })
  return { state, renew: () => messageOf(provider.onUnauthorized?.(refused) ?? Promise.resolve()), provider }
}

const granted =
  (token: string, more: object = {}) =>
  () =>
    Response.json({ access_token: token, token_type: 'Bearer', ...more })

it('H2 a login is renewed once, and the server gets only what it needs', async () => {
  const lines: unknown[] = []
  const fetched = stubFetch(lines)
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
  onTestFinished(() => void vi.useRealTimers())
  const { state, renew, provider } = keptHere(stored())
  fetched.answer = granted('access-2')
  expect(await provider.token()).toBe('access-1')
  expect(await renew()).toBe('undefined')
  expect(state.kept.tokens).toMatchObject({ access_token: 'access-2', refresh_token: 'refresh-1' })
  // What is refused just after a renewal was sent before it.
  vi.setSystemTime(Date.now() + 4999)
  await renew()
  expect(lines).toEqual([
    `POST ${issuer}/token grant_type=refresh_token&refresh_token=refresh-1&resource=${encodeURIComponent(url)}&client_id=id ${JSON.stringify({ accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' })} manual`,
  ])
  vi.setSystemTime(Date.now() + 5000)
  fetched.answer = granted('access-3', { refresh_token: 'refresh-3' })
  await provider.token()
  await Promise.all([renew(), renew()])
  expect(lines).toHaveLength(2)
  expect(state.kept.tokens).toMatchObject({ access_token: 'access-3', refresh_token: 'refresh-3' })
  // Another process was faster.
  vi.setSystemTime(Date.now() + 5000)
  await provider.token()
  state.kept = { ...state.kept, tokens: { ...state.kept.tokens, access_token: 'of another process' } }
  await renew()
  expect(lines).toHaveLength(2)
  expect(await provider.token()).toBe('of another process')
})

const refusal = (error: string) => () => Response.json({ error }, { status: 400 })
const needs = (why: string) => `! needs a login (${why}): run "log in, please"`
const failed = (why: string) => `! its login could not be renewed at login.example: ${why}`

it.each<[string, () => Response | Promise<Response>, string | RegExp, boolean, Loose?]>([
  [
    'a broken answer',
    () => new Response('broken: refresh-1', { status: 500 }),
    /HTTP 500.*broken: \[hidden\]/s,
    true,
  ],
  [
    'no answer',
    () => Promise.reject(Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } })),
    failed('ECONNREFUSED'),
    true,
  ],
  ['a strange error', () => Promise.reject('a text\nof two lines'), failed('a text of two lines'), true],
  ['a busy server', refusal('temporarily_unavailable'), failed('temporarily_unavailable'), true],
  ...['invalid_grant', 'invalid_client', 'unauthorized_client'].map(
    (error) =>
      [error, refusal(error), needs(`the last one is no longer accepted: ${error}`), false] as [
        string,
        () => Response,
        string,
        boolean,
      ],
  ),
  [
    'nothing to renew it with',
    granted('x'),
    needs('the last one has expired'),
    false,
    { tokens: { access_token: 'access-1' } },
  ],
])(
  'H2 a login that meets %s says so, and is kept unless it is refused',
  async (_, answer, outcome, isKept, more) => {
    stubFetch([]).answer = answer
    const { state, renew, provider } = keptHere(stored(more))
    expect(await provider.token()).toBe('access-1')
    const said = await renew()
    if (typeof outcome === 'string') expect(said).toBe(outcome)
    else expect(said).toMatch(outcome)
    expect(state.kept !== undefined).toBe(isKept)
  },
)

describe('a logout revokes what there is and forgets it in any case', () => {
  const methods = (...supported: string[]) => ({
    discovery: {
      ...stored().discovery,
      authorizationServerMetadata: { ...metadata, token_endpoint_auth_methods_supported: supported },
    },
  })
  const client = { client_id: 'id', client_secret: 'secret' }
  const revoked = (more = '&client_id=id', headers: object = {}, kinds = ['refresh', 'access']) =>
    kinds.map(
      (kind) =>
        `POST ${issuer}/revoke token=${kind}-1&token_type_hint=${kind}_token${more} ${JSON.stringify(headers)} error`,
    )
  const still = (why: string) => [
    `! the login is forgotten here, but login.example may still accept it: ${why}`,
  ]
  const away = () => Promise.reject(new Error('no route for refresh-1 and access-1'))
  const open = { ...metadata, revocation_endpoint: 'http://login.example/revoke' }

  it.each<[string, Loose, string[], (() => Response | Promise<Response>)?]>([
    ['both tokens', {}, revoked()],
    ['an access token', { tokens: { access_token: 'access-1' } }, revoked(undefined, {}, ['access'])],
    [
      'with a header',
      { client, ...methods('client_secret_basic') },
      revoked('', { authorization: 'Basic aWQ6c2VjcmV0' }),
    ],
    [
      'with a secret in the body',
      { client, ...methods('client_secret_post') },
      revoked('&client_id=id&client_secret=secret'),
    ],
    ['without a secret', { client, ...methods('none') }, revoked()],
    ['nowhere', { discovery: { authorizationServerUrl: issuer } }, still('it does not support revocation')],
    [
      'not in the open',
      { discovery: { ...stored().discovery, authorizationServerMetadata: open } },
      still('Refusing to send'),
    ],
    [
      'at a server that is down',
      {},
      [...revoked(undefined, {}, ['refresh']), ...still('it answered with HTTP 503')],
      () => new Response('', { status: 503 }),
    ],
    [
      'at one that is away',
      {},
      [...revoked(undefined, {}, ['refresh']), ...still('no route for [hidden] and [hidden]')],
      away,
    ],
  ])('%s', async (_, more, expected, answer = () => new Response('{}')) => {
    const lines: string[] = []
    stubFetch(lines).answer = answer
    const store = createMemoryStore()
    onTestFinished(() => store.close())
    const hash = createHash('sha256')
      .update(JSON.stringify(['notes', url]))
      .digest('hex')
      .slice(0, 24)
    await store.set(`login/notes-${hash}`, JSON.stringify({ server: 'notes', url, ...stored(more) }))
    await store.set('login/notes-2-1', JSON.stringify({ server: 'notes-2', url, ...stored(more) }))
    const notify = (message: string) => void lines.push(`! ${message}`)
    expect(await logout({ folder: '/nowhere', store, server: 'notes', notify })).toBe(1)
    expect((await store.list('login/')).map(({ key }) => key)).toEqual(['login/notes-2-1'])
    expect(lines).toEqual(expected.map((line) => expect.stringContaining(line)))
    expect(await logout({ folder: '/nowhere', store, server: 'nobody', notify })).toBe(0)
  })
})

it('H2 logins in files are private, of one server at one address, and set aside when they cannot be read', async () => {
  const folder = join(temporaryFolder(), 'tokens')
  const notices: string[] = []
  const notify = (message: string) => void notices.push(message.replaceAll(folder, '<folder>'))
  const fetched = stubFetch([])
  const open = (server = 'notes', address = url) => createOAuth({ folder, server, url: address, notify })
  expect(await open().token()).toBeUndefined()
  expect(await logout({ folder, server: 'notes', notify })).toBe(0)
  expect(await messageOf(open().onUnauthorized!(refused))).toBe(
    '! needs a login: run "toolshelf login notes"',
  )
  expect(existsSync(folder)).toBe(false)
  mkdirSync(folder, { mode: 0o755 })
  const hash = createHash('sha256')
    .update(JSON.stringify(['notes', url]))
    .digest('hex')
    .slice(0, 24)
  const path = join(folder, `notes-${hash}.json`)
  const text = JSON.stringify({ server: 'notes', url, ...stored() })
  writeFileSync(path, text)
  fetched.answer = () => Response.json({ access_token: 'access-2', token_type: 'Bearer' })
  const provider = open()
  expect(await provider.token()).toBe('access-1')
  await provider.onUnauthorized!(refused)
  expect(await open().token()).toBe('access-2')
  expect([statSync(folder).mode & 0o777, statSync(path).mode & 0o777]).toEqual([0o700, 0o600])
  expect(readdirSync(folder)).toEqual([`notes-${hash}.json`])
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
    server: 'notes',
    url,
    client: { client_id: 'id' },
  })
  for (const wrong of [{ server: 'other' }, { url: 'https://other.example' }, { tokens: null }]) {
    writeFileSync(path, JSON.stringify({ server: 'notes', url, ...stored(), ...wrong }))
    expect(await open().token()).toBeUndefined()
    expect(readdirSync(folder)).toEqual([`notes-${hash}.json.broken`])
  }
  const aside = `the stored login of "notes" could not be read and was set aside as <folder>/notes-${hash}.json.broken`
  expect(notices.splice(0)).toEqual([aside, aside, aside])
  writeFileSync(path, '{')
  await Promise.all([open().token(), open().token(), open().token()])
  expect(notices).toHaveLength(1)
  mkdirSync(path)
  expect(await messageOf(open().token())).toMatch(/^! the stored login cannot be read: /)
  writeFileSync(join(folder, 'file'), '')
  expect(await messageOf(logout({ folder: join(folder, 'file'), server: 'notes', notify }))).toMatch(
    /ENOTDIR/,
  )
  const state = (value?: string) => defaultTokenFolder(value === undefined ? {} : { XDG_STATE_HOME: value })
  expect([state('/state'), state('relative'), state()]).toEqual([
    '/state/toolshelf/tokens',
    join(homedir(), '.local/state/toolshelf/tokens'),
    join(homedir(), '.local/state/toolshelf/tokens'),
  ])
})

it('H2 logins in a store outlive it, and are read anew under its lock', async () => {
  const store = createMemoryStore()
  onTestFinished(() => store.close())
  const lines: unknown[] = []
  const fetched = stubFetch(lines)
  const clock = { now: 0 }
  const given = { folder: '/nowhere', store, server: 'no/tes', url, now: () => clock.now }
  const open = () => createOAuth({ ...given, notify: (message) => void lines.push(message) })
  const provider = open()
  const get = vi.spyOn(store, 'get')
  expect(await provider.token()).toBeUndefined()
  get.mockRejectedValueOnce(new Error('away'))
  clock.now = 5000
  expect(await provider.token()).toBeUndefined()
  get.mockRejectedValueOnce(new Error('away'))
  expect(await messageOf(open().token())).toBe('! away')
  const key = String(get.mock.calls[0]?.[0])
  expect(key).toMatch(/^login\/no_tes-[\da-f]{24}$/)
  await store.set(key, JSON.stringify({ server: 'no/tes', url, ...stored() }))
  clock.now = 10_000
  expect(await provider.token()).toBe('access-1')
  get.mockRejectedValueOnce(new Error('away'))
  clock.now = 20_000
  expect(await provider.token()).toBe('access-1')
  fetched.answer = () => Response.json({ access_token: 'access-2', token_type: 'Bearer' })
  const other = open()
  expect(await other.token()).toBe('access-1')
  await other.onUnauthorized!(refused)
  expect(await other.token()).toBe('access-2')
  // It still knows the old one, and finds the new one under the lock.
  await provider.onUnauthorized!(refused)
  expect(lines.filter((line) => String(line).startsWith('POST'))).toHaveLength(1)
  expect(await provider.token()).toBe('access-2')
  await store.set(
    key,
    JSON.stringify({ server: 'no/tes', url, ...stored({ tokens: { access_token: 'a' } }) }),
  )
  clock.now = 30_000
  const last = open()
  await last.token()
  expect(await messageOf(last.onUnauthorized!(refused))).toBe(
    '! needs a login (the last one has expired): run "toolshelf login no/tes"',
  )
  expect([await last.token(), await store.get(key)]).toEqual([undefined, undefined])
})

it('the redirect address takes one answer, of the current login, until it expires', async () => {
  const callback = await listenForCallback({ state: 'right' })
  onTestFinished(() => callback.close())
  const ask = async (path: string, method = 'GET') => {
    const response = await fetch(new URL(path, callback.url), { method })
    expect([...response.headers]).toEqual(
      expect.arrayContaining([
        ['cache-control', 'no-store'],
        ['content-security-policy', "default-src 'none'"],
        ['referrer-policy', 'no-referrer'],
      ]),
    )
    return `${response.status} ${(await response.text()).replace(/<[^>]*>/g, ' ').trim()}`
  }
  expect(await ask('/other?state=right&code=c')).toBe('404 Toolshelf  Not found.')
  expect(await ask('/callback?state=right&code=c', 'POST')).toBe('404 Toolshelf  Not found.')
  expect(await ask('/callback?code=c')).toBe(
    '400 Toolshelf  This answer does not belong to the current login.',
  )
  expect(await ask('/callback?state=right&error=no')).toContain('200 Toolshelf  The login was refused.')
  expect(await ask('/callback?state=right&code=c')).toBe('410 Toolshelf  This login is already over.')
  expect(String(await callback.answer)).toBe('state=right&error=no')
  const over = await listenForCallback({ state: 'right', signal: AbortSignal.abort() })
  expect(await messageOf(over.answer)).toBe('! the login was cancelled')
  over.close()
  const controller = new AbortController()
  const cancelled = await listenForCallback({ state: 'right', signal: controller.signal })
  controller.abort()
  expect(await messageOf(cancelled.answer)).toBe('! the login was cancelled')
  cancelled.close()
  const short = await listenForCallback({ state: 'right', timeoutMs: 1 })
  expect(await messageOf(short.answer)).toBe('! the login timed out; run it again')
  short.close()
  const { port } = new URL(callback.url)
  expect(await messageOf(listenForCallback({ state: 'right', port: Number(port) }))).toBe(
    `! port ${port} is in use; set the option "port" to another`,
  )
})

/** What becomes of a login at a new server, and how many logins are kept. */
async function attempt(options: AuthOptions, more: Partial<LoginOptions> = {}) {
  const server = await startAuthServer(options)
  const folder = join(temporaryFolder(), 'tokens')
  const printed: string[] = []
  const print = (line: string) => void printed.push(line)
  const given = { config: httpServer('notes', server.url), folder, print, notify: print, openBrowser: browse }
  const clientInfo = { name: 'test', version: '1' }
  const outcome = await login({ ...given, clientInfo, ...more }).then(
    JSON.stringify,
    (error: Error) => `! ${error.message}`,
  )
  return { outcome, kept: existsSync(folder) ? readdirSync(folder).length : 0, printed, server }
}

const nobody = { openBrowser: async () => true, timeoutMs: 1 }
const page = (at: string): AuthOptions => ({ metadata: { authorization_endpoint: `${at}/login` } })

it.each<[string, AuthOptions, Partial<LoginOptions>, RegExp, number]>([
  ['is granted', {}, {}, /"isLoggedIn":true/, 1],
  [
    'is needless on this machine',
    {},
    { config: { ...httpServer('notes', ''), transport: { kind: 'stdio' } as never } },
    /needs no login/,
    0,
  ],
  [
    'is needless at a server that is open',
    { isOpen: true, isBare: true },
    {},
    /"tools":2,"isLoggedIn":false/,
    0,
  ],
  ['is made at an open server that has one', { isOpen: true }, {}, /"isLoggedIn":true/, 1],
  [
    'is needless where its metadata are broken',
    { isOpen: true, metadata: { issuer: 5 } },
    {},
    /"isLoggedIn":false/,
    0,
  ],
  ['is refused', { refuses: true }, {}, /^! access_denied/, 0],
  [
    'needs a client',
    { registers: false },
    {},
    /does not let clients register themselves.*"client" and "port"/,
    0,
  ],
  ['needs a key', { isBare: true }, {}, /put the key in its "headers"/, 0],
  [
    'names another issuer',
    { namesIssuer: true, issuerSent: 'https://else.example' },
    {},
    /not the expected one; nothing was stored/,
    0,
  ],
  ['is answered by nobody', {}, nobody, /timed out; run it again/, 0],
  ['is cancelled', {}, { signal: AbortSignal.abort(new Error('no more')) }, /no more/, 0],
  [
    'is followed by a failure',
    { isBroken: true },
    {},
    /the login is stored, but the server then failed: .*HTTP 500/,
    1,
  ],
  [
    'leads to a page that others read',
    page('http://a.example'),
    nobody,
    /http:\/\/a\.example.*is not https/,
    0,
  ],
  ['leads to no page', page('ftp://localhost'), nobody, /ftp:\/\/localhost.*is not https/, 0],
  ['leads to a page of this machine', page('http://[::1]:1'), nobody, /timed out/, 0],
])('H1 a login that %s', async (_, options, more, outcome, kept) => {
  const tried = await attempt(options, more)
  expect(tried.outcome).toMatch(outcome)
  expect(tried.kept).toBe(kept)
})

it('H1 a login asks for the scope that is given, or that the server wants; without a browser, the user opens the page', async () => {
  const openBrowser = async (at: string) => !(await browse(at))
  const { printed, server } = await attempt({}, { openBrowser })
  expect(printed).toEqual([
    expect.stringContaining('Open this address'),
    expect.stringContaining('No browser could be started'),
  ])
  expect(server.asked('/authorize')[0]?.get('scope')).toBe('tools')
  expect((await attempt({}, { scope: 'tools more' })).server.asked('/authorize')[0]?.get('scope')).toBe(
    'tools more',
  )
  const client = { id: 'by-hand', secret: 'secret-by-hand' }
  const byHand = await attempt({ registers: false }, { client })
  expect(byHand.outcome).toContain('"isLoggedIn":true')
  expect(byHand.server.asked('/authorize')[0]?.get('client_id')).toBe('by-hand')
})
