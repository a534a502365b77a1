// Decides which HTTP requests a server accepts by the host name that they were sent to and their origin, and which keys an
// operator may choose. Shared by the gateways and the inspector.
import { OptionError } from '@toolshelf/core/internal/node'
import { LOOPBACK } from './http.ts'

/**
 * Creates the check of host names and origins.
 *
 * @param hosts - Names besides loopback and `address` under which clients may reach the server.
 */
export function createHostAccess(address: string, hosts: readonly string[]) {
  const names = new Set([...LOOPBACK, address, ...hosts].map((name) => name.toLowerCase()))
  const isAnyHost = !LOOPBACK.has(address) && hosts.length === 0
  return {
    /** The accepted names; ignored if `isAnyHost`. */
    names,
    /** Accepts every name: the server listens beyond loopback and no names are configured, so it does not know its own. */
    isAnyHost,
    /** Returns whether it accepts the value of a `Host` header: a foreign name means DNS rebinding. */
    allowsHost: (host: string) => isAnyHost || names.has(hostNameOf(host)),
    /** Returns whether the value of an `Origin` header is a page of an accepted host, on any port. */
    allowsOrigin: (origin: string) => names.has(hostNameOf(origin.replace(/^[a-z-]+:\/\//i, ''))),
  }
}

/** Returns the host name of a `Host` header, without its port. */
export function hostNameOf(host: string): string {
  return host
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase()
}

/** Keys with this many characters cannot be guessed, however fast the attempts. Generated keys have 32. */
const MIN_KEY_LENGTH = 24

/** Throws unless a key that the operator chose is long enough that nobody can guess it. */
export function checkKeyLength(key: string): void {
  if (key.length >= MIN_KEY_LENGTH) return
  throw new OptionError(
    'secret',
    `the key has ${key.length} characters, so that others could guess it`,
    `use at least ${MIN_KEY_LENGTH} random ones, such as the output of "openssl rand -hex 16", or give each user a key with "toolshelf users add"`,
  )
}
