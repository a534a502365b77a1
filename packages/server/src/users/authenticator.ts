// Finds the user of a key. Caches good keys, so that a request needs no access to the store, and clears the cache at
// every change, so that a revoked key stops working at once.
import {
  type AccessRefusal,
  type Authenticator,
  errorMessage,
  hasCode,
  isRefusal,
  setNewest,
  type User,
} from '@toolshelf/core/internal'
import { createChangeListeners, type UserDirectory } from './directory.ts'
import { hasExpired, isKeyOf, type KeyRecord, keyHash, keyIdOf, UsersError } from './records.ts'

type KeyAuthenticatorOptions = {
  readonly directory: UserDirectory
  /** Called with problems of the directory. */
  readonly notify?: (message: string) => void
  /** The clock in milliseconds; replaceable in tests. */
  readonly now?: () => number
}

/** Good keys to cache; beyond this number the least recently used are dropped. */
const MAX_GOOD = 10_000
/**
 * Milliseconds for which a good key is cached: the longest time that a revoked key works if the message of its change
 * was lost.
 */
const GOOD_MS = 300_000
/** Wrong keys to cache, so that repeating one does not reach the store. */
const MAX_WRONG = 2000
const WRONG_MS = 30_000
/** Keys to look up at once; more are refused, so that a flood of wrong keys does not reach the store. */
const MAX_LOOKUPS = 100
/** How often to look up one key while users keep changing. */
const MAX_LOOKS = 5

const WRONG: AccessRefusal = {
  status: 401,
  message: 'missing or wrong key; send "Authorization: Bearer <key>"',
  challenge: 'Bearer',
  isWrongKey: true,
}
const BUSY: AccessRefusal = {
  status: 503,
  message: 'too many keys are being checked; try again in a second',
  retryAfter: 1,
}

type Good = { readonly user: User; readonly record: KeyRecord; readonly checkedAt: number }

/**
 * Creates an authenticator for keys. Closing it does not close the directory.
 *
 * @example
 * const users = createKeyAuthenticator({ directory: await openUserFile('users.json') })
 * const user = await users.authenticate(token)
 */
export function createKeyAuthenticator(options: KeyAuthenticatorOptions): Authenticator {
  const { directory, notify = () => {}, now = Date.now } = options
  const memory = createKeyMemory(directory, now)
  let lookups = 0

  const userOf = (keyId: string, record: KeyRecord) => findUserOfKey(directory, notify, keyId, record)

  /** Looks up a key, and again if something changed meanwhile: it may have been revoked after it was read. */
  async function lookUp(token: string, hash: string): Promise<User | AccessRefusal> {
    for (let look = 0; look < MAX_LOOKS; look++) {
      const lookup = memory.remembering()
      const outcome = await lookOnce(token, hash, lookup)
      if (lookup.isCurrent()) return outcome
    }
    return BUSY
  }

  async function lookOnce(
    token: string,
    hash: string,
    { good, wrong }: Lookup,
  ): Promise<User | AccessRefusal> {
    const keyId = keyIdOf(token)
    // A text without the form of a key has no id to look up.
    const record = keyId === undefined ? undefined : await directory.findKey(keyId)
    const isRight = isKeyOf(record, hash)
    if (!record || !isRight) {
      wrong(hash)
      return WRONG
    }
    if (hasExpired(record, now())) return expired(record)
    const user = await userOf(keyId ?? '', record)
    if (!user) return WRONG
    good(hash, user, record)
    return user
  }

  async function authenticate(token: string): Promise<User | AccessRefusal> {
    const hash = keyHash(token)
    await directory.sync()
    const known = memory.recall(hash)
    if (known) return known
    if (memory.isWrong(hash)) return WRONG
    if (lookups >= MAX_LOOKUPS) return BUSY
    lookups++
    try {
      return await lookUp(token, hash)
    } catch (error) {
      return failed(error, notify)
    } finally {
      lookups--
    }
  }

  return {
    async authenticate(token) {
      const outcome = token === undefined ? WRONG : await authenticate(token)
      if (!isRefusal(outcome) && outcome.keyId !== undefined) directory.noteUse(outcome.keyId)
      return outcome
    },
    async refresh({ keyId }) {
      if (keyId === undefined) return undefined
      await directory.sync()
      const record = await directory.findKey(keyId)
      if (!record || hasExpired(record, now())) return undefined
      return userOf(keyId, record)
    },
    onChange: directory.onChange,
    close: async () => memory.close(),
  }
}

