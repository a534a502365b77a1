// Moves the remark of a search (S9) into its result, for upstreams where results are text.

import { isAnnouncement, isOurText, TOOL_LOADED } from '../../core/history/index.ts'
import { blocksOf, referencesIn } from '../../core/oracle/index.ts'
import { type Fields, oncePerFrozen, textOf } from '../../lib/index.ts'
import type { MessagesRequest } from '../types.ts'

/** Moves each remark into the result beside it, because as a user's text it would mislead the model. */
export function withRemarksInside(request: MessagesRequest): MessagesRequest {
  return { ...request, messages: request.messages.map(inside) }
}

const inside = oncePerFrozen((message: Fields): Fields => {
  if (message.role !== 'user' || !Array.isArray(message.content)) return message
  const blocks = blocksOf(message.content)
  const last = blocks.findLastIndex(({ type }) => type === 'tool_result')
  const loading = blocks.findLastIndex((block) => referencesIn(block).length > 0)
  const target = blocks[loading < 0 ? last : loading]
  const remarks = blocks.filter(isRemark)
  if (!target || remarks.length === 0) return message
  const said = remarks.filter(({ text }) => text !== TOOL_LOADED)
  // "Tool loaded." repeats what the result says, so it is dropped; its breakpoint goes to the result.
  const mark = remarks.find(({ text, cache_control: control }) => text === TOOL_LOADED && control)
  const result = {
    ...target,
    content: [...blocksOf(target.content), ...said],
    ...(mark && !target.cache_control ? { cache_control: mark.cache_control } : {}),
  }
  const kept = blocks.filter((block) => !isRemark(block))
  return Object.freeze({ ...message, content: kept.map((block) => (block === target ? result : block)) })
})

function isRemark({ type, text }: Fields): boolean {
  return type === 'text' && isOurText(textOf(text)) && !isAnnouncement(textOf(text))
}
