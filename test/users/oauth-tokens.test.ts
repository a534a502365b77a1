// Access tokens of a real identity provider: which are accepted, whose they are, and why the others are refused.
import { decodeJwt, decodeProtectedHeader, SignJWT, UnsecuredJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import type { AccessRefusal, Profile, User } from '../../src/users/index.ts'
import { createTokenAccess, type TokenAccessOptions } from '../../src/users/oauth/index.ts'
import { type IdentityProvider, startIdentityProvider, TOKEN_SECONDS } from './identity-provider.ts'

const RESOURCE = 'https://tools.example.com/mcp'
const METADATA = 'https://tools.example.com/.well-known/oauth-protected-resource/mcp'
const KEYS = '/jwks'

const profiles: { readonly [name: string]: Profile } = Object.fromEntries(
  ['reader', 'writer'].map((name) => [
    name,
    { name, servers: { allow: [], deny: [] }, tools: { allow: [], deny: [] }, limits: {} },
  ]),
)

function open({ issuer }: Pick<IdentityProvider, 'issuer'>, given: Partial<TokenAccessOptions> = {}) {
  const said: string[] = []
  let time = Date.now()
  const access = createTokenAccess({
    issuers: [issuer],
    resource: RESOURCE,
    scopes: { 'tools:write': 'writer', 'tools:read': 'reader' },
    profileNamed: async (name) => profiles[name],
    now: () => time,
    notify: (message) => void said.push(message),
    ...given,
  })
  const wait = (milliseconds: number) => {
    time += milliseconds
  }
  return { ...access, said, wait }
}

const asUser = (found: User | AccessRefusal): User => {
  if ('status' in found) throw new Error(`refused: ${found.message}`)
  return found
}
const asRefusal = (found: User | AccessRefusal): AccessRefusal => {
  if (!('status' in found)) throw new Error(`accepted: ${found.id}`)
  return found
}

describe('tokens', () => {
  test('a token of the provider for this gateway gives its user and the profile of the first scope that it has', async () => {
    const provider = await startIdentityProvider()
    const { authenticate } = open(provider)
    const id = `${provider.issuer}|service`
    const writer = asUser(await authenticate(await provider.token(RESOURCE)))
    expect(writer).toEqual({ id, uid: id, profile: profiles.writer })
    const reader = asUser(await authenticate(await provider.token(RESOURCE, 'tools:read')))
    expect(reader.profile.name).toBe('reader')
    expect(provider.asked(KEYS)).toBe(1)
  })

  test('without a token the response says where to get one, without an error code', async () => {
    const { authenticate } = open({ issuer: 'https://id.example.com' })
    expect(asRefusal(await authenticate(undefined))).toMatchObject({
      status: 401,
      challenge: `Bearer scope="tools:write tools:read", resource_metadata="${METADATA}"`,
    })
  })

  test('a token for another audience, of another issuer, expired or altered is refused, and nothing of it is repeated', async () => {
    const provider = await startIdentityProvider()
    const { authenticate, wait } = open(provider)
    const token = await provider.token(RESOURCE)
    const [head = '', body = '', signature = ''] = token.split('.')
    const claims = decodeJwt(token)
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const other = await startIdentityProvider()
    const cases: [string, string][] = [
      [await provider.token('https://other.example.com/mcp'), 'another audience'],
      [await other.token(RESOURCE), 'another issuer'],
      [`${head}.${encode({ ...claims, sub: 'admin' })}.${signature}`, 'signature'],
      [`${head}.${body}.${signature.slice(0, -4)}AAAA`, 'signature'],
      [new UnsecuredJWT(claims).encode(), 'not allowed'],
      [`${encode({ ...decodeProtectedHeader(token), alg: 'none' })}.${body}.`, 'not allowed'],
      ['not a token', 'not a JWT'],
      [`${head}.${body}`, 'not a JWT'],
      [`${token}${'A'.repeat(12_000)}`, 'more than 12000 characters'],
    ]
    for (const [given, reason] of cases) {
      const refusal = asRefusal(await authenticate(given))
      expect(refusal.status).toBe(401)
      expect(refusal.message).toContain(reason)
      expect(refusal.challenge).toContain('Bearer error="invalid_token", error_description="')
      expect(refusal.challenge).toContain(`resource_metadata="${METADATA}"`)
      expect(JSON.stringify(refusal)).not.toContain(body.slice(0, 20))
    }
    wait((TOKEN_SECONDS + 20) * 1000)
    asUser(await authenticate(token))
    wait(20_000)
    expect(asRefusal(await authenticate(token)).message).toBe('the token has expired')
  })

  test('a token signed with the public key as a shared secret is refused', async () => {
    const provider = await startIdentityProvider()
    const { authenticate } = open(provider)
    const token = await provider.token(RESOURCE)
    const { keys } = (await (await fetch(`${provider.issuer}${KEYS}`)).json()) as { keys: { kid: string }[] }
    const forged = await new SignJWT(decodeJwt(token))
      .setProtectedHeader({ alg: 'HS256', kid: keys[0]?.kid ?? '' })
      .sign(new TextEncoder().encode(JSON.stringify(keys[0])))
    expect(asRefusal(await authenticate(forged)).message).toContain('not allowed')
  })
})

describe('keys of the provider', () => {
  test('a new key is found at once; unknown ones lead to one request in ten seconds', async () => {
    const provider = await startIdentityProvider()
    const { authenticate, wait } = open(provider)
    const before = await provider.token(RESOURCE)
    asUser(await authenticate(before))
    await provider.rotate()
    wait(10_000)
    const after = await provider.token(RESOURCE)
    const many = await Promise.all(Array.from({ length: 20 }, () => authenticate(after)))
    for (const one of many) asUser(one)
    expect(provider.asked(KEYS)).toBe(2)
    expect(asRefusal(await authenticate(before)).message).toContain('unknown key')
    for (let tries = 0; tries < 5; tries++) asRefusal(await authenticate(before))
    expect(provider.asked(KEYS)).toBe(2)
    wait(10_000)
    asRefusal(await authenticate(before))
    expect(provider.asked(KEYS)).toBe(3)
  })

  test('while the provider is down known keys keep working, an unknown one gets 503, and all recover when it is up again', async () => {
    const provider = await startIdentityProvider()
    const { authenticate, wait, said } = open(provider)
    const known = await provider.token(RESOURCE)
    asUser(await authenticate(known))
    await provider.rotate()
    const unknown = await provider.token(RESOURCE)
    await provider.goDown()
    wait(10_000)
    for (const token of [unknown, unknown]) {
      const refusal = asRefusal(await authenticate(token))
      expect(refusal).toMatchObject({ status: 503, retryAfter: 10 })
      expect(refusal.message).toContain(`the keys of ${provider.issuer} cannot be fetched now`)
    }
    asUser(await authenticate(known))
    expect(said).toHaveLength(1)
    expect(said[0]).toContain(`cannot fetch the keys of ${provider.issuer}`)
    await provider.comeUp()
    wait(10_000)
    asUser(await authenticate(unknown))
  })

  test('keys are not fetched from an address that is not safe, too long, redirected, or of another issuer', async () => {
    const issuer = 'https://id.example.com'
    const answers: { readonly [reason: string]: (address: string) => Response } = {
      'not an https URL': () => Response.json({ issuer, jwks_uri: 'http://127.0.0.1/keys' }),
      'another issuer': () => Response.json({ issuer: `${issuer}/`, jwks_uri: `${issuer}/keys` }),
      'no "jwks_uri"': () => Response.json({ issuer }),
      'more than 1000000 bytes': () => new Response('x'.repeat(1_000_001)),
      'did not answer with JSON': () => new Response('hello'),
      'answered 302': () => new Response(null, { status: 302, headers: { location: 'http://127.0.0.1' } }),
      'not return a list': (address) =>
        Response.json(address.endsWith('/keys') ? { keys: 'none' } : { issuer, jwks_uri: `${issuer}/keys` }),
    }
    const token = new UnsecuredJWT({ iss: issuer }).encode()
    for (const [reason, answer] of Object.entries(answers)) {
      const asked = (async (address: unknown) => answer(String(address))) as typeof fetch
      const { authenticate, said } = open({ issuer }, { fetch: asked })
      expect(asRefusal(await authenticate(token)).status).toBe(503)
      expect(said.join()).toContain(reason)
    }
  })
})
