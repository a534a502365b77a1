// Manages the sessions that replicas share: opens them, continues those that other replicas opened, and writes them to
// the store again if it was emptied.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import type { Fields } from '../../lib/index.ts'
import { LiveSession, type SessionLink, sessionKey } from './live-session.ts'
import type { RemoteCalls } from './remote-calls.ts'
import type { Replica } from './replica.ts'
import { MAX_NEW_RECORD, newSessionState, readRecord, writeRecord } from './session-record.ts'
import { createStoredSession, type StoredRecord } from './shared-session.ts'

/** The sessions of a replica, linked with other replicas. */
export type SessionLinks = {
  /** Stores a new session. Rejects while the store is unreachable. */
  open(initialize: Fields, uid?: string): Promise<SessionLink>
  /**
   * Finds a user's session that another replica opened; undefined if they have none. Rejects while the store is
   * unreachable.
   */
  resume(id: string, uid?: string): Promise<SessionLink | undefined>
  /** Returns whether the store was emptied a moment ago, and replicas are writing their sessions to it again. */
  isRestoring(): boolean
  close(): void
}

/** Options of `createSessionLinks`. */
export type SessionLinksOptions = {
  readonly replica: Replica
  readonly calls: RemoteCalls
  /** Milliseconds without requests after which a session ends. */
  readonly idleMs: number
}

const SESSION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/**
 * Time to live of a session until its second request; it is short so that a session that is only opened costs little.
 */
const FIRST_LIFE_MS = 60_000
/** Milliseconds after the store was emptied in which an unknown session may be one that is not restored yet. */
const RESTORING_MS = 10_000
const RESTORED_AT_ONCE = 50
/** Milliseconds until sessions are restored again after the store failed to take them. */
const RETRY_MS = 500

/** Creates the session links of a replica. */
export function createSessionLinks(options: SessionLinksOptions): SessionLinks {
  return new Links(options)
}

class Links implements SessionLinks {
  readonly #options: SessionLinksOptions
  readonly #live = new Map<string, LiveSession>()
  readonly #stopGaps: () => void
  #epoch: string | undefined
  #restoringUntil = 0
  #gaps = 0
  #isClosed = false

  constructor(options: SessionLinksOptions) {
    const { replica, calls } = options
    this.#options = options
    calls.serve('message', async ({ session, message }) => {
      this.#live.get(String(session))?.deliver(message as JSONRPCMessage)
      return null
    })
    replica.onMessage('listed', ({ session }) => this.#live.get(String(session))?.heardListed())
    this.#stopGaps = replica.onGap(() => {
      for (const session of this.#live.values()) session.isSuspect = true
      void this.#recover()
    })
  }

  async open(initialize: Fields, uid?: string): Promise<SessionLink> {
    const { replica, idleMs } = this.#options
    const id = randomUUID()
    const record = { initialize, owner: randomUUID(), uid, state: newSessionState }
    const text = writeRecord(record)
    if (text.length > MAX_NEW_RECORD)
      throw new RangeError(
        `the initialize request is too large: ${text.length} characters, expected at most ${MAX_NEW_RECORD}`,
      )
    const ttlMs = Math.min(FIRST_LIFE_MS, idleMs)
    const version = (await replica.store.set(sessionKey(id), text, { ttlMs })) ?? ''
    return this.#join(id, { record, version })
  }

  async resume(id: string, uid?: string): Promise<SessionLink | undefined> {
    if (!SESSION_ID.test(id)) return undefined
    const stored = await this.#options.replica.store.get(sessionKey(id))
    const record = stored && readRecord(stored.value)
    if (!record) {
      await this.#readEpoch()
      return undefined
    }
    // Another user's request must neither prolong it nor replace it among the sessions that are live here.
    if (record.uid !== uid) return undefined
    const link = await this.#join(id, { record, version: stored.version })
    link.used()
    return link
  }

  isRestoring(): boolean {
    return Date.now() < this.#restoringUntil
  }

  close(): void {
    this.#isClosed = true
    this.#stopGaps()
    for (const session of this.#live.values()) session.leave()
  }

  async #join(id: string, found: StoredRecord): Promise<LiveSession> {
    const { replica, calls, idleMs } = this.#options
    const epoch = this.#epoch ?? (await this.#readEpoch())
    const place = { store: replica.store, key: sessionKey(id), replica: replica.id, ttlMs: idleMs }
    const session = new LiveSession({
      id,
      replica,
      calls,
      idleMs,
      epoch,
      stored: createStoredSession({ ...place, found }),
      restoreAll: () => this.#restoreAll(),
      onLeave: (left) => {
        if (this.#live.get(id) === left) this.#live.delete(id)
      },
    })
    await session.listen()
    this.#live.set(id, session)
    return session
  }

  /** Restores lost sessions, retrying until the store answers; a newer gap takes over. */
  async #recover(): Promise<void> {
    const gap = ++this.#gaps
    while (gap === this.#gaps && !this.#isClosed)
      try {
        return await this.#restoreAll()
      } catch {
        await sleep(RETRY_MS, undefined, { ref: false })
      }
  }

  /** Detects that the store has lost its data since the last check. */
  async #readEpoch(): Promise<string> {
    const current = await this.#options.replica.epoch()
    if (this.#epoch !== undefined && this.#epoch !== current) this.#restoringUntil = Date.now() + RESTORING_MS
    this.#epoch = current
    return current
  }

  /** Writes the sessions of this replica to a store that was emptied. */
  async #restoreAll(): Promise<void> {
    const current = await this.#readEpoch()
    const lost = [...this.#live.values()].filter(({ epoch }) => epoch !== current)
    for (let index = 0; index < lost.length; index += RESTORED_AT_ONCE)
      await Promise.all(lost.slice(index, index + RESTORED_AT_ONCE).map((one) => one.restore(current)))
  }
}
