// Cleans up a model's reply and the history so that the API accepts them in the next request.
import { randomUUID } from 'node:crypto'
import type { Message } from '@toolshelf/core'
import { blocksOf, type Fields, textOf, wellFormed } from '@toolshelf/core/internal'
import type { ModelError } from './ask.ts'

const NOT_IN_IDS = /[^\w-]/
const MAX_NAME_LENGTH = 128

/** Gives calls unique ids and valid names; returns nothing for a reply of thinking only. */
export function toSendable(reply: unknown, messages: readonly Message[]): Fields[] {
  const taken = new Set(messages.flatMap(({ content }) => blocksOf(content).map(({ id }) => id)))
  const blocks = blocksOf(reply).filter(isNotBlank)
  return blocks.every(isThinking)
    ? []
    : blocks.map((block) => (block.type === 'tool_use' ? callOf(block, taken) : block))
}

/** Removes hosted searches without a result, which the API would refuse before a user message. */
export function withoutOpenSearches(messages: readonly Message[]): readonly Message[] {
  const start = messages.findLastIndex(({ role }) => role !== 'assistant') + 1
  const blocks = messages.slice(start).flatMap(({ content }) => blocksOf(content))
  const answered = new Set(blocks.map(({ tool_use_id }) => tool_use_id))
  const isOpen = ({ type, id }: Fields) => type === 'server_tool_use' && !answered.has(id)
  if (!blocks.some(isOpen) || blocks.some(({ type }) => type === 'tool_use')) return messages
  const turn = messages.slice(start).map((message) => ({
    ...message,
    content: blocksOf(message.content).filter((block) => !isOpen(block)),
  }))
  return [...messages.slice(0, start), ...turn.filter(({ content }) => !content.every(isThinking))]
}

/** Removes what the API refused from the history; undefined if it contains nothing of the kind. */
export function withoutRefused(
  { kind, message }: ModelError,
  messages: readonly Message[],
): Message[] | undefined {
  if (kind === 'image') return withoutNewImages(messages, message)
  return kind === 'thinking' ? withoutThinking(messages) : undefined
}

/** Removes thinking, which may be bound to a history that has since lost a line or been forked. */
function withoutThinking(messages: readonly Message[]): Message[] | undefined {
  const kept = messages.map((message) => {
    const blocks = blocksOf(message.content)
    return blocks.some(isThinking)
      ? { ...message, content: blocks.filter((block) => !isThinking(block)) }
      : message
  })
  return kept.some((message, index) => message !== messages[index])
    ? kept.filter(({ content }) => blocksOf(content).length > 0)
    : undefined
}

/** Replaces images newer than the last reply by text; older ones were already accepted. */
function withoutNewImages(messages: readonly Message[], why: string): Message[] | undefined {
  const start = messages.findLastIndex(({ role }) => role === 'assistant')
  const isNewWithImage = (message: Message, index: number) => index > start && hasImage(message)
  const withoutImages = (block: Fields): Fields => {
    if (block.type === 'image')
      return { type: 'text', text: `An image was here that cannot be shown: ${why}` }
    return hasImage(block) ? { ...block, content: blocksOf(block.content).map(withoutImages) } : block
  }
  if (!messages.some(isNewWithImage)) return undefined
  return messages.map((message, index) =>
    isNewWithImage(message, index) ? (withoutImages(message) as Message) : message,
  )
}

function hasImage({ type, content }: Fields): boolean {
  return type === 'image' || blocksOf(content).some(hasImage)
}

/** Returns whether the API accepts the block: anything but blank text. */
export function isNotBlank({ type, text }: Fields): boolean {
  return type !== 'text' || textOf(text).trim() !== ''
}

/** Gives a call a new id if the history already contains its id. */
function callOf(block: Fields, taken: Set<unknown>): Fields {
  const given = textOf(block.id)
  const id =
    given !== '' && !NOT_IN_IDS.test(given) && !taken.has(given)
      ? given
      : `toolu_${randomUUID().replaceAll('-', '')}`
  taken.add(id)
  const name = textOf(block.name)
    .replace(/[^\w-]/g, '_')
    .slice(0, MAX_NAME_LENGTH)
  return { ...block, id, name: name || 'unnamed', input: wellFormed(block.input ?? {}) }
}

function isThinking({ type }: Fields): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}
