// The gateway as an OAuth resource server: the official client finds the identity provider, logs in and calls; tokens go
// no further than the gateway.
import {
  Client,
  type OAuthClientProvider,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Profile } from '../../packages/core/src/users.ts'
import type { ServerConfig } from '../../packages/mcp/src/types.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { createKeyAuthenticator } from '../../packages/server/src/users/authenticator.ts'
import { openUserStore } from '../../packages/server/src/users/directory.ts'
import {
  acceptKeysAndTokens,
  createTokenAccess,
  type TokenAccessOptions,
} from '../../packages/server/src/users/oauth/access.ts'
import { createKey } from '../../packages/server/src/users/records.ts'
import { startAuthServer } from '../mcp/support/auth-server.ts'
import { initialize, openHttp } from '../mcp/support/gateway-http.ts'
import { here } from '../mcp/support/server-here.ts'
import { defaults } from '../mcp/support/servers.ts'
import { browseTo, type IdentityProvider, startIdentityProvider } from './identity-provider.ts'

const REDIRECT = 'http://127.0.0.1:1/callback'

const profile: Profile = {
  name: 'reader',
  servers: { allow: [], deny: [] },
  tools: { allow: [], deny: [] },
  limits: {},
}

const remote = (name: string, url: string): ServerConfig => ({
  ...defaults(name),
  transport: { kind: 'http', url, headers: {} },
})

async function open(
  { issuer }: IdentityProvider,
  given: Partial<TokenAccessOptions> = {},
  server = here('echo', 'gateway-echo'),
) {
  let url = ''
  const access = createTokenAccess({
    issuers: [issuer],
    resource: () => url,
    scopes: { 'tools:read': 'reader' },
    profileNamed: async (name) => (name === profile.name ? profile : undefined),
    ...given,
  })
  const gateway = await openHttp([server], {
    http: { users: access, protectedResource: access },
  })
  url = gateway.url
  return { ...gateway, access }
}

/** A client program with a browser: what it stores is kept in memory. */
function createProgram() {
  const kept: {
    client?: StoredOAuthClientInformation
    tokens?: StoredOAuthTokens
    verifier?: string
    page?: URL
  } = {}
  const provider: OAuthClientProvider = {
    redirectUrl: REDIRECT,
    clientMetadata: {
      client_name: 'a program of tests',
      redirect_uris: [REDIRECT],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    } as OAuthClientProvider['clientMetadata'],
    clientInformation: () => kept.client,
    saveClientInformation(client) {
      kept.client = client
    },
    tokens: () => kept.tokens,
    saveTokens(tokens) {
      kept.tokens = tokens
    },
    codeVerifier: () => kept.verifier ?? '',
    saveCodeVerifier(verifier) {
      kept.verifier = verifier
    },
    redirectToAuthorization(page) {
      kept.page = page
    },
  }
  return { provider, kept }
}

