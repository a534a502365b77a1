// Checks one block: the messages that may contain it, and its allowed and required fields (wire 6).
// Implements wire 6.

import {
  blocksOf,
  type Fields,
  isFields,
  isReference,
  type TurnRole,
  unexpectedTag,
} from '@toolshelf/core/internal'
import { firstRefusal, type Refusal } from '../error.ts'

/** The position of a block: its message's path, its own path, and the role. */
type BlockPosition = { readonly path: string; readonly place: string; readonly role: TurnRole }

export function checkBlock(block: unknown, at: BlockPosition): Refusal | undefined {
  const shape = checkShape(block, at.place)
  if (shape || !isFields(block)) return shape
  const type = String(block.type)
  const owner = OWNERS.get(type)
  if (owner !== undefined && owner !== at.role) {
    return { message: `${at.path}: \`${type}\` blocks can only be in \`${owner}\` messages` }
  }
  if (isReference(block) || (at.role === 'system' && !SYSTEM_TYPES.has(type))) {
    return { message: unexpectedTag(at.place, type) }
  }
  switch (type) {
    case 'text':
      return checkText(block, at.place, 'messages')
    case 'tool_use':
    case 'server_tool_use':
      return checkUse(block, `${at.place}.${type}`)
    case 'tool_result':
      return checkResult(block, `${at.place}.tool_result`)
    default:
      return undefined
  }
}

/** Checks that text is present and not blank. */
export function checkText(block: Fields, place: string, list: 'messages' | 'system'): Refusal | undefined {
  if (typeof block.text !== 'string') return { message: `${place}.text.text: Input should be a valid string` }
  if (block.text === '') return { message: `${list}: text content blocks must be non-empty` }
  if (block.text.trim() !== '') return undefined
  return { message: `${list}: text content blocks must contain non-whitespace text` }
}

const OWNERS: ReadonlyMap<string, TurnRole> = new Map([
  ['tool_use', 'assistant'],
  ['server_tool_use', 'assistant'],
  ['tool_search_tool_result', 'assistant'],
  ['thinking', 'assistant'],
  ['redacted_thinking', 'assistant'],
  ['tool_result', 'user'],
  ['tool_addition', 'system'],
  ['tool_removal', 'system'],
])

const SYSTEM_TYPES = new Set(['text', 'tool_addition', 'tool_removal'])

/** Allowed fields of the blocks that we write or rewrite; other block types are not checked. */
export const BLOCK_FIELDS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['text', ['text', 'citations']],
  ['tool_use', ['id', 'name', 'input', 'caller', 'toolset_name']],
  ['server_tool_use', ['id', 'name', 'input', 'caller']],
  ['tool_result', ['tool_use_id', 'content', 'is_error', 'toolset_name']],
  ['tool_search_tool_result', ['tool_use_id', 'content']],
  ['tool_reference', ['tool_name']],
  ['tool_addition', ['tool']],
  ['tool_removal', ['tool']],
])

/** Fields that every block may have. */
export const COMMON_FIELDS: readonly string[] = ['type', 'cache_control']

const ID_PATTERN = '^[a-zA-Z0-9_-]+$'
const NAME = /^[a-zA-Z0-9_-]{1,128}$/

/** Matches `ID_PATTERN` without a repetition, which overflows the stack on ids of millions of characters. */
function isId(text: string): boolean {
  return text !== '' && !/[^a-zA-Z0-9_-]/.test(text)
}

export function checkShape(block: unknown, place: string): Refusal | undefined {
  if (!isFields(block)) {
    return { message: `${place}: Input should be a valid dictionary or object to extract fields from` }
  }
  if (typeof block.type !== 'string') {
    return { message: `${place}: Unable to extract tag using discriminator 'type'` }
  }
  const fields = BLOCK_FIELDS.get(block.type)
  const isKnown = (field: string) => COMMON_FIELDS.includes(field) || fields?.includes(field)
  const extra = fields && Object.keys(block).find((field) => !isKnown(field))
  if (extra === undefined) return undefined
  return { message: `${place}.${block.type}.${extra}: Extra inputs are not permitted` }
}

function checkUse(block: Fields, place: string): Refusal | undefined {
  if (typeof block.id !== 'string' || !isId(block.id)) {
    return { message: `${place}.id: String should match pattern '${ID_PATTERN}'` }
  }
  if (typeof block.name !== 'string' || !NAME.test(block.name)) {
    return { message: `${place}.name: String should match pattern '${NAME.source}'` }
  }
  return isFields(block.input) ? undefined : { message: `${place}.input: Input should be a valid dictionary` }
}

function checkResult(block: Fields, place: string): Refusal | undefined {
  const { tool_use_id: id, content } = block
  if (typeof id !== 'string' || !isId(id)) {
    return { message: `${place}.tool_use_id: String should match pattern '${ID_PATTERN}'` }
  }
  if (content === undefined || typeof content === 'string') return undefined
  if (!Array.isArray(content)) return { message: `${place}.content: Input should be a valid list` }
  const inner = firstRefusal(content.entries(), ([index, item]) =>
    checkInner(item, `${place}.content.${index}`),
  )
  if (inner) return inner
  const references = blocksOf(content).filter(isReference).length
  if (references === 0 || references === content.length) return undefined
  return { message: 'Tool definitions/code execution functions cannot be mixed with other content' }
}

function checkInner(block: unknown, place: string): Refusal | undefined {
  const shape = checkShape(block, place)
  if (shape || !isFields(block)) return shape
  if (isReference(block) && typeof block.tool_name !== 'string') {
    return { message: `${place}.tool_reference.tool_name: Field required` }
  }
  if (block.type !== 'text' || typeof block.text !== 'string') return undefined
  return block.text === '' ? { message: 'messages: text content blocks must be non-empty' } : undefined
}
