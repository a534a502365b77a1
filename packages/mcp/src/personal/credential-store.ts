// Stores each user's credentials for servers, encrypted, in the shared store: values by name, and an OAuth login.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { entriesIn, type StateStore } from '@toolshelf/core/internal'
import { withLock } from '@toolshelf/core/internal/node'

export type UserCredentials = {
  /** Values for `${user:NAME}`, by name. */
  readonly values: { readonly [name: string]: string }
  /** The login to the server, as `toolshelf login` stores it. */
  readonly login?: unknown
}

/** What a record contains, without any secret. */
type CredentialEntry = {
  readonly user: string
  readonly server: string
  readonly names: readonly string[]
  readonly hasLogin: boolean
  /** Why the record cannot be read. */
  readonly problem?: string
}

/** Encrypted credentials by user and server. */
export type CredentialStore = ReturnType<typeof openCredentialStore>

type Change = (before: UserCredentials | undefined) => UserCredentials | undefined

const PREFIX = 'credential/'
const CHANNEL = 'credentials'
const MAX_TRIES = 10
/** Longest record, in characters. */
const MAX_CHARACTERS = 100_000
const MAX_VALUES = 100
/** Milliseconds after which the lock of a dead replica expires. */
const LOCK_MS = 20_000

/**
 * Opens the credentials in a store. Values are encrypted with the keyring.
 *
 * @example
 * const credentials = openCredentialStore(store, openKeyring(process.env.TOOLSHELF_SECRET_KEY))
 */
export function openCredentialStore(store: StateStore, keyring: Keyring) {
  const read = (name: string, sealed: string) => parse(name, keyring.open(name, sealed))

  const records = (prefix: string) => entriesIn(store, prefix)

  async function write(name: string, credentials: UserCredentials, version: string | null): Promise<boolean> {
    const text = JSON.stringify(credentials)
    if (text.length > MAX_CHARACTERS || Object.keys(credentials.values).length > MAX_VALUES)
      throw new CredentialError(
        `${name} would have more than ${MAX_CHARACTERS} characters or ${MAX_VALUES} values; remove some`,
      )
    return (await store.set(name, keyring.seal(name, text), { ifVersion: version })) !== undefined
  }

  return {
    /** Returns a user's credentials for a server; undefined if there are none. */
    async read(user: string, server: string) {
      const name = nameOf(user, server)
      const found = await store.get(name)
      return found && read(name, found.value)
    },
    /** Returns all credentials of a user, by server; an error for a record that cannot be read. */
    async readAll(user: string): Promise<ReadonlyMap<string, UserCredentials | CredentialError>> {
      const all = new Map<string, UserCredentials | CredentialError>()
      for await (const { key, value } of records(prefixOf(user)))
        all.set(
          ownerOf(key).server,
          attempt(() => read(key, value)),
        )
      return all
    },
    /**
     * Changes a record atomically; returning `undefined` deletes it. `isQuiet` does not notify watchers, for changes that they
     * need not see, such as a renewed token.
     */
    async update(user: string, server: string, change: Change, { isQuiet = false } = {}) {
      const name = nameOf(user, server)
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const found = await store.get(name)
        const next = change(found && read(name, found.value))
        const isDone = next
          ? await write(name, next, found?.version ?? null)
          : !found || (await store.delete(name, { ifVersion: found.version }))
        if (isDone && !isQuiet) await store.publish(CHANNEL, user)
        if (isDone) return
      }
      throw new CredentialError(`${name} is being changed by others; try again`)
    },
    /** Lists the records of one user, or of all. */
    async list(user?: string): Promise<readonly CredentialEntry[]> {
      const entries: CredentialEntry[] = []
      for await (const { key, value } of records(user === undefined ? PREFIX : prefixOf(user))) {
        const found = attempt(() => read(key, value))
        entries.push({ ...ownerOf(key), ...describe(found) })
      }
      return entries
    },
    /** Removes a record, readable or not; returns false if there is none. */
    async remove(user: string, server: string) {
      const isThere = await store.delete(nameOf(user, server))
      if (isThere) await store.publish(CHANNEL, user)
      return isThere
    },
    /** Encrypts every record with the current key; returns how many had another key. */
    async reseal() {
      let count = 0
      for await (const { key, value, version } of records(PREFIX)) {
        if (keyring.keyIdOf(value) === keyring.currentId) continue
        // A record that changed meanwhile was already sealed with the current key.
        if (await write(key, read(key, value), version)) count++
      }
      return count
    },
    /** Runs the work while no other replica does the same for this record. */
    alone: <Value>(user: string, server: string, work: () => Promise<Value>) =>
      withLock(store, nameOf(user, server).replace(PREFIX, 'credential-lock/'), LOCK_MS, work),
    /** Calls the listener with the user whose credentials changed; with undefined when changes may have been missed. */
    async watch(listener: (user: string | undefined) => void) {
      const unsubscribe = await store.subscribe(CHANNEL, listener)
      const stop = store.onGap(() => listener(undefined))
      return async () => {
        stop()
        await unsubscribe()
      }
    },
  }
}

/**
 * Removes all credentials of a user, readable or not, so that a later user with the same id does not get them. Needs no key.
 * Returns the number of servers they were for.
 */
