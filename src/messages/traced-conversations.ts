// Finds the conversation that a request continues, so that all its events carry one id. Only runs if someone listens.
import { createHash } from 'node:crypto'
import type { TraceListener } from '../core/index.ts'
import { bare, oncePerFrozen, toJson } from '../lib/index.ts'
import { traceIdOf } from '../node/index.ts'
import { createRecent } from './recent.ts'
import type { Fields, Headers, MessagesRequest } from './types.ts'

/** Starts a conversation of events; with a valid W3C `traceparent`, under its trace id. */
export type OpenConversationTrace = (traceparent?: string) => TraceListener

/** Returns the listener for the events of a request's conversation; undefined if nobody listens. */
export type TraceOfRequest = (
  request: MessagesRequest,
  owner: string,
  headers: Headers,
) => TraceListener | undefined

/** Conversations that are recognised; above this number the least recent are forgotten. */
const MOST_CONVERSATIONS = 1000
/** Maximum messages that a request may add for its conversation to be found. */
const LOOK_BACK = 8

export function createTracedConversations(openTrace: OpenConversationTrace | undefined): TraceOfRequest {
  if (!openTrace) return () => undefined
  const known = createRecent<TraceListener>(MOST_CONVERSATIONS)
  return ({ messages }, owner, headers) => {
    const keys = prefixKeys(messages, owner)
    // Many conversations begin with the same words, so a single message is always a new one.
    const key = messages.length > 1 ? keys.find((one) => known.get(one) !== undefined) : undefined
    const trace = (key === undefined ? undefined : known.get(key)) ?? openTrace(traceparentIn(headers))
    if (keys[0] !== undefined) known.set(keys[0], trace)
    return trace
  }
}

/** The valid `traceparent` among a request's headers. */
export function traceparentIn({ traceparent }: Headers): string | undefined {
  return traceIdOf(traceparent) === undefined ? undefined : traceparent
}

/** Keys of the request's newest prefixes, the longest first. Cache breakpoints do not count, because they move. */
function prefixKeys(messages: readonly Fields[], owner: string): string[] {
  const hash = createHash('sha1').update(owner)
  const keys: string[] = []
  for (const [index, message] of messages.entries()) {
    hash.update(digestOf(message))
    if (index >= messages.length - LOOK_BACK) keys.unshift(hash.copy().digest('base64'))
  }
  return keys
}

const digestOf = oncePerFrozen((message: Fields) =>
  createHash('sha1')
    .update(toJson(bare(message)))
    .digest('base64'),
)
