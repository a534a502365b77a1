// What happened, as data: for a log, the command line and the inspector. Beside names and numbers it holds what the
// model searched for and what a back-end answered; never a message, a key or an address.
// Implements G5, A4.
import type { Decision, Origin } from './types.ts'

/** What the option `trace` receives: a decision, an announcement, a search, a refusal of the back-end, or a warning. */
export type Trace =
  | { readonly type: 'decision'; readonly model: string; readonly decision: Decision }
  | {
      readonly type: 'announced'
      readonly added: number
      readonly removed: number
      readonly announcedBefore: number
      readonly origin: Origin
      /** A main thread that had told nothing before, though it had announced earlier: records were lost (A4). */
      readonly fault: boolean
    }
  | {
      readonly type: 'searched'
      readonly query: string
      readonly found: readonly string[]
      readonly matched: number
    }
  | { readonly type: 'rejected'; readonly model: string; readonly message: string }
  | { readonly type: 'warning'; readonly message: string }
