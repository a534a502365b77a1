// Types of the parts of a conversation, as the page shows them.
import type { BilledTokens } from '@toolshelf/core/internal'

/** One request of the model, or one search with its calls where requests are not seen (MCP). */
export type InspectedTurn = {
  /** Its position in the conversation, from 0. */
  readonly index: number
  readonly time: string
  /** When its last event happened. */
  endTime: string
  model: string
  /** Whether tool search is on, and why; undefined where no request was seen. */
  decision: { readonly isOpen: boolean; readonly reason: string; readonly error: string } | undefined
  /** The id of the pool. */
  pool: string
  /** Deferred tools that the model sees; undefined in recordings that do not say. */
  loaded: readonly string[] | undefined
  /** The part of the definitions that the model sees, by estimate. */
  share: DefinitionShare | undefined
  messages: number | undefined
  isSubAgent: boolean
  /** Whether the cached prefix held; undefined for the first request. */
  prefix: InspectedPrefix | undefined
  answer: InspectedAnswer | undefined
  readonly searches: InspectedSearch[]
  readonly loads: { readonly names: readonly string[]; readonly by: string }[]
  readonly calls: InspectedCall[]
  readonly samplings: InspectedSampling[]
  /** Announcements, compactions, warnings, …, each as a sentence. */
  readonly notes: { readonly time: string; readonly kind: string; readonly text: string }[]
}

/** How many of all definitions the model sees. */
export type DefinitionShare = {
  readonly visible: number
  readonly total: number
  readonly tokensWith: number
  readonly tokensWithout: number
}

/** Whether the cached prefix held, and what broke it. */
export type InspectedPrefix = {
  readonly isKept: boolean
  readonly causes: readonly InspectedCause[]
  /** Causes beyond those listed. */
  readonly left: number
}

/** Something that broke the cached prefix. */
export type InspectedCause = {
  readonly kind: string
  readonly name: string
  readonly position: number | undefined
  /** Both texts, where the recording keeps content. */
  readonly before: string | undefined
  readonly after: string | undefined
}

/** A search of the model. */
export type InspectedSearch = {
  readonly time: string
  readonly query: string
  readonly ranker: string
  readonly matched: number
  readonly searchable: number | undefined
  readonly refused: number
  readonly unsearched: readonly string[]
  readonly hits: readonly { readonly name: string; readonly score: number | undefined }[]
}

/** A call of the model. */
export type InspectedCall = {
  readonly id: string
  readonly name: string
  readonly server: string
  readonly time: string
  /** `running` until its result is known. */
  outcome: string
  /** Why it was refused: `rights` or `limit`; empty for any other reason. */
  reason: string
  milliseconds: number | undefined
  size: number | undefined
  isAllowed: boolean | undefined
  /** Arguments and result, where the recording keeps content. */
  input: unknown
  result: unknown
}

/** One reply of the model, with the tokens that were billed for it. */
export type InspectedSampling = {
  readonly time: string
  readonly model: string
  readonly milliseconds: number | undefined
  readonly stopReason: string
  readonly error: string
  readonly usage: BilledTokens | undefined
}

/** What the Messages gateway did with a request. */
export type InspectedAnswer = {
  readonly status: number
  readonly milliseconds: number
  readonly mode: string
  readonly wire: string
  readonly why: string
  readonly toolsGiven: number
  readonly toolsVisible: number
  readonly rounds: number
  readonly tokensWithout: number | undefined
  readonly tokensWith: number | undefined
  readonly dollarsWithout: number | undefined
  readonly dollarsWith: number | undefined
  readonly error: string
}
