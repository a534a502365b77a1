// Checks the form of `system` and `messages`: roles, fields, and non-empty content.

import {
  blocksOf,
  type Fields,
  fieldsOf,
  isDirective,
  isFields,
  type TurnRole,
} from '@toolshelf/core/internal'
import { firstRefusal, type Refusal } from '../error.ts'
import { checkBlock, checkShape, checkText } from './blocks.ts'

export function checkMessages(messages: unknown): Refusal | undefined {
  if (messages === undefined) return { message: 'messages: Field required' }
  if (!Array.isArray(messages)) return { message: 'messages: Input should be a valid list' }
  if (messages.length === 0) return { message: 'messages: at least one message is required' }
  const last = messages.length - 1
  const each = firstRefusal(messages.entries(), ([index, message]) =>
    checkMessage(message, `messages.${index}`, index === last),
  )
  return each ?? checkFirst(messages)
}

export function checkSystem(system: unknown): Refusal | undefined {
  if (system === undefined || typeof system === 'string') return undefined
  if (!Array.isArray(system)) return { message: 'system: Input should be a valid list' }
  return firstRefusal(system.entries(), ([index, block]) => {
    const place = `system.${index}`
    if (fieldsOf(block).type !== 'text') return { message: `${place}.type: Input should be 'text'` }
    return checkShape(block, place) ?? checkText(fieldsOf(block), place, 'system')
  })
}

const ROLES: readonly unknown[] = ['user', 'assistant', 'system']
const FIELDS: readonly string[] = ['role', 'content']
const SYSTEM_FIELDS: readonly string[] = [...FIELDS, 'clear_at', 'output_config']

export function messageFields(role: unknown): readonly string[] {
  return role === 'system' ? SYSTEM_FIELDS : FIELDS
}

function checkMessage(message: unknown, path: string, isLast: boolean): Refusal | undefined {
  if (!isFields(message)) {
    return { message: `${path}: Input should be a valid dictionary or object to extract fields from` }
  }
  const { role, content } = message
  if (!ROLES.includes(role)) {
    return { message: `${path}.role: Input should be 'user', 'assistant' or 'system'` }
  }
  const known = messageFields(role)
  const extra = Object.keys(message).find((field) => !known.includes(field))
  if (extra !== undefined) return { message: `${path}.${extra}: Extra inputs are not permitted` }
  if (isDirective(message)) return undefined
  return checkContent(content, role as TurnRole, path, isLast)
}

function checkContent(content: unknown, role: TurnRole, path: string, isLast: boolean): Refusal | undefined {
  if (content === undefined) return { message: `${path}.content: Field required` }
  if (typeof content !== 'string' && !Array.isArray(content)) {
    return { message: `${path}.content: Input should be a valid list` }
  }
  if (content.length === 0) {
    if (isLast && role === 'assistant') return undefined
    const rule = 'all messages must have non-empty content except for the optional final assistant message'
    return { message: `${path}: ${rule}` }
  }
  const blocks = typeof content === 'string' ? blocksOf(content) : content
  return firstRefusal(blocks.entries(), ([index, block]) =>
    checkBlock(block, { path, place: `${path}.content.${index}`, role }),
  )
}

// A conversation that the API has compacted may start with its summary, whatever the role.
function checkFirst(messages: readonly unknown[]): Refusal | undefined {
  const list = messages.map(fieldsOf)
  const index = list.findIndex((message) => !isDirective(message))
  const first = list[index]
  if (first === undefined) return { message: 'messages: at least one message is required' }
  if (first.role === 'user' || startsWithSummary(first)) return undefined
  if (first.role === 'assistant') return { message: 'messages: first message must use the "user" role' }
  return { message: `messages.${index}: use the top-level 'system' parameter for the initial system prompt` }
}

function startsWithSummary(message: Fields): boolean {
  return blocksOf(message.content)[0]?.type === 'compaction'
}
