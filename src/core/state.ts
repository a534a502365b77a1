// What a conversation must remember that its messages do not tell. Plain JSON: save it beside them, hand it back.
import type { Step } from './announce.ts'
import type { Anchors, History } from './history.ts'
import type { Sheet } from './normalize.ts'
import type { Definition, Shelving, WireName } from './types.ts'

export type State = {
  /** Auto has opened: it stays open (T6). */
  readonly opened: boolean
  /** Beta headers once sent (Q4). */
  readonly betas: readonly string[]
  /** The step of a prepended list (A7). */
  readonly step?: Step | undefined
  /** Something was announced: a later "nothing before" is a fault (A4). */
  readonly announced: boolean
  /** How the last request let the model search. */
  readonly search?: WireName | 'off'
  /** Definitions that must not change any more, vanished tools' included (N5). */
  readonly kept: readonly Kept[]
}

/** `isFixed` once it was sent where nothing sent may change. */
export type Kept = { readonly definition: Definition; readonly place: Place; readonly isFixed?: boolean }
export type Place = 'built-in' | 'mcp' | 'deferred'

export const emptyState: State = { opened: false, betas: [], announced: false, kept: [] }

/** What makes the next request cheap; losing it costs time only, except for notes that the host does not carry. */
export type Memory = {
  history: History | undefined
  sheet: Sheet | undefined
  /** The pool and the number of deltas for which there was nothing more to announce. */
  announcedFor:
    | { readonly history: History; readonly shelving: Shelving; readonly deltas: number }
    | undefined
  readonly anchors: Anchors
  requests: number
}

export function newMemory(): Memory {
  return {
    history: undefined,
    sheet: undefined,
    announcedFor: undefined,
    anchors: new WeakMap(),
    requests: 0,
  }
}
