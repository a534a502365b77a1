// Access tokens of a real identity provider: which are accepted, whose they are, and why the others are refused.
import { generateKeyPairSync } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, exportJWK, SignJWT, UnsecuredJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import type { AccessRefusal, Profile, User } from '../../src/users/index.ts'
import { createTokenAccess, readOAuthSettings, type TokenAccessOptions } from '../../src/users/oauth/index.ts'
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
    const { host } = new URL(provider.issuer)
    const writer = asUser(await authenticate(await provider.token(RESOURCE)))
    expect(writer).toEqual({ id: `${host}|service`, profile: profiles.writer })
    const reader = asUser(await authenticate(await provider.token(RESOURCE, 'tools:read')))
    expect(reader.profile.name).toBe('reader')
    expect(provider.asked(KEYS)).toBe(1)
  })

  test('without a token the answer says where to get one, and is no error', async () => {
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

  test('a token without the scopes is refused as insufficient, unless there is a profile for it', async () => {
    const provider = await startIdentityProvider()
    const token = await provider.token(RESOURCE, '')
    const refusal = asRefusal(await open(provider).authenticate(token))
    expect(refusal.status).toBe(403)
    expect(refusal.challenge).toContain('error="insufficient_scope"')
    expect(refusal.challenge).toContain('scope="tools:write tools:read"')
    const { profile } = asUser(await open(provider, { profile: 'reader' }).authenticate(token))
    expect(profile.name).toBe('reader')
    const missing = open(provider, { profile: 'nobody' })
    expect(asRefusal(await missing.authenticate(token)).status).toBe(403)
    expect(missing.said).toEqual(['the profile "nobody" of the OAuth settings does not exist'])
  })
})

