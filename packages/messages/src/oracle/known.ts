// Removes the fields that the oracle does not know: to a gateway in front of an API that may know them, they are new
// features, not mistakes (wire 34).
// Implements wire 34.

import { type Fields, isChange, isFields } from '@toolshelf/core/internal'
import { BLOCK_FIELDS, COMMON_FIELDS } from './checks/blocks.ts'
import { messageFields } from './checks/messages.ts'
import { CUSTOM_FIELDS } from './checks/tools.ts'

/** Returns a copy of the request without unknown fields. */
export function withoutUnknown(request: Fields): Fields {
  const { tools, messages } = request
  return {
    ...request,
    ...(Array.isArray(tools) ? { tools: tools.map(knownTool) } : {}),
    ...(Array.isArray(messages) ? { messages: messages.map(knownMessage) } : {}),
  }
}

function knownTool(tool: unknown): unknown {
  const isCustom = isFields(tool) && (tool.type ?? 'custom') === 'custom'
  return isCustom ? pick(tool, (field) => CUSTOM_FIELDS.has(field)) : tool
}

function knownMessage(message: unknown): unknown {
  if (!isFields(message)) return message
  const fields = messageFields(message.role)
  const known = pick(message, (field) => fields.includes(field))
  return Array.isArray(known.content) ? { ...known, content: known.content.map(knownBlock) } : known
}

function knownBlock(block: unknown): unknown {
  const fields = isFields(block) ? BLOCK_FIELDS.get(block.type) : undefined
  if (!isFields(block) || !fields) return block
  const known = pick(block, (field) => COMMON_FIELDS.includes(field) || fields.includes(field))
  if (Array.isArray(known.content)) return { ...known, content: known.content.map(knownBlock) }
  const { tool } = known
  const isAdded = isChange(known) && isFields(tool) && tool.definition !== undefined
  return isAdded ? { ...known, tool: { ...tool, definition: knownTool(tool.definition) } } : known
}

/** Returns the same object if no field is removed. */
function pick(fields: Fields, isPicked: (field: string) => boolean): Fields {
  const entries = Object.entries(fields)
  const picked = entries.filter(([field]) => isPicked(field))
  return picked.length === entries.length ? fields : Object.fromEntries(picked)
}
