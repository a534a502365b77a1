// Finds the user of a key. Remembers good keys, so that a request costs no look into the store, and forgets them at every
// change: a revoked key stops at once.
import { dropOldest, errorMessage } from '../lib/index.ts'
import { StoreError } from '../store/index.ts'
import type { UserDirectory } from './directory.ts'
import { hasExpired, isKeyOf, type KeyRecord, keyHash, keyIdOf } from './keys.ts'
import { UsersError } from './records.ts'
import { type AccessRefusal, type Authenticator, isRefusal, type User } from './types.ts'

/** Options of `createKeyAuthenticator`. */
export type KeyAuthenticatorOptions = {
  readonly directory: UserDirectory
  /** Reports what is wrong with the directory. */
  readonly notify?: (message: string) => void
  /** The clock in milliseconds; replaceable in tests. */
  readonly now?: () => number
}

/** Good keys that are remembered; above this number the least recently used are forgotten. */
const MAX_GOOD = 10_000
/** Milliseconds for which a good key is remembered: the upper bound where a message of a change was lost. */
const GOOD_MS = 300_000
/** Wrong keys that are remembered, so that repeating one does not reach the store. */
const MAX_WRONG = 2000
const WRONG_MS = 30_000
/** Keys that are looked up at once; more are refused, so that a flood of wrong keys does not pass on to the store. */
const MAX_LOOKUPS = 100
/** Looks for one key while users change all the time. */
const MAX_LOOKS = 5

const WRONG: AccessRefusal = {
  status: 401,
  message: 'missing or wrong key; send "Authorization: Bearer <key>"',
  challenge: 'Bearer',
}
const BUSY: AccessRefusal = {
  status: 503,
  message: 'too many keys are being checked; try again in a second',
  retryAfter: 1,
}

type Good = { readonly user: User; readonly record: KeyRecord; readonly checkedAt: number }

/**
 * Creates the authenticator of keys. Closing it leaves the directory open.
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

  /** Looks again if something changed meanwhile: the key may have been revoked after it was read. */
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
    // A text that cannot be a key has no id to look for.
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
    recall: (token) => memory.recall(keyHash(token)),
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
  { user: id, expires }: KeyRecord,
): Promise<User | undefined> {
  const user = await directory.findUser(id)
  const profile = user && (await directory.findProfile(user.profile))
  if (user && !profile)
    notify(`user "${id}" has the profile "${user.profile}", which does not exist; their keys are refused`)
  if (!profile) return undefined
  return { id, profile, keyId, ...(expires === undefined ? {} : { expiresAt: Date.parse(expires) }) }
}

/** A look for a key: remembers what it finds, unless something changes meanwhile. */
type Lookup = {
  readonly isCurrent: () => boolean
  readonly good: (hash: string, user: User, record: KeyRecord) => void
  readonly wrong: (hash: string) => void
}

/** Remembers which keys were good or wrong, by their hashes, until anything changes. The keys themselves are kept nowhere. */
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
    /** For a lookup that begins now: what it read is not remembered if something changes meanwhile. */
    remembering(): Lookup {
      const before = changes
      return {
        isCurrent: () => before === changes,
        good(hash: string, user: User, record: KeyRecord): void {
          if (before === changes) remember(good, hash, { user, record, checkedAt: now() }, MAX_GOOD)
        },
        wrong(hash: string): void {
          if (before === changes) remember(wrong, hash, now(), MAX_WRONG)
        },
      }
    },
    close: stop,
  }
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key)
  map.set(key, value)
  dropOldest(map, most)
}

/** Only the holder of the key learns that it has expired. */
function expired({ expires }: KeyRecord): AccessRefusal {
  return { ...WRONG, message: `the key expired at ${expires}; ask the operator for a new one` }
}

function failed(error: unknown, notify: (message: string) => void): AccessRefusal {
  if (!(error instanceof StoreError || error instanceof UsersError)) throw error
  notify(`a key cannot be checked: ${errorMessage(error)}`)
  const message =
    'keys cannot be checked at the moment, because the store of users does not answer; try again shortly'
  return { status: 503, message, retryAfter: 5 }
}
