// Verifies access tokens: JWTs that a configured identity provider signed for this gateway.
import { type Fields, fieldsOf, isFields, parseJson } from '@toolshelf/core/internal'
import { OptionError, readBoundedBody } from '@toolshelf/core/internal/node'
import type { JSONWebKeySet, JWTPayload, JWTVerifyOptions } from 'jose'
import { LOOPBACK } from '../../http/http.ts'

/** The claims of a verified token, or why it is not accepted. */
export type VerifiedToken =
  | { readonly claims: JWTPayload; readonly issuer: string }
  | { readonly problem: string; readonly isUnreachable: boolean }

type TokenCheckOptions = {
  readonly issuers: readonly string[]
  readonly audience: () => string
  readonly fetch: typeof fetch
  /** The clock in milliseconds. */
  readonly now: () => number
  readonly notify: (message: string) => void
}

/** Signatures by public keys. Excludes `none` and the HS family, whose key would have to be shared. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]
/** Values of `typ` that access tokens have; rejects tokens that declare themselves ID or logout tokens. */
const TYPES = ['at+jwt', 'application/at+jwt', 'jwt', 'application/jwt']
const MAX_CHARACTERS = 12_000
/** How much clocks may differ. */
const LEEWAY_SECONDS = 30
/** Keys to try for a token without a key id. */
const MAX_TRIED = 5

/** Returns a function that verifies access tokens. */
export function createTokenCheck(options: TokenCheckOptions): (token: string) => Promise<VerifiedToken> {
  const { issuers, audience, now } = options
  const keysOf = new Map(issuers.map((issuer) => [issuer, createIssuerKeys({ ...options, issuer })]))

  async function check(token: string): Promise<VerifiedToken> {
    if (token.length > MAX_CHARACTERS) return refused(`the token has more than ${MAX_CHARACTERS} characters`)
    const jose = await import('jose')
    const issuer = issuerOf(token, jose.decodeJwt)
    const keys = issuer === undefined ? undefined : keysOf.get(issuer)
    if (issuer === undefined) return refused('the token is not a JWT with an issuer')
    if (!keys) return refused('the token is of another issuer')
    const verify = (set: JSONWebKeySet) =>
      verifyWith(set, token, {
        issuer,
        audience: audience(),
        algorithms: ALGORITHMS,
        clockTolerance: LEEWAY_SECONDS,
        currentDate: new Date(now()),
        requiredClaims: ['exp', 'sub'],
      })
    try {
      const { payload, protectedHeader } = await withKeys(keys, verify)
      const type = protectedHeader.typ
      if (type !== undefined && !TYPES.includes(type.toLowerCase()))
        return refused('the token is not an access token')
      return { claims: payload, issuer }
    } catch (error) {
      if (error instanceof IssuerUnreachable) return { problem: error.message, isUnreachable: true }
      return refused(reasonOf(error))
    }
  }
  return check
}

const refused = (problem: string): VerifiedToken => ({ problem, isUnreachable: false })

/** Reads the issuer of an unverified token, only to choose whose keys to verify it with. */
function issuerOf(token: string, decode: (token: string) => JWTPayload): string | undefined {
  try {
    const { iss } = decode(token)
    return typeof iss === 'string' ? iss : undefined
  } catch {
    return undefined
  }
}

/** Verifies with the cached keys, and once more with new ones if the token names an unknown key. */
async function withKeys<Value>(
  keys: IssuerKeys,
  verify: (set: JSONWebKeySet) => Promise<Value>,
): Promise<Value> {
  const current = await keys.current()
  try {
    return await verify(current)
  } catch (error) {
    if (codeOf(error) !== NO_KEY) throw error
    const renewed = await keys.renewed(current)
    if (!renewed) throw error
    return verify(renewed)
  }
}

async function verifyWith(set: JSONWebKeySet, token: string, options: JWTVerifyOptions) {
  const { createLocalJWKSet, jwtVerify, errors } = await import('jose')
  try {
    return await jwtVerify(token, createLocalJWKSet(set), options)
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    let tried = 0
    for await (const key of error) {
      if (++tried > MAX_TRIED) break
      try {
        return await jwtVerify(token, key, options)
      } catch (failure) {
        if (codeOf(failure) !== BAD_SIGNATURE) throw failure
      }
    }
    throw new errors.JWSSignatureVerificationFailed()
  }
}

const NO_KEY = 'ERR_JWKS_NO_MATCHING_KEY'
const BAD_SIGNATURE = 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED'

const codeOf = (error: unknown) => (error as { code?: unknown }).code

const REASONS: ReadonlyMap<unknown, string> = new Map([
  ['ERR_JWT_EXPIRED', 'the token has expired'],
  [NO_KEY, 'the token is signed with an unknown key'],
  [BAD_SIGNATURE, 'the signature of the token is wrong'],
  ['ERR_JOSE_ALG_NOT_ALLOWED', 'the token is signed by an algorithm that is not allowed'],
])

