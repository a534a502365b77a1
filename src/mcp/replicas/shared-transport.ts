// Wraps the transport of a session that several replicas serve: what the client sends goes to the replica that it is
// for, and what the client must get on its stream goes out where the stream is.
import type { JSONRPCMessage, MessageExtraInfo, Transport } from '@modelcontextprotocol/server'
import { cancelledId, markOutgoing, routeIncoming } from './message-ids.ts'

export type SharedTransport = Transport & {
  /** Takes a message of the client that another replica received. */
  deliver(message: JSONRPCMessage): void
  /** Takes a cancellation that another replica received; ignored unless the request runs here. */
  cancel(message: JSONRPCMessage): void
  /** Sends a message of another replica on the stream that is here. */
  sendHere(message: JSONRPCMessage): Promise<void>
}

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

/** Notifications that every replica with the stream sends on its own, because its servers tell it. */
const LOCAL_ONLY: ReadonlySet<string> = new Set([
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
])

/** Requests of one client whose ids are remembered. */
const MAX_RUNNING = 1000

export function createSharedTransport(options: SharedTransportOptions): SharedTransport {
  const { transport, replica, hasStream, sendToStream, forward, cancelElsewhere } = options
  /** Requests of the client that run here. */
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
    if (cancelled !== undefined && !running.has(cancelled)) cancelElsewhere(message)
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
