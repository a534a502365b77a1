// The events that the option `trace` receives. Besides names and numbers they contain queries of the model and error
// messages of back-ends, servers and rankers; never a message of the conversation.
// Implements G5, A4.
import type { Decision, Origin } from './types.ts'

/** What the option `trace` receives: a decision, an announcement, a search, a refusal of the back-end, or a warning. */
export type Trace =
  /** A request was prepared; `decision` says whether tool search is on, and why. */
  | {
      readonly type: 'decision'
      /** The model of the request. */
      readonly model: string
      /** Whether tool search is on, and why. */
      readonly decision: Decision
    }
  /** Names of deferred tools were announced to the model, or withdrawn. */
  | {
      readonly type: 'announced'
      /** How many names are new. */
      readonly added: number
      /** How many names are gone. */
      readonly removed: number
      /** How many names this conversation had announced before. */
      readonly announcedBefore: number
      /** The kind of conversation. */
      readonly origin: Origin
      /** True if a main conversation lost the records of earlier announcements (A4). */
      readonly fault: boolean
    }
  /** The model searched for tools. */
  | {
      readonly type: 'searched'
      /** The query as the model wrote it. */
      readonly query: string
      /** Names of the tools that it found, without those that `allowLoad` refused. */
      readonly found: readonly string[]
      /** How many tools matched. */
      readonly matched: number
    }
  /** The back-end refused tool search; from now on every tool is loaded for this model and base URL. */
  | {
      readonly type: 'rejected'
      /** The model of the request. */
      readonly model: string
      /** The back-end's error message. */
      readonly message: string
    }
  /** Something is wrong with a setting, a tool or a server; `notify` receives the same message. Once per message. */
  | {
      readonly type: 'warning'
      /** What is wrong. */
      readonly message: string
    }
