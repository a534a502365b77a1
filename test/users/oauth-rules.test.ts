// Each rule of access tokens from both sides, with a provider that is a function: settings, keys, claims, users and bounds.
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { exportJWK, type JWK, SignJWT } from 'jose'
import { describe, expect, test, vi } from 'vitest'
import type { Authenticator, Profile, User } from '../../packages/core/src/users.ts'
import {
  acceptKeysAndTokens,
  createTokenAccess,
  type TokenAccessOptions,
} from '../../packages/server/src/users/oauth/access.ts'
import { readOAuthSettings } from '../../packages/server/src/users/oauth/token.ts'

const ISSUER = 'https://id.example.com'
const RESOURCE = 'https://tools.example.com/mcp'
const START = Date.parse('2026-01-01T00:00:00Z')
const everything = { allow: [], deny: [] }
const profileNamed = async (name: string): Promise<Profile | undefined> =>
  name === 'none' ? undefined : { name, servers: everything, tools: everything, limits: {} }

type Signing = {
  readonly alg?: string
  readonly typ?: string
  readonly kid?: string
  readonly key?: KeyObject
  readonly issuer?: string
}

const pair = generateKeyPairSync('ed25519')
const publicKey = await exportJWK(pair.publicKey)

const sign = (
  claims: { readonly [name: string]: unknown },
  { issuer = ISSUER, key, ...header }: Signing = {},
) =>
  new SignJWT({ iss: issuer, aud: RESOURCE, sub: 'ann', exp: START / 1000 + 3600, ...claims })
    .setProtectedHeader({ alg: 'EdDSA', ...header })
    .sign(key ?? pair.privateKey)

/** Answers as a provider; what is in `answers`, by the end of an address, comes first. */
function providerOf(keys: readonly unknown[] = [publicKey], issuer = ISSUER) {
  const asked: string[] = []
  const answers: { [end: string]: () => Response | Promise<Response> } = {}
  const fetchKeys = async (address: unknown) => {
    const path = String(address)
    asked.push(path)
    const end = Object.keys(answers).find((one) => path.endsWith(one))
    if (end !== undefined) return answers[end]?.()
    return Response.json(path.endsWith('/jwks') ? { keys } : { issuer, jwks_uri: `${issuer}/jwks` })
  }
  return { asked, answers, fetch: fetchKeys as typeof fetch }
}

function open(given: Partial<TokenAccessOptions> = {}) {
  const clock = { now: START }
  const said: string[] = []
  const access = createTokenAccess({
    issuers: [ISSUER],
    resource: RESOURCE,
    profileNamed,
    fetch: providerOf().fetch,
    now: () => clock.now,
    notify: (message) => void said.push(message),
    ...given,
  })
  return { access, clock, said }
}

/** The user's id and profile, or the status and message of the refusal. */
async function outcome(token: string, given: Partial<TokenAccessOptions> = {}): Promise<string> {
  const found = await open(given).access.authenticate(token)
  return 'status' in found ? `${found.status} ${found.message}` : `${found.id} as ${found.profile.name}`
}

