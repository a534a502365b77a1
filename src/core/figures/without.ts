// The request that would have been sent without tool search. Only its length is needed, so it need not be valid.

import { type Fields, fieldsOf, listOf, oncePerFrozen, textOf } from '../../lib/index.ts'
import { isDeferralNote } from '../history/index.ts'
import { blocksOf, isChange, mayChangeView, referencesIn } from '../oracle/index.ts'

export type WithoutOptions = {
  /** Every definition there is, in place of the request's tools. */
  readonly definitions: readonly Fields[]
  /** The search tool of a shelf, whose notes are left out too; missing where the request is a client's own. */
  readonly searchTool?: string
}

/** The request with every definition, and without searches, their results and the notes about deferred tools. */
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

/** Whether a message holds a search of the API's own, a reference or a change of tools. */
const usesToolSearch = oncePerFrozen(({ content }: Fields): boolean =>
  blocksOf(content).some((block) => isHostedSearch(block) || mayChangeView(block)),
)

function isHostedSearch({ type, name }: Fields): boolean {
  return type === 'server_tool_use' && textOf(name).startsWith('tool_search_tool_')
}

/** Calls of a search tool, known by its name or by the references in its result. */
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
