// The vocabulary of users: who a request belongs to, and what they may see, call and use.

/** Patterns with `*`. What `deny` matches is hidden; an empty `allow` allows the rest. */
export type AccessRules = {
  readonly allow: readonly string[]
  readonly deny: readonly string[]
}

/** Upper limits of use; a missing one does not limit. */
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
  /** Over names of servers. */
  readonly servers: AccessRules
  /** Over `<server>/<tool>`, with the names that the server gives its tools. */
  readonly tools: AccessRules
  /** How an MCP client is shown tools: `list`, `bridge` or `auto`; the gateway's own mode if left out. */
  readonly listing?: 'auto' | 'list' | 'bridge'
  /** What `serve` does with requests, as its `--mode`; the gateway's own if left out. */
  readonly mode?: string
  /** Characters up to which a result is sent whole; the gateway's own budget if left out. */
  readonly resultBudget?: number
  readonly limits: UsageLimits
  /** Its users may open the inspector of a gateway, which shows what all users do. */
  readonly isOperator?: boolean
}

/** Who sends a request. */
export type User = {
  /** The same for all of the user's keys and clients. */
  readonly id: string
  readonly profile: Profile
  /** The key that was used, by its public id; undefined for a token of an identity provider. */
  readonly keyId?: string
  /** When the key stops working, in milliseconds since 1970; never if left out. */
  readonly expiresAt?: number
}

/** Why a request is refused. `retryAfter` in seconds. */
export type AccessRefusal = {
  readonly status: 401 | 403 | 429 | 503
  readonly message: string
  readonly retryAfter?: number
  /** The value of `WWW-Authenticate`. */
  readonly challenge?: string
}

/** Finds the user of a request by its bearer token; returns why it is refused otherwise. */
export type Authenticate = (token: string | undefined) => Promise<User | AccessRefusal>

/** What a gateway needs to know who sends its requests: `createKeyAuthenticator` makes one for keys. */
export type Authenticator = {
  readonly authenticate: Authenticate
  /** Returns the user of a token that was good a moment ago, without I/O: such clients are not slowed down by others' wrong keys. */
  recall(token: string): User | undefined
  /** Whether a token could be a guess, so that wrong ones slow down their address; all can, if left out. */
  isGuessable?(token: string): boolean
  /** Returns the user as of now, for sessions and streams that stay open; undefined if the key or the user is gone. */
  refresh(user: User): Promise<User | undefined>
  /** Calls the listener when keys, users or profiles may have changed, until the returned function is called. */
  onChange(listener: () => void): () => void
  close(): Promise<void>
}

/** Whether an authentication failed. */
export function isRefusal(outcome: User | AccessRefusal): outcome is AccessRefusal {
  return 'status' in outcome
}
