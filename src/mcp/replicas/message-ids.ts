// Marks the ids of requests that a replica sends to a client, so that the answer reaches this replica wherever it
// arrives.
import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { type Fields, fieldsOf } from '../../lib/index.ts'
import { isReplicaId } from './replica.ts'

/** Returns the message with its request id and progress token marked by the replica; others as they are. */
export function markOutgoing(message: JSONRPCMessage, replica: string): JSONRPCMessage {
  if (!('method' in message)) return message
  const params = fieldsOf(message.params)
  if (message.method === 'notifications/cancelled')
    return withParams(message, { ...params, requestId: marked(params.requestId, replica) })
  if (!('id' in message)) return message
  const meta = fieldsOf(params._meta)
  const own = { ...message, id: marked(message.id, replica) } as JSONRPCMessage
  if (meta.progressToken === undefined) return own
  return withParams(own, {
    ...params,
    _meta: { ...meta, progressToken: marked(meta.progressToken, replica) },
  })
}

/** A client's message that belongs to a replica's request, with the id that the replica knows. */
export type RoutedMessage = { readonly replica: string; readonly message: JSONRPCMessage }

/**
 * Finds the replica that a client's message is for: responses, and progress of a request.
 *
 * @returns undefined for every other message; null for a response or progress that belongs to no replica's request.
 */
export function routeIncoming(message: JSONRPCMessage): RoutedMessage | null | undefined {
  if (!('method' in message)) {
    const found = unmarked('id' in message ? message.id : undefined)
    return found && { replica: found.replica, message: { ...message, id: found.id } as JSONRPCMessage }
  }
  if (message.method !== 'notifications/progress') return undefined
  const params = fieldsOf(message.params)
  const found = unmarked(params.progressToken)
  return (
    found && { replica: found.replica, message: withParams(message, { ...params, progressToken: found.id }) }
  )
}

/** Returns the id of the client's request that a notification cancels. */
export function cancelledId(message: JSONRPCMessage): unknown {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return undefined
  return fieldsOf(message.params).requestId
}

const marked = (id: unknown, replica: string) => `${replica}:${String(id)}`

function unmarked(id: unknown): { readonly replica: string; readonly id: number } | null {
  const [, replica = '', number = ''] = /^([^:]*):(\d{1,15})$/.exec(String(id)) ?? []
  return isReplicaId(replica) ? { replica, id: Number(number) } : null
}

function withParams(message: JSONRPCMessage, params: Fields): JSONRPCMessage {
  return { ...message, params } as JSONRPCMessage
}
