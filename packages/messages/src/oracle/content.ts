// Checks the content of a request: the form of `system` and messages, each block by itself (wire 6), media, cache breakpoints. Removes
// the fields that it does not know: to a gateway in front of an API that may know them, they are new features, not mistakes (wire 34).
// Implements wire 6, 34.

import {
  blocksOf,
  checkMedia,
  checkResultItem,
  countMarks,
  type Fields,
  fieldsOf,
  isChange,
  isDirective,
  isFields,
  isReference,
  listOf,
  MAX_MARKS,
  type Mark,
  marksOf,
  type Placed,
  pathOf,
  type TurnRole,
  unexpectedTag,
} from '@toolshelf/core/internal'
import { CUSTOM_FIELDS, checkName } from './tools.ts'
import { checkExtra, firstRefusal, NO_OBJECT, type Refusal, type Turn } from './turns.ts'

export function checkMessages(messages: unknown): Refusal | undefined {
  if (messages === undefined) return 'messages: Field required'
  if (!Array.isArray(messages)) return 'messages: Input should be a valid list'
  if (messages.length === 0) return 'messages: at least one message is required'
  const last = messages.length - 1
  const each = firstRefusal(messages.entries(), ([index, message]) =>
    checkMessage(message, `messages.${index}`, index === last),
  )
  return each ?? checkFirst(messages)
}

export function checkSystem(system: unknown): Refusal | undefined {
  if (system === undefined || typeof system === 'string') return undefined
  if (!Array.isArray(system)) return 'system: Input should be a valid list'
  return firstRefusal(system.entries(), ([index, block]) => {
    const place = `system.${index}`
    if (fieldsOf(block).type !== 'text') return `${place}.type: Input should be 'text'`
    return checkShape(block, place) ?? checkText(fieldsOf(block), place, 'system')
  })
}

const ROLES: readonly unknown[] = ['user', 'assistant', 'system']
const FIELDS: readonly string[] = ['role', 'content']
const SYSTEM_FIELDS: readonly string[] = [...FIELDS, 'clear_at', 'output_config']

function messageFields(role: unknown): readonly string[] {
  return role === 'system' ? SYSTEM_FIELDS : FIELDS
}

function checkMessage(message: unknown, path: string, isLast: boolean): Refusal | undefined {
  if (!isFields(message)) return `${path}: ${NO_OBJECT}`
  const { role, content } = message
  if (!ROLES.includes(role)) return `${path}.role: Input should be 'user', 'assistant' or 'system'`
  const known = messageFields(role)
  const extra = checkExtra(message, (field) => known.includes(field), path)
  if (extra || isDirective(message)) return extra
  return checkContent(content, role as TurnRole, path, isLast)
}

