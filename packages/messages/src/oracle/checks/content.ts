// Checks the blocks of a message: the types that the API knows in each place, and the content of media.

import {
  blocksOf,
  checkMedia,
  checkResultItem,
  type Fields,
  fieldsOf,
  isFields,
  listOf,
  type Placed,
  pathOf,
  unexpectedTag,
} from '@toolshelf/core/internal'
import { firstRefusal, type Refusal } from '../error.ts'
import type { Turn } from '../turns.ts'

/** SDK, `ContentBlockParam` and its beta form. */
const KNOWN_TYPES: ReadonlySet<unknown> = new Set([
  ...['text', 'image', 'document', 'search_result', 'container_upload', 'thinking', 'redacted_thinking'],
  ...['tool_use', 'tool_result', 'server_tool_use', 'tool_search_tool_result', 'mcp_tool_use'],
  ...['mcp_tool_result', 'mcp_tool_listing', 'web_search_tool_result', 'web_fetch_tool_result'],
  ...['code_execution_tool_result', 'bash_code_execution_tool_result', 'advisor_tool_result'],
  ...['text_editor_code_execution_tool_result', 'compaction', 'fallback', 'tool_addition', 'tool_removal'],
])

/** SDK, `ToolSearchToolResultErrorCode`. */
const SEARCH_ERRORS: readonly unknown[] = [
  ...['invalid_tool_input', 'unavailable', 'too_many_requests', 'execution_time_exceeded'],
]

/** SDK, `ServerToolUseBlockParam.id`; the pattern is quoted by the API's own errors. */
const SERVER_ID = /^srvtoolu_[a-zA-Z0-9_]+$/

export function checkContents(turns: readonly Turn[]): Refusal | undefined {
  const blocks = turns.flatMap((turn) => turn.blocks)
  return firstRefusal(blocks, checkPlaced) ?? checkImages(blocks) ?? checkCitations(blocks)
}

function checkPlaced(placed: Placed): Refusal | undefined {
  const { block, role } = placed
  const place = pathOf(placed)
  if (!KNOWN_TYPES.has(block.type)) return { message: unexpectedTag(place, String(block.type)) }
  if (role === 'assistant' && (block.type === 'image' || block.type === 'document')) {
    return {
      message: `messages.${placed.message}: \`${block.type}\` blocks can only be in \`user\` messages`,
    }
  }
  switch (block.type) {
    case 'tool_result':
      return checkResult(block, `${place}.tool_result`)
    case 'server_tool_use':
      return SERVER_ID.test(String(block.id))
        ? undefined
        : { message: `${place}.server_tool_use.id: String should match pattern '${SERVER_ID.source}'` }
    case 'tool_search_tool_result':
      return checkSearchResult(block, `${place}.tool_search_tool_result.content`)
    default:
      return checkMedia(block, place)
  }
}

function checkResult({ content, is_error: isError }: Fields, place: string): Refusal | undefined {
  const items = blocksOf(content)
  if (isError === true && items.some(({ type }) => type !== 'text')) {
    return { message: `${place}: all content must be type \`text\` if \`is_error\` is true` }
  }
  return firstRefusal(items.entries(), ([index, item]) => checkResultItem(item, `${place}.content.${index}`))
}

function checkSearchResult({ content }: Fields, place: string): Refusal | undefined {
  const { type, tool_references: references, error_code: code } = fieldsOf(content)
  if (type === 'tool_search_tool_search_result') {
    const areReferences = listOf(references).every((one) => isFields(one) && one.type === 'tool_reference')
    if (Array.isArray(references) && areReferences) return undefined
    return { message: `${place}.tool_references: Input should be a valid list` }
  }
  if (type !== 'tool_search_tool_result_error') return { message: unexpectedTag(place, String(type)) }
  if (SEARCH_ERRORS.includes(code)) return undefined
  return {
    message: `${place}.error_code: Input should be ${SEARCH_ERRORS.map((one) => `'${one}'`).join(', ')}`,
  }
}

/** Documentation, "Vision": 100 images in a request, those in results included. */
const MAX_IMAGES = 100

function checkImages(blocks: readonly Placed[]): Refusal | undefined {
  const all = blocks.flatMap(({ block }) => [block, ...blocksOf(block.content)])
  const count = all.filter(({ type }) => type === 'image').length
  if (count <= MAX_IMAGES) return undefined
  return { message: `Too much media: 0 document pages + ${count} images > ${MAX_IMAGES}` }
}

/** Documentation, "Citations": on for all documents of a request, or for none. */
function checkCitations(blocks: readonly Placed[]): Refusal | undefined {
  const documents = blocks.filter(({ block }) => block.type === 'document')
  const isCited = ({ block }: Placed) => fieldsOf(block.citations).enabled === true
  const odd = documents.find((one) => isCited(one) !== isCited(documents[0] as Placed))
  if (!odd) return undefined
  return { message: `${pathOf(odd)}.document.citations: must be enabled for all documents or for none` }
}
