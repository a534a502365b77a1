// The interface that rounds.ts uses to run searches within a reply. Hosted searches are shown to the client, hidden ones
// are not.
import { fieldsOf, isDeferred, nameOf, omitFields } from '@toolshelf/core/internal'
import type { ClientWork } from '@toolshelf/core/internal/node'
import type { Fields, MessagesRequest } from './types.ts'

/** A complete call of a search tool. */
export type SearchCall = { readonly id: string; readonly name: string; readonly input: Fields }

export type ReplySearchOptions = {
  /** Counts each search before it runs. */
  readonly work: ClientWork
  /** Aborts when the client has left. */
  readonly signal: AbortSignal
  /** Called for each search with the names of the tools that it loads. */
  readonly onSearch: (names: readonly string[]) => void
}

export type SearchStrategy = {
  /** The contract request for the next sampling. */
  readonly request: () => Promise<MessagesRequest>
  /** The request for a last sampling that cannot search; omitted if the reply may end with a search. */
  readonly lastRequest?: () => Promise<MessagesRequest>
  /** Blocks that the reply starts with. */
  readonly opening: readonly Fields[]
  readonly isSearch: (name: string) => boolean
  /** The block that shows a search to the client; undefined if the search is hidden. */
  readonly shown: (call: SearchCall) => Promise<Fields | undefined>
  /** The id under which the client sees its call, which is the reply's block at index `at`. */
  readonly callId: (id: string, at: number) => string
  /** Records a block of the sampling, in order; searches in the form shown to the client. */
  readonly said: (block: Fields) => void
  /** Called when a sampling ended with searches only: runs the pending ones and returns the blocks that show results. */
  readonly answer: (shownBlocks: number) => Promise<readonly Fields[]>
  /** The stop reason of a reply that reached the limit of samplings. */
  readonly stopReason: string
  /** Called at the end of the reply with the content that the client saw. */
  readonly close: (content: readonly Fields[]) => void
}

/** Most tools that are shown to a model which must call one and has found none. */
const MAX_SPARE = 20

/**
 * Returns a request whose model cannot search any more. At least one tool must be visible: one that is always, one that a
 * search loaded, or, if the model must call a tool, any of the client's. If there is none, the model has to answer.
 */
export function withoutSearchTools(
  request: MessagesRequest,
  isSearch: (name: string) => boolean,
  loaded: ReadonlySet<string>,
  clientTools: readonly Fields[] = [],
): MessagesRequest {
  const isReal = (tool: Fields) => !isSearch(nameOf(tool))
  const others = (request.tools ?? []).filter(isReal)
  if (others.some((tool) => !isDeferred(tool))) return { ...request, tools: others }
  const found = others.map((tool) => (loaded.has(nameOf(tool)) ? undeferred(tool) : tool))
  if (found.some((tool) => !isDeferred(tool))) return { ...request, tools: found }
  const isForced = fieldsOf(request.tool_choice).type === 'any'
  const spare = isForced ? clientTools.filter(isReal).slice(0, MAX_SPARE).map(undeferred) : []
  if (spare.length === 0) return { ...request, tool_choice: { type: 'none' } }
  const names = new Set(spare.map(nameOf))
  return { ...request, tools: [...spare, ...others.filter((tool) => !names.has(nameOf(tool)))] }
}

function undeferred(tool: Fields): Fields {
  return omitFields(tool, 'defer_loading')
}