/** Returns undefined if the user, or their profile, is gone. */
async function findUserOfKey(
  directory: UserDirectory,
  notify: (message: string) => void,
  keyId: string,
  { user: id, uid, expires }: KeyRecord,
): Promise<User | undefined> {
  const user = await directory.findUser(id)
  if (!user || uid !== user.uid) return undefined
  const profile = await directory.findProfile(user.profile)
  if (!profile)
    notify(`user "${id}" has the profile "${user.profile}", which does not exist; refusing the user's keys`)
  if (!profile) return undefined
  return {
    id,
    uid: user.uid,
    profile,
    keyId,
    ...(expires === undefined ? {} : { expiresAt: Date.parse(expires) }),
  }
}

/** A lookup of a key, which caches what it finds unless something changes meanwhile. */
type Lookup = ReturnType<ReturnType<typeof createKeyMemory>['remembering']>

/** Caches good and wrong keys, by their hashes, until anything changes. Does not keep the keys themselves. */
function createKeyMemory(directory: UserDirectory, now: () => number) {
  const good = new Map<string, Good>()
  const wrong = new Map<string, number>()
  let changes = 0
  const stop = directory.onChange(() => {
    changes++
    good.clear()
    wrong.clear()
  })
  return {
    recall(hash: string): User | undefined {
      const found = good.get(hash)
      if (!found) return undefined
      const isOver = now() - found.checkedAt >= GOOD_MS || hasExpired(found.record, now())
      good.delete(hash)
      if (isOver) return undefined
      good.set(hash, found)
      return found.user
    },
    isWrong: (hash: string) => now() - (wrong.get(hash) ?? Number.NEGATIVE_INFINITY) < WRONG_MS,
    /** Starts a lookup: what it reads is not cached if something changes meanwhile. */
    remembering() {
      const before = changes
      return {
        isCurrent: () => before === changes,
        good(hash: string, user: User, record: KeyRecord): void {
          if (before === changes) setNewest(good, hash, { user, record, checkedAt: now() }, MAX_GOOD)
        },
        wrong(hash: string): void {
          if (before === changes) setNewest(wrong, hash, now(), MAX_WRONG)
        },
      }
    },
    close: stop,
  }
}

/** Refuses an expired key. Only its holder learns that it has expired. */
function expired({ expires }: KeyRecord): AccessRefusal {
  return { ...WRONG, message: `the key expired at ${expires}; ask the operator for a new one` }
}

/** Refuses a user because the directory does not answer or cannot be written. */
export function failed(error: unknown, notify: (message: string) => void): AccessRefusal {
  if (!(hasCode(error, 'STORE') || error instanceof UsersError)) throw error
  notify(`a key cannot be checked: ${errorMessage(error)}`)
  const message =
    'keys cannot be checked at the moment, because the store of users does not answer; try again shortly'
  return { status: 503, message, retryAfter: 5 }
}

type ReplaceableAuthenticator = Authenticator & {
  /** Uses another authenticator from now on, also for connected users. Does not close the former one. */
  replace(next: Authenticator): void
}

/** Creates an authenticator that delegates to `first` until it is replaced. Closing it closes the one in use. */
export function createReplaceableAuthenticator(first: Authenticator): ReplaceableAuthenticator {
  const changes = createChangeListeners()
  let current = first
  let stop = first.onChange(changes.emit)

  /** Asks again if the authenticator was replaced meanwhile, because its answer may be outdated. */
  async function ask<Value>(question: (asked: Authenticator) => Promise<Value>): Promise<Value> {
    for (;;) {
      const asked = current
      const answer = await question(asked)
      if (asked === current) return answer
    }
  }

  return {
    authenticate: (token) => ask((asked) => asked.authenticate(token)),
    refresh: (user) => ask((asked) => asked.refresh(user)),
    onChange: changes.add,
    replace(next) {
      stop()
      current = next
      stop = next.onChange(changes.emit)
      changes.emit()
    },
    async close() {
      stop()
      await current.close()
    },
  }
}
