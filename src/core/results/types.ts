// Defines long results: what is stored, what the model gets instead, and the store.

/**
 * Stores the text of results by owner and id. An owner is one conversation or one client; what another owner stored is
 * never returned. Implementations limit how much they keep: a result that was dropped is `undefined`, like one that
 * never existed.
 */
export type ResultStore = {
  /** Stores a text. Storing the same owner and id again changes nothing but keeps it longer. Rejects if it cannot. */
  put(owner: string, id: string, text: string): Promise<void>
  /** Returns the exact text that was stored; undefined if there is none. */
  get(owner: string, id: string): Promise<string | undefined>
  /** Deletes everything of an owner whose conversation has ended. */
  drop(owner: string): Promise<void>
}

/** How a shelf keeps long results out of the context. */
export type ResultSettings = {
  /** Where to store them. */
  readonly store: ResultStore
  /** Longest result, in characters, that is sent whole; 0 stores none unless a server or a tool has its own budget. */
  readonly budget: number
  /** Returns the id of a text: the same in every process, and without collisions. */
  readonly idOf: (text: string) => string
  /** Returns an owner name that nobody can guess. */
  readonly newOwner: () => string
}

/** The kinds of text that previews know. */
export type ResultKind = 'JSON' | 'JSON Lines' | 'CSV' | 'Markdown table' | 'HTML' | 'log' | 'base64' | 'text'

/** A stored result. */
export type ShelvedResult = {
  /** The handle by which the model reads it. */
  readonly handle: string
  /** The tool that returned it, as the model knows it. */
  readonly tool: string
  /** The kind of its text. */
  readonly kind: ResultKind
  /** Its length in characters. */
  readonly size: number
}

/** The results of a conversation, as its state records them. */
export type ResultRecord = {
  /** The owner of these results in the store. */
  readonly owner: string
  /** The results, newest last; the oldest are omitted. */
  readonly shelved: readonly ShelvedResult[]
}