describe('the official client', () => {
  test.each(['legacy', 'modern'] as const)(
    'gets from a 401 to a call: discovery, registration, PKCE, token for this gateway (%s)',
    async (era) => {
      const provider = await startIdentityProvider()
      const { url } = await open(provider)
      const program = createProgram()
      const transport = () =>
        new StreamableHTTPClientTransport(new URL(url), { authProvider: program.provider })
      const newClient = () =>
        new Client(
          { name: 'program', version: '1' },
          { versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' } },
        )
      const first = transport()
      await expect(newClient().connect(first)).rejects.toThrow(UnauthorizedError)
      const page = program.kept.page
      expect(page?.searchParams.get('resource')).toBe(url)
      expect(page?.searchParams.get('scope')).toContain('tools:read')
      expect(page?.searchParams.get('code_challenge_method')).toBe('S256')
      const landed = await browseTo(page ?? new URL(url), REDIRECT)
      await first.finishAuth(landed.searchParams)
      const client = newClient()
      await client.connect(transport())
      onTestFinished(() => client.close())
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toContain('ToolSearch')
    },
  )
})

describe('requests', () => {
  test('everybody may read the metadata, at both addresses, and health', async () => {
    const provider = await startIdentityProvider()
    const { send, url } = await open(provider)
    for (const suffix of ['', '/mcp']) {
      const path = `/.well-known/oauth-protected-resource${suffix}`
      const { status, text, headers } = await send({ method: 'GET', path })
      expect(status).toBe(200)
      expect(headers['access-control-allow-origin']).toBe('*')
      expect(JSON.parse(text)).toEqual({
        resource: url,
        authorization_servers: [provider.issuer],
        bearer_methods_supported: ['header'],
        scopes_supported: ['tools:read'],
        resource_name: 'Toolshelf',
      })
    }
    expect((await send({ method: 'GET', path: '/.well-known/oauth-protected-resource/other' })).status).toBe(
      401,
    )
    expect((await send({ method: 'GET', path: '/health' })).status).toBe(200)
  })

  test('a missing token, a wrong one and one without scopes get the answers that clients expect', async () => {
    const provider = await startIdentityProvider()
    const { send, url } = await open(provider)
    const metadata = `resource_metadata="${new URL('/.well-known/oauth-protected-resource/mcp', url).href}"`
    const ask = (authorization?: string) =>
      send({ body: initialize, headers: authorization === undefined ? {} : { authorization } })
    const missing = await ask()
    expect(missing.status).toBe(401)
    expect(missing.headers['www-authenticate']).toBe(`Bearer scope="tools:read", ${metadata}`)
    for (const wrong of [
      'Bearer wrong',
      `Bearer ${await provider.token('https://elsewhere.example.com/mcp')}`,
    ]) {
      const answer = await ask(wrong)
      expect(answer.status).toBe(401)
      expect(answer.headers['www-authenticate']).toContain('Bearer error="invalid_token"')
      expect(answer.headers['www-authenticate']).toContain(metadata)
    }
    const poor = await ask(`Bearer ${await provider.token(url, 'tools:write')}`)
    expect(poor.status).toBe(403)
    expect(poor.headers['www-authenticate']).toContain('error="insufficient_scope"')
    expect((await ask(`Bearer ${await provider.token(url)}`)).status).toBe(200)
    expect((await ask(`bearer  ${await provider.token(url)}`)).status).toBe(200)
    expect((await ask(`Basic ${await provider.token(url)}`)).status).toBe(401)
  })

  test('a token goes no further than the gateway: no server gets it', async () => {
    const provider = await startIdentityProvider()
    const upstream = await startAuthServer({ isOpen: true })
    const gateway = await open(provider, {}, remote('notes', upstream.url))
    const token = await provider.token(gateway.url)
    const { run } = await gateway.connect({ key: token })
    expect((await run('notes__whoami')).content).toEqual([{ type: 'text', text: 'whoami' }])
    expect(upstream.knocks.length).toBeGreaterThan(0)
    expect(JSON.stringify(upstream.knocks)).not.toContain(token)
    expect(upstream.knocks.filter(({ authorization }) => authorization !== undefined)).toEqual([])
  })

  test('expired tokens of many behind one address do not lock out the others', async () => {
    const provider = await startIdentityProvider()
    const { send, url } = await open(provider)
    const ask = (token: string) => send({ body: initialize, headers: { authorization: `Bearer ${token}` } })
    const wrong = await provider.token('https://elsewhere.example.com/mcp')
    for (let tries = 0; tries < 25; tries++) expect((await ask(wrong)).status).toBe(401)
    expect((await ask(await provider.token(url))).status).toBe(200)
  })

  test('a session belongs to the user who opened it, with any of their tokens', async () => {
    const provider = await startIdentityProvider()
    const { send, url } = await open(provider, { scopes: { 'tools:read': 'reader' } })
    const as = (token: string, more = {}) => ({ authorization: `Bearer ${token}`, ...more })
    const opened = await send({ body: initialize, headers: as(await provider.token(url)) })
    const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) }
    const ping = { jsonrpc: '2.0', id: 2, method: 'ping' }
    expect((await send({ body: ping, headers: as(await provider.token(url), session) })).status).toBe(200)
    expect((await send({ body: ping, headers: session })).status).toBe(401)
    const other = await provider.token(url, 'tools:read', 'another')
    expect((await send({ body: ping, headers: as(other, session) })).status).toBe(404)
  })

  test('keys of users work besides tokens; a wrong key also learns where to get a token', async () => {
    const provider = await startIdentityProvider()
    const store = createMemoryStore()
    const directory = await openUserStore(store)
    onTestFinished(async () => {
      await directory.close()
      await store.close()
    })
    await directory.saveProfile(profile)
    await directory.saveUser('bob', { profile: 'reader' })
    const key = createKey('bob')
    await directory.saveKey(key.id, key.record)
    let url = ''
    const tokens = createTokenAccess({
      issuers: [provider.issuer],
      resource: () => url,
      scopes: { 'tools:read': 'reader' },
      profileNamed: directory.findProfile,
    })
    const users = acceptKeysAndTokens(createKeyAuthenticator({ directory }), tokens)
    onTestFinished(() => users.close())
    const gateway = await openHttp([], { http: { users, protectedResource: tokens } })
    url = gateway.url
    const ask = (token: string) =>
      gateway.send({ body: initialize, headers: { authorization: `Bearer ${token}` } })
    expect((await ask(key.token)).status).toBe(200)
    expect((await ask(await provider.token(url))).status).toBe(200)
    const wrong = await ask(createKey('bob').token)
    expect(wrong.status).toBe(401)
    expect(wrong.headers['www-authenticate']).toContain('resource_metadata=')
  })
})
