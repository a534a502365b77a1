// Links the sessions that are live at this replica with the same sessions at others: stores their records, and passes
// on answers, cancellations, notifications and their end.
import { randomUUID } from 'node:crypto'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
import { type Fields, fieldsOf } from '../../lib/index.ts'
import type { RemoteCalls } from './remote-calls.ts'
import { parsed, type Replica } from './replica.ts'
import { MAX_RECORD, newSessionState, readRecord, type SessionState, writeRecord } from './session-record.ts'
import {
  createStoredSession,
  type SharedSession,
  type StoredRecord,
  type StoredSession,
} from './shared-session.ts'
import { createSharedTransport, type SharedTransport } from './shared-transport.ts'

/** The sessions of a replica, linked with other replicas. */
export type SessionLinks = {
  /** Stores a new session. Rejects while the store is unreachable. */
  open(initialize: Fields, userId?: string): Promise<SessionLink>
  /** Finds a session that another replica opened; undefined if there is none. Rejects while the store is unreachable. */
  resume(id: string): Promise<SessionLink | undefined>
  /** The store was emptied a moment ago, and replicas are writing their sessions to it again. */
  isRestoring(): boolean
  close(): void
}

/** A session that is live at this replica. */
export type SessionLink = {
  readonly id: string
  /** Parameters of the client's `initialize` request. */
  readonly initialize: Fields
  readonly shared: SharedSession
  /** Wraps the session's transport; call it once. */
  wrap(transport: Transport, local: LocalSession): Transport
  /** Whether the session still exists; asks the store only if messages may have been missed. */
  isCurrent(): Promise<boolean>
  /** Extends the session's life, at most ten times per life. */
  used(): void
  /** The client has opened its stream for notifications here. */
  streamOpened(): void
  /** Ends the session at all replicas. Rejects while the store is unreachable. */
  finish(): Promise<void>
  /** The session is no longer live here; others may go on with it. */
  leave(): void
}

/** What a link needs to know of the session at this replica. */
export type LocalSession = {
  readonly hasStream: () => boolean
  /** The session was ended at another replica. */
  readonly end: () => void
}

export type SessionLinksOptions = {
  readonly replica: Replica
  readonly calls: RemoteCalls
  /** Milliseconds without requests after which a session ends. */
  readonly idleMs: number
}

const SESSION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Milliseconds that a client may take until its second request; a session that is only opened costs little. */
const FIRST_LIFE_MS = 60_000
/** Milliseconds after the store was emptied in which an unknown session may be one that is not restored yet. */
const RESTORING_MS = 10_000
const RESTORED_AT_ONCE = 50
/** Messages for a stream at another replica, per second and session. */
const MAX_SENT_PER_SECOND = 50

export function createSessionLinks(options: SessionLinksOptions): SessionLinks {
  const { replica, calls, idleMs } = options
  const { store } = replica
  const links = new Map<string, Link>()
  let epoch: string | undefined
  let restoringUntil = 0

  calls.serve('message', async ({ session, message }) => {
    links.get(String(session))?.deliver(message as JSONRPCMessage)
    return null
  })
  replica.onMessage('listed', ({ session }) => links.get(String(session))?.heardListed())

  const stopGaps = replica.onGap(() => {
    for (const link of links.values()) link.isSuspect = true
    void restoreAll().catch(() => {}) // Each session is checked again before its next use.
  })

  /** Notices that the store has lost its data since this replica last looked. */
  async function readEpoch(): Promise<string> {
    const current = await replica.epoch()
    if (epoch !== undefined && epoch !== current) restoringUntil = Date.now() + RESTORING_MS
    epoch = current
    return current
  }

  /** Writes the sessions of this replica to a store that was emptied. */
  async function restoreAll(): Promise<void> {
    const current = await readEpoch()
    const lost = [...links.values()].filter((link) => link.epoch !== current)
    for (let index = 0; index < lost.length; index += RESTORED_AT_ONCE)
      await Promise.all(lost.slice(index, index + RESTORED_AT_ONCE).map((link) => link.restore(current)))
  }

  async function join(id: string, found: StoredRecord): Promise<Link> {
    const current = epoch ?? (await readEpoch())
    const stored = createStoredSession({
      store,
      key: keyOf(id),
      replica: replica.id,
      ttlMs: idleMs,
      found,
    })
    const parts = { id, stored, replica, calls, idleMs }
    const link = new Link({ ...parts, epoch: current, restoreAll, onLeave: remove })
    await link.listen()
    links.set(id, link)
    return link
  }

  function remove(link: Link): void {
    if (links.get(link.id) === link) links.delete(link.id)
  }

  return {
    async open(initialize, userId) {
      const id = randomUUID()
      const record = { initialize, owner: randomUUID(), userId, state: newSessionState }
      const text = writeRecord(record)
      if (text.length > MAX_RECORD / 2)
        throw new RangeError(
          `the initialize request is too large: ${text.length} characters, expected at most ${MAX_RECORD / 2}`,
        )
      const ttlMs = Math.min(FIRST_LIFE_MS, idleMs)
      const version = (await store.set(keyOf(id), text, { ttlMs })) ?? ''
      return join(id, { record, version })
    },
    async resume(id) {
      const stored = SESSION_ID.test(id) ? await store.get(keyOf(id)) : undefined
      const record = stored && readRecord(stored.value)
      if (!stored || !record) {
        if (SESSION_ID.test(id)) await readEpoch()
        return undefined
      }
      const link = await join(id, { record, version: stored.version })
      link.used()
      return link
    },
    isRestoring: () => Date.now() < restoringUntil,
    close() {
      stopGaps()
      for (const link of links.values()) link.leave()
    },
  }
}

