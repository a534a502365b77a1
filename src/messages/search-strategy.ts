// How searches take place within one reply: hosted ones are shown to the client, hidden ones are not. The rounds
// around them are the same.
import type { Fields, MessagesRequest } from './types.ts'

/** A call of a search tool, whole. */
export type SearchCall = { readonly id: string; readonly name: string; readonly input: Fields }

export type Searching = {
  /** The request of the contract for the next sampling. */
  readonly request: () => Promise<MessagesRequest>
  /** The request for a last sampling that cannot search; left out where the reply may end with a search. */
  readonly lastRequest?: () => Promise<MessagesRequest>
  /** Blocks that the reply starts with. */
  readonly opening: readonly Fields[]
  readonly isSearch: (name: string) => boolean
  /** How a search is seen by the client; undefined if it is not. */
  readonly shown: (call: SearchCall) => Promise<Fields | undefined>
  /** The id under which the client sees a call that it is to run, which is its block at this place. */
  readonly callId: (id: string, at: number) => string
  /** What a sampling said, searches as they are shown, in the order of its blocks. */
  readonly said: (block: Fields) => void
  /** A sampling ended in searches alone: runs what has not run; the blocks that show the results. */
  readonly answer: (shownBlocks: number) => Promise<readonly Fields[]>
  /** Why the reply ends when the model has searched too often. */
  readonly stopReason: string
  /** The reply is over: this is what the client saw. */
  readonly close: (content: readonly Fields[]) => void
}
