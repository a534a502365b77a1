// Finds the conversation that a request goes on with, so that the library reads only its new messages.
import type { Shelf } from '../../core/index.ts'
import type { Fields } from '../types.ts'

/** A conversation as far as it was prepared. It lives as long as the last message that it was prepared with. */
type Conversation = {
  /** The shelf it was forked from. */
  readonly tools: Shelf
  readonly model: string
  readonly fork: Shelf
  /** The messages that the fork has read. */
  readonly messages: readonly Fields[]
}

export type ConversationInput = {
  /** The shelf with the client's tools. */
  readonly tools: Shelf
  readonly model: string
  /** The client's own messages: those that were sent before are the same frozen objects again. */
  readonly given: readonly Fields[]
  /** The messages that are prepared: the given ones with the searches that the client never saw. */
  readonly messages: readonly Fields[]
}

export type Conversations = {
  /** A fork that has read these messages up to some place, or a new one. */
  readonly forkFor: (place: ConversationInput) => Shelf
  /** Remembers that the fork has prepared these messages and nothing else. */
  readonly keep: (fork: Shelf, place: ConversationInput) => void
}

/** How many messages a request may add to the one before it. */
const LOOK_BACK = 8

export function createConversations(): Conversations {
  const byLastMessage = new WeakMap<Fields, Conversation>()
  const lastMessages = new WeakMap<Shelf, Fields>()

  const find = ({ tools, model, given, messages }: ConversationInput): Conversation | undefined => {
    for (const last of given.slice(-LOOK_BACK).reverse()) {
      const known = byLastMessage.get(last)
      if (known?.tools === tools && known.model === model && startsWith(messages, known.messages))
        return known
    }
    return undefined
  }

  return {
    forkFor: (place) => find(place)?.fork ?? place.tools.fork({ subAgent: false }),
    keep(fork, { tools, model, given, messages }) {
      const last = given.at(-1)
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
