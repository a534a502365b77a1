// Converts a history into messages that any back-end accepts, with or without tool search.
import { isThinking, messageBlocks, textBlock } from './history/index.ts'
import { normalize, type View } from './request/index.ts'
import type { Message, MessageLike, SendableItem } from './types.ts'
import { loadedEarlier } from './wire/index.ts'

/** Whether thinking is bound to the messages before it: by the current model, only by an earlier one, or never. */
export type ThinkingBinding = 'now' | 'earlier' | 'never'

/** The rules for messages of a request without tool search. */
export const plainView: View = {
  isOpen: false,
  takesReferences: false,
  takesAdditions: false,
  declares: () => false,
  recall: loadedEarlier,
}

/**
 * Returns the messages of a history without the shelf's notes and references. Drops thinking that is bound to the
 * messages before it, because these change here (N5).
 */
export function sendableMessages<Item extends MessageLike>(
  history: readonly Item[],
  { thinkingBinding = 'never' }: { readonly thinkingBinding?: ThinkingBinding | undefined } = {},
): SendableItem<Item>[] {
  const view = { ...plainView, isBound: false, continuesThread: false, key: 'plain' }
  const messages = normalize(history as unknown as readonly Message[], view, {})
  const sendable = thinkingBinding === 'never' ? messages : messages.map(withoutThinking)
  return sendable as unknown as SendableItem<Item>[]
}

/** Removes thinking from a message; if nothing else is left, a text says that there was some. */
export function withoutThinking(message: Message): Message {
  const blocks = messageBlocks(message)
  const kept = blocks.filter((block) => !isThinking(block))
  if (kept.length === blocks.length) return message
  return { ...message, content: kept.length > 0 ? kept : [textBlock('(thought)')] }
}
