// Stories of stored logins: how they are renewed, revoked and kept, with an authorization server that is only a function.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { listenForCallback } from '../../src/mcp/oauth/callback.ts'
import { type CredentialFile, createOAuth, defaultTokenFolder, logout } from '../../src/mcp/oauth/index.ts'
import { createMemoryStore } from '../../src/store/index.ts'
import type { Loose } from '../support/talk.ts'
import { temporaryFolder } from './support/folder.ts'
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

it('H2 a login is renewed once, kept where it cannot be, and removed where it is refused', async () => {
  const lines: unknown[] = []
  const fetched = stubFetch(lines)
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
  onTestFinished(() => void vi.useRealTimers())
  let kept: Loose
  const file: CredentialFile = {
    read: async () => kept,
    write: async (credentials) => {
      kept = { server: 'notes', url, ...credentials }
      lines.push(`write ${JSON.stringify(credentials.tokens)}`)
    },
    remove: async () => {
      kept = undefined
      lines.push('remove')
    },
    alone: (work) => {
      lines.push('alone')
      return work()
    },
  }
  const provider = createOAuth({ server: 'notes', file, command: 'log in, please' })
  const renew = async (title: string) => {
    const token = await provider.token()
    const outcome = await messageOf(provider.onUnauthorized?.(refused) ?? Promise.resolve())
    lines.push(`— ${title}: ${token} → ${outcome} → ${await provider.token()}`)
    vi.setSystemTime(Date.now() + 5000)
  }
  await renew('without one')
  kept = stored()
  fetched.answer = () => Response.json({ access_token: 'access-2', token_type: 'Bearer' })
  await renew('the refresh token stays')
  fetched.answer = () =>
    Response.json({ access_token: 'access-3', refresh_token: 'refresh-3', token_type: 'Bearer' })
  const late = Date.now()
  vi.setSystemTime(late - 1)
  await renew('refused late')
  vi.setSystemTime(late)
  await renew('the refresh token is new')
  const sent = await provider.token()
  kept = { ...kept, tokens: { ...kept.tokens, access_token: 'of another process' } }
  lines.push(`another was faster: ${sent} → ${await messageOf(provider.onUnauthorized!(refused))}`)
  vi.setSystemTime(Date.now() + 5000)
  await provider.token()
  await Promise.all([provider.onUnauthorized!(refused), provider.onUnauthorized!(refused)])
  lines.push('two at once')
  vi.setSystemTime(Date.now() + 5000)
  const failing: [string, () => Response | Promise<Response>][] = [
    ['down', () => new Response('broken: refresh-3', { status: 500 })],
    [
      'unreachable',
      () => Promise.reject(Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } })),
    ],
    ['strange', () => Promise.reject('a text\nof two lines')],
    ['busy', () => Response.json({ error: 'temporarily_unavailable' }, { status: 400 })],
  ]
  for (const [title, answer] of failing) {
    fetched.answer = answer
    await renew(title)
  }
  for (const error of ['invalid_grant', 'invalid_client', 'unauthorized_client']) {
    kept = stored({ client: { client_id: 'id', client_secret: 'secret' } })
    fetched.answer = () => Response.json({ error }, { status: 400 })
    await renew(error)
  }
  kept = stored({ tokens: { access_token: 'access-1' } })
  await renew('nothing to renew it with')
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./parts/oauth-renewed.txt')
})

it('a logout revokes what there is, in the way the server wants, and forgets it in any case', async () => {
  const lines: unknown[] = []
  const fetched = stubFetch(lines)
  const store = createMemoryStore()
  onTestFinished(() => store.close())
  const notify = (message: string) => void lines.push(`! ${message}`)
  const leave = async (title: string, more: Loose = {}) => {
    const all = { server: 'notes', url, ...stored(more) }
    const name = createHash('sha256')
      .update(JSON.stringify(['notes', url]))
      .digest('hex')
      .slice(0, 24)
    await store.set(`login/notes-${name}`, JSON.stringify(all))
    lines.push(`— ${title}: ${await logout({ folder: '/nowhere', store, server: 'notes', notify })}`)
    lines.push(`left: ${(await store.list('login/')).length}`)
  }
  const methods = (...supported: string[]) => ({
    ...stored().discovery,
    authorizationServerMetadata: { ...metadata, token_endpoint_auth_methods_supported: supported },
  })
  const client = { client_id: 'id', client_secret: 'secret' }
  await leave('both tokens')
  await leave('an access token', { tokens: { access_token: 'access-1' } })
  await leave('basic', { client, discovery: methods('client_secret_basic') })
  await leave('post', { client, discovery: methods('client_secret_post') })
  await leave('none', { client, discovery: methods('none') })
  await leave('no metadata', { discovery: { authorizationServerUrl: issuer } })
  const open = { ...metadata, revocation_endpoint: 'http://login.example/revoke' }
  await leave('not https', { discovery: { ...stored().discovery, authorizationServerMetadata: open } })
  fetched.answer = () => new Response('refresh-1', { status: 503 })
  await leave('down')
  fetched.answer = () => Promise.reject(new Error('no route for refresh-1 and access-1'))
  await leave('unreachable')
  lines.push(`nobody: ${await logout({ folder: '/nowhere', store, server: 'nobody', notify })}`)
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./parts/oauth-revoked.txt')
})

it('H2 logins in files are private, of one server at one address, and set aside when they cannot be read', async () => {
  const folder = join(temporaryFolder(), 'tokens')
  const notices: string[] = []
  const notify = (message: string) => void notices.push(message.replaceAll(folder, '<folder>'))
  const lines: unknown[] = []
  const fetched = stubFetch(lines)
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
  expect(await messageOf(open().token())).toMatch(/^! the stored login cannot be read: EISDIR/)
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

it('the redirect address takes one answer, until it expires', async () => {
  const answered: string[] = []
  const callback = await listenForCallback({ state: 'right' })
  onTestFinished(() => callback.close())
  const ask = async (path: string, method = 'GET') => {
    const response = await fetch(new URL(path, callback.url), { method })
    const headers = [
      'content-security-policy',
      'referrer-policy',
      'cache-control',
      'connection',
      'content-type',
    ]
    answered.push(
      `${method} ${path}: ${response.status} ${headers.map((name) => response.headers.get(name))} ${await response.text()}`,
    )
  }
  await ask('/other?state=right&code=c')
  await ask('/callback?state=right&code=c', 'POST')
  await ask('/callback?code=c')
  await ask('/callback?state=right&error=no')
  await ask('/callback?state=right&code=c')
  answered.push(String(await callback.answer))
  const granted = await listenForCallback({ state: 'right' })
  answered.push(await (await fetch(`${granted.url}?state=right&code=c`)).text())
  granted.close()
  expect(await messageOf(fetch(granted.url))).toMatch('fetch failed')
  const over = await listenForCallback({ state: 'right', signal: AbortSignal.abort() })
  answered.push(await messageOf(over.answer))
  over.close()
  const controller = new AbortController()
  const cancelled = await listenForCallback({ state: 'right', signal: controller.signal })
  controller.abort()
  answered.push(await messageOf(cancelled.answer))
  cancelled.close()
  const short = await listenForCallback({ state: 'right', timeoutMs: 1 })
  answered.push(await messageOf(short.answer))
  short.close()
  const { port } = new URL(callback.url)
  const taken = messageOf(listenForCallback({ state: 'right', port: Number(port) }))
  answered.push((await taken).replaceAll(port, '<port>'))
  await expect(`${answered.join('\n')}\n`).toMatchFileSnapshot('./parts/oauth-callback.txt')
})
