// Finds the conversation that a request continues: its listener, so that all its events carry one id, and its fork, so that
// the library processes only the new messages.
import { hash } from 'node:crypto'
import type { Shelf, TraceListener } from '@toolshelf/core'
import {
  type ClientIdentity,
  type ConversationListener,
  type ConversationStart,
  type OpenTrace,
  oncePerFrozen,
  toJson,
  withoutCacheControl,
} from '@toolshelf/core/internal'
import { traceIdOf } from '@toolshelf/core/internal/node'
import { createRecent } from './recent.ts'
import type { Fields, Headers, MessagesRequest } from './types.ts'

/** Returns the listener for the events of a request's conversation; undefined if nobody listens. */
type TraceOfRequest = (
  request: MessagesRequest,
  owner: string,
  headers: Headers,
  user?: string,
) => ConversationListener | undefined

/** Conversations that are recognised; above this number the least recent are forgotten. */
const MAX_CONVERSATIONS = 1000

/** Conversations whose newest request has no key yet: most continue with the same objects and never need one. */
const MAX_WITHOUT_KEY = 16

export function createTracedConversations(openTrace: OpenTrace | undefined): TraceOfRequest {
  if (!openTrace) return () => undefined
  const known = createRecent<ConversationListener>(MAX_CONVERSATIONS)
  const places = new WeakMap<Fields, Place>()
  const withoutKey = new Map<ConversationListener, { messages: readonly Fields[]; owner: string }>()

  function addKey(trace: ConversationListener, messages: readonly Fields[], owner: string): void {
    const [key] = prefixKeys(messages, owner)
    if (key !== undefined) known.set(key, trace)
    withoutKey.delete(trace)
  }

  function findByObjects(messages: readonly Fields[], owner: string): ConversationListener | undefined {
    for (
      let index = messages.length - 1;
      index >= Math.max(0, messages.length - MAX_ADDED_MESSAGES);
      index--
    ) {
      const place = places.get(messages[index]!)
      if (place?.owner === owner && isAt(place, messages, index)) return place.trace
    }
    return undefined
  }

  function findByKey(messages: readonly Fields[], owner: string): ConversationListener | undefined {
    for (const [trace, one] of withoutKey) addKey(trace, one.messages, one.owner)
    for (const key of prefixKeys(messages, owner)) {
      const trace = known.get(key)
      if (trace) return trace
    }
    return undefined
  }

  function remember(trace: ConversationListener, messages: readonly Fields[], owner: string): void {
    const last = messages.at(-1)
    if (!last || !Object.isFrozen(last)) {
      addKey(trace, messages, owner)
      return
    }
    places.set(last, {
      trace,
      owner,
      index: messages.length - 1,
      first: messages[0],
      before: messages.at(-2),
    })
    withoutKey.delete(trace)
    withoutKey.set(trace, { messages, owner })
    const [oldest] = withoutKey
    if (withoutKey.size > MAX_WITHOUT_KEY && oldest) addKey(oldest[0], oldest[1].messages, oldest[1].owner)
  }

  return ({ messages }, owner, headers, user) => {
    // Many conversations begin with the same words, so a single message is always a new one.
    const found =
      messages.length > 1 ? (findByObjects(messages, owner) ?? findByKey(messages, owner)) : undefined
    const trace = found ?? openTrace(conversationStart(headers, user))
    remember(trace, messages, owner)
    return trace
  }
}

/** The position of the last message of a conversation's newest request. */
type Place = {
  readonly trace: ConversationListener
  readonly owner: string
  readonly index: number
  readonly first: Fields | undefined
  readonly before: Fields | undefined
}

/** Messages that were sent before are the same objects only behind the same messages. */
function isAt({ index, first, before }: Place, messages: readonly Fields[], at: number): boolean {
  return index === at && first === messages[0] && before === messages[at - 1]
}

/** Returns what a request's headers say about its conversation. */
export function conversationStart(headers: Headers, user?: string): ConversationStart {
  return { client: clientIn(headers), user, traceparent: traceparentIn(headers) }
}

/** The first product of `user-agent`, such as `claude-cli/2.1.0 (external)`. */
function clientIn(headers: Headers): ClientIdentity | undefined {
  const [, name, version] = PRODUCT.exec(headers['user-agent'] ?? '') ?? []
  return name === undefined ? undefined : { name, version }
}

const PRODUCT = /^([^\s/()]{1,100})(?:\/([^\s()]{1,100}))?/

/** Returns the valid `traceparent` among a request's headers. */
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
    if (index >= messages.length - MAX_ADDED_MESSAGES) keys.unshift(key)
  }
  return keys
}

/** A message's part in the chain of keys: after the prefix with the key `from` comes the one with `key`. */
type Link = { from: string | undefined; key: string }

/** Messages of a conversation are the same frozen objects in its next request, mostly behind the same prefix. */
const linkOf = oncePerFrozen((_: Fields): Link => ({ from: undefined, key: '' }))

function bareJson(message: Fields): string {
  const json = toJson(message)
  return json.includes('"cache_control"') ? toJson(withoutCacheControl(message)) : json
}

/** A prepared conversation. It is kept in memory as long as its last message object. */
type Conversation = Omit<ConversationInput, 'clientMessages'> & { readonly fork: Shelf }

/** A request, as a part of its conversation. */
type ConversationInput = {
  readonly tools: Shelf
  readonly model: string
  /** The client's messages; those sent before are the same frozen objects again. */
  readonly clientMessages: readonly Fields[]
  /** The messages to prepare: the client's, with hidden searches restored. */
  readonly messages: readonly Fields[]
}

/** The conversations known so far. */
export type Conversations = ReturnType<typeof createConversations>

/** Maximum messages that a request may add for its conversation to be found. */
const MAX_ADDED_MESSAGES = 8

/** Creates an empty collection. */
export function createConversations() {
  const byLastMessage = new WeakMap<Fields, Conversation>()
  const lastMessages = new WeakMap<Shelf, Fields>()

  const find = ({ tools, model, clientMessages, messages }: ConversationInput): Conversation | undefined => {
    for (const last of clientMessages.slice(-MAX_ADDED_MESSAGES).reverse()) {
      const known = byLastMessage.get(last)
      if (known?.tools === tools && known.model === model && startsWith(messages, known.messages))
        return known
    }
    return undefined
  }

  return {
    /** Returns a fork that has processed a prefix of these messages, or a new one. */
    forkFor: (place: ConversationInput, trace?: TraceListener) =>
      find(place)?.fork ?? place.tools.fork({ isSubAgent: false, trace }),
    /** Records that the fork has prepared exactly these messages. */
    keep(fork: Shelf, { tools, model, clientMessages, messages }: ConversationInput) {
      const last = clientMessages.at(-1)
      const before = lastMessages.get(fork)
      if (before && before !== last && byLastMessage.get(before)?.fork === fork) byLastMessage.delete(before)
      if (!last || !Object.isFrozen(last)) return
      byLastMessage.set(last, { tools, model, fork, messages })
      lastMessages.set(fork, last)
    },
  }
}

function startsWith(messages: readonly Fields[], start: readonly Fields[]): boolean {
  return start.length <= messages.length && start.every((message, index) => message === messages[index])
}