function checkContent(content: unknown, role: TurnRole, path: string, isLast: boolean): Refusal | undefined {
  if (content === undefined) return `${path}.content: Field required`
  if (typeof content !== 'string' && !Array.isArray(content)) {
    return `${path}.content: Input should be a valid list`
  }
  if (content.length === 0) {
    if (isLast && role === 'assistant') return undefined
    return `${path}: all messages must have non-empty content except for the optional final assistant message`
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
  if (first === undefined) return 'messages: at least one message is required'
  if (first.role === 'user' || blocksOf(first.content)[0]?.type === 'compaction') return undefined
  if (first.role === 'assistant') return 'messages: first message must use the "user" role'
  return `messages.${index}: use the top-level 'system' parameter for the initial system prompt`
}

/** The position of a block: its message's path, its own path, and the role. */
type BlockPosition = { readonly path: string; readonly place: string; readonly role: TurnRole }

function checkBlock(block: unknown, at: BlockPosition): Refusal | undefined {
  const shape = checkShape(block, at.place)
  if (shape || !isFields(block)) return shape
  const type = String(block.type)
  const [owner = at.role] = OWNERS.find(([, ...types]) => types.includes(type)) ?? []
  if (owner !== at.role) return `${at.path}: \`${type}\` blocks can only be in \`${owner}\` messages`
  if (isReference(block) || (at.role === 'system' && !SYSTEM_TYPES.has(type))) {
    return unexpectedTag(at.place, type)
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
function checkText(block: Fields, place: string, list: 'messages' | 'system'): Refusal | undefined {
  if (typeof block.text !== 'string') return `${place}.text.text: Input should be a valid string`
  if (block.text === '') return `${list}: text content blocks must be non-empty`
  if (block.text.trim() !== '') return undefined
  return `${list}: text content blocks must contain non-whitespace text`
}

/** The only role that may have blocks of these types. */
const OWNERS: readonly (readonly [TurnRole, ...(readonly string[])])[] = [
  ['assistant', 'tool_use', 'server_tool_use', 'tool_search_tool_result', 'thinking', 'redacted_thinking'],
  ['user', 'tool_result'],
  ['system', 'tool_addition', 'tool_removal'],
]

const SYSTEM_TYPES = new Set(['text', 'tool_addition', 'tool_removal'])

/** Fields that every block may have. */
const COMMON_FIELDS = ['type', 'cache_control']

/** Allowed fields of the blocks that we write or rewrite; other block types are not checked. */
const BLOCK_FIELDS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['text', [...COMMON_FIELDS, 'text', 'citations']],
  ['tool_use', [...COMMON_FIELDS, 'id', 'name', 'input', 'caller', 'toolset_name']],
  ['server_tool_use', [...COMMON_FIELDS, 'id', 'name', 'input', 'caller']],
  ['tool_result', [...COMMON_FIELDS, 'tool_use_id', 'content', 'is_error', 'toolset_name']],
  ['tool_search_tool_result', [...COMMON_FIELDS, 'tool_use_id', 'content']],
  ['tool_reference', [...COMMON_FIELDS, 'tool_name']],
  ['tool_addition', [...COMMON_FIELDS, 'tool']],
  ['tool_removal', [...COMMON_FIELDS, 'tool']],
])

/** Matches without a repetition, which overflows the stack on ids of millions of characters. */
function checkId(id: unknown, place: string): Refusal | undefined {
  if (typeof id === 'string' && id !== '' && !/[^a-zA-Z0-9_-]/.test(id)) return undefined
  return `${place}: String should match pattern '^[a-zA-Z0-9_-]+$'`
}

function checkShape(block: unknown, place: string): Refusal | undefined {
  if (!isFields(block)) return `${place}: ${NO_OBJECT}`
  if (typeof block.type !== 'string') return `${place}: Unable to extract tag using discriminator 'type'`
  const fields = BLOCK_FIELDS.get(block.type)
  return fields && checkExtra(block, (field) => fields.includes(field), `${place}.${block.type}`)
}

function checkUse(block: Fields, place: string): Refusal | undefined {
  const fault = checkId(block.id, `${place}.id`) ?? checkName(block.name, `${place}.name`)
  return fault ?? (isFields(block.input) ? undefined : `${place}.input: Input should be a valid dictionary`)
}

function checkResult(block: Fields, place: string): Refusal | undefined {
  const { content } = block
  const fault = checkId(block.tool_use_id, `${place}.tool_use_id`)
  if (fault || content === undefined || typeof content === 'string') return fault
  if (!Array.isArray(content)) return `${place}.content: Input should be a valid list`
  const inner = firstRefusal(content.entries(), ([index, item]) =>
    checkInner(item, `${place}.content.${index}`),
  )
  if (inner) return inner
  const references = blocksOf(content).filter(isReference).length
  if (references === 0 || references === content.length) return undefined
  return 'Tool definitions/code execution functions cannot be mixed with other content'
}

function checkInner(block: unknown, place: string): Refusal | undefined {
  const shape = checkShape(block, place)
  if (shape || !isFields(block)) return shape
  if (isReference(block) && typeof block.tool_name !== 'string') {
    return `${place}.tool_reference.tool_name: Field required`
  }
  if (block.type !== 'text' || typeof block.text !== 'string') return undefined
  return block.text === '' ? 'messages: text content blocks must be non-empty' : undefined
}

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
  if (!KNOWN_TYPES.has(block.type)) return unexpectedTag(place, block.type)
  if (role === 'assistant' && (block.type === 'image' || block.type === 'document')) {
    return `messages.${placed.message}: \`${block.type}\` blocks can only be in \`user\` messages`
  }
  switch (block.type) {
    case 'tool_result':
      return checkItems(block, `${place}.tool_result`)
    case 'server_tool_use':
      return SERVER_ID.test(String(block.id))
        ? undefined
        : `${place}.server_tool_use.id: String should match pattern '${SERVER_ID.source}'`
    case 'tool_search_tool_result':
      return checkSearchResult(block, `${place}.tool_search_tool_result.content`)
    default:
      return checkMedia(block, place)
  }
}

