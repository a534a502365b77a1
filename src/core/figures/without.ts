// Builds the request that would have been sent without tool search. Only its length is used, so it may be invalid.

import { type Fields, fieldsOf, listOf, oncePerFrozen, textOf } from '../../lib/index.ts'
import { isDeferralNote } from '../history/index.ts'
import { blocksOf, isChange, mayChangeView, referencesIn } from '../oracle/index.ts'

/** Options of `withoutToolSearch`. */
export type WithoutOptions = {
  /** All definitions, which replace the request's tools. */
  readonly definitions: readonly Fields[]
  /** The name of a shelf's search tool, whose notes are left out too; undefined for a client's own request. */
  readonly searchTool?: string
}

/** Returns the request with all definitions, and without searches, their results and notes about deferred tools. */
export function withoutToolSearch(request: object, { definitions, searchTool }: WithoutOptions): Fields {
  const messages = listOf(fieldsOf(request).messages).map(fieldsOf)
  if (searchTool === undefined && !messages.some(usesToolSearch)) return { ...request, tools: definitions }
  const searches = searchIds(messages, searchTool)
  const isKept = (block: Fields) =>
    !searches.has(block.id) &&
    !searches.has(block.tool_use_id) &&
    !isChange(block) &&
    !(searchTool !== undefined && block.type === 'text' && isDeferralNote(textOf(block.text)))
  const kept = (message: Fields): Fields => {
    if (typeof message.content === 'string' && searchTool === undefined) return message
    const blocks = blocksOf(message.content)
    return blocks.every(isKept) ? message : { ...message, content: blocks.filter(isKept) }
  }
  return { ...request, tools: definitions, messages: messages.map(kept) }
}

/** Whether a message contains a hosted search, a reference or a tool change. */
const usesToolSearch = oncePerFrozen(({ content }: Fields): boolean =>
  blocksOf(content).some((block) => isHostedSearch(block) || mayChangeView(block)),
)

function isHostedSearch({ type, name }: Fields): boolean {
  return type === 'server_tool_use' && textOf(name).startsWith('tool_search_tool_')
}

/** Returns the ids of calls of a search tool, recognised by its name or by references in the result. */
function searchIds(messages: readonly Fields[], searchTool: string | undefined): ReadonlySet<unknown> {
  const ids = new Set<unknown>()
  for (const { content } of messages)
    for (const block of blocksOf(content)) {
      const { type, id, name, tool_use_id: answered } = block
      if (type === 'tool_use' && searchTool !== undefined && name === searchTool) ids.add(id)
      if (isHostedSearch(block)) ids.add(id)
      if (type === 'tool_search_tool_result' || referencesIn(block).length > 0) ids.add(answered)
    }
  ids.delete(undefined)
  return ids
}
