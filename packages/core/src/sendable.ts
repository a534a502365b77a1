// Converts a history into messages that any back-end accepts, with or without tool search.
import { withoutThinking } from './history.ts'
import { normalize, type View } from './normalize.ts'
import type { Message, MessageLike, SendableItem } from './types.ts'
import { loadedEarlier } from './wires.ts'

/** The rules for messages of a request without tool search. */
export const plainView: View = {
  isOpen: false,
  takesReferences: false,
  takesAdditions: false,
  declares: () => false,
  recall: loadedEarlier,
}

/**
 * Returns the messages of a history without the shelf's notes and references. Leaves out all thinking if a model has
 * bound some to the messages before it, because these change here (N5).
 */
export function sendableMessages<Item extends MessageLike>(
  history: readonly Item[],
  hasBoundThinking: boolean,
): SendableItem<Item>[] {
  const view = { ...plainView, isBound: false, continuesThread: false, key: 'plain' }
  const messages = normalize(history as unknown as readonly Message[], view, {})
  const sendable = hasBoundThinking ? messages.map(withoutThinking) : messages
  return sendable as unknown as SendableItem<Item>[]
}
