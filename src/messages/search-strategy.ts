// The interface that rounds.ts uses to run searches within a reply. Hosted searches are shown to the client, hidden ones
// are not.
import type { ClientWork } from '../users/index.ts'
import type { Fields, MessagesRequest } from './types.ts'

/** A complete call of a search tool. */
export type SearchCall = { readonly id: string; readonly name: string; readonly input: Fields }

/** What the searches of a reply need. */
export type ReplySearchOptions = {
  /** Counts each search before it runs. */
  readonly work: ClientWork
  /** Aborts when the client has left. */
  readonly signal: AbortSignal
  /** Called for each search with the names of the tools that it loads. */
  readonly onSearch: (names: readonly string[]) => void
}

/** The searches of one reply. */
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
