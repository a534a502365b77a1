// The state of one session, kept in the store: read by any replica, changed by compare-and-set, so that two replicas
// that change it at once lose nothing. While the store is unreachable the last known state counts, and changes wait.
import type { StateStore } from '../../store/index.ts'
import {
  MAX_RECORD,
  readRecord,
  type SessionRecord,
  type SessionState,
  writeRecord,
} from './session-record.ts'

/** The state of a session that several replicas serve. */
export type SharedSession = {
  readonly id: string
  /** Owns the session's long results. */
  readonly owner: string
  readonly userId: string | undefined
  /** The last known state. */
  state(): SessionState
  /** Reads the newest state; returns the last known one while the store is unreachable. */
  refresh(): Promise<SessionState>
  /**
   * Changes the state, on top of what other replicas changed meanwhile. Resolves when it is stored, or remembered for
   * later because the store is unreachable. Rejects if the record would be too large.
   */
  change(edit: StateEdit): Promise<void>
  /** Calls the listener when another replica has changed the state, and when the client opens its stream here. */
  onChange(listener: (state: SessionState) => void): void
  /** Calls the listener when the client ends the session at this replica. */
  onEnd(listener: () => void): void
  /** Whether the client's stream for notifications is at this replica. */
  hasStream(): boolean
  /** The client has fetched its list of tools here: tells the replica that changed the list last. */
  listed(): void
  /** Calls the listener when the client has fetched, at another replica, the list that this one changed. */
  onListed(listener: () => void): void
}

/** Returns the changed state; may be called again with a newer one. */
export type StateEdit = (state: SessionState) => SessionState

/** The record of a session with its version in the store. */
export type StoredRecord = { readonly record: SessionRecord; readonly version: string }

/** What `createStoredSession` returns: the state, and what a replica does with the record. */
export type StoredSession = {
  record(): SessionRecord
  state(): SessionState
  /** Version of the last known record. */
  version(): string
  refresh(): Promise<SessionState>
  change(edit: StateEdit): Promise<void>
  /** `gone`: there is no record in the store; `unknown`: it is unreachable. */
  check(): Promise<'there' | 'gone' | 'unknown'>
  /** Writes the record anew after the store was emptied; does nothing if there is one. */
  restore(): Promise<void>
  /** Takes over what another replica sent; the list of tools is always read from the store. */
  take(state: SessionState): void
  /** Deletes the record; rejects while the store is unreachable. */
  delete(): Promise<void>
}

export type StoredSessionOptions = {
  readonly store: StateStore
  readonly key: string
  readonly replica: string
  readonly ttlMs: number
  readonly found: StoredRecord
}

/** Attempts to change a record that other replicas change at the same time. */
const MAX_ATTEMPTS = 20
/** Changes that wait for the store; further ones replace the oldest. */
const MAX_WAITING = 50

export function createStoredSession(options: StoredSessionOptions): StoredSession {
  const { store, key, replica, ttlMs } = options
  let known = options.found
  let waiting: StateEdit[] = []
  let queue: Promise<unknown> = Promise.resolve()

  /** Operations follow each other, so that this replica does not compete with itself. */
  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = queue.then(work)
    queue = result.catch(() => {})
    return result
  }

  const edited = (record: SessionRecord): SessionRecord => {
    const state = waiting.reduce((current, edit) => edit(current), record.state)
    const isListChanged =
      state.tools.join() !== record.state.tools.join() || state.hasShelved !== record.state.hasShelved
    return { ...record, state, ...(isListChanged ? { changedBy: replica } : {}) }
  }

  async function read(): Promise<boolean> {
    const stored = await store.get(key)
    const record = stored && readRecord(stored.value)
    if (stored && record) known = { record, version: stored.version }
    return record !== undefined
  }

  /** Writes the changes that wait. */
  async function write(): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS && waiting.length > 0; attempt++) {
      const next = edited(known.record)
      const text = writeRecord(next)
      const isSame = text === writeRecord(known.record)
      const version = isSame ? known.version : await store.set(key, text, { ttlMs, ifVersion: known.version })
      if (version !== undefined) {
        known = { record: next, version }
        waiting = []
      } else if (!(await read())) waiting = [] // The session has ended.
    }
  }

  return {
    record: () => known.record,
    state: () => edited(known.record).state,
    version: () => known.version,
    refresh: () =>
      inTurn(async () => {
        try {
          if (await read()) await write()
        } catch {
          // The store is unreachable; what is known counts.
        }
        return edited(known.record).state
      }),
    change: (edit) =>
      inTurn(async () => {
        const size = writeRecord({ ...known.record, state: edit(edited(known.record).state) }).length
        if (size > MAX_RECORD)
          throw new Error(
            `the session would need ${size} characters in the store, and may have ${MAX_RECORD}; unsubscribe from some resources`,
          )
        waiting = [...waiting, edit].slice(-MAX_WAITING)
        await write().catch(() => {}) // It waits for the next operation.
      }),
    check: () =>
      inTurn(async () => {
        try {
          return (await read()) ? 'there' : 'gone'
        } catch {
          return 'unknown'
        }
      }),
    restore: () =>
      inTurn(async () => {
        const version = await store.set(key, writeRecord(known.record), { ttlMs, ifVersion: null })
        if (version === undefined) await read()
        else known = { ...known, version }
      }),
    take({ logLevel, subscriptions, pages }) {
      const state = { ...known.record.state, logLevel, subscriptions, pages }
      known = { ...known, record: { ...known.record, state } }
    },
    delete: () => inTurn(async () => void (await store.delete(key))),
  }
}
