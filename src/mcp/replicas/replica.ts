// Represents one of several gateway processes that serve the same clients: its id, its heartbeat, and messages between
// replicas.
import { randomBytes } from 'node:crypto'
import { errorMessage, type Fields, fieldsOf } from '../../lib/index.ts'
import type { StateStore } from '../../store/index.ts'

/** One gateway process among those that share a store. */
export type Replica = {
  /** Random; new with every start. */
  readonly id: string
  readonly store: StateStore
  /** Announces this replica and listens to the others; keeps trying while the store is unreachable. */
  start(): Promise<void>
  /** Returns whether the replica's heartbeat is fresh. Rejects while the store is unreachable. */
  isAlive(id: string): Promise<boolean>
  send(to: string, type: string, body: Fields): Promise<void>
  /** Registers the handler for messages of a type; one per type. */
  onMessage(type: string, handler: (body: Fields, from: string) => void): void
  /** Calls the listener when messages of the store may have been missed. */
  onGap(listener: () => void): () => void
  /**
   * Returns an id of the store's data: a different one means that the store was emptied. Rejects while it is
   * unreachable.
   */
  epoch(): Promise<string>
  close(): Promise<void>
}

/** Options of `createReplica`. */
export type ReplicaOptions = {
  readonly store: StateStore
  /** Called with messages for the operator. */
  readonly notify?: ((message: string) => void) | undefined
  /** Milliseconds between two heartbeats; a replica counts as gone after three. */
  readonly heartbeatMs?: number
}

const HEARTBEAT_MS = 4000
const MISSED_HEARTBEATS = 3
const EPOCH = 'replicas/epoch'
const ID = /^[0-9a-f]{24}$/

/** Returns whether a text that a client sent can be the id of a replica. */
export function isReplicaId(text: string): boolean {
  return ID.test(text)
}

/** Creates this process's replica. */
export function createReplica({
  store,
  notify = () => {},
  heartbeatMs = HEARTBEAT_MS,
}: ReplicaOptions): Replica {
  const id = randomBytes(12).toString('hex')
  const handlers = new Map<string, (body: Fields, from: string) => void>()
  const ttlMs = heartbeatMs * MISSED_HEARTBEATS
  let stopListening: (() => Promise<void>) | undefined
  let timer: NodeJS.Timeout | undefined
  let isReachable = true
  let isClosed = false
  let isBeating = false

  function receive(text: string): void {
    const message = parseFields(text)
    if (typeof message.type !== 'string' || typeof message.from !== 'string') return
    handlers.get(message.type)?.(fieldsOf(message.body), message.from)
  }

  async function beat(): Promise<void> {
    if (isBeating || isClosed) return
    isBeating = true
    try {
      stopListening ??= await store.subscribe(channelOf(id), receive)
      await store.set(keyOf(id), '1', { ttlMs })
      if (!isReachable) notify('the store answers again')
      isReachable = true
    } catch (error) {
      if (isReachable)
        notify(
          `the store does not answer; open sessions continue here, new ones wait for it: ${errorMessage(error)}`,
        )
      isReachable = false
    } finally {
      isBeating = false
    }
  }

  return {
    id,
    store,
    async start() {
      timer = setInterval(() => void beat(), heartbeatMs)
      timer.unref()
      await beat()
    },
    isAlive: async (other) => other === id || (await store.get(keyOf(other))) !== undefined,
    send: (to, type, body) => store.publish(channelOf(to), JSON.stringify({ type, from: id, body })),
    onMessage: (type, handler) => void handlers.set(type, handler),
    onGap: (listener) => store.onGap(listener),
    async epoch() {
      const found = (await store.get(EPOCH))?.value
      if (found !== undefined) return found
      const created = randomBytes(12).toString('hex')
      if ((await store.set(EPOCH, created, { ifVersion: null })) !== undefined) return created
      return (await store.get(EPOCH))?.value ?? created
    },
    async close() {
      isClosed = true
      clearInterval(timer)
      const ignore = () => {} // The heartbeat expires by itself.
      await Promise.all([stopListening?.().catch(ignore), store.delete(keyOf(id)).catch(ignore)])
    },
  }
}

const keyOf = (id: string) => `replica/${id}`
const channelOf = (id: string) => `replica/${id}`

/** Parses a message of another replica; returns no fields if it is not an object. */
export function parseFields(text: string): Fields {
  try {
    return fieldsOf(JSON.parse(text))
  } catch {
    return {}
  }
}