function checkItems({ content, is_error: isError }: Fields, place: string): Refusal | undefined {
  const items = blocksOf(content)
  if (isError === true && items.some(({ type }) => type !== 'text')) {
    return `${place}: all content must be type \`text\` if \`is_error\` is true`
  }
  return firstRefusal(items.entries(), ([index, item]) => checkResultItem(item, `${place}.content.${index}`))
}

function checkSearchResult({ content }: Fields, place: string): Refusal | undefined {
  const { type, tool_references: references, error_code: code } = fieldsOf(content)
  if (type === 'tool_search_tool_search_result') {
    const areReferences = listOf(references).every((one) => isFields(one) && one.type === 'tool_reference')
    if (Array.isArray(references) && areReferences) return undefined
    return `${place}.tool_references: Input should be a valid list`
  }
  if (type !== 'tool_search_tool_result_error') return unexpectedTag(place, type)
  if (SEARCH_ERRORS.includes(code)) return undefined
  return `${place}.error_code: Input should be ${SEARCH_ERRORS.map((one) => `'${one}'`).join(', ')}`
}

/** Documentation, "Vision": 100 images in a request, those in results included. */
const MAX_IMAGES = 100

function checkImages(blocks: readonly Placed[]): Refusal | undefined {
  const all = blocks.flatMap(({ block }) => [block, ...blocksOf(block.content)])
  const count = all.filter(({ type }) => type === 'image').length
  if (count <= MAX_IMAGES) return undefined
  return `Too much media: 0 document pages + ${count} images > ${MAX_IMAGES}`
}

/** Documentation, "Citations": on for all documents of a request, or for none. */
function checkCitations(blocks: readonly Placed[]): Refusal | undefined {
  const documents = blocks.filter(({ block }) => block.type === 'document')
  const isCited = ({ block }: Placed) => fieldsOf(block.citations).enabled === true
  const odd = documents.find((one) => isCited(one) !== isCited(documents[0] as Placed))
  if (!odd) return undefined
  return `${pathOf(odd)}.document.citations: must be enabled for all documents or for none`
}

/** SDK, `CacheControlEphemeral`. */
const LIFETIMES: readonly unknown[] = [undefined, null, '5m', '1h']

/** Checks all cache breakpoints of a request. */
export function checkMarks(request: Fields): Refusal | undefined {
  const marks = marksOf(request)
  const fault = firstRefusal(marks, checkForm)
  if (fault) return fault
  const count = countMarks(request)
  if (count <= MAX_MARKS) return checkOrder(marks)
  return `A maximum of ${MAX_MARKS} blocks with cache_control may be provided. Found ${count}.`
}

function checkForm({ place, control }: Mark): Refusal | undefined {
  const { type, ttl } = fieldsOf(control)
  if (type !== 'ephemeral') {
    return `${unexpectedTag(place, type)}: 'ephemeral'`
  }
  return LIFETIMES.includes(ttl) ? undefined : `${place}.ephemeral.ttl: Input should be '5m' or '1h'`
}

/** Documentation, "Prompt caching", mixed lifetimes: longer ones come first. */
function checkOrder(marks: readonly Mark[]): Refusal | undefined {
  const isLong = ({ control }: Mark) => fieldsOf(control).ttl === '1h'
  const firstShort = marks.findIndex((mark) => !isLong(mark))
  const late = firstShort < 0 ? undefined : marks.slice(firstShort).find(isLong)
  if (!late) return undefined
  const fault = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."
  const order = 'Note that blocks are processed in the following order: `tools`, `system`, `messages`.'
  return `${late.place}.ttl: ${fault} ${order}`
}

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
  const known = pick(block, (field) => fields.includes(field))
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
