// Tells a client's call that the server has answered it, by the ids of requests and responses.
import type { Transport } from '@modelcontextprotocol/client'
import { dropOldest } from '../../lib/index.ts'
import { type ClientCall, currentCall } from '../protocol/index.ts'

/** Most requests to remember until their response arrives; beyond this the oldest is forgotten. */
const MAX_NOTED = 1000

/** Reports to a call that its request was answered, even after the request was cancelled. */
export function noteAnswers(transport: Transport): void {
  const calls = new Map<unknown, ClientCall>()
  const send = transport.send.bind(transport)
  transport.send = (message, options) => {
    const call = 'method' in message && 'id' in message ? currentCall() : undefined
    if (call) calls.set((message as { id?: unknown }).id, call)
    dropOldest(calls, MAX_NOTED)
    return send(message, options)
  }
  transport.onmessage = (message) => {
    if ('method' in message || !('id' in message)) return
    calls.get(message.id)?.answered()
    calls.delete(message.id)
  }
}