describe('settings', () => {
  const texts = (count: number) => Array.from({ length: count }, (_, index) => `${ISSUER}/${index}`)
  const scopes = (count: number) => Object.fromEntries(texts(count).map((name) => [name, 'reader']))

  test.each<[right: object, wrong: object]>([
    [{ issuer: texts(20) }, { issuer: texts(21) }],
    [{ issuer: 'http://127.0.0.1:9' }, { issuer: 'http://127.0.0.2:9' }],
    [{ issuer: 'http://[::1]:9' }, { issuer: 'ftp://localhost' }],
    [{ issuer: ISSUER }, { issuer: `${ISSUER}/#a` }],
    [{ issuer: ISSUER }, { issuer: 'https://ann@id.example.com' }],
    [{ issuer: ISSUER }, { issuer: 'https://:secret@id.example.com' }],
    [{ issuer: ISSUER }, { issuer: 'id.example.com' }],
    [{ issuer: ISSUER }, { issuer: [ISSUER, 7] }],
    [{ issuer: ISSUER }, { issuer: [] }],
    [{ profile: 'p'.repeat(400) }, { profile: 'p'.repeat(401) }],
    [{ issuer: ISSUER }, { issuer: `${ISSUER}/a|b` }],
    [{ issuer: ISSUER }, { userClaim: 'email' }],
    [{ scopes: scopes(100) }, { scopes: scopes(101) }],
    [{ scopes: { ['s'.repeat(200)]: 'p' } }, { scopes: { ['s'.repeat(201)]: 'p' } }],
    [{ scopes: { '!': 'p', a: 'q' } }, { scopes: { '!': 'p', 'a"': 'q' } }],
    [{ scopes: { '~': 'p' } }, { scopes: { '~': '' } }],
    [{ scopes: { a: 'p' } }, { scopes: ['p'] }],
    [{ scopes: { a: 'p' } }, { scopes: null }],
    [{ scopes: { a: 'p' } }, { scopes: 'a' }],
  ])('each bound: case %#', (right, wrong) => {
    expect(readOAuthSettings({ issuer: ISSUER, ...right })).toMatchObject(
      'issuer' in right ? { issuers: [right.issuer].flat() } : right,
    )
    expect(() => readOAuthSettings({ issuer: ISSUER, ...wrong })).toThrow('oauth')
  })

  test('are read from the users file; the command line comes first', () => {
    const rest = { audience: 'tools', scopes: { 'tools:read': 'reader' } }
    const section = { ...rest, issuer: ISSUER }
    expect(readOAuthSettings(section)).toEqual({ ...rest, issuers: [ISSUER] })
    const given = { issuers: ['http://localhost:9/a', `${ISSUER}/b`], audience: 'other' }
    expect(readOAuthSettings(section, given)).toEqual({ ...rest, ...given })
  })

  test.each([
    [undefined, 'oauth names 0 issuers'],
    [[], 'oauth is not an object'],
    [null, 'oauth is not an object'],
    ['x', 'oauth is not an object'],
    [{ issuer: `${ISSUER}?x` }, 'without a query'],
    [{ issuer: 7 }, '"issuer" is not a text'],
    [{ issuer: ISSUER, audience: '' }, '"audience" is ""'],
    [{ issuer: ISSUER, scope: {} }, 'unknown key "scope"'],
  ])('%j is refused: %s', (section, reason) => {
    expect(() => readOAuthSettings(section)).toThrow(reason)
  })

  test('an issuer named twice counts once; omitted options stay absent', () => {
    expect(readOAuthSettings({ issuer: [ISSUER, ISSUER] })).toEqual({ issuers: [ISSUER] })
    expect(readOAuthSettings({ issuer: ISSUER }, { issuers: [] })).toEqual({ issuers: [ISSUER] })
  })
})

