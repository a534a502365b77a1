// Stores logins in a store that replicas share. One of them refreshes tokens at a time; the others then read the new
// ones.
import type { StateStore } from '../../store/index.ts'
import {
  type CredentialFile,
  type Credentials,
  credentialName,
  parseCredentials,
  safeFileName,
} from './credential-text.ts'

/** Options of `openStoredCredentials`. */
export type StoredCredentialOptions = {
  readonly store: StateStore
  readonly server: string
  readonly url: string
  readonly notify: (message: string) => void
  /** The clock in milliseconds; replaceable in tests. */
  readonly now?: () => number
}

const PREFIX = 'login/'
/** Milliseconds for which a login is cached, so that most requests need no store. */
const FRESH_MS = 5000
/** Milliseconds after which the lock of a dead replica expires; renewed while a refresh runs, which takes up to 20 s. */
const LOCK_MS = 15_000
const LOCK_WAIT_MS = 60_000

/**
 * Opens the login to a server in the store.
 * @internal
 */
export function openStoredCredentials(options: StoredCredentialOptions): CredentialFile {
  const { store, server, url, notify, now = Date.now } = options
  const key = PREFIX + credentialName(server, url)
  let known: { readonly credentials: Credentials | undefined; readonly at: number } | undefined
  /** Number of holders of the lock, which read without the cache. */
  let locked = 0

  function remember(credentials: Credentials | undefined): Credentials | undefined {
    known = { credentials, at: now() }
    return credentials
  }

  async function fetchNow(): Promise<Credentials | undefined> {
    const found = await store.get(key)
    if (!found) return remember(undefined)
    const credentials = parseCredentials(found.value)
    if (credentials?.server === server && credentials.url === url) return remember(credentials)
    notify(`the stored login of "${server}" could not be read and was removed`)
    await store.delete(key, { ifVersion: found.version })
    return remember(undefined)
  }

  return {
    async read() {
      if (locked > 0) return fetchNow()
      if (known && now() - known.at < FRESH_MS) return known.credentials
      return fetchNow().catch((error: unknown) => {
        // While the store is unreachable, uses what was last known: the login, or that there is none.
        if (known) return known.credentials
        throw error
      })
    },
    async write(credentials) {
      const whole = { server, url, ...credentials }
      await store.set(key, JSON.stringify(whole))
      remember(whole)
    },
    async remove() {
      await store.delete(key)
      remember(undefined)
    },
    async alone(work) {
      // Loaded with the store, which most gateways run without.
      const { withLock } = await import('../../store/index.ts')
      return withLock(
        store,
        `lock/${key}`,
        LOCK_MS,
        async () => {
          locked++
          try {
            return await work()
          } finally {
            locked--
          }
        },
        { waitMs: LOCK_WAIT_MS },
      )
    },
  }
}

/** Returns the URLs for which a server has logins in the store. */
export async function storedAddresses(store: StateStore, server: string): Promise<string[]> {
  const entries = await store.list(`${PREFIX}${safeFileName(server)}-`)
  const found = entries.map(({ value }) => parseCredentials(value))
  return found.flatMap((credentials) => (credentials?.server === server ? [credentials.url] : []))
}
