// Implements the OAuth 2.1 resource server of a gateway (MCP authorization, RFC 9728): finds the user of an access
// token, and tells clients without one where to get it.
import {
  type AccessRefusal,
  type Authenticator,
  bindMethods,
  isRefusal,
  type Profile,
  setNewest,
  type User,
} from '@toolshelf/core/internal'
import { proxiedFetch } from '@toolshelf/core/internal/node'
import type { JWTPayload } from 'jose'
import { failed } from '../authenticator.ts'
import type { UserDirectory } from '../directory.ts'
import { isMailAddress, keyOfOwner, type TokenOwner, type UserRecord } from '../records.ts'
import { createTokenCheck, type OAuthSettings, type VerifiedToken } from './token.ts'

export type TokenAccessOptions = OAuthSettings & {
  /** The URL of the gateway as clients know it, such as `https://tools.example.com/mcp`; a function if it is known later. */
  readonly resource: string | (() => string)
  readonly profileNamed: (name: string) => Promise<Profile | undefined>
  /** The users whom the operator named; the others are known by issuer and subject. */
  readonly people?: People | undefined
  /** Default: `fetch`, through the proxy that the environment names. */
  readonly fetch?: typeof fetch
  /** The clock in milliseconds; replaceable in tests. */
  readonly now?: () => number
  /** Called with messages for the operator. */
  readonly notify?: (message: string) => void
}

/** The OAuth side of an HTTP gateway. */
export type TokenAccess = Authenticator & {
  /** Returns the protected resource metadata of RFC 9728 if a path asks for it; it is public. */
  metadataAt(pathname: string): { readonly [name: string]: unknown } | undefined
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource'
const RETRY_AFTER_SECONDS = 10
const MAX_ID = 200
const MAX_KNOWN = 10_000
/** Milliseconds between two checks for users whose tokens have expired, to end their streams. */
const EXPIRY_CHECK_MS = 60_000

/** The profile of every token if neither `scopes` nor `profile` is configured: it may use everything. */
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
  return bindMethods(new OAuthAccess(options))
}

class OAuthAccess implements TokenAccess {
  readonly #options: TokenAccessOptions
  readonly #scopes: readonly string[]
  readonly #now: () => number
  readonly #check: (token: string) => Promise<VerifiedToken>
  /** Whose tokens each user has, and when the latest expires, in milliseconds, by the user's `uid`. */
  readonly #known = new Map<string, { readonly owner: PersonOfToken; readonly until: number }>()

  constructor(options: TokenAccessOptions) {
    const { issuers, audience, now = Date.now, notify = () => {} } = options
    this.#options = options
    this.#now = now
    this.#scopes = Object.keys(options.scopes ?? {})
    const checked = { issuers, now, notify, fetch: options.fetch ?? proxiedFetch }
    this.#check = createTokenCheck({ ...checked, audience: () => audience ?? this.#resource() })
  }

