// Links a session that is live at this replica with the same session at others: passes on answers, cancellations,
// notifications and its end.
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
import type { Fields } from '../../lib/index.ts'
import type { RemoteCalls } from './remote-calls.ts'
import { parseFields, type Replica } from './replica.ts'
import { readState, type SessionState } from './session-record.ts'
import type { SharedSession, StoredSession } from './shared-session.ts'
import { createSharedTransport, type SharedTransport } from './shared-transport.ts'

/** A session that is live at this replica. */
export type SessionLink = {
  readonly id: string
  /** Parameters of the client's `initialize` request. */
  readonly initialize: Fields
  readonly shared: SharedSession
  /** Wraps the session's transport; call it once. */
  wrap(transport: Transport, local: LocalSession): Transport
  /** Returns whether the session still exists; asks the store only if messages may have been missed. */
  isCurrent(): Promise<boolean>
  /** Extends the session's time to live, at most ten times per period. */
  used(): void
  /** Records that the client has opened its stream for notifications here. */
  streamOpened(): void
  /** Ends the session at all replicas. Rejects while the store is unreachable. */
  finish(): Promise<void>
  /** Records that the session is no longer live here; others may continue it. */
  leave(): void
}

/** What a link needs to know about the session at this replica. */
export type LocalSession = {
  readonly hasStream: () => boolean
  /** Called when another replica ended the session. */
  readonly end: () => void
}

/** Messages for a stream at another replica, per second and session. */
const MAX_SENT_PER_SECOND = 50

/** Returns the store's key of a session's record. */
export const sessionKey = (id: string) => `session/${id}`
const channelOf = (id: string) => `session/${id}`

/** Options of `LiveSession`. */
export type LiveSessionOptions = {
  readonly id: string
  readonly stored: StoredSession
  readonly replica: Replica
  readonly calls: RemoteCalls
  readonly idleMs: number
  /** Identifies the store's data that the session's record is part of. */
  readonly epoch: string
  /** Writes the sessions of this replica to the store if it was emptied. */
  readonly restoreAll: () => Promise<void>
  readonly onLeave: (link: LiveSession) => void
}

/** A session that is live at this replica. */
export class LiveSession implements SessionLink {
  readonly id: string
  readonly initialize: Fields
  readonly shared: SharedSession
  /** Whether messages may have been missed. */
  isSuspect = false
  epoch: string
  readonly #options: LiveSessionOptions
  readonly #changeListeners: ((state: SessionState) => void)[] = []
  readonly #endListeners: (() => void)[] = []
  readonly #listedListeners: (() => void)[] = []
  #transport: SharedTransport | undefined
  #local: LocalSession = { hasStream: () => false, end: () => {} }
  #stopListening: (() => Promise<void>) | undefined
  #hasLeft = false
  #usedAt = Number.NEGATIVE_INFINITY
  /** Version of the list that the client has fetched here. */
  #listed = ''
  #sentSecond = 0
  #sent = 0

  constructor(options: LiveSessionOptions) {
    const { id, stored } = options
    this.#options = options
    this.epoch = options.epoch
    this.id = id
    this.initialize = stored.record().initialize
    this.shared = {
      id,
      owner: stored.record().owner,
      uid: stored.record().uid,
      state: () => stored.state(),
      refresh: () => stored.refresh(),
      change: async (edit) => {
        const before = chosenIn(stored.state())
        await stored.change(edit)
        const state = stored.state()
        if (chosenIn(state) !== before) this.#post('changed', { state })
      },
      onChange: (listener) => void this.#changeListeners.push(listener),
      onEnd: (listener) => void this.#endListeners.push(listener),
      hasStream: () => this.#local.hasStream(),
      listed: () => this.#tellListed(),
      onListed: (listener) => void this.#listedListeners.push(listener),
    }
  }

  async listen(): Promise<void> {
    const { replica, id } = this.#options
    this.#stopListening = await replica.store.subscribe(channelOf(id), (text) =>
      this.#receive(parseFields(text)),
    )
    if (this.#hasLeft) this.leave()
  }