describe('a token', () => {
  const scopes = { write: 'writer', read: 'reader' }
  const UNNAMED = '401 the token does not name its user as this gateway expects'
  test.each<[what: string, claims: object, given: Partial<TokenAccessOptions>, expected: string]>([
    ['of a gateway without scopes', {}, {}, 'https://id.example.com|ann as everything'],
    ['of a gateway with one profile', {}, { profile: 'p' }, 'https://id.example.com|ann as p'],
    ['with a scope', { scope: 'x read' }, { scopes }, 'https://id.example.com|ann as reader'],
    ['with both scopes', { scope: 'read write' }, { scopes }, 'https://id.example.com|ann as writer'],
    ['with scopes as a list', { scp: ['read'] }, { scopes }, 'https://id.example.com|ann as reader'],
    [
      'with a scope beside the profile',
      { scope: 'read' },
      { scopes, profile: 'p' },
      'https://id.example.com|ann as reader',
    ],
    ['without a scope', { scope: '' }, { scopes, profile: 'p' }, 'https://id.example.com|ann as p'],
    [
      'with no such scope',
      { scope: 'reader' },
      { scopes },
      '403 the token has none of the scopes write, read',
    ],
    [
      'with scopes of another type',
      { scope: 7, scp: [7] },
      { scopes },
      '403 the token has none of the scopes write, read',
    ],
    [
      'of an unknown profile',
      {},
      { profile: 'none' },
      '403 the profile of this token does not exist; tell the operator of the gateway',
    ],
    ['with another audience', { aud: 'tools' }, {}, '401 the token is for another audience'],
    [
      'with the audience of the settings',
      { aud: 'tools' },
      { audience: 'tools' },
      'https://id.example.com|ann as everything',
    ],
    [
      'whose gateway is known late',
      {},
      { resource: () => RESOURCE },
      'https://id.example.com|ann as everything',
    ],
    [
      'with an address that nobody needs',
      { email_verified: false },
      {},
      'https://id.example.com|ann as everything',
    ],
    ['with the longest name', { sub: 'a'.repeat(200) }, {}, `${ISSUER}|${'a'.repeat(200)} as everything`],
    ['with a longer name', { sub: 'a'.repeat(201) }, {}, UNNAMED],
    ['with an empty name', { sub: '' }, {}, UNNAMED],
    ['without a subject', { sub: undefined }, {}, '401 the claim "sub" of the token is missing or wrong'],
    [
      'that begins later',
      { nbf: START / 1000 + 31 },
      {},
      '401 the claim "nbf" of the token is missing or wrong',
    ],
    ['without an end', { exp: undefined }, {}, '401 the claim "exp" of the token is missing or wrong'],
    [
      'that ended within the leeway',
      { exp: START / 1000 - 29 },
      {},
      'https://id.example.com|ann as everything',
    ],
    ['that ended', { exp: START / 1000 - 31 }, {}, '401 the token has expired'],
  ])('%s', async (_, claims, given, expected) => {
    expect(await outcome(await sign({ ...claims }), given)).toBe(expected)
  })

  test.each([
    ['at+jwt', 'https://id.example.com|ann as everything'],
    ['application/AT+JWT', 'https://id.example.com|ann as everything'],
    ['JWT', 'https://id.example.com|ann as everything'],
    ['id+jwt', '401 the token is not an access token'],
  ])('of the type %s', async (typ, expected) => {
    expect(await outcome(await sign({}, { typ }))).toBe(expected)
  })

  test('is refused with a challenge in which no text ends early', async () => {
    const { access } = open({ scopes: { read: 'reader' } })
    expect(await access.authenticate(await sign({ exp: undefined }))).toEqual({
      status: 401,
      message: 'the claim "exp" of the token is missing or wrong',
      challenge: [
        `Bearer error="invalid_token", error_description="the claim 'exp' of the token is missing or wrong"`,
        'scope="read"',
        'resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/mcp"',
      ].join(', '),
    })
  })

  test('ends; its user stays connected until their last token ends', async () => {
    const { access, clock } = open()
    const [short, long] = [await sign({ exp: START / 1000 + 30 }), await sign({ exp: START / 1000 + 90 })]
    const user = (await access.authenticate(long)) as User
    await access.authenticate(short)
    clock.now = START + 89_999
    expect(await access.refresh(user)).toEqual(user)
    clock.now = START + 90_000
    expect(await access.refresh(user)).toBeUndefined()
    clock.now = START
    await access.close()
    expect(await access.refresh(user)).toBeUndefined()
  })

  test('whose user stays connected gives the profile as it is now', async () => {
    let name = 'first'
    const named = async () => (name === '' ? undefined : profileNamed(name))
    const { access } = open({ profile: 'p', profileNamed: named })
    const user = (await access.authenticate(await sign({}))) as User
    expect(user.profile.name).toBe('first')
    name = 'second'
    expect((await access.refresh(user))?.profile.name).toBe('second')
    name = ''
    expect(await access.refresh(user)).toBeUndefined()
  })
})