  metadataAt(pathname: string): { readonly [name: string]: unknown } | undefined {
    const { path } = this.#metadataUrl()
    if (![WELL_KNOWN, `${WELL_KNOWN}/mcp`, `${WELL_KNOWN}${path}`].includes(pathname)) return undefined
    return {
      resource: this.#resource(),
      authorization_servers: this.#options.issuers,
      bearer_methods_supported: ['header'],
      ...(this.#scopes.length > 0 ? { scopes_supported: this.#scopes } : {}),
      resource_name: 'Toolshelf',
    }
  }

  async authenticate(token: string | undefined): Promise<User | AccessRefusal> {
    if (token === undefined) return this.#refusal(401, 'a token is missing; log in at the identity provider')
    const checked = await this.#check(token)
    if ('problem' in checked)
      return checked.isUnreachable
        ? { status: 503, message: checked.problem, retryAfter: RETRY_AFTER_SECONDS }
        : this.#refusal(401, checked.problem, 'invalid_token')
    const { claims, issuer } = checked
    const { sub: subject, email, email_verified: isVerified } = claims
    if (!isName(subject))
      return this.#refusal(401, 'the token does not name its user as this gateway expects', 'invalid_token')
    const owner = { issuer, subject }
    const mail = isVerified === true && typeof email === 'string' ? { email } : {}
    const outcome = await this.#userOf({ ...owner, ...mail }, claims).catch((error: unknown) =>
      failed(error, this.#options.notify ?? (() => {})),
    )
    if (!isRefusal(outcome)) this.#remember(outcome, owner, (claims.exp ?? 0) * 1000)
    return outcome
  }

  async refresh(user: User): Promise<User | undefined> {
    const { profileNamed, people } = this.#options
    const known = this.#known.get(user.uid)
    if (!known || known.until <= this.#now()) return undefined
    const named = await people?.find(known.owner)
    // Named now, or no longer: then the owner of the token is another user.
    if ((named?.record.uid ?? idOf(known.owner)) !== user.uid) return undefined
    if (!named && user.profile === EVERYTHING) return (await people?.isEmpty()) === false ? undefined : user
    const profile = await profileNamed(named?.record.profile ?? user.profile.name)
    return profile && { ...user, profile }
  }

  /** Reports only expired tokens: the directory of users reports changes of profiles itself. */
  onChange(listener: () => void): () => void {
    const timer = setInterval(listener, EXPIRY_CHECK_MS)
    timer.unref()
    return () => clearInterval(timer)
  }

  async close(): Promise<void> {
    this.#known.clear()
  }

  #resource(): string {
    const { resource } = this.#options
    return typeof resource === 'string' ? resource : resource()
  }

  #metadataUrl(): { readonly url: string; readonly path: string } {
    const { origin, pathname } = new URL(this.#resource())
    const path = pathname === '/' ? '' : pathname
    return { url: `${origin}${WELL_KNOWN}${path}`, path }
  }

  #refusal(status: 401 | 403, message: string, error?: string): AccessRefusal {
    const parts = {
      ...(error ? { error, error_description: message } : {}),
      ...(this.#scopes.length > 0 ? { scope: this.#scopes.join(' ') } : {}),
      resource_metadata: this.#metadataUrl().url,
    }
    const challenge = Object.entries(parts).map(([name, value]) => `${name}="${value.replaceAll('"', "'")}"`)
    return { status, message, challenge: `Bearer ${challenge.join(', ')}` }
  }

  async #userOf(owner: PersonOfToken, claims: JWTPayload): Promise<User | AccessRefusal> {
    const named = await this.#options.people?.find(owner)
    const profile = await this.#profileFor(claims, named)
    if ('status' in profile) return profile
    const id = named?.id ?? idOf(owner)
    return { id, uid: named?.record.uid ?? id, profile }
  }

  async #profileFor(claims: JWTPayload, named: NamedUser | undefined): Promise<Profile | AccessRefusal> {
    const { scopes, profile: otherwise, people } = this.#options
    if (named) return this.#profileNamed(named.record.profile)
    if (!scopes && otherwise === undefined) {
      if (!people || (await people.isEmpty())) return EVERYTHING
      return this.#refusal(
        403,
        'the users of this gateway are named, and the owner of the token is none of them',
      )
    }
    const granted = scopesOf(claims)
    const scope = this.#scopes.find((one) => granted.has(one))
    const name = scope === undefined ? otherwise : scopes?.[scope]
    if (name === undefined) {
      const message = `the token has none of the scopes ${this.#scopes.join(', ')}`
      return this.#refusal(403, message, 'insufficient_scope')
    }
    return this.#profileNamed(name)
  }

  async #profileNamed(name: string): Promise<Profile | AccessRefusal> {
    const { profileNamed, notify } = this.#options
    const profile = await profileNamed(name)
    if (profile) return profile
    notify?.(`the profile "${name}" of a token does not exist`)
    return {
      status: 403,
      message: 'the profile of this token does not exist; tell the operator of the gateway',
    }
  }

  #remember({ uid }: User, owner: PersonOfToken, expiry: number): void {
    const until = Math.max(expiry, this.#known.get(uid)?.until ?? 0)
    setNewest(this.#known, uid, { owner, until }, MAX_KNOWN)
  }
}

