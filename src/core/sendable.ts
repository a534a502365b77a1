// A history → messages that any back-end takes, with or without tool search.
import { isThinking, messageBlocks, textBlock } from './history/index.ts'
import { normalize, type View } from './request/index.ts'
import type { Message, MessageLike, SendableItem } from './types.ts'
import { loadedEarlier } from './wire/index.ts'

/** Whether thinking is bound to the messages before it: by the model in use, by an earlier one only, or by none. */
export type Bound = boolean | 'earlier'

/** The rules for messages of a request without tool search. */
export const plainView: View = {
  open: false,
  takesReferences: false,
  takesAdditions: false,
  declares: () => false,
  recall: loadedEarlier,
}

/**
 * The messages of a history without the shelf's notes and references. Where thinking is bound to the messages before it,
 * which change here, thinking is dropped too (N5).
 */
export function sendableMessages<Item extends MessageLike>(
  history: readonly Item[],
  { bound = false }: { readonly bound?: Bound } = {},
): SendableItem<Item>[] {
  const view = { ...plainView, bound: false, continuesThread: false, key: 'plain' }
  const messages = normalize(history as unknown as readonly Message[], view, {})
  const sendable = bound ? messages.map(withoutThinking) : messages
  return sendable as unknown as SendableItem<Item>[]
}

/** The message without thinking; a message of nothing else says that there was some. */
export function withoutThinking(message: Message): Message {
  const blocks = messageBlocks(message)
  const kept = blocks.filter((block) => !isThinking(block))
  if (kept.length === blocks.length) return message
  return { ...message, content: kept.length > 0 ? kept : [textBlock('(thought)')] }
}
