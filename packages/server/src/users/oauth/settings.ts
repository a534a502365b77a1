// Reads the settings of the OAuth resource server: whose tokens it accepts, and which profile a scope gives.
import { type Fields, fieldsOf } from '@toolshelf/core/internal'
import { OptionError } from '@toolshelf/core/internal/node'
import { LOOPBACK } from '../../http/http.ts'

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
export function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackName(hostname))
}

/** Returns whether a URL is on this machine. */
export function isOnLoopback(text: string): boolean {
  return URL.canParse(text) && isLoopbackName(new URL(text).hostname)
}

const isLoopbackName = (hostname: string) => LOOPBACK.has(hostname.replace(/^\[(.*)\]$/, '$1'))

function sectionOf(value: unknown): Fields {
  if (value === undefined) return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw problem('oauth is not an object', 'write { "issuer": "https://…" }')
  return fieldsOf(value)
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