export async function removeUserCredentials(store: StateStore, user: string): Promise<number> {
  let count = 0
  for await (const { key } of entriesIn(store, prefixOf(user))) if (await store.delete(key)) count++
  if (count > 0) await store.publish(CHANNEL, user)
  return count
}

const encode = (part: string) => encodeURIComponent(part.toWellFormed())
const prefixOf = (user: string) => `${PREFIX}${encode(user)}/`
const nameOf = (user: string, server: string) => `${prefixOf(user)}${encode(server)}`

function ownerOf(name: string): { readonly user: string; readonly server: string } {
  const [user = '', server = ''] = name.slice(PREFIX.length).split('/').map(decodeURIComponent)
  return { user, server }
}

function attempt(work: () => UserCredentials): UserCredentials | CredentialError {
  try {
    return work()
  } catch (error) {
    if (error instanceof CredentialError) return error
    throw error
  }
}

function describe(found: UserCredentials | CredentialError) {
  if (found instanceof CredentialError) return { names: [], hasLogin: false, problem: found.message }
  return { names: Object.keys(found.values).sort(), hasLogin: found.login !== undefined }
}

function parse(name: string, text: string): UserCredentials {
  const { values, login } = JSON.parse(text) as { values?: unknown; login?: unknown }
  const entries = Object.entries(values ?? {})
  if (!entries.every(([, value]) => typeof value === 'string'))
    throw new CredentialError(`${name} is not as expected; remove it and set it again`)
  // Has no prototype, so that a lookup of "constructor" finds nothing.
  const own = Object.assign(
    Object.create(null) as object,
    Object.fromEntries(entries),
  ) as UserCredentials['values']
  return { values: own, ...(login === undefined ? {} : { login }) }
}

/** A stored secret cannot be read or written. The message names the record and what to do, and contains no secret. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError'
}

/** Keys that encrypt and decrypt records. */
type Keyring = ReturnType<typeof openKeyring>

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const ALGORITHM = 'aes-256-gcm'
const MAX_KEYS = 20
/** The format of a sealed text: version, id of the key, nonce, tag and text. */
const FORM = /^1\.([0-9a-f]{16})\.([A-Za-z0-9_-]+)$/

/**
 * Opens the keyring.
 *
 * @param keys - `TOOLSHELF_SECRET_KEY`: one key of 32 bytes in hexadecimal or base64, or several separated by commas. The
 * first encrypts, all decrypt.
 */
export function openKeyring(keys: string) {
  const all = keys.split(',').map((key) => key.trim())
  if (all.length > MAX_KEYS) throw new CredentialError(`TOOLSHELF_SECRET_KEY has more than ${MAX_KEYS} keys`)
  const parsed = all.map((key, index) => readKey(key, index))
  const byId = new Map(parsed.map((key) => [idOf(key), key]))
  // There is at least one: `readKey` refuses an empty text.
  const current = parsed[0] as Buffer
  const currentId = idOf(current)
  return {
    /** The public id of the key that encrypts. */
    currentId,
    /**
     * Encrypts a text.
     *
     * @param name - The name of the record, which is authenticated: the text cannot be decrypted under another name.
     */
    seal(name: string, text: string) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, current, nonce).setAAD(Buffer.from(name))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return `1.${currentId}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`
    },
    /** Decrypts a text. Throws if it was changed, moved to another name, or sealed with an unknown key. */
    open(name: string, sealed: string) {
      const [, id = '', data = ''] = FORM.exec(sealed) ?? []
      const key = byId.get(id)
      if (id === '')
        throw new CredentialError(`${name} is not an encrypted record; remove it and set it again`)
      if (!key)
        throw new CredentialError(
          `${name} was encrypted with the key ${id}, which is not in TOOLSHELF_SECRET_KEY (${[...byId.keys()].join(', ')}); add that key behind the first, or remove the record and set it again`,
        )
      return decrypt(key, name, Buffer.from(data, 'base64url'))
    },
    /** Returns the id of the key that a text was sealed with; undefined if it is not sealed. */
    keyIdOf: (sealed: string) => FORM.exec(sealed)?.[1],
  }
}

function decrypt(key: Buffer, name: string, bytes: Buffer): string {
  try {
    const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(Buffer.from(name)).setAuthTag(tag)
    const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
    return Buffer.concat([text, decipher.final()]).toString('utf8')
  } catch {
    throw new CredentialError(`${name} was changed, or belongs to another record; remove it and set it again`)
  }
}

function readKey(text: string, index: number): Buffer {
  const isHex = /^[0-9a-f]{64}$/i.test(text)
  const isBase64 = /^[A-Za-z0-9+/_-]{43}=?$/.test(text)
  const key = Buffer.from(text, isHex ? 'hex' : 'base64')
  if ((isHex || isBase64) && key.length === KEY_BYTES) return key
  throw new CredentialError(
    `key ${index + 1} of TOOLSHELF_SECRET_KEY does not have 32 bytes in hexadecimal or base64; create one with "openssl rand -base64 32"`,
  )
}

/** Returns an id that identifies a key without revealing anything about it. */
function idOf(key: Buffer): string {
  return createHash('sha256').update('toolshelf key id\0').update(key).digest('hex').slice(0, 16)
}
