// Defines a stored login: its parts, its name and its text, wherever it is stored.
import { createHash } from 'node:crypto'
import { chmod, mkdir, readdir, rename } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { StateStore } from '@toolshelf/core/internal'
import { JsonFile } from '@toolshelf/core/internal/node'

/** A login as stored. Its parts have the SDK's types, which are not exported. */
export type Credentials = {
  readonly server: string
  readonly url: string
  readonly tokens: {
    readonly access_token: string
    readonly refresh_token?: string | undefined
    readonly id_token?: string | undefined
  }
  readonly client: { readonly client_id: string; readonly client_secret?: string | undefined }
  readonly discovery: { readonly authorizationServerUrl: string }
}

/** The stored login to one server. */
export type CredentialFile = {
  /** Returns the login; undefined if there is none. Sets an unreadable file aside and reports it. */
  read(): Promise<Credentials | undefined>
  write(credentials: Omit<Credentials, 'server' | 'url'>): Promise<void>
  remove(): Promise<void>
  /** Runs the work while no other process holds the lock of this file. */
  alone<Value>(work: () => Promise<Value>): Promise<Value>
}

/** Returns the name of a login's file: a readable part, and a hash of server and URL. */
function credentialName(server: string, url: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([server, url]))
    .digest('hex')
    .slice(0, 24)
  return `${safeFileName(server)}-${hash}`
}

function safeFileName(server: string): string {
  return server.replace(/[^A-Za-z0-9-]+/g, '_').slice(0, 40)
}

/** Parses a stored login; returns undefined if the text is not one. */
function parseCredentials(text: string): Credentials | undefined {
  try {
    return readCredentials(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** Returns the value as a login; undefined if it is not one. */
export function readCredentials(value: unknown): Credentials | undefined {
  const found = value as Partial<Credentials> | null | undefined
  const texts = [
    found?.server,
    found?.url,
    found?.tokens?.access_token,
    found?.client?.client_id,
    found?.discovery?.authorizationServerUrl,
  ]
  return texts.every((text) => typeof text === 'string') ? (found as Credentials) : undefined
}

type StoredCredentialOptions = CredentialOptions & { readonly store: StateStore }

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
function openStoredCredentials(options: StoredCredentialOptions): CredentialFile {
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
      const { withLock } = await import('@toolshelf/core/internal/node')
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
async function storedAddresses(store: StateStore, server: string): Promise<string[]> {
  const entries = await store.list(`${PREFIX}${safeFileName(server)}-`)
  const found = entries.map(({ value }) => parseCredentials(value))
  return found.flatMap((credentials) => (credentials?.server === server ? [credentials.url] : []))
}

export type CredentialOptions = {
  readonly folder: string
  /** Stores logins in a store that replicas share, instead of the folder. */
  readonly store?: StateStore | undefined
  readonly server: string
  readonly url: string
  readonly notify: (message: string) => void
  /** The clock in milliseconds; replaceable in tests. */
  readonly now?: () => number
}

/** Returns `$XDG_STATE_HOME/toolshelf/tokens`, else `~/.local/state/toolshelf/tokens`. */
export function defaultTokenFolder(
  environment: { readonly [name: string]: string | undefined } = process.env,
): string {
  const { XDG_STATE_HOME: state } = environment
  const base = state !== undefined && isAbsolute(state) ? state : join(homedir(), '.local', 'state')
  return join(base, 'toolshelf', 'tokens')
}

/**
 * Opens the stored login to a server.
 * @internal
 */
export function openCredentials(options: CredentialOptions): CredentialFile {
  const { folder, store, server, url, notify } = options
  if (store) return openStoredCredentials({ ...options, store })
  const path = join(folder, `${credentialName(server, url)}.json`)
  const file = openFile(path)
  return {
    async read() {
      const text = await readText(file)
      if (text === undefined) return undefined
      const found = parseCredentials(text)
      if (found?.server === server && found.url === url) return found
      const broken = `${path}.broken`
      const isAside = await rename(path, broken).then(
        () => true,
        () => false,
      )
      // If it does not exist, another process has already moved it.
      if (isAside) notify(`the stored login of "${server}" could not be read and was set aside as ${broken}`)
      return undefined
    },
    async write(credentials) {
      await makePrivate(folder)
      await file.write(JSON.stringify({ server, url, ...credentials }))
    },
    async remove() {
      await file.remove()
    },
    async alone(work) {
      await makePrivate(folder)
      return file.alone(work)
    },
  }
}

/** Returns the URLs for which a server has logins: more than one if its configuration changed. */
export async function loggedInAddresses(
  folder: string,
  server: string,
  store?: StateStore,
): Promise<string[]> {
  if (store) return storedAddresses(store, server)
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return []
  })
  const own = names.filter((name) => name.startsWith(`${safeFileName(server)}-`) && name.endsWith('.json'))
  const found = await Promise.all(
    own.map(async (name) => parseCredentials((await readText(openFile(join(folder, name)))) ?? '')),
  )
  return found.flatMap((credentials) => (credentials?.server === server ? [credentials.url] : []))
}

/** Milliseconds; longer than a refresh takes. */
const MAX_HOLD_MS = 60_000

function openFile(path: string): JsonFile {
  return new JsonFile(path, { maxHoldMs: MAX_HOLD_MS })
}

async function readText(file: JsonFile): Promise<string | undefined> {
  try {
    return await file.read()
  } catch (error) {
    throw new Error(`the stored login cannot be read: ${(error as Error).message}`)
  }
}

async function makePrivate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
}