describe('keys', () => {
  test('a token without a key id is tried with five keys', async () => {
    const others = await Promise.all(
      Array.from({ length: 5 }, () => exportJWK(generateKeyPairSync('ed25519').publicKey)),
    )
    const token = await sign({})
    const among = (keys: readonly JWK[]) => outcome(token, { fetch: providerOf(keys).fetch })
    expect(await among([...others.slice(0, 4), publicKey])).toContain('|ann')
    expect(await among([...others, publicKey])).toBe('401 the signature of the token is wrong')
    expect(await among(others)).toBe('401 the signature of the token is wrong')
  })

  test('reports an expired token without a key id as such at the first key that fits', async () => {
    const other = await exportJWK(generateKeyPairSync('ed25519').publicKey)
    const token = await sign({ exp: START / 1000 - 100 })
    expect(await outcome(token, { fetch: providerOf([other, publicKey]).fetch })).toBe(
      '401 the token has expired',
    )
  })

  test('drops symmetric keys and invalid entries; reads a list of 200 keys, but not a longer one', async () => {
    const token = await sign({}, { kid: 'own' })
    const own = { ...publicKey, kid: 'own' }
    const among = (keys: readonly unknown[]) => outcome(token, { fetch: providerOf(keys).fetch })
    expect(await among([null, 'x', { kid: 'own' }, { kty: 'oct', k: 'AAAA', kid: 'own' }, own])).toContain(
      'ann',
    )
    const many = Array.from({ length: 199 }, () => ({ kty: 'OKP' }))
    expect(await among([...many, own])).toContain('|ann')
    expect(await among([...many, own, own])).toBe(`503 the keys of ${ISSUER} cannot be fetched now`)
  })

  test('are found by OAuth metadata if there is no discovery document', async () => {
    const issuer = `${ISSUER}/a`
    const { fetch, asked, answers } = providerOf([publicKey], issuer)
    answers['/openid-configuration'] = () => new Response('none', { status: 404 })
    expect(await outcome(await sign({}, { issuer }), { issuers: [issuer], fetch })).toContain('|ann')
    expect(asked).toEqual([
      `${ISSUER}/a/.well-known/openid-configuration`,
      `${ISSUER}/.well-known/oauth-authorization-server/a`,
      `${ISSUER}/a/jwks`,
    ])
  })

  test.each([
    ['http://127.0.0.1:9', 'http://127.0.0.1:8/jwks', true],
    ['http://127.0.0.1:9', 'https://keys.example.com/jwks', true],
    [ISSUER, 'https://keys.example.com/jwks', true],
    [ISSUER, 'https://localhost/jwks', false],
    [ISSUER, 'http://keys.example.com/jwks', false],
    [ISSUER, '/jwks', false],
  ])('of %s may be at %s: %s', async (issuer, address, isAllowed) => {
    const { fetch, answers, asked } = providerOf([publicKey], issuer)
    answers['/openid-configuration'] = () => Response.json({ issuer, jwks_uri: address })
    const found = await outcome(await sign({}, { issuer }), { issuers: [issuer], fetch })
    expect([found.includes('|ann'), asked.includes(address)]).toEqual([isAllowed, isAllowed])
  })

  test.each([
    [
      () => Promise.reject(new Error('fetch failed', { cause: { code: 'ECONNREFUSED' } })),
      'openid-configuration: ECONNREFUSED',
    ],
    [() => Promise.reject(new Error('no network')), 'openid-configuration: no network'],
    [() => new Response('x', { status: 500 }), 'openid-configuration answered 500'],
    [() => new Response(null), 'did not answer with JSON'],
  ])('that cannot be fetched are reported once with the first reason', async (answer, reason) => {
    const { fetch, answers } = providerOf()
    for (const end of ['/openid-configuration', '/oauth-authorization-server'])
      answers[end] = end.startsWith('/openid') ? answer : () => new Response('x', { status: 501 })
    const { access, clock, said } = open({ fetch })
    const token = await sign({})
    for (const wait of [0, 10_000, 10_000]) {
      clock.now += wait
      expect(await access.authenticate(token)).toMatchObject({ status: 503, retryAfter: 10 })
    }
    expect(said).toEqual([expect.stringContaining(`cannot fetch the keys of ${ISSUER}: `)])
    expect(said[0]).toContain(reason)
    delete answers['/openid-configuration']
    clock.now += 9_999
    expect(await access.authenticate(token)).toMatchObject({ status: 503 })
    clock.now++
    expect(await access.authenticate(token)).toMatchObject({ id: 'https://id.example.com|ann' })
    answers['/openid-configuration'] = answer
    clock.now += 600_001
    expect(await access.authenticate(token)).toMatchObject({ id: 'https://id.example.com|ann' })
    await vi.waitFor(() => expect(said).toHaveLength(2), 60_000)
  })

  test('are fetched anew after more than ten minutes, once, and used for a day at most', async () => {
    const { fetch, asked, answers } = providerOf()
    const { access, clock } = open({ fetch })
    const token = await sign({ exp: START / 1000 + 200_000 })
    const fetches = async (ms: number) => {
      const before = asked.length
      clock.now = START + ms
      const found = await access.authenticate(token)
      await new Promise((resolve) => setImmediate(resolve))
      return ['id' in found, asked.length - before]
    }
    expect(await fetches(0)).toEqual([true, 2])
    expect(await fetches(600_000)).toEqual([true, 0])
    answers['/openid-configuration'] = () => Promise.reject(new Error('down'))
    answers['/oauth-authorization-server'] = () => Promise.reject(new Error('down'))
    expect(await fetches(600_001)).toEqual([true, 2])
    expect(await fetches(610_000)).toEqual([true, 0])
    expect(await fetches(610_001)).toEqual([true, 2])
    expect(await fetches(86_399_999)).toEqual([true, 2])
    expect(await fetches(86_400_000)).toEqual([false, 0])
    expect(await fetches(86_409_999)).toEqual([false, 2])
  })
})

