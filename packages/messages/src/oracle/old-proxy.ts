// Behaves like a proxy from before tool search (W2): refuses everything that the API of that time did not have.
// Implements W2.

import {
  blocksOf,
  type Fields,
  fieldsOf,
  kindOf,
  listOf,
  textOf,
  unexpectedTag,
} from '@toolshelf/core/internal'
import { checkExtra, firstRefusal, type Refusal } from './turns.ts'

/** Checks a request as such a proxy does. */
export function checkOldProxy(request: Fields, betas: readonly string[]): Refusal | undefined {
  return (
    checkBetas(betas) ??
    firstRefusal(listOf(request.tools).entries(), ([index, tool]) =>
      checkTool(fieldsOf(tool), `tools.${index}`),
    ) ??
    firstRefusal(listOf(request.messages).entries(), ([index, message]) =>
      checkMessage(fieldsOf(message), `messages.${index}`),
    )
  )
}

/** Betas end in a date; the proxy does not know later ones. */
const NEWEST_BETA = '2025-10-01'
const TOOL_FIELDS = ['name', 'description', 'input_schema', 'type', 'cache_control']
const NEW_FIELDS = ['defer_loading', 'allowed_callers', 'input_examples', 'strict', 'eager_input_streaming']
const USE_FIELDS = ['type', 'id', 'name', 'input', 'cache_control']
const CONTENT_TYPES = new Set([
  ...['text', 'image', 'document', 'search_result', 'thinking', 'redacted_thinking'],
  ...['tool_use', 'tool_result'],
])

function checkBetas(betas: readonly string[]): Refusal | undefined {
  const unknown = betas.filter((beta) => {
    const [, year, month, day] = /(\d{4})-?(\d{2})-?(\d{2})$/.exec(beta) ?? []
    return year === undefined || `${year}-${month}-${day}` > NEWEST_BETA
  })
  if (unknown.length === 0) return undefined
  const values = unknown.map((beta) => `\`${beta}\``).join(', ')
  return `Unexpected value(s) ${values} for the \`anthropic-beta\` header`
}

function checkTool(tool: Fields, path: string): Refusal | undefined {
  const isCustom = kindOf(tool) === 'custom'
  if (kindOf(tool).startsWith('tool_search_tool_')) return unexpectedTag(path, kindOf(tool))
  const isOld = (field: string) => (isCustom ? TOOL_FIELDS.includes(field) : !NEW_FIELDS.includes(field))
  return checkExtra(tool, isOld, path)
}

function checkMessage(message: Fields, path: string): Refusal | undefined {
  const content = firstRefusal(blocksOf(message.content).entries(), ([index, block]) =>
    checkBlock(block, `${path}.content.${index}`),
  )
  if (content || message.role !== 'system') return content
  return 'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.'
}

function checkBlock(block: Fields, path: string): Refusal | undefined {
  const type = textOf(block.type)
  if (!CONTENT_TYPES.has(type)) return `Messages content type ${type} not supported`
  if (type === 'tool_result') {
    return firstRefusal(blocksOf(block.content), (inner) => checkBlock(inner, `${path}.content`))
  }
  if (type !== 'tool_use') return undefined
  return checkExtra(block, (field) => USE_FIELDS.includes(field), `${path}.tool_use`)
}
