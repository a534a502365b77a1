// Marks a request for the prompt cache of the Messages API, so that a conversation pays for its prefix once.

import { hasCacheMarks } from '../core/oracle/index.ts'
import { type Fields, fieldsOf, isFields, listOf, textOf } from '../lib/index.ts'

const MARK = { type: 'ephemeral' } as const
/** How many user messages are marked, the newest first: the API looks back 20 blocks at most, and one turn may have more. */
const MARKED_MESSAGES = 2
const MARKABLE = new Set(['text', 'image', 'document', 'search_result', 'tool_result'])

/**
 * The request with marks on its last tool, its system prompt and its newest two user messages, four at most. Texts become
 * blocks wherever they are, so that the next request differs in its marks only. A request that has marks keeps its own.
 */
export function withCacheMarks<Request extends object>(request: Request): Request {
  if (hasCacheMarks(request)) return request
  const { tools, system, messages } = fieldsOf(request)
  return {
    ...request,
    ...(Array.isArray(tools) ? { tools: withMark(tools, (tool) => tool.defer_loading !== true) } : {}),
    ...(system === undefined ? {} : { system: withMark(asBlocks(system), isMarkable) }),
    messages: markedMessages(listOf(messages).map(fieldsOf)),
  }
}

function markedMessages(messages: readonly Fields[]): Fields[] {
  const users = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []))
  const marked = new Set(users.slice(-MARKED_MESSAGES))
  return messages.map((message, index) => {
    const content = asBlocks(message.content)
    const next = marked.has(index) ? withMark(content, isMarkable) : content
    return next === message.content ? message : { ...message, content: next }
  })
}

/** An empty text stays what it is: as a block it would be refused. */
function asBlocks(content: unknown): unknown {
  return textOf(content).trim() === '' ? content : [{ type: 'text', text: content }]
}

/** Marks the last entry that can be marked. */
function withMark(entries: unknown, canBeMarked: (entry: Fields) => boolean): unknown {
  if (!Array.isArray(entries)) return entries
  const last = entries.findLastIndex((entry) => isFields(entry) && canBeMarked(entry))
  return entries.map((entry, index) => (index === last ? { ...entry, cache_control: MARK } : entry))
}

function isMarkable({ type, text }: Fields): boolean {
  return MARKABLE.has(textOf(type)) && (type !== 'text' || textOf(text).trim() !== '')
}
