// Finds the conversation that a request continues, so that all its events carry one id. Only runs if someone listens.
import { hash } from 'node:crypto'
import type { ClientIdentity, ConversationListener, ConversationStart, OpenTrace } from '../core/index.ts'
import { bare, oncePerFrozen, toJson } from '../lib/index.ts'
import { traceIdOf } from '../node/index.ts'
import { createRecent } from './recent.ts'
import type { Fields, Headers, MessagesRequest } from './types.ts'

/** Returns the listener for the events of a request's conversation; undefined if nobody listens. */
export type TraceOfRequest = (
  request: MessagesRequest,
  owner: string,
  headers: Headers,
  user?: string,
) => ConversationListener | undefined

/** Conversations that are recognised; above this number the least recent are forgotten. */
const MOST_CONVERSATIONS = 1000
/** Maximum messages that a request may add for its conversation to be found. */
const LOOK_BACK = 8

export function createTracedConversations(openTrace: OpenTrace | undefined): TraceOfRequest {
  if (!openTrace) return () => undefined
  const known = createRecent<ConversationListener>(MOST_CONVERSATIONS)
  return ({ messages }, owner, headers, user) => {
    const keys = prefixKeys(messages, owner)
    // Many conversations begin with the same words, so a single message is always a new one.
    const key = messages.length > 1 ? keys.find((one) => known.get(one) !== undefined) : undefined
    const trace =
      (key === undefined ? undefined : known.get(key)) ?? openTrace(conversationStart(headers, user))
    if (keys[0] !== undefined) known.set(keys[0], trace)
    return trace
  }
}

/** What a request's headers say about its conversation. */
export function conversationStart(headers: Headers, user?: string): ConversationStart {
  return { client: clientIn(headers), user, traceparent: traceparentIn(headers) }
}

/** The first product of `user-agent`, such as `claude-cli/2.1.0 (external)`. */
function clientIn(headers: Headers): ClientIdentity | undefined {
  const [, name, version] = PRODUCT.exec(headers['user-agent'] ?? '') ?? []
  return name === undefined ? undefined : { name, version }
}

const PRODUCT = /^([^\s/()]{1,100})(?:\/([^\s()]{1,100}))?/

/** The valid `traceparent` among a request's headers. */
export function traceparentIn({ traceparent }: Headers): string | undefined {
  return traceIdOf(traceparent) === undefined ? undefined : traceparent
}

/** Keys of the request's newest prefixes, the longest first. Cache breakpoints do not count, because they move. */
function prefixKeys(messages: readonly Fields[], owner: string): string[] {
  const keys: string[] = []
  let key = owner
  for (const [index, message] of messages.entries()) {
    const link = linkOf(message)
    if (link.from !== key) {
      link.key = hash('sha1', key + bareJson(message), 'base64')
      link.from = key
    }
    key = link.key
    if (index >= messages.length - LOOK_BACK) keys.unshift(key)
  }
  return keys
}

/** A message's part in the chain of keys: after the prefix with the key `from` comes the one with `key`. */
type Link = { from: string | undefined; key: string }

/** Messages of a conversation are the same frozen objects in its next request, mostly behind the same prefix. */
const linkOf = oncePerFrozen((_: Fields): Link => ({ from: undefined, key: '' }))

function bareJson(message: Fields): string {
  const json = toJson(message)
  return json.includes('"cache_control"') ? toJson(bare(message)) : json
}
