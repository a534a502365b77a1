// The types of results on the shelf: what is stored, what the model gets in its place, and where it is stored.

/**
 * Stores the text of results by owner and id. An owner is one conversation or one client; what another owner stored is
 * never returned. Implementations limit how much they keep: a result that was dropped is `undefined`, like one that
 * never existed.
 */
export type ResultStore = {
  /** Stores a text. Storing the same owner and id again changes nothing but keeps it longer. Rejects if it cannot. */
  put(owner: string, id: string, text: string): Promise<void>
  /** Returns the very text that was stored; undefined if there is none. */
  get(owner: string, id: string): Promise<string | undefined>
  /** Drops everything of an owner whose conversation has ended. */
  drop(owner: string): Promise<void>
}

/** How a shelf keeps long results out of the context. */
export type ResultSettings = {
  /** Where they are stored. */
  readonly store: ResultStore
  /** The characters up to which a result is sent whole; 0 shelves none unless a server or a tool has its own budget. */
  readonly budget: number
  /** Identifies a text: the same text has the same id in every process, and nobody can find another text for it. */
  readonly idOf: (text: string) => string
  /** Returns a name for a conversation that nobody can guess. */
  readonly newOwner: () => string
}

/** The kinds of text that previews know. */
export type ResultKind = 'JSON' | 'JSON Lines' | 'CSV' | 'Markdown table' | 'HTML' | 'log' | 'base64' | 'text'

/** A result on the shelf. */
export type ShelvedResult = {
  /** What the model reads it by. */
  readonly handle: string
  /** The tool that returned it, as the model knows it. */
  readonly tool: string
  readonly kind: ResultKind
  /** Characters. */
  readonly size: number
}

/** The results of a conversation, as its state records them. */
export type ResultRecord = {
  /** Whose results these are in the store. */
  readonly owner: string
  /** The newest last; the oldest are left out. */
  readonly shelved: readonly ShelvedResult[]
}
