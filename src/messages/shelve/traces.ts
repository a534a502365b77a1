// Finds and removes what only this gateway writes into a conversation: `caller` on calls, and ids that carry searches.

import { blocksOf } from '../../core/oracle/index.ts'
import { type Fields, oncePerFrozen, textOf } from '../../lib/index.ts'
import type { MessagesRequest } from '../types.ts'
import { withoutCarried } from './carry.ts'

/** True where an upstream from before tool search could refuse the history for what earlier replies of ours hold. */
export function hasTraces({ messages }: MessagesRequest): boolean {
  return messages.some(hasTrace)
}

const hasTrace = oncePerFrozen(
  (message: Fields): boolean =>
    Array.isArray(message.content) &&
    (withPlainIds(message) !== message || blocksOf(message.content).some((block) => 'caller' in block)),
)

/** The request with every id as the model gave it. */
export function withoutCarriedIds(request: MessagesRequest): MessagesRequest {
  const messages = request.messages.map(withPlainIds)
  const isSame = messages.every((message, index) => message === request.messages[index])
  return isSame ? request : { ...request, messages }
}

/** The message with the ids that the model gave; the same object where it carries nothing. */
export const withPlainIds = oncePerFrozen((message: Fields): Fields => {
  if (!Array.isArray(message.content)) return message
  const blocks = blocksOf(message.content)
  const content = blocks.map((block) => {
    const field = block.type === 'tool_use' ? 'id' : block.type === 'tool_result' ? 'tool_use_id' : undefined
    const id = field && textOf(block[field])
    const plain = id && withoutCarried(id)
    return field && plain !== id ? { ...block, [field]: plain } : block
  })
  const isSame = content.every((block, index) => block === blocks[index])
  return isSame ? message : Object.freeze({ ...message, content })
})
