// Ends a user's sessions, streams and running responses when their key is revoked or expires, or their rights change.
import { type Authenticator, hasSameRights, type User } from '@toolshelf/core/internal'
import type { Sessions } from './sessions.ts'

export type AccessWatch = ReturnType<typeof createAccessWatch>

/** Milliseconds until users are checked again after the store did not answer. */
const RETRY_MS = 5000

/** Watches the users of a gateway; does nothing without users. */
export function createAccessWatch(users: Authenticator | undefined, sessions: Sessions) {
  const responses = new Set<{ readonly user: User; readonly controller: AbortController }>()
  let retry: ReturnType<typeof setTimeout> | undefined
  let isClosed = false
  let isChecking = false
  let isStale = false

  /** Checks every user with something open; repeats if something changed meanwhile. */
  async function check(users: Authenticator): Promise<void> {
    isStale = true
    if (isChecking) return
    isChecking = true
    while (isStale && !isClosed) {
      isStale = false
      await checkAll(users).catch(() => {
        retry = setTimeout(check, RETRY_MS, users)
        retry.unref()
      })
    }
    isChecking = false
  }

  async function checkAll(users: Authenticator): Promise<void> {
    const open = [...sessions.all(), ...responses]
    const known = new Map(open.flatMap(({ user }) => (user ? [[keyOf(user), user]] : [])))
    for (const [key, user] of known) {
      const now = await users.refresh(user)
      // Of two sessions with the same key, one may have been opened before the rights changed and one after.
      const isOver = (owner: User) => keyOf(owner) === key && !(now && hasSameRights(now, owner))
      for (const session of sessions.all())
        if (session.user && isOver(session.user)) void sessions.end(session)
      for (const { user: owner, controller } of responses)
        if (isOver(owner)) controller.abort(new Error('the key was revoked, or its rights have changed'))
    }
  }

  const stop = users?.onChange(() => void check(users))
  return {
    /** Registers a response of the user; the signal aborts when they may no longer use the gateway. */
    track(user: User | undefined) {
      if (!user) return { over: () => {} }
      const response = { user, controller: new AbortController() }
      const { signal } = response.controller
      responses.add(response)
      const stopTimer = atExpiry(user, () => response.controller.abort(new Error('the key has expired')))
      const over = () => {
        stopTimer()
        responses.delete(response)
      }
      return { signal, over }
    },
    close() {
      isClosed = true
      clearTimeout(retry)
      stop?.()
    },
  }
}

/** Longest timer, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Calls the function when the user's key expires. Returns a function that cancels it. */
function atExpiry({ expiresAt }: User, expire: () => void): () => void {
  if (expiresAt === undefined) return () => {}
  let timer: ReturnType<typeof setTimeout>
  const wait = () => {
    const rest = expiresAt - Date.now()
    timer = setTimeout(rest > MAX_TIMER_MS ? wait : expire, Math.min(Math.max(rest, 0), MAX_TIMER_MS))
    timer.unref()
  }
  wait()
  return () => clearTimeout(timer)
}

/** Returns a key for user and key: sessions of one user may have been opened with different keys. */
function keyOf({ uid, keyId }: User): string {
  return JSON.stringify([uid, keyId ?? null])
}
