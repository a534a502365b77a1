// Finds the conversation that a request continues, so that the library processes only the new messages.
import type { Shelf, TraceListener } from '@toolshelf/core'
import type { Fields } from '../types.ts'

/** A prepared conversation. It is kept in memory as long as its last message object. */
type Conversation = {
  readonly tools: Shelf
  readonly model: string
  readonly fork: Shelf
  /** The messages that the fork has processed. */
  readonly messages: readonly Fields[]
}

/** A request, as a part of its conversation. */
export type ConversationInput = {
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
export const MAX_ADDED_MESSAGES = 8

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
