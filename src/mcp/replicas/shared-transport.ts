// Wraps the transport of a session that several replicas serve: forwards each message of the client to the replica that
// it is for, and messages for the client's stream to the replica that has the stream.
import type { JSONRPCMessage, MessageExtraInfo, Transport } from '@modelcontextprotocol/server'
import { cancelledId, markOutgoing, routeIncoming } from './message-ids.ts'

/** A transport that is connected with other replicas. */
export type SharedTransport = Transport & {
  /** Receives a message of the client from another replica. */
  deliver(message: JSONRPCMessage): void
  /** Receives a cancellation from another replica; ignores it unless the request runs here. */
  cancel(message: JSONRPCMessage): void
  /** Sends a message of another replica on the stream at this replica. */
  sendHere(message: JSONRPCMessage): Promise<void>
}

/** Options of `createSharedTransport`. */
export type SharedTransportOptions = {
  readonly transport: Transport
  /** Id of this replica. */
  readonly replica: string
  readonly hasStream: () => boolean
  /** Sends a message for the client's stream to the replica that has it. */
  readonly sendToStream: (message: JSONRPCMessage) => Promise<void>
  /** Sends a message of the client to the replica whose request it answers. */
  readonly forward: (replica: string, message: JSONRPCMessage) => void
  /** Sends a cancellation to the other replicas of the session. */
  readonly cancelElsewhere: (message: JSONRPCMessage) => void
}

/** Notifications that the replica with the stream sends itself, because it gets them from its own servers. */
const LOCAL_ONLY: ReadonlySet<string> = new Set([
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
])

/** Most requests of one client whose ids are remembered. */
const MAX_RUNNING = 1000

/** Wraps a transport. */
export function createSharedTransport(options: SharedTransportOptions): SharedTransport {
  const { transport, replica, hasStream, sendToStream, forward, cancelElsewhere } = options
  /** The client's requests that run at this replica. */
  const running = new Set<unknown>()

  function receive(message: JSONRPCMessage, extra?: MessageExtraInfo): void {
    const route = routeIncoming(message)
    if (route !== undefined) {
      if (route?.replica === replica) shared.onmessage?.(route.message, extra)
      else if (route) forward(route.replica, route.message)
      return
    }
    if ('method' in message && 'id' in message && running.size < MAX_RUNNING) running.add(message.id)
    const cancelled = cancelledId(message)
    // A cancelled request gets no response that would end it.
    if (cancelled !== undefined && !running.delete(cancelled)) cancelElsewhere(message)
    shared.onmessage?.(message, extra)
  }

  const shared: SharedTransport = {
    async start() {
      transport.onmessage = receive
      transport.onerror = (error) => shared.onerror?.(error)
      transport.onclose = () => shared.onclose?.()
      await transport.start()
    },
    async send(message, sending) {
      if (!('method' in message)) {
        running.delete((message as { id?: unknown }).id)
        return transport.send(message, sending)
      }
      const own = markOutgoing(message, replica)
      if (sending?.relatedRequestId !== undefined || hasStream()) return transport.send(own, sending)
      if (!LOCAL_ONLY.has(message.method)) await sendToStream(own)
    },
    close: () => transport.close(),
    setSupportedProtocolVersions: (versions) => transport.setSupportedProtocolVersions?.(versions),
    get sessionId() {
      return transport.sessionId
    },
    deliver: (message) => shared.onmessage?.(message),
    sendHere: (message) => transport.send(message),
    cancel(message) {
      if (running.delete(cancelledId(message))) shared.onmessage?.(message)
    },
  }
  return shared
}
