// Reasoning of OpenAI's models: asks for it, and converts encrypted reasoning items to thinking blocks and back.
import { type Fields, fieldsOf, listOf, textOf } from '@toolshelf/core/internal'
import type { MessagesRequest } from '../types.ts'
import type { Dialect } from './dialects.ts'
import { asksForThinking, itemIn, type Thoughts } from './thoughts.ts'

/** Returns the reasoning options: the effort, encrypted content, and a summary if the client asks to see thinking. */
export function thinkingOf(request: MessagesRequest, dialect: Dialect, effort: string | undefined): Fields {
  if (!dialect.encryptsReasoning) return {}
  const summary = asksForThinking(request) ? 'auto' : undefined
  return {
    reasoning: effort || summary ? { effort, summary } : undefined,
    include: ['reasoning.encrypted_content'],
  }
}

/** Returns the thinking block for a reasoning item: its text is the summary, or what an open model thought. */
export function thoughtOf(item: Fields, thoughts: Thoughts): { text: string; signature: string } | undefined {
  const { id, encrypted_content: encrypted } = item
  const textsIn = (parts: unknown) => listOf(parts).map((part) => textOf(fieldsOf(part).text))
  const summary = textsIn(item.summary)
  const text = (summary.length > 0 ? summary : textsIn(item.content)).join('\n\n')
  if (textOf(encrypted) === '' && text === '') return undefined
  return { text, signature: thoughts.sign({ id, summary, encrypted }) }
}

/**
 * Returns the reasoning item in a thinking block, if it came from this model and can be sent back, or an item that the
 * client has from OpenAI.
 */
export function reasoningIn(block: Fields, thoughts: Thoughts): Fields[] {
  const item = itemIn(block)
  if (item) return [item]
  const { id, summary, encrypted } = fieldsOf(thoughts.keptIn(block))
  if (textOf(encrypted) === '') return []
  const texts = listOf(summary).map((text) => ({ type: 'summary_text', text: textOf(text) }))
  return [
    {
      type: 'reasoning',
      ...(textOf(id) === '' ? {} : { id: textOf(id) }),
      summary: texts,
      encrypted_content: textOf(encrypted),
    },
  ]
}
