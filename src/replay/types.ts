// The vocabulary of replay: a recorded conversation reduced to what its cost depends on, and the report about it.
import type { BilledTokens, Figures } from '../core/figures/index.ts'
import type { WireName } from '../core/index.ts'
import type { Fields } from '../lib/index.ts'

/** The kinds of transcripts that can be replayed. */
export type TranscriptFormat = 'toolshelf' | 'claude-code' | 'codex' | 'http'

/**
 * One reply of the model, with the size of the conversation in front of it. Holds no message content: only sizes, tool
 * names, and the queries of recorded searches, which the report leaves out.
 */
export type RecordedTurn = {
  /** The conversation that it belongs to: empty for the main one, else a sub-agent or another conversation of the log. */
  readonly lane: string
  /** Empty if the recording does not say. */
  readonly model: string
  /** Names of the called tools, searches left out. */
  readonly calls: readonly string[]
  /** Queries of the searches in this reply. */
  readonly queries: readonly string[]
  /** Characters of the conversation in front of the reply, without searches and definitions. */
  readonly characters: number
  /** Characters of the reply. */
  readonly replyCharacters: number
  /** undefined if the recording has no usage for it. */
  readonly usage: BilledTokens | undefined
  /** The history was summarised or edited since the last reply. */
  readonly isCompacted: boolean
  /** All tool definitions of the request, in the Messages shape; only HTTP logs have them. */
  readonly tools?: readonly Fields[]
}

/** A transcript after reading. */
export type Recording = {
  readonly format: TranscriptFormat
  readonly turns: readonly RecordedTurn[]
  /** The recorded client already deferred tools: it announced names or searched. */
  readonly isDeferring: boolean
  /** The API of an HTTP log hides definitions that it loads later; others get them as text. */
  readonly takesReferences: boolean
  readonly compactions: number
  /** Lines or entries that could not be read, such as a last line that was cut off. */
  readonly unreadable: number
  /** Replies beyond the limit, which were not replayed. */
  readonly leftOut: number
}

/** What one reply would have cost with and without Toolshelf. Plain data. */
export type ReplayedTurn = {
  /** Counted from 1 over the whole recording. */
  readonly turn: number
  /** `main`, `sub-agent 1`, `conversation 2` … */
  readonly lane: string
  readonly model: string
  /** Called tools of the servers, by the names that the model sees. */
  readonly calls: readonly string[]
  /** Calls of the client's own tools and of servers that are not configured. */
  readonly otherCalls: number
  /** Tokens of definitions in the request without Toolshelf. */
  readonly definitionsWithout: number
  /** What Toolshelf sends instead: its own tools, names, and everything loaded and searched so far. */
  readonly definitionsWith: number
  /** Tokens of the rest of the prompt. */
  readonly conversationTokens: number
  /** Searches for this reply, each an extra round trip; null if none was needed. */
  readonly search: ReplayedSearch | null
  /** Whether the request continues the one before it, so that the prompt cache holds; null for the first. */
  readonly prefixKept: boolean | null
  /** What broke it: `compaction`, `model`, `tools` or `messages`; null if nothing did. */
  readonly brokenBy: string | null
  readonly figures: Figures
}

/** The searches for one reply. */
export type ReplayedSearch = {
  /** Recorded searches, replayed with their own queries. */
  readonly recorded: number
  /** Searches by name, for tools that the recorded model could call at once. */
  readonly simulated: number
  /** Names that the searches loaded. */
  readonly loaded: readonly string[]
  /** Tokens of the calls, the answers and the definitions that they load. */
  readonly tokens: number
}

/** `pays`, `context-only` (saves tokens, but no money), `does-not-pay`, or `nothing-to-defer`. */
export type ReplayOutcome = 'pays' | 'context-only' | 'does-not-pay' | 'nothing-to-defer'

/** What Toolshelf would have changed in a recorded conversation: plain data, the same for the terminal and `--json`. */
export type ReplayReport = {
  readonly version: 1
  readonly format: TranscriptFormat
  /** How loaded tools would have reached the model. */
  readonly wire: WireName
  readonly recording: {
    readonly turns: number
    readonly conversations: number
    readonly compactions: number
    readonly models: readonly string[]
    readonly isDeferring: boolean
    /** Turns whose tokens the recording reports; the others are estimated from their length. */
    readonly turnsWithUsage: number
    readonly unreadable: number
    readonly leftOut: number
  }
  readonly tools: {
    readonly servers: number
    readonly tools: number
    readonly deferred: number
    /** Tokens of all definitions, the largest list of an HTTP log. */
    readonly tokens: number
    /** Distinct tools of the servers that were called. */
    readonly used: number
    /** Called names of servers that are not among the tools, at most 20. */
    readonly unknown: readonly string[]
  }
  /** At most 10,000; `total` covers all. */
  readonly turns: readonly ReplayedTurn[]
  readonly total: Figures & {
    readonly definitionsWithout: number
    readonly definitionsWith: number
    readonly searches: { readonly recorded: number; readonly simulated: number }
    readonly prefixBreaks: number
    /** Prompt tokens of the largest request, without and with. */
    readonly largestPromptWithout: number
    readonly largestPromptWith: number
    /** The model whose prices were used, and their date; null if a model has no price. */
    readonly pricedAs: readonly string[] | null
    readonly pricesOf: string | null
  }
  readonly verdict: { readonly outcome: ReplayOutcome; readonly text: string }
  /** How the figures were made and what they assume. */
  readonly assumptions: readonly string[]
}
