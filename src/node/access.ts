// Decides which HTTP requests a server accepts: checks the host name that a request was sent to, its origin and its key.
// Shared by the gateways and the inspector.
import { isSecret, LOOPBACK } from './http.ts'
import { createKeyThrottle } from './key-throttle.ts'

/** Which host names and origins a server accepts. */
export type HostAccess = {
  /** The accepted names; ignored if `isAnyHost`. */
  readonly names: ReadonlySet<string>
  /** Accepts every name: the server listens beyond loopback and no names are configured, so it does not know its own. */
  readonly isAnyHost: boolean
  /** Returns whether it accepts the value of a `Host` header: a foreign name means DNS rebinding. */
  allowsHost(host: string): boolean
  /** Returns whether the value of an `Origin` header is a page of an accepted host, on any port. */
  allowsOrigin(origin: string): boolean
}

/**
 * Creates the check of host names and origins.
 *
 * @param hosts - Names besides loopback and `address` under which clients may reach the server.
 */
export function createHostAccess(address: string, hosts: readonly string[]): HostAccess {
  const names = new Set([...LOOPBACK, address, ...hosts].map((name) => name.toLowerCase()))
  const isAnyHost = !LOOPBACK.has(address) && hosts.length === 0
  return {
    names,
    isAnyHost,
    allowsHost: (host) => isAnyHost || names.has(hostNameOf(host)),
    allowsOrigin: (origin) => names.has(hostNameOf(origin.replace(/^[a-z-]+:\/\//i, ''))),
  }
}

/** Returns the host name of a `Host` header, without its port. */
export function hostNameOf(host: string): string {
  return host
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase()
}

/** Why a key was refused; `retryAfter` in seconds. */
export type KeyRefusal = {
  readonly status: 401 | 429
  readonly message: string
  readonly retryAfter?: number
}

/** Checks the value of an `Authorization` header; returns undefined if the request may proceed. */
export type KeyCheck = (
  authorization: string | null,
  network: string,
  /** The client is authenticated by other means, so that wrong keys from its address do not block it. */
  isKnown?: boolean,
) => KeyRefusal | undefined

/**
 * Creates a check of bearer keys that slows down guessing: after several wrong keys, an address must wait, unless its
 * key is right.
 */
export function createKeyCheck(key: string, notify?: (message: string) => void): KeyCheck {
  const throttle = createKeyThrottle({ notify })
  return (authorization, network, isKnown = false) => {
    const isRight = isSecret(authorization, `Bearer ${key}`)
    if (isRight && isKnown) return undefined
    const verdict = throttle({ network, key: isRight ? key : undefined, hasKey: authorization !== null })
    if (verdict === undefined) return undefined
    if (verdict === 'wrong')
      return { status: 401, message: 'missing or wrong key; send "Authorization: Bearer <key>"' }
    const { waitSeconds } = verdict
    const message = `too many wrong keys from this address; try again in ${waitSeconds} s`
    return { status: 429, message, retryAfter: waitSeconds }
  }
}