/** The prefix of users' keys, which access tokens never have. */
const KEY_PREFIX = 'tsk_'

/** Accepts both keys of users and access tokens; a client that has neither learns where to get a token. */
export function acceptKeysAndTokens(keys: Authenticator, tokens: TokenAccess): Authenticator {
  const isKey = (token: string) => token.startsWith(KEY_PREFIX)
  return {
    async authenticate(token) {
      if (token === undefined || !isKey(token)) return tokens.authenticate(token)
      const outcome = await keys.authenticate(token)
      if (!isRefusal(outcome) || outcome.status !== 401) return outcome
      const { challenge = 'Bearer' } = (await tokens.authenticate(undefined)) as AccessRefusal
      return { ...outcome, challenge }
    },
    refresh: (user) => (user.keyId === undefined ? tokens : keys).refresh(user),
    onChange(listener) {
      const stops = [keys.onChange(listener), tokens.onChange(listener)]
      return () => {
        for (const stop of stops) stop()
      }
    },
    async close() {
      await Promise.all([keys.close(), tokens.close()])
    },
  }
}

/** Returns the scopes of a token, a space-separated string or a list; some providers call them `scp`. */
function scopesOf({ scope, scp }: JWTPayload): ReadonlySet<string> {
  const texts = [scope, scp].flat().filter((value) => typeof value === 'string')
  return new Set(texts.flatMap((text) => text.split(' ')).filter(Boolean))
}

/** Returns the id of a user whom the operator did not name. No issuer contains a `|`, so no two have the same. */
function idOf({ issuer, subject }: PersonOfToken): string {
  return `${issuer}|${subject}`
}

/** Returns whether a claim can be a part of an id. */
function isName(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= MAX_ID &&
    !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(value)
  )
}

/** A user, and the name under which the directory has it. */
type NamedUser = { readonly id: string; readonly record: UserRecord }

/** The owner of a verified token. Has an address only if the token says that it is verified. */
type PersonOfToken = TokenOwner & { readonly subject: string }

/** The users whom the operator named as owners of tokens: by issuer and subject, or by a mail address, which is resolved once. */
export type People = ReturnType<typeof createPeople>

/** Creates the index of a directory, by `keyOfOwner`; it is built again after each change. */
export function createPeople(directory: UserDirectory) {
  let index: Promise<ReadonlyMap<string, NamedUser>> | undefined
  const stop = directory.onChange(() => {
    index = undefined
  })

  async function build(): Promise<ReadonlyMap<string, NamedUser>> {
    const users = [...(await directory.users())]
    return new Map(
      users.flatMap(([id, record]) => (record.token ? [[keyOfOwner(record.token), { id, record }]] : [])),
    )
  }

  async function current(): Promise<ReadonlyMap<string, NamedUser>> {
    await directory.sync()
    const building = index ?? build()
    index = building
    building.catch(() => {
      if (index === building) index = undefined
    })
    return building
  }

  return {
    /** Returns the user of a token; the first token with an address makes its subject the owner for good. */
    async find({ issuer, subject, email }: PersonOfToken) {
      const owners = await current()
      const known = owners.get(keyOfOwner({ issuer, subject }))
      if (known || !isMailAddress(email)) return known
      const named = owners.get(keyOfOwner({ issuer, email }))
      const kept = named && (await directory.keepSubject(named.id, subject))
      return kept === subject ? named : undefined
    },
    /** Returns whether the operator named nobody. */
    isEmpty: async () => (await current()).size === 0,
    close: stop,
  }
}