/** Describes the error without repeating anything of the token. */
function reasonOf(error: unknown): string {
  const { claim } = error as { claim?: unknown }
  if (codeOf(error) !== 'ERR_JWT_CLAIM_VALIDATION_FAILED')
    return REASONS.get(codeOf(error)) ?? 'the token is invalid'
  if (claim === 'aud') return 'the token is for another audience'
  return `the claim "${String(claim)}" of the token is missing or wrong`
}

/** The signing keys of an identity provider. */
type IssuerKeys = ReturnType<typeof createIssuerKeys>

type IssuerKeysOptions = Pick<TokenCheckOptions, 'fetch' | 'now' | 'notify'> & { readonly issuer: string }

/** Milliseconds after which keys are fetched again in the background, so that a withdrawn key stops working. */
const FRESH_MS = 10 * 60_000
/** Milliseconds for which keys are used although their provider cannot be reached. */
const MAX_AGE_MS = 24 * 3_600_000
/** Milliseconds between two attempts, because anyone can send tokens that name any key. */
const COOL_DOWN_MS = 10_000
const TIMEOUT_MS = 5_000
const MAX_BYTES = 1_000_000
const MAX_KEYS = 200

/** The provider's keys cannot be fetched now, which is not the sender's fault. */
class IssuerUnreachable extends Error {
  override readonly name = 'IssuerUnreachable'
}

function createIssuerKeys({ issuer, fetch, now, notify }: IssuerKeysOptions) {
  let keys: JSONWebKeySet | undefined
  let fetchedAt = Number.NEGATIVE_INFINITY
  let triedAt = Number.NEGATIVE_INFINITY
  let failure: IssuerUnreachable | undefined
  let underWay: Promise<JSONWebKeySet> | undefined

  function load(): Promise<JSONWebKeySet> {
    underWay ??= fetchKeys(issuer, fetch)
      .then(
        (found) => {
          keys = found
          fetchedAt = now()
          failure = undefined
          return found
        },
        (error: Error) => {
          if (!failure) notify(`cannot fetch the keys of ${issuer}: ${error.message}`)
          failure = new IssuerUnreachable(`the keys of ${issuer} cannot be fetched now`)
          throw failure
        },
      )
      .finally(() => {
        triedAt = now()
        underWay = undefined
      })
    return underWay
  }

  const isCoolingDown = () => now() - triedAt < COOL_DOWN_MS

  return {
    /** Returns the cached keys; fetches them first if there are none or they are too old. Rejects if that fails. */
    async current() {
      const age = now() - fetchedAt
      if (keys && age < MAX_AGE_MS) {
        if (age > FRESH_MS && !isCoolingDown()) load().catch(() => {})
        return keys
      }
      if (failure && isCoolingDown()) throw failure
      return load()
    },
    /**
     * Returns other keys than `tried`, because a token names none of those: the cached ones if they have changed
     * meanwhile, else newly fetched ones. Returns undefined if they were fetched a moment ago; rejects if the provider
     * cannot be reached.
     */
    async renewed(tried: JSONWebKeySet) {
      if (keys !== tried) return keys
      if (underWay || !isCoolingDown()) return load()
      if (failure) throw failure
      return undefined
    },
  }
}

async function fetchKeys(issuer: string, fetch: typeof globalThis.fetch): Promise<JSONWebKeySet> {
  const address = await findKeysAddress(issuer, fetch)
  const isAllowed = isSafeUrl(address) && (!isOnLoopback(address) || isOnLoopback(issuer))
  if (!isAllowed) throw new Error('its "jwks_uri" is not an https URL')
  const { keys } = fieldsOf(await fetchJson(address, fetch))
  if (!Array.isArray(keys) || keys.length > MAX_KEYS)
    throw new Error(`its "jwks_uri" does not return a list of at most ${MAX_KEYS} keys`)
  // Skips symmetric keys: one in a public document verifies nothing.
  return { keys: keys.filter((key) => typeof fieldsOf(key).kty === 'string' && fieldsOf(key).kty !== 'oct') }
}

/** Returns the URL of the keys from the discovery document of OpenID Connect, or that of RFC 8414. */
async function findKeysAddress(issuer: string, fetch: typeof globalThis.fetch): Promise<string> {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  let reason: unknown
  for (const address of [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ]) {
    try {
      const { issuer: named, jwks_uri: keys } = fieldsOf(await fetchJson(address, fetch))
      if (named !== issuer) throw new Error('its discovery document names another issuer')
      if (typeof keys !== 'string') throw new Error('its discovery document has no "jwks_uri"')
      return keys
    } catch (error) {
      reason ??= error
    }
  }
  throw reason
}

async function fetchJson(address: string, fetch: typeof globalThis.fetch): Promise<unknown> {
  const response = await fetch(address, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error: Error) => {
    const { code, message = error.message } = (error.cause ?? {}) as NodeJS.ErrnoException
    throw new Error(`${address}: ${code ?? message}`)
  })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`${address} answered ${response.status}`)
  }
  const { bytes, isCut } = await readBoundedBody(response, MAX_BYTES)
  if (isCut) throw new Error(`${address} answered with more than ${MAX_BYTES} bytes`)
  const answer = parseJson(bytes.toString('utf8'))
  if (answer === undefined) throw new Error(`${address} did not answer with JSON`)
  return answer
}

