// Opens a store by its URL. Loads the client library of Redis only if needed.
import { type StateStore, StoreError } from '@toolshelf/core/internal'
import { createMemoryStore } from './memory.ts'

type StateStoreOptions = {
  /** Milliseconds after which a call to an unreachable store fails; default: 2,000. */
  readonly timeoutMs?: number
  /** Prefix of every key in Redis. Default: `toolshelf:`. The URL's `?prefix=` overrides it. */
  readonly prefix?: string
}

const TIMEOUT_MS = 2000
const EXPECTED = 'expected redis://, rediss:// or valkey:// with a host, or memory:'

/**
 * Opens the store at a URL, without connecting yet: `ping` checks whether it answers. Without a URL it is in memory.
 *
 * @example
 * const store = await openStateStore('redis://127.0.0.1:6379')
 * await store.set('pins/github', '{}', { ttlMs: 60_000 })
 */
export async function openStateStore(
  url: string | undefined,
  options: StateStoreOptions = {},
): Promise<StateStore> {
  if (url === undefined) return createMemoryStore()
  const { timeoutMs = TIMEOUT_MS, prefix = 'toolshelf:' } = options
  const scheme = /^([a-z]+):/i.exec(url)?.[1]?.toLowerCase()
  switch (scheme) {
    case 'memory':
      return createMemoryStore()
    case 'redis':
    case 'rediss':
    case 'valkey':
    case 'valkeys': {
      const server = serverIn(url.replace(/^valkey/i, 'redis'))
      const { createRedisStore } = await import('./redis.ts')
      return createRedisStore({ ...server, timeoutMs, prefix: server.prefix ?? prefix })
    }
    default:
      // Quotes only the scheme: the rest may contain a password.
      throw new StoreError(
        `unknown store ${scheme === undefined ? 'without a scheme' : `"${scheme}:…"`}: ${EXPECTED}`,
      )
  }
}

/** Parses a server's URL, removes Toolshelf's own parameter from it, and labels the server without its secrets. */
function serverIn(text: string) {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new StoreError(
      `the URL of the Redis store is not valid; ${EXPECTED}. Encode special characters of a password, such as %40 for @`,
    )
  }
  const prefix = url.searchParams.get('prefix') ?? undefined
  url.searchParams.delete('prefix')
  return { url: url.href, label: `Redis at ${url.host || 'this host'}`, prefix }
}
