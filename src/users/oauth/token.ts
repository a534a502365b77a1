// Verifies access tokens: JWTs that a configured identity provider signed for this gateway.
import type { JSONWebKeySet, JWTPayload, JWTVerifyOptions } from 'jose'
import { createIssuerKeys, type IssuerKeys, IssuerUnreachable } from './issuer-keys.ts'

/** The claims of a verified token, or why it is not accepted. */
export type VerifiedToken =
  | { readonly claims: JWTPayload; readonly issuer: string }
  | { readonly problem: string; readonly isUnreachable: boolean }

/** Options of `createTokenCheck`. */
export type TokenCheckOptions = {
  readonly issuers: readonly string[]
  readonly audience: () => string
  readonly fetch: typeof fetch
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

/** Describes the error without repeating anything of the token. */
function reasonOf(error: unknown): string {
  const { claim } = error as { claim?: unknown }
  switch (codeOf(error)) {
    case 'ERR_JWT_EXPIRED':
      return 'the token has expired'
    case NO_KEY:
      return 'the token is signed with an unknown key'
    case BAD_SIGNATURE:
      return 'the signature of the token is wrong'
    case 'ERR_JOSE_ALG_NOT_ALLOWED':
      return 'the token is signed by an algorithm that is not allowed'
    case 'ERR_JWT_CLAIM_VALIDATION_FAILED':
      return claim === 'aud'
        ? 'the token is for another audience'
        : `the claim "${String(claim)}" of the token is missing or wrong`
    default:
      return 'the token is invalid'
  }
}