/** Whose access tokens a gateway accepts, and what they allow: the section `oauth` of the users file. */
export type OAuthSettings = {
  /** URLs of the identity providers, exactly as their tokens name them in `iss`. */
  readonly issuers: readonly string[]
  /** What `aud` of a token must be or contain. Default: the URL of the gateway. */
  readonly audience?: string
  /** Profiles by scope. A token gets the profile of the first of these scopes that it has. */
  readonly scopes?: { readonly [scope: string]: string }
  /** Profile of a token that has none of the `scopes`; without it such a token is refused. */
  readonly profile?: string
}

const MAX_ISSUERS = 20
const MAX_SCOPES = 100
const MAX_NAME = 200
/** The characters of a scope (RFC 6749, 3.3), which are also safe in a header. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/**
 * Reads the section `oauth` of a users file. Throws an `OptionError` that says what is wrong.
 *
 * @param value - The section; `issuer` may be one URL or several.
 * @param overrides - Settings from the command line, which take precedence.
 */
export function readOAuthSettings(
  value: unknown,
  overrides: { readonly issuers?: readonly string[]; readonly audience?: string | undefined } = {},
): OAuthSettings {
  const section = sectionOf(value)
  const stray = Object.keys(section).find((key) => !KEYS.includes(key))
  if (stray !== undefined)
    throw problem(`oauth has the unknown key ${JSON.stringify(stray)}`, `use ${KEYS.join(', ')}`)
  const issuers = overrides.issuers?.length ? overrides.issuers : issuersIn(section.issuer)
  for (const issuer of issuers) checkIssuer(issuer)
  if (issuers.length === 0 || issuers.length > MAX_ISSUERS)
    throw problem(`oauth names ${issuers.length} issuers`, `name 1 to ${MAX_ISSUERS} in "issuer"`)
  const audience = overrides.audience ?? textIn(section, 'audience')
  const profile = textIn(section, 'profile')
  return {
    issuers: [...new Set(issuers)],
    ...(audience === undefined ? {} : { audience }),
    ...(section.scopes === undefined ? {} : { scopes: scopesIn(section.scopes) }),
    ...(profile === undefined ? {} : { profile }),
  }
}

const KEYS = ['issuer', 'audience', 'scopes', 'profile']

/** Returns whether a URL may be fetched: https, or http on this machine. */
function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackName(hostname))
}

function isOnLoopback(text: string): boolean {
  return URL.canParse(text) && isLoopbackName(new URL(text).hostname)
}

const isLoopbackName = (hostname: string) => LOOPBACK.has(hostname.replace(/^\[(.*)\]$/, '$1'))

function sectionOf(value: unknown): Fields {
  if (value === undefined) return {}
  if (!isFields(value)) throw problem('oauth is not an object', 'write { "issuer": "https://…" }')
  return value
}

function issuersIn(value: unknown): readonly string[] {
  const all = value === undefined ? [] : [value].flat()
  return all.map((issuer) => {
    if (typeof issuer !== 'string')
      throw problem('oauth: "issuer" is not a text', 'use a URL, or a list of them')
    return issuer
  })
}

function checkIssuer(issuer: string): void {
  const { search = '', hash = '' } = URL.canParse(issuer) ? new URL(issuer) : {}
  // A user's id is the issuer, "|" and the subject.
  if (!isSafeUrl(issuer) || search !== '' || hash !== '' || issuer.includes('|'))
    throw problem(
      `oauth: the issuer ${JSON.stringify(issuer.slice(0, MAX_NAME))} cannot be used`,
      'use the https URL that its tokens have in "iss", without a query and "|" (http only on loopback)',
    )
}

function textIn(section: Fields, key: string): string | undefined {
  const value = section[key]
  if (value === undefined) return undefined
  if (typeof value === 'string' && value !== '' && value.length <= 2 * MAX_NAME) return value
  throw problem(`oauth: "${key}" is ${JSON.stringify(value)?.slice(0, MAX_NAME)}`, 'use a text')
}

function scopesIn(value: unknown): { readonly [scope: string]: string } {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : []
  const isFine = entries.every(
    ([scope, profile]) =>
      SCOPE.test(scope) && scope.length <= MAX_NAME && typeof profile === 'string' && profile !== '',
  )
  if (!isFine || Array.isArray(value) || entries.length === 0 || entries.length > MAX_SCOPES)
    throw problem(
      'oauth: "scopes" cannot be used',
      `map 1 to ${MAX_SCOPES} scopes to names of profiles, such as { "tools:read": "reader" }`,
    )
  return Object.fromEntries(entries) as { [scope: string]: string }
}

const problem = (what: string, remedy: string) => new OptionError('oauth', what, remedy)