  wrap(transport: Transport, local: LocalSession): Transport {
    const { replica, calls, id } = this.#options
    this.#local = local
    this.#transport = createSharedTransport({
      transport,
      replica: replica.id,
      hasStream: local.hasStream,
      sendToStream: async (message) => {
        if (this.#maySend()) this.#post('send', { message })
      },
      // If the replica has ended, nobody waits for the answer.
      forward: (to, message) => void calls.call(to, 'message', { session: id, message }).catch(() => {}),
      cancelElsewhere: (message) => this.#post('cancel', { message }),
    })
    return this.#transport
  }

  async isCurrent(): Promise<boolean> {
    if (!this.isSuspect) return true
    const { stored, restoreAll } = this.#options
    let found = await stored.check()
    if (found === 'gone') {
      await restoreAll().catch(() => {})
      found = await stored.check()
    }
    if (found !== 'there') return found === 'unknown'
    this.isSuspect = false
    this.#changed(stored.state())
    return true
  }

  used(): void {
    const { replica, idleMs } = this.#options
    if (performance.now() - this.#usedAt < idleMs / 10) return
    this.#usedAt = performance.now()
    replica.store.touch(sessionKey(this.id), idleMs).then(
      (isThere) => {
        if (!isThere) this.isSuspect = true
      },
      () => {}, // The next extension comes long before the record expires.
    )
  }

  streamOpened(): void {
    void this.shared.refresh().then((state) => {
      this.#changed(state)
      // The client may have missed the notification, because it had no stream yet or lost it.
      if (this.#options.stored.record().changedBy === undefined) return
      const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' } as const
      this.#transport?.sendHere(changed).catch(() => {})
    })
  }

  async finish(): Promise<void> {
    await this.#options.stored.delete()
    this.#post('ended', {})
    for (const listener of this.#endListeners) listener()
  }

  leave(): void {
    this.#hasLeft = true
    this.#options.onLeave(this)
    void this.#stopListening?.().catch(() => {})
  }

  async restore(epoch: string): Promise<void> {
    await this.#options.stored.restore()
    this.epoch = epoch
  }

  deliver(message: JSONRPCMessage): void {
    this.#transport?.deliver(message)
  }

  heardListed(): void {
    for (const listener of this.#listedListeners) listener()
  }

  #receive({ type, from, message, state }: Fields): void {
    if (from === this.#options.replica.id) return
    const sent = message as JSONRPCMessage
    if (type === 'ended') this.#local.end()
    if (type === 'cancel') this.#transport?.cancel(sent)
    if (type === 'send' && this.#local.hasStream()) this.#transport?.sendHere(sent).catch(() => {})
    if (type !== 'changed') return
    this.#options.stored.take(readState(state))
    this.#changed(this.#options.stored.state())
  }

  #changed(state: SessionState): void {
    for (const listener of this.#changeListeners) listener(state)
  }

  #post(type: string, body: Fields): void {
    const { replica, id } = this.#options
    const text = JSON.stringify({ type, from: replica.id, ...body })
    replica.store.publish(channelOf(id), text).catch(() => {}) // Replicas that miss it read the store.
  }

  #tellListed(): void {
    const { stored, replica, id } = this.#options
    const { changedBy } = stored.record()
    if (changedBy === undefined || changedBy === replica.id || this.#listed === stored.version()) return
    this.#listed = stored.version()
    replica.send(changedBy, 'listed', { session: id }).catch(() => {})
  }

  /** Limits messages for a stream elsewhere, so that a server that floods its log does not flood the store. */
  #maySend(): boolean {
    const second = Math.floor(performance.now() / 1000)
    if (second !== this.#sentSecond) this.#sent = 0
    this.#sentSecond = second
    return ++this.#sent <= MAX_SENT_PER_SECOND
  }
}

/** Returns what other replicas must know at once; they read tools from the store when they list them. */
function chosenIn({ logLevel, subscriptions, pages }: SessionState): string {
  return JSON.stringify([logLevel, subscriptions, pages])
}