describe('users who stay connected', () => {
  test('are known while one of their tokens is valid, with their profile as it is now', async () => {
    const provider = await startIdentityProvider()
    let reader = profiles.reader
    const { authenticate, refresh, recall, wait } = open(provider, { profileNamed: async () => reader })
    const token = await provider.token(RESOURCE)
    expect(recall(token)).toBeUndefined()
    const user = asUser(await authenticate(token))
    expect(recall(token)).toEqual(user)
    expect(await refresh(user)).toEqual(user)
    reader = profiles.writer
    expect((await refresh(user))?.profile.name).toBe('writer')
    reader = undefined
    expect(await refresh(user)).toBeUndefined()
    reader = profiles.reader
    wait(61_000)
    expect(recall(token)).toBeUndefined()
    expect(await refresh(user)).toEqual(user)
    wait(TOKEN_SECONDS * 1000)
    expect(await refresh(user)).toBeUndefined()
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

  test('while the provider is down known keys go on, an unknown one gets 503, and all is well when it is up again', async () => {
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

  test('a provider that was never reached gets one request in ten seconds, and each client 503', async () => {
    const provider = await startIdentityProvider()
    const token = await provider.token(RESOURCE)
    await provider.goDown()
    const { authenticate, wait } = open(provider)
    expect(asRefusal(await authenticate(token)).status).toBe(503)
    await provider.comeUp()
    expect(asRefusal(await authenticate(token)).status).toBe(503)
    wait(10_000)
    asUser(await authenticate(token))
  })

  test('keys are fetched anew in the background after ten minutes, and end after a day without their provider', async () => {
    const provider = await startIdentityProvider()
    const key = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const list = { keys: [{ ...(await exportJWK(key.publicKey)), kid: 'own', alg: 'ES256' }] }
    let asked = 0
    let isUp = true
    const fetchKeys = async (address: unknown) => {
      if (!isUp) throw new Error('down')
      const isList = String(address).endsWith('/keys')
      if (isList) asked++
      return Response.json(isList ? list : { issuer: provider.issuer, jwks_uri: `${provider.issuer}/keys` })
    }
    const { authenticate, wait } = open(provider, { fetch: fetchKeys as typeof fetch })
    const sign = () =>
      new SignJWT({ scope: 'tools:read' })
        .setProtectedHeader({ alg: 'ES256', kid: 'own', typ: 'at+jwt' })
        .setIssuer(provider.issuer)
        .setAudience([RESOURCE, 'another'])
        .setSubject('ann')
        .setExpirationTime('2d')
        .sign(key.privateKey)
    const token = await sign()
    asUser(await authenticate(token))
    wait(11 * 60_000)
    asUser(await authenticate(token))
    expect(asked).toBe(2)
    isUp = false
    await new Promise((resolve) => setImmediate(resolve))
    wait(23 * 3_600_000)
    asUser(await authenticate(token))
    await new Promise((resolve) => setImmediate(resolve))
    wait(2 * 3_600_000)
    expect(asRefusal(await authenticate(token)).status).toBe(503)
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
      'no list': (address) =>
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

describe('users of tokens', () => {
  async function signer(issuer: string) {
    const key = generateKeyPairSync('ed25519')
    const list = { keys: [await exportJWK(key.publicKey)] }
    const answer = (async (address: unknown) =>
      Response.json(
        String(address).endsWith('/keys') ? list : { issuer, jwks_uri: `${issuer}/keys` },
      )) as typeof fetch
    const sign = (claims: { [name: string]: unknown }, typ = 'at+jwt') =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'EdDSA', typ })
        .setIssuer(issuer)
        .setAudience(RESOURCE)
        .setExpirationTime('1h')
        .sign(key.privateKey)
    return { answer, sign }
  }

  test('the id names the realm of the issuer, or is the claim that was chosen', async () => {
    const issuer = 'https://id.example.com/realms/a'
    const { answer, sign } = await signer(issuer)
    const plain = open({ issuer }, { fetch: answer })
    const scp = ['tools:read']
    expect(asUser(await plain.authenticate(await sign({ sub: 'ann', scp }))).id).toBe(
      'id.example.com/realms/a|ann',
    )
    const byMail = open({ issuer }, { fetch: answer, userClaim: 'email' })
    const claims = { sub: '1', scp, email: 'ann@example.com' }
    expect(asUser(await byMail.authenticate(await sign(claims))).id).toBe('ann@example.com')
    for (const wrong of [
      { ...claims, email: undefined },
      { ...claims, email: 'a\nb' },
      { ...claims, email: 'a'.repeat(300) },
      { ...claims, email: ['ann'] },
      { ...claims, email_verified: false },
    ])
      expect(asRefusal(await byMail.authenticate(await sign(wrong))).status).toBe(401)
  })

  test('a JWT of another kind, or without a subject, is no access token', async () => {
    const issuer = 'https://id.example.com'
    const { answer, sign } = await signer(issuer)
    const { authenticate } = open({ issuer }, { fetch: answer })
    const scope = 'tools:read'
    expect(asRefusal(await authenticate(await sign({ sub: 'ann', scope }, 'logout+jwt'))).message).toContain(
      'not an access token',
    )
    expect(asRefusal(await authenticate(await sign({ scope }))).message).toContain('"sub"')
    const early = { sub: 'ann', scope, nbf: Math.floor(Date.now() / 1000) + 120 }
    expect(asRefusal(await authenticate(await sign(early))).message).toContain('"nbf"')
    asUser(await authenticate(await sign({ sub: 'ann', scope }, 'JWT')))
  })
})

describe('settings', () => {
  test('are read from the users file; the command line comes first', () => {
    const section = {
      issuer: 'https://id.example.com',
      audience: 'tools',
      scopes: { 'tools:read': 'reader' },
      userClaim: 'email',
    }
    const { issuer, ...rest } = section
    expect(readOAuthSettings(section)).toEqual({ ...rest, issuers: [issuer] })
    const issuers = ['http://localhost:9/a', 'https://id.example.com/b']
    expect(readOAuthSettings(section, { issuers, audience: 'other' })).toMatchObject({
      issuers,
      audience: 'other',
    })
  })

  test.each([
    [undefined, '0 issuers'],
    [[], 'not an object'],
    [{ issuer: 'http://id.example.com' }, 'https'],
    [{ issuer: 'https://ann:secret@id.example.com' }, 'cannot be used'],
    [{ issuer: 'https://id.example.com?x' }, 'without a query'],
    [{ issuer: 7 }, 'not a text'],
    [{ issuer: 'https://id.example.com', audience: '' }, '"audience"'],
    [{ issuer: 'https://id.example.com', scopes: { 'a b': 'reader' } }, '"scopes"'],
    [{ issuer: 'https://id.example.com', scopes: { a: 1 } }, '"scopes"'],
    [{ issuer: 'https://id.example.com', scopes: {} }, '"scopes"'],
    [{ issuer: 'https://id.example.com', scope: {} }, 'unknown key "scope"'],
  ])('refuses %j', (section, reason) => {
    expect(() => readOAuthSettings(section)).toThrow(reason)
  })
})
