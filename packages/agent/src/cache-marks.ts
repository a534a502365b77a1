// Adds cache breakpoints to a request, so that a conversation pays for its prefix only once.
import { type Fields, fieldsOf, hasCacheMarks, isFields, listOf, textOf } from '@toolshelf/core/internal'

const MARK = { type: 'ephemeral' } as const
/** How many of the newest user messages get a breakpoint: the API looks back 20 blocks, and one turn may have more. */
const MARKED_MESSAGES = 2
const MARKABLE = new Set(['text', 'image', 'document', 'search_result', 'tool_result'])

/**
 * Adds breakpoints to the last tool, the system prompt and the newest two user messages, at most four. Strings become
 * blocks everywhere, so that the next request differs only in breakpoints. A request with its own breakpoints keeps them.
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

/** Turns text into a block, except empty text, which the API would refuse as a block. */
function asBlocks(content: unknown): unknown {
  return textOf(content).trim() === '' ? content : [{ type: 'text', text: content }]
}

/** Adds a breakpoint to the last entry that can have one. */
function withMark(entries: unknown, canBeMarked: (entry: Fields) => boolean): unknown {
  if (!Array.isArray(entries)) return entries
  const last = entries.findLastIndex((entry) => isFields(entry) && canBeMarked(entry))
  return entries.map((entry, index) => (index === last ? { ...entry, cache_control: MARK } : entry))
}

function isMarkable({ type, text }: Fields): boolean {
  return MARKABLE.has(textOf(type)) && (type !== 'text' || textOf(text).trim() !== '')
}