const keyOf = (id: string) => `session/${id}`
const channelOf = (id: string) => `session/${id}`

type LinkOptions = {
  readonly id: string
  readonly stored: StoredSession
  readonly replica: Replica
  readonly calls: RemoteCalls
  readonly idleMs: number
  /** Names the data of the store that the session's record is part of. */
  readonly epoch: string
  /** Writes the sessions of this replica to the store if it was emptied. */
  readonly restoreAll: () => Promise<void>
  readonly onLeave: (link: Link) => void
}

class Link implements SessionLink {
  readonly id: string
  readonly initialize: Fields
  readonly shared: SharedSession
  /** Messages may have been missed. */
  isSuspect = false
  epoch: string
  readonly #options: LinkOptions
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

  constructor(options: LinkOptions) {
    const { id, stored } = options
    this.#options = options
    this.epoch = options.epoch
    this.id = id
    this.initialize = stored.record().initialize
    this.shared = {
      id,
      owner: stored.record().owner,
      userId: stored.record().userId,
      state: stored.state,
      refresh: stored.refresh,
      change: async (edit) => {
        const before = chosenIn(stored.state())
        await stored.change(edit)
        const state = stored.state()
        if (chosenIn(state) !== before) this.#tell('changed', { state })
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
    this.#stopListening = await replica.store.subscribe(channelOf(id), (text) => this.#receive(parsed(text)))
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
        if (this.#maySend()) this.#tell('send', { message })
      },
      // Nobody waits for an answer to a replica that has ended.
      forward: (to, message) => void calls.call(to, 'message', { session: id, message }).catch(() => {}),
      cancelElsewhere: (message) => this.#tell('cancel', { message }),
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
    replica.store.touch(keyOf(this.id), idleMs).then(
      (isThere) => {
        if (!isThere) this.isSuspect = true
      },
      () => {}, // The next touch comes long before the record expires.
    )
  }

  streamOpened(): void {
    void this.shared.refresh().then((state) => this.#changed(state))
  }

  async finish(): Promise<void> {
    await this.#options.stored.delete()
    this.#tell('ended', {})
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
    if (type === 'ended') return this.#local.end()
    if (type === 'cancel') return this.#transport?.cancel(message as JSONRPCMessage)
    if (type === 'send' && this.#local.hasStream())
      return void this.#transport?.sendHere(message as JSONRPCMessage).catch(() => {})
    if (type !== 'changed') return
    this.#options.stored.take(fieldsOf(state) as SessionState)
    this.#changed(this.#options.stored.state())
  }

  #changed(state: SessionState): void {
    for (const listener of this.#changeListeners) listener(state)
  }

  #tell(type: string, body: Fields): void {
    const { replica, id } = this.#options
    const text = JSON.stringify({ type, from: replica.id, ...body })
    replica.store.publish(channelOf(id), text).catch(() => {}) // Those who miss it look into the store.
  }

  #tellListed(): void {
    const { stored, replica, id } = this.#options
    const { changedBy } = stored.record()
    if (changedBy === undefined || changedBy === replica.id || this.#listed === stored.version()) return
    this.#listed = stored.version()
    replica.send(changedBy, 'listed', { session: id }).catch(() => {})
  }

  /** Messages for a stream elsewhere are limited, so that a server that floods its log does not flood the store. */
  #maySend(): boolean {
    const second = Math.floor(performance.now() / 1000)
    if (second !== this.#sentSecond) this.#sent = 0
    this.#sentSecond = second
    return ++this.#sent <= MAX_SENT_PER_SECOND
  }
}

/** What other replicas must know at once; tools are read from the store when they are listed. */
function chosenIn({ logLevel, subscriptions, pages }: SessionState): string {
  return JSON.stringify([logLevel, subscriptions, pages])
}
