// Users: who a request belongs to, and what they may see, call and use. Rights are one predicate, which the gateway applies to
// everything it returns.
// Implements H3.

import { oncePer } from './lib/objects.ts'
import { matchesServer, matchesTool, readServerPattern, readToolPattern, splitToolName } from './names.ts'

/** Patterns with `*`. What matches `deny` is hidden; an empty `allow` allows all the rest. */
export type AccessRules = {
  readonly allow: readonly string[]
  readonly deny: readonly string[]
}

/** Limits of use; an omitted one does not apply. */
export type UsageLimits = {
  readonly requestsPerMinute?: number
  readonly requestsPerDay?: number
  readonly searchesPerMinute?: number
  readonly searchesPerDay?: number
  readonly tokensPerMinute?: number
  readonly tokensPerDay?: number
}

/** What the users of a profile may do. */
export type Profile = {
  readonly name: string
  /** Rules for names of servers. */
  readonly servers: AccessRules
  /** Rules for tools by the names that users see: `<server>__<tool>`, with or without `mcp__`. */
  readonly tools: AccessRules
  /** How an MCP client gets tools: `list`, `bridge` or `auto`. Default: the gateway's own mode. */
  readonly listing?: 'auto' | 'list' | 'bridge'
  /** What `serve` does with requests, as its `--mode`. Default: the gateway's own. */
  readonly mode?: string
  /** Longest result, in characters, that is sent whole. Default: the gateway's own budget. */
  readonly resultBudget?: number
  readonly limits: UsageLimits
  /** Whether its users may open the inspector of a gateway, which shows what all users do. */
  readonly isOperator?: boolean
}

/** The sender of a request. */
export type User = {
  /** The name of the user for people, in events and messages; a later user may have it too. */
  readonly id: string
  /**
   * Identifies the user wherever something is kept for them: the same for all of their keys and clients, and never given
   * again, so that a later user of the same name inherits nothing.
   */
  readonly uid: string
  readonly profile: Profile
  /** The key that was used, by its public id; undefined for a token of an identity provider. */
  readonly keyId?: string
  /** When the key expires, in milliseconds since 1970; never if omitted. */
  readonly expiresAt?: number
}

/** Why a request is refused. `retryAfter` in seconds. */
export type AccessRefusal = {
  readonly status: 401 | 403 | 429 | 503
  readonly message: string
  readonly retryAfter?: number
  /** The value of `WWW-Authenticate`. */
  readonly challenge?: string
  /** The key is missing or unknown; a gateway may say in which headers it takes keys. */
  readonly isWrongKey?: boolean
}

/** Finds the user of a request by its bearer token; returns why it is refused otherwise. */
export type Authenticate = (token: string | undefined) => Promise<User | AccessRefusal>

/** Identifies the senders of a gateway's requests. `createKeyAuthenticator` creates one for keys. */
export type Authenticator = {
  readonly authenticate: Authenticate
  /**
   * Returns the user's current state, for sessions and streams that stay open; undefined if the key or the user is gone.
   */
  refresh(user: User): Promise<User | undefined>
  /** Calls the listener when keys, users or profiles may have changed, until the returned function is called. */
  onChange(listener: () => void): () => void
  close(): Promise<void>
}

/** Returns whether an authentication failed. */
export function isRefusal(outcome: User | AccessRefusal): outcome is AccessRefusal {
  return 'status' in outcome
}

/** What is limited. */
export type UsageKind = 'requests' | 'searches' | 'tokens'

/** Counts what users use. Accesses the store only for users with a limit. */
export type UsageMeter = {
  /** Counts use that is about to happen; returns a refusal if it exceeds a limit. */
  take(user: User, kind: UsageKind, amount?: number): Promise<AccessRefusal | undefined>
  /**
   * Begins use whose amount is known only afterwards; returns a refusal if it may not begin. Until it is settled it
   * counts with its estimate, so that many concurrent requests do not all begin below a limit that one of them reaches.
   */
  begin(user: User, kind: UsageKind, estimate: number): Promise<AccessRefusal | BegunUse>
}

/** Use that has begun. */
export type BegunUse = {
  /** Replaces the estimate by the actual amount. Never fails: reports what cannot be counted. */
  settle(amount: number): Promise<void>
}

/** Returns whether a user has a limit of this kind. */
export function isLimited({ profile: { limits } }: User, kind: UsageKind): boolean {
  return limits[`${kind}PerMinute`] !== undefined || limits[`${kind}PerDay`] !== undefined
}

/** Which servers and tools a user may see, and therefore search, list, call and read. */
export type Rights = {
  /** Equal for two profiles with the same rules. */
  readonly id: string
  /** Has no rules: nothing is hidden, whatever servers there will be. */
  readonly seesEverything: boolean
  seesServer(server: string): boolean
  /** Returns whether the user may see a tool. @param name - The name that its users see, such as `github__get_issue`. */
  seesTool(name: string): boolean
}

/** Returns the rights of a profile; the same object for the same profile. */
export const rightsOf = oncePer(({ servers, tools }: Profile): Rights => {
  const serverRules = readRules(servers, readServerPattern)
  const toolRules = readRules(tools, readToolPattern)
  const seesServer = (server: string) => allows(serverRules, (pattern) => matchesServer(pattern, server))
  const rules = [servers.allow, servers.deny, tools.allow, tools.deny]
  return {
    id: JSON.stringify(rules),
    seesEverything: rules.every((patterns) => patterns.length === 0),
    seesServer,
    seesTool(name) {
      const tool = splitToolName(name)
      if (!tool) return false
      return seesServer(tool.server) && allows(toolRules, (pattern) => matchesTool(pattern, tool))
    },
  }
})

type Rules<Pattern> = { readonly allow: readonly Pattern[]; readonly deny: readonly Pattern[] }

function readRules<Pattern>({ allow, deny }: Rules<string>, read: (text: string) => Pattern): Rules<Pattern> {
  return { allow: allow.map(read), deny: deny.map(read) }
}

function allows<Pattern>({ allow, deny }: Rules<Pattern>, matches: (pattern: Pattern) => boolean): boolean {
  return (allow.length === 0 || allow.some(matches)) && !deny.some(matches)
}

/** Returns whether two users, or one user at two times, may do the same. */
export function hasSameRights(one: User | undefined, other: User | undefined): boolean {
  return one?.profile === other?.profile || JSON.stringify(one?.profile) === JSON.stringify(other?.profile)
}
