// Stores the state of one session: any replica reads it, and changes it by compare-and-set, so that concurrent changes
// are not lost. While the store is unreachable the last known state applies, and changes wait.
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
  /** The owner of the session's long results. */
  readonly owner: string
  readonly uid: string | undefined
  /** Returns the last known state. */
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
  /** Returns whether the client's stream for notifications is at this replica. */
  hasStream(): boolean
  /** Records that the client has fetched its list of tools here; notifies the replica that changed the list last. */
  listed(): void
  /** Calls the listener when the client has fetched, at another replica, the list that this one changed. */
  onListed(listener: () => void): void
}

/** Returns the changed state; may be called again with a newer one. */
export type StateEdit = (state: SessionState) => SessionState

/** The record of a session with its version in the store. */
export type StoredRecord = { readonly record: SessionRecord; readonly version: string }

/** The shared state, and operations on its record. */
export type StoredSession = {
  record(): SessionRecord
  state(): SessionState
  /** Returns the version of the last known record. */
  version(): string
  refresh(): Promise<SessionState>
  change(edit: StateEdit): Promise<void>
  /** Looks for the record. `gone`: there is none in the store; `unknown`: the store is unreachable. */
  check(): Promise<'there' | 'gone' | 'unknown'>
  /** Writes the record again after the store was emptied; does nothing if there is one. */
  restore(): Promise<void>
  /** Adopts what another replica sent, except the list of tools, which is always read from the store. */
  take(state: SessionState): void
  /** Deletes the record; rejects while the store is unreachable. */
  delete(): Promise<void>
}

/** Options of `createStoredSession`. */
export type StoredSessionOptions = {
  readonly store: StateStore
  readonly key: string
  readonly replica: string
  readonly ttlMs: number
  readonly found: StoredRecord
}

/** Attempts to change a record that other replicas change at the same time. */
const MAX_ATTEMPTS = 20
/** Changes that may wait for the store; further ones replace the oldest. */
const MAX_WAITING = 50

/** Creates the shared state of a session. */
export function createStoredSession(options: StoredSessionOptions): StoredSession {
  return new Stored(options)
}

class Stored implements StoredSession {
  readonly #options: StoredSessionOptions
  #known: StoredRecord
  /** Changes that are not stored yet. */
  #waiting: readonly StateEdit[] = []
  #queue: Promise<unknown> = Promise.resolve()

  constructor(options: StoredSessionOptions) {
    this.#options = options
    this.#known = options.found
  }

  record(): SessionRecord {
    return this.#known.record
  }

  state(): SessionState {
    return this.#edited().state
  }

  version(): string {
    return this.#known.version
  }

  refresh(): Promise<SessionState> {
    return this.#inTurn(async () => {
      try {
        if (await this.#read()) await this.#write()
      } catch {
        // The store is unreachable; the last known state applies.
      }
      return this.state()
    })
  }

  change(edit: StateEdit): Promise<void> {
    return this.#inTurn(async () => {
      const size = writeRecord({ ...this.#known.record, state: edit(this.state()) }).length
      if (size > MAX_RECORD)
        throw new Error(
          `the session would need ${size} characters in the store, and may have ${MAX_RECORD}; unsubscribe from some resources`,
        )
      this.#waiting = [...this.#waiting, edit].slice(-MAX_WAITING)
      await this.#write().catch(() => {}) // The change waits for the next operation.
    })
  }

  check(): Promise<'there' | 'gone' | 'unknown'> {
    return this.#inTurn(async () => {
      try {
        return (await this.#read()) ? 'there' : 'gone'
      } catch {
        return 'unknown'
      }
    })
  }

  restore(): Promise<void> {
    const { store, key, ttlMs } = this.#options
    return this.#inTurn(async () => {
      const { record } = this.#known
      const version = await store.set(key, writeRecord(record), { ttlMs, ifVersion: null })
      if (version === undefined) await this.#read()
      else this.#known = { record, version }
    })
  }

  take({ logLevel, subscriptions, pages }: SessionState): void {
    const { record, version } = this.#known
    this.#known = {
      version,
      record: { ...record, state: { ...record.state, logLevel, subscriptions, pages } },
    }
  }

  delete(): Promise<void> {
    const { store, key } = this.#options
    return this.#inTurn(async () => void (await store.delete(key)))
  }

  /** Runs operations one after the other, so that this replica does not compete with itself. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#queue.then(work)
    this.#queue = result.catch(() => {})
    return result
  }

  #edited(): SessionRecord {
    const { record } = this.#known
    const state = this.#waiting.reduce((current, edit) => edit(current), record.state)
    const isListChanged =
      state.tools.join() !== record.state.tools.join() || state.hasShelved !== record.state.hasShelved
    return { ...record, state, ...(isListChanged ? { changedBy: this.#options.replica } : {}) }
  }

  /** Reads the record; returns false if there is none. */
  async #read(): Promise<boolean> {
    const stored = await this.#options.store.get(this.#options.key)
    const record = stored && readRecord(stored.value)
    if (record) this.#known = { record, version: stored.version }
    return record !== undefined
  }

  /** Writes the waiting changes. */
  async #write(): Promise<void> {
    const { store, key, ttlMs } = this.#options
    for (let attempt = 0; attempt < MAX_ATTEMPTS && this.#waiting.length > 0; attempt++) {
      const next = this.#edited()
      const text = writeRecord(next)
      const known = this.#known
      const isSame = text === writeRecord(known.record)
      const version = isSame ? known.version : await store.set(key, text, { ttlMs, ifVersion: known.version })
      if (version !== undefined) {
        this.#known = { record: next, version }
        this.#waiting = []
      } else if (!(await this.#read())) this.#waiting = [] // The session has ended.
    }
  }
}
