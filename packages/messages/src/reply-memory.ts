// Remembers replies whose structure a client's API cannot express: Chat Completions joins all text and drops signed
// thinking. When the client sends such a reply back, the model sees it exactly as it wrote it. If a reply is forgotten,
// for example after a restart, the model sees what the client sent.
import { hash } from 'node:crypto'
import {
  blocksOf,
  createCollector,
  type Fields,
  oncePerFrozen,
  textOf,
  toJson,
} from '@toolshelf/core/internal'
import { exactJson } from './json/exact.ts'
import { createSizedCache } from './recent.ts'
import type { MessagesRequest, StreamEvent } from './types.ts'

export function createReplyMemory(maxCharacters?: number) {
  const known = createSizedCache<Fields>(maxCharacters)

  function restored(message: Fields, owner: string): Fields {
    if (message.role !== 'assistant') return message
    return known.get(owner + digestOf(message)) ?? message
  }

  return {
    /** Replaces the replies that the client sent back by the remembered ones. */
    restore(request: MessagesRequest, owner: string) {
      if (known.isEmpty()) return request
      const messages = request.messages.map((message) => restored(message, owner))
      const isSame = messages.every((message, index) => message === request.messages[index])
      return isSame ? request : { ...request, messages }
    },
    /** Passes a reply on and remembers it when it is complete. */
    async *remember(events: AsyncIterable<StreamEvent>, owner: string) {
      const collector = createCollector(exactJson)
      for await (const event of events) {
        collector.add(event)
        if (event.type === 'message_stop') {
          const message = Object.freeze({ role: 'assistant', content: restorable(collector.message()) })
          if (!isPlain(message.content)) known.set(owner + digestOf(message), message, toJson(message).length)
        }
        yield event
      }
    },
  }
}

/** What is restored of a reply. Without calls it has no id that tells it from others, and its thinking is not needed. */
function restorable({ content }: Fields): Fields[] {
  const blocks = blocksOf(content).map(({ caller: _, refusal: __, ...block }) => block)
  const hasCall = blocks.some(({ type }) => type === 'tool_use')
  return hasCall ? blocks : blocks.filter(({ type }) => type === 'text')
}

/** Whether a reply has the structure that every API expresses: one text at most, then calls. */
function isPlain(content: readonly Fields[]): boolean {
  return content.every(({ type }, index) => type === 'tool_use' || (type === 'text' && index === 0))
}

/** Identifies a reply by its text and its calls with their input: some servers count their ids anew in every reply. */
const digestOf = oncePerFrozen(({ content }: Fields): string => {
  const blocks = blocksOf(content)
  const calls = blocks
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name, input }) => [id, name, input])
  const said = blocks.map(({ type, text }) => (type === 'text' ? textOf(text) : '')).join('')
  return hash('sha256', toJson([said, calls]), 'base64')
})
