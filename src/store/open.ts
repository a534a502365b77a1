// Opens a store by its URL. Loads the client library of Redis or Postgres only if needed.
import { isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createFileStore } from './files.ts'
import { createMemoryStore } from './memory.ts'
import { type StateStore, StoreError } from './types.ts'

/** Options of `openStateStore`. */
export type StateStoreOptions = {
  /** Milliseconds after which a call to an unreachable store fails; default: 2,000. */
  readonly timeoutMs?: number
  /** Prefix of every key in Redis. Default: `toolshelf:`. The URL's `?prefix=` overrides it. */
  readonly prefix?: string
  /** Schema of the tables in Postgres. Default: `toolshelf`. The URL's `?schema=` overrides it. */
  readonly schema?: string
}

const TIMEOUT_MS = 2000
const EXPECTED =
  'expected redis://, rediss://, valkey://, postgres:// or postgresql:// with a host, file:<folder> or memory:'

/**
 * Opens the store at a URL, without connecting yet: `ping` checks whether it answers. Without a URL it is in memory.
 *
 * @example
 * const store = await openStateStore('redis://127.0.0.1:6379')
 * await store.set('session/1', '{}', { ttlMs: 60_000 })
 */
export async function openStateStore(
  url: string | undefined,
  options: StateStoreOptions = {},
): Promise<StateStore> {
  if (url === undefined) return createMemoryStore()
  const { timeoutMs = TIMEOUT_MS, prefix = 'toolshelf:', schema = 'toolshelf' } = options
  const scheme = /^([a-z]+):/i.exec(url)?.[1]?.toLowerCase()
  switch (scheme) {
    case 'memory':
      return createMemoryStore()
    case 'file':
      return createFileStore({ folder: folderIn(url), timeoutMs })
    case 'redis':
    case 'rediss':
    case 'valkey':
    case 'valkeys': {
      const server = serverIn(url.replace(/^valkey/i, 'redis'), 'Redis', 'prefix')
      const { createRedisStore } = await import('./redis.ts')
      return createRedisStore({ ...server, timeoutMs, prefix: server.extra ?? prefix })
    }
    case 'postgres':
    case 'postgresql': {
      const server = serverIn(url, 'Postgres', 'schema')
      const { createPostgresStore } = await import('./postgres.ts')
      return createPostgresStore({ ...server, timeoutMs, schema: server.extra ?? schema })
    }
    default:
      // Quotes only the scheme: the rest may contain a password.
      throw new StoreError(
        `unknown store ${scheme === undefined ? 'without a scheme' : `"${scheme}:…"`}: ${EXPECTED}`,
      )
  }
}

/** Parses a server's URL, removes Toolshelf's own parameter from it, and labels the server without its secrets. */
function serverIn(text: string, name: string, parameter: string) {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new StoreError(
      `the URL of the ${name} store is not valid; ${EXPECTED}. Encode special characters of a password, such as %40 for @`,
    )
  }
  const extra = url.searchParams.get(parameter) ?? undefined
  url.searchParams.delete(parameter)
  return { url: url.href, label: `${name} at ${url.host || 'this host'}`, extra }
}

/** Returns the folder of `file:relative/folder` or `file:///absolute/folder`. */
function folderIn(text: string): string {
  const path = text.slice('file:'.length)
  if (path === '' || path === '//' || path.includes('\0'))
    throw new StoreError('the store "file:" has no folder; expected file:<folder>, such as file:./state')
  if (!path.startsWith('//')) return isAbsolute(path) ? path : resolve(path)
  try {
    return fileURLToPath(text)
  } catch {
    throw new StoreError('the store "file://…" names another host; expected file:///folder or file:<folder>')
  }
}
