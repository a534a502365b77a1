// Finds and removes the gateway's additions to a conversation: `caller` on calls, and ids that carry searches.
import { blocksOf, type Fields, oncePerFrozen, textOf } from '@toolshelf/core/internal'
import type { MessagesRequest } from '../types.ts'
import { withoutCarried } from './carry.ts'

/** Returns whether the history contains additions that an upstream without tool search could refuse. */
export function hasTraces({ messages }: MessagesRequest): boolean {
  return messages.some(hasTrace)
}

const hasTrace = oncePerFrozen(
  (message: Fields): boolean =>
    Array.isArray(message.content) &&
    (withPlainIds(message) !== message || blocksOf(message.content).some((block) => 'caller' in block)),
)

/** Restores the model's original ids in a request. */
export function withoutCarriedIds(request: MessagesRequest): MessagesRequest {
  const messages = request.messages.map(withPlainIds)
  const isSame = messages.every((message, index) => message === request.messages[index])
  return isSame ? request : { ...request, messages }
}

/** Restores the model's original ids in a message; returns the same object if nothing changes. */
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