test('keys and tokens together: each is asked for its own, and who has neither learns where to get a token', async () => {
  const asked: string[] = []
  const user = (id: string): User => ({
    id,
    uid: id,
    profile: { name: 'p', servers: everything, tools: everything, limits: {} },
  })
  const fake = (name: string, challenge?: string) => ({
    authenticate: async (token: string | undefined) => {
      asked.push(`${name} ${token}`)
      if (token?.endsWith('busy')) return { status: 503 as const, message: 'busy' }
      if (token?.endsWith('good')) return user(name)
      return { status: 401 as const, message: `not of ${name}`, ...(challenge ? { challenge } : {}) }
    },
    refresh: async () => user(name),
    onChange: (listener: () => void) => {
      listener()
      return () => void asked.push(`stop ${name}`)
    },
    close: async () => void asked.push(`close ${name}`),
    metadataAt: () => undefined,
  })
  const both: Authenticator = acceptKeysAndTokens(fake('keys', 'Bearer'), fake('tokens', 'Bearer at="x"'))
  expect(await both.authenticate('tsk_good')).toMatchObject({ id: 'keys' })
  expect(await both.authenticate('tsk_busy')).toEqual({ status: 503, message: 'busy' })
  expect(await both.authenticate('tsk_no')).toEqual({
    status: 401,
    message: 'not of keys',
    challenge: 'Bearer at="x"',
  })
  expect(await both.authenticate('good')).toMatchObject({ id: 'tokens' })
  expect(await both.authenticate('a tsk_')).toMatchObject({ message: 'not of tokens' })
  expect(await both.authenticate(undefined)).toMatchObject({ message: 'not of tokens' })
  const plain = acceptKeysAndTokens(fake('keys'), fake('tokens'))
  expect(await plain.authenticate('tsk_no')).toMatchObject({ challenge: 'Bearer' })
  expect((await both.refresh({ ...user('x'), keyId: '1' }))?.id).toBe('keys')
  expect((await both.refresh(user('x')))?.id).toBe('tokens')
  asked.length = 0
  let changes = 0
  both.onChange(() => changes++)()
  await both.close()
  expect(changes).toBe(2)
  expect(asked).toEqual(['stop keys', 'stop tokens', 'close keys', 'close tokens'])
})
