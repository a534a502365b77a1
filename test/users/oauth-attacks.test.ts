// Forged and misused access tokens, sent to a gateway over HTTP: none is accepted, and none makes it fetch anything but the
// keys of its own issuers.
import { createHash, createHmac, generateKeyPairSync, type KeyObject, sign as signBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Profile } from '../../packages/core/src/users.ts'
import { createTokenAccess, type TokenAccessOptions } from '../../packages/server/src/users/oauth/access.ts'
import { initialize, openHttp } from '../mcp/support/gateway-http.ts'
import { profileOf } from './support.ts'

const ISSUER = 'https://id.example.com'
const EVIL = 'https://evil.example.com'
const KID = 'own-1'

type Claims = { readonly [name: string]: unknown }
type KeyPair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject }

const newKey = (): KeyPair => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const own = newKey()
const attacker = newKey()
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const publicJwk = ({ publicKey }: KeyPair, kid: string) => ({
  ...publicKey.export({ format: 'jwk' }),
  ...{ kid, alg: 'ES256', use: 'sig' },
})

/** A token with exactly this header and these claims; signed with ES256 whatever the header says. */
function forge(header: Claims, claims: Claims, { privateKey }: KeyPair = own): string {
  const signed = `${encode(header)}.${encode(claims)}`
  const signature = signBytes('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

const HEADER = { alg: 'ES256', kid: KID, typ: 'at+jwt' }

async function open(given: Partial<TokenAccessOptions> = {}) {
  const fetched: string[] = []
  const answers = new Map<string, object>([
    [`${ISSUER}/.well-known/openid-configuration`, { issuer: ISSUER, jwks_uri: `${ISSUER}/keys` }],
    [`${ISSUER}/keys`, { keys: [publicJwk(own, KID)] }],
    [`${EVIL}/.well-known/openid-configuration`, { issuer: EVIL, jwks_uri: `${EVIL}/keys` }],
    [`${EVIL}/keys`, { keys: [publicJwk(attacker, KID)] }],
  ])
  const fetchKeys = (async (address: unknown) => {
    fetched.push(String(address))
    const found = answers.get(String(address))
    return found ? Response.json(found) : new Response(null, { status: 404 })
  }) as typeof fetch
  const profiles: { readonly [name: string]: Profile } = { reader: profileOf({ name: 'reader' }) }
  let url = ''
  const access = createTokenAccess({
    issuers: [ISSUER],
    resource: () => url,
    scopes: { 'tools:read': 'reader' },
    profileNamed: async (name) => profiles[name],
    fetch: fetchKeys,
    ...given,
  })
  onTestFinished(() => access.close())
  const gateway = await openHttp([], { http: { users: access, protectedResource: access } })
  url = gateway.url
  const seconds = Math.floor(Date.now() / 1000)
  const claims = { iss: ISSUER, aud: url, sub: 'ann', scope: 'tools:read', iat: seconds, exp: seconds + 600 }
  const status = async (token: string) =>
    (await gateway.send({ body: initialize, headers: { authorization: `Bearer ${token}` } })).status
  return { ...gateway, access, claims, fetched, seconds, status }
}

test('accepts a valid token; without that the rest would prove nothing', async () => {
  const { claims, status, fetched } = await open()
  expect(await status(forge(HEADER, claims))).toBe(200)
  expect(fetched).toEqual([`${ISSUER}/.well-known/openid-configuration`, `${ISSUER}/keys`])
})

test('headers that name another algorithm or bring a key of their own', async () => {
  const { claims, status, fetched } = await open()
  const pem = own.publicKey.export({ format: 'pem', type: 'spki' })
  const evilKey = publicJwk(attacker, KID)
  const secrets = [pem, pem.toString().trim(), JSON.stringify(publicJwk(own, KID)), '']
  const hmac = (alg: 'HS256' | 'HS512', secret: string | Buffer) => {
    const signed = `${encode({ ...HEADER, alg })}.${encode(claims)}`
    const hash = alg === 'HS256' ? 'sha256' : 'sha512'
    return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`
  }
  const none = ['none', 'None', 'NONE', 'nOnE', '', undefined, null, ['none'], { toString: 'none' }]
  const forged = [
    ...none.map((alg) => `${encode({ ...HEADER, alg })}.${encode(claims)}.`),
    ...none.map((alg) => forge({ ...HEADER, alg }, claims)),
    ...secrets.flatMap((secret) => [hmac('HS256', secret), hmac('HS512', secret)]),
    // The signature of another one's key, whatever the header says of where that key is.
    ...[
      {},
      { jwk: evilKey },
      { jku: `${EVIL}/keys` },
      { x5u: `${EVIL}/certificate` },
      { x5c: [attacker.publicKey.export({ format: 'der', type: 'spki' }).toString('base64')] },
      { x5t: createHash('sha1').update('x').digest('base64url') },
      { crit: ['exp'] },
    ].map((more) => forge({ ...HEADER, ...more }, claims, attacker)),
    // Extensions that must be understood, and are not.
    forge({ ...HEADER, crit: ['unheard-of'], 'unheard-of': true }, claims),
    forge({ ...HEADER, crit: ['b64'], b64: false }, claims),
    forge({ ...HEADER, crit: [] }, claims),
    // Signed by the right key, for another algorithm.
    ...['ES384', 'RS256', 'PS256', 'EdDSA', 'es256', 'dir'].map((alg) => forge({ ...HEADER, alg }, claims)),
  ]
  for (const token of forged) expect([await status(token), token]).toEqual([401, token])
  expect(fetched.filter((address) => !address.startsWith(ISSUER))).toEqual([])
})

test('key ids that are paths, URLs, statements or no texts at all', async () => {
  const { claims, status, fetched } = await open()
  const kids = [
    ...[
      '../../../../dev/null',
      '/etc/hostname',
      `${EVIL}/keys`,
      `file:///dev/null`,
      "' or '1'='1",
      '__proto__',
    ],
    ...[
      'constructor',
      `${KID}\0`,
      ` ${KID}`,
      KID.toUpperCase(),
      'x'.repeat(4000),
      0,
      true,
      [KID],
      { kid: KID },
    ],
  ]
  for (const kid of kids) {
    expect(await status(forge({ ...HEADER, kid }, claims, attacker))).toBe(401)
    expect(await status(`${encode({ ...HEADER, kid, alg: 'none' })}.${encode(claims)}.`)).toBe(401)
  }
  expect(fetched.filter((address) => !address.startsWith(ISSUER))).toEqual([])
  // Unknown keys lead to one more look, not to one each.
  expect(fetched.length).toBeLessThanOrEqual(4)
})

test('signatures that are missing, empty, zero, in another form, or of another token', async () => {
  const { claims, status } = await open()
  const good = forge(HEADER, claims)
  const [header = '', body = '', signature = ''] = good.split('.')
  const other = forge(HEADER, { ...claims, sub: 'bob' }).split('.')[2] ?? ''
  const der = signBytes('sha256', Buffer.from(`${header}.${body}`), own.privateKey).toString('base64url')
  const wrong = [
    ...['', Buffer.alloc(64).toString('base64url'), Buffer.alloc(64, 255).toString('base64url'), other, der],
    ...[`${signature}AA`, signature.slice(0, -2), signature.replaceAll(/[a-z]/g, 'A')],
  ].map((one) => `${header}.${body}.${one}`)
  const shapes = [
    `${good}.`,
    `.${good}`,
    `${good}.${body}`,
    `${header}..${signature}`,
    `${header}.${body}`,
    '.',
    '..',
  ]
  for (const token of [...wrong, ...shapes]) expect([await status(token), token]).toEqual([401, token])
  expect(await status(good)).toBe(200)
})

test('claims that are for others, too old, too young, or of another kind', async () => {
  const { claims, status, seconds, url } = await open()
  const { origin } = new URL(url)
  const wrong: { readonly [claim: string]: readonly unknown[] } = {
    aud: [
      ...[
        undefined,
        null,
        '',
        [],
        {},
        `${url}/`,
        url.slice(0, -1),
        `${url}x`,
        origin,
        'MCP',
        url.toUpperCase(),
      ],
      ...[[`${url}/`], { [url]: true }, `x ${url}`, [[url]]],
    ],
    iss: [
      undefined,
      null,
      '',
      `${ISSUER}/`,
      ISSUER.toUpperCase(),
      [ISSUER],
      `${ISSUER}@evil`,
      EVIL,
      `${ISSUER}\0`,
    ],
    exp: [undefined, null, '', seconds - 60, 0, -1, String(seconds + 600), [seconds + 600], {}, true],
    nbf: [seconds + 120, String(seconds - 60), [seconds - 60], {}, null],
    sub: [undefined, null, '', 7, ['ann'], {}, 'a\u0000b', 'a\nb', '\u2028', 'x'.repeat(201)],
  }
  for (const [claim, values] of Object.entries(wrong))
    for (const value of values) {
      const token = forge(HEADER, { ...claims, [claim]: value })
      expect([claim, value, await status(token)]).toEqual([claim, value, 401])
    }
  for (const typ of ['logout+jwt', 'secevent+jwt', 'dpop+jwt', 'at+jwt;x', ''])
    expect([typ, await status(forge({ ...HEADER, typ }, claims))]).toEqual([typ, 401])
  // A claim that is there twice counts as it is verified: the last one.
  const twice = `{"iss":${JSON.stringify(ISSUER)},"aud":${JSON.stringify(url)},${JSON.stringify({ ...claims, aud: EVIL }).slice(1)}`
  const signed = `${encode(HEADER)}.${Buffer.from(twice).toString('base64url')}`
  const key = { key: own.privateKey, dsaEncoding: 'ieee-p1363' } as const
  const signature = signBytes('sha256', Buffer.from(signed), key).toString('base64url')
  expect(await status(`${signed}.${signature}`)).toBe(401)
})

test('scopes that only look like those of a profile give nothing', async () => {
  const { claims, status } = await open()
  const none = [
    undefined,
    '',
    'tools',
    'tools:read2',
    'TOOLS:READ',
    'tools:read,x',
    '\ttools:read',
    '__proto__',
  ]
  for (const scope of [...none, { 'tools:read': true }, [['tools:read']], 7])
    expect([scope, await status(forge(HEADER, { ...claims, scope }))]).toEqual([scope, 403])
})

test('one issuer cannot speak for another', async () => {
  const { claims, status } = await open({ issuers: [ISSUER, EVIL] })
  expect(await status(forge(HEADER, claims, attacker))).toBe(401)
  expect(await status(forge(HEADER, { ...claims, iss: EVIL }, own))).toBe(401)
  expect(await status(forge(HEADER, { ...claims, iss: EVIL }, attacker))).toBe(200)
})

describe('where a token is', () => {
  test('only the header counts: not the query, the body, a cookie or another scheme', async () => {
    const { claims, send } = await open()
    const token = forge(HEADER, claims)
    const tries = [
      send({ body: initialize, path: `/mcp?access_token=${token}` }),
      send({ body: initialize, path: `/mcp?authorization=Bearer%20${token}` }),
      send({ body: { ...initialize, access_token: token } }),
      send({
        body: `access_token=${token}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
      send({ body: initialize, headers: { cookie: `access_token=${token}` } }),
      ...['Basic', 'Token', 'DPoP', 'Bearer,', 'Bearer:'].map((scheme) =>
        send({ body: initialize, headers: { authorization: `${scheme} ${token}` } }),
      ),
      ...[token, `Bearer ${token} x`, `Bearer ${token},${token}`, `Bearer "${token}"`].map((authorization) =>
        send({ body: initialize, headers: { authorization } }),
      ),
    ]
    for (const { status, headers } of await Promise.all(tries)) {
      expect(status).toBe(401)
      expect(headers['www-authenticate']).toContain('resource_metadata=')
    }
    expect((await send({ body: initialize, headers: { authorization: `bearer  ${token}` } })).status).toBe(
      200,
    )
  })

  test('two headers are refused, whichever has the good token', async () => {
    const { claims, url } = await open()
    const good = forge(HEADER, claims)
    const bad = forge(HEADER, claims, attacker)
    for (const tokens of [
      [good, bad],
      [bad, good],
      [good, good],
    ]) {
      const answer = await sendRaw(
        url,
        tokens.map((token) => `Authorization: Bearer ${token}`),
      )
      expect(answer).toMatch(/^HTTP\/1\.1 401 /)
    }
    expect(await sendRaw(url, [`Authorization: Bearer ${good}`])).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('a token that is too long is refused before anybody reads it, and nothing of a token is repeated', async () => {
    const { claims, send, fetched } = await open()
    const long = forge(HEADER, { ...claims, more: 'x'.repeat(9000) })
    expect(long.length).toBeGreaterThan(12_000)
    const refused = await send({ body: initialize, headers: { authorization: `Bearer ${long}` } })
    expect(refused.status).toBe(401)
    expect(fetched).toEqual([])
    const huge = await send({ body: initialize, headers: { authorization: `Bearer ${'x'.repeat(100_000)}` } })
    expect(huge.status).toBe(431)
    const evil = forge({ ...HEADER, kid: 'evil"\r\nx: y' }, { ...claims, iss: 'evil", error="none' })
    const answer = await send({ body: initialize, headers: { authorization: `Bearer ${evil}` } })
    expect(answer.status).toBe(401)
    expect(JSON.stringify([answer.text, answer.headers])).not.toContain('evil')
  })
})

/** Sends `initialize` with these lines in its head, which no client would write. */
async function sendRaw(url: string, lines: readonly string[]): Promise<string> {
  const { hostname, port, host } = new URL(url)
  const body = JSON.stringify(initialize)
  const head = [
    'POST /mcp HTTP/1.1',
    `Host: ${host}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    ...lines,
  ]
  const socket = connect(Number(port), hostname)
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  const [start] = await once(socket, 'data')
  socket.destroy()
  return String(start)
}
