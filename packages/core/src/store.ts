// Defines the store that replicas of a gateway share: small values by key, counters, and messages between replicas.
// Memory and Redis implement it; `test/suites/store.test.ts` holds both to the same laws.

/** A value with its version. */
export type StoredValue = {
  readonly value: string
  /** Changes with every write; pass it to `set` as `ifVersion`. */
  readonly version: string
}

/** A value with its key. */
export type StoredEntry = StoredValue & { readonly key: string }

/** Options of `set`. */
export type SetOptions = {
  /** Milliseconds until the value is deleted; without it the value never expires. */
  readonly ttlMs?: number
  /** Writes only if the value still has this version; null: only if there is none. */
  readonly ifVersion?: string | null
}

/** Receives the messages of a channel. */
export type MessageListener = (message: string) => void

/**
 * State that outlives a process or is shared by several. Keys are paths such as `pins/<server>`. While the store cannot be
 * reached, every method rejects with a `StoreError` within a few seconds; a lost connection is reopened.
 */
export type StateStore = {
  /** `memory` or `redis`. */
  readonly kind: string
  get(key: string): Promise<StoredValue | undefined>
  /** Returns the values whose keys start with the prefix, sorted by key, at most `limit` of them (1,000 by default). */
  list(
    prefix: string,
    options?: { readonly limit?: number; readonly after?: string },
  ): Promise<readonly StoredEntry[]>
  /** Writes a value; returns its version, or undefined if `ifVersion` did not match. */
  set(key: string, value: string, options?: SetOptions): Promise<string | undefined>
  /** Deletes a value; returns false if there was none, or `ifVersion` did not match. */
  delete(key: string, options?: { readonly ifVersion?: string }): Promise<boolean>
  /** Adds to a counter and returns the sum. The counter is deleted `ttlMs` after the first addition. */
  add(key: string, amount: number, ttlMs: number): Promise<number>
  /** Sends a message to every subscriber of the channel, in all processes; it may be megabytes long. */
  publish(channel: string, message: string): Promise<void>
  /**
   * Calls the listener for each message of the channel until the returned function is called. Messages of one publisher
   * arrive in order; while the connection is lost they are missed, see `onGap`.
   */
  subscribe(channel: string, listener: MessageListener): Promise<() => Promise<void>>
  /**
   * Calls the listener whenever messages may have been missed, such as after a reconnect, until the returned function is
   * called.
   */
  onGap(listener: () => void): () => void
  /** Resolves if the store answers; rejects with the reason otherwise. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** The store cannot be reached or refuses to answer. `message` says which store and what to do. */
export class StoreError extends Error {
  readonly code = 'STORE'
  override readonly name = 'StoreError'
}

const PAGE = 500

/** Yields all values whose keys start with the prefix, sorted by key; reads them page by page. */
export async function* entriesIn(store: StateStore, prefix: string): AsyncGenerator<StoredEntry> {
  for (let after = ''; ; ) {
    const page = await store.list(prefix, { limit: PAGE, after })
    yield* page
    if (page.length < PAGE) return
    after = page.at(-1)?.key ?? after
  }
}
