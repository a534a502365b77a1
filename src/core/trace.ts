// What happened, as data: for a log, the command line and the inspector. Holds names and numbers, never content.
import type { Decision } from './gate.ts'

export type Trace =
  | { readonly type: 'decision'; readonly model: string; readonly decision: Decision }
  | {
      readonly type: 'announced'
      readonly added: number
      readonly removed: number
      readonly announcedBefore: number
      readonly origin: Origin
      /** A main thread that had told nothing before, though it had announced earlier: something lost the records (A4). */
      readonly fault: boolean
    }
  | {
      readonly type: 'searched'
      readonly query: string
      readonly found: readonly string[]
      readonly matched: number
    }
  | {
      readonly type: 'rejected'
      readonly model: string
      readonly baseURL: string | undefined
      readonly message: string
    }
  | { readonly type: 'warning'; readonly message: string }

/** Where a delta was made (A4). */
export type Origin = 'main' | 'sub-agent' | 'resumed' | 'compacted'
