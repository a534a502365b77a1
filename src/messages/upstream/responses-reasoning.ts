// Reasoning of OpenAI's models: how much of it is asked for, and its encrypted items as thinking blocks and back.
import { type Fields, fieldsOf, listOf, textOf } from '../../lib/index.ts'
import type { MessagesRequest } from '../types.ts'
import type { Dialect } from './dialects.ts'
import { asksForThinking, effortOf, type Thoughts } from './thoughts.ts'

/** How much to think; reasoning comes back encrypted, and as a summary for those who want to see it. */
export function thinkingOf(request: MessagesRequest, dialect: Dialect): Fields {
  const { efforts, noEffort, encryptsReasoning } = dialect
  if (!encryptsReasoning) return {}
  const isOff = fieldsOf(request.thinking).type === 'disabled'
  const effort = isOff ? noEffort : efforts?.[effortOf(request)]
  const summary = asksForThinking(request) ? 'auto' : undefined
  return {
    reasoning: effort || summary ? { effort, summary } : undefined,
    include: ['reasoning.encrypted_content'],
  }
}

/** The thinking block of a reasoning item that can come back, with its summary as what was thought. */
export function thoughtOf(item: Fields, thoughts: Thoughts): { text: string; signature: string } | undefined {
  const { id, encrypted_content: encrypted } = item
  if (textOf(encrypted) === '') return undefined
  const summary = listOf(item.summary).map((part) => textOf(fieldsOf(part).text))
  return { text: summary.join('\n\n'), signature: thoughts.sign({ id, summary, encrypted }) }
}

/** Reasoning goes back to the model that it came from, in front of what it led to. */
export function reasoningIn(block: Fields, thoughts: Thoughts): Fields[] {
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
