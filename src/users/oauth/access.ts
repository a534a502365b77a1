// The OAuth 2.1 resource server of a gateway (MCP authorization, RFC 9728): finds the user of an access token, and says to
// clients without one where to get it.
import type { JWTPayload } from 'jose'
import type { AccessRefusal, Authenticate, Profile, User } from '../types.ts'
import type { OAuthSettings } from './settings.ts'
import { createTokenCheck } from './token.ts'

/** Options of `createTokenAccess`. */
export type TokenAccessOptions = OAuthSettings & {
  /** The URL of the gateway as clients know it, such as `https://tools.example.com/mcp`. */
  readonly resource: string
  /** Finds a profile by its name. */
  readonly profileNamed: (name: string) => Promise<Profile | undefined>
  /** Used in place of the global `fetch`. */
  readonly fetch?: typeof fetch
  /** The clock in milliseconds; replaceable in tests. */
  readonly now?: () => number
  /** Reports to the operator. */
  readonly notify?: (message: string) => void
}

/** Answers for the OAuth side of an HTTP gateway. */
export type TokenAccess = {
  readonly authenticate: Authenticate
  /** Whether a path is one of the addresses of the metadata. */
  isMetadataPath(pathname: string): boolean
  /** The protected resource metadata of RFC 9728. */
  readonly metadata: { readonly [name: string]: unknown }
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource'
const RETRY_AFTER_SECONDS = 10
const MAX_ID = 256

/** Without `scopes` and `profile`, every token for this gateway may use everything. */
const EVERYTHING: Profile = {
  name: 'everything',
  servers: { allow: [], deny: [] },
  tools: { allow: [], deny: [] },
  limits: {},
}

/**
 * Accepts access tokens of identity providers.
 *
 * @example
 * const access = createTokenAccess({ issuers: ['https://id.example.com'], resource: 'https://tools.example.com/mcp', profileNamed })
 * const user = await access.authenticate(token)
 */
export function createTokenAccess(options: TokenAccessOptions): TokenAccess {
  const { issuers, resource, audience = resource, now = Date.now, notify = () => {} } = options
  const scopes = Object.keys(options.scopes ?? {})
  const check = createTokenCheck({ issuers, audience, now, notify, fetch: options.fetch ?? fetch })
  const { origin, pathname } = new URL(resource)
  const path = pathname === '/' ? '' : pathname
  const metadataUrl = `${origin}${WELL_KNOWN}${path}`

  function refusal(status: 401 | 403, message: string, error?: string): AccessRefusal {
    const parts = {
      ...(error ? { error, error_description: message } : {}),
      ...(scopes.length > 0 ? { scope: scopes.join(' ') } : {}),
      resource_metadata: metadataUrl,
    }
    const challenge = `Bearer ${Object.entries(parts)
      .map(([name, value]) => `${name}="${value.replaceAll('"', "'")}"`)
      .join(', ')}`
    return { status, message, challenge }
  }

  async function profileFor(claims: JWTPayload): Promise<Profile | AccessRefusal> {
    if (!options.scopes && options.profile === undefined) return EVERYTHING
    const granted = scopesOf(claims)
    const scope = scopes.find((one) => granted.has(one))
    const name = scope === undefined ? options.profile : options.scopes?.[scope]
    if (name === undefined)
      return refusal(403, `the token has none of the scopes ${scopes.join(', ')}`, 'insufficient_scope')
    const profile = await options.profileNamed(name)
    if (profile) return profile
    notify(`the profile "${name}" of the OAuth settings does not exist`)
    return {
      status: 403,
      message: 'the profile of this token does not exist; tell the operator of the gateway',
    }
  }

  return {
    metadata: {
      resource,
      authorization_servers: issuers,
      bearer_methods_supported: ['header'],
      ...(scopes.length > 0 ? { scopes_supported: scopes } : {}),
      resource_name: 'Toolshelf',
    },
    isMetadataPath: (asked) => [WELL_KNOWN, `${WELL_KNOWN}/mcp`, `${WELL_KNOWN}${path}`].includes(asked),
    async authenticate(token): Promise<User | AccessRefusal> {
      if (token === undefined) return refusal(401, 'a token is missing; log in at the identity provider')
      const checked = await check(token)
      if ('problem' in checked)
        return checked.isUnreachable
          ? { status: 503, message: checked.problem, retryAfter: RETRY_AFTER_SECONDS }
          : refusal(401, checked.problem, 'invalid_token')
      const id = userIdOf(checked.claims, checked.issuer, options.userClaim)
      if (id === undefined)
        return refusal(401, 'the token does not name its user as this gateway expects', 'invalid_token')
      const profile = await profileFor(checked.claims)
      return 'status' in profile ? profile : { id, profile }
    },
  }
}

/** Scopes as a text with spaces, or as a list; some providers call them `scp`. */
function scopesOf({ scope, scp }: JWTPayload): ReadonlySet<string> {
  const texts = [scope, scp].flat().filter((value) => typeof value === 'string')
  return new Set(texts.flatMap((text) => text.split(' ')).filter(Boolean))
}

/** The issuer's path is part of the id: one host may serve several realms, each with users of its own. */
function userIdOf(claims: JWTPayload, issuer: string, claim: string | undefined): string | undefined {
  if (claim === 'email' && claims.email_verified === false) return undefined
  const value = claims[claim ?? 'sub']
  if (typeof value !== 'string' || value === '' || value.length > MAX_ID || /\p{Cc}/u.test(value))
    return undefined
  if (claim !== undefined && claim !== 'sub') return value
  const { host, pathname } = new URL(issuer)
  return `${host}${pathname.replace(/\/$/, '')}|${value}`
}
