// The state of a chat as the view renders it: finished items and the running turn, with change notifications.
import type { Item } from './items.ts'
import { itemOf, type OutputLine } from './output-line.ts'
import type { Question } from './questions.ts'
import { settle } from './settle.ts'
import type { Status } from './status.ts'
import { type TurnState, withAside } from './turn.ts'

export type ChatState = {
  /** Items that will not change any more. */
  readonly items: readonly Item[]
  readonly turn: TurnState | undefined
  readonly asking: Question | undefined
  readonly isVerbose: boolean
  /** The hint below the empty input line. */
  readonly hint: string
  /** A remark about the last key, if its effect may be unexpected. */
  readonly remark: string | undefined
  /** What a command is waiting for. */
  readonly waiting: string | undefined
  /** The state of the servers in a few words. */
  readonly servers: string
  /** Undefined until the session is open. */
  readonly status: Status | undefined
  readonly isOver: boolean
}

/** Holds the state of a chat and notifies its listeners. */
export type ChatStore = {
  readonly state: () => ChatState
  readonly subscribe: (listener: () => void) => () => void
  readonly change: (next: Partial<ChatState>) => void
  /** Updates the running turn; moves the settled part of it to the finished items. */
  readonly update: (turn: TurnState) => void
  /** Adds items. While a turn runs, adds them to the turn, so that later output follows them. */
  readonly say: (items: readonly Item[]) => void
  readonly notify: (lines: readonly OutputLine[], kind?: 'output' | 'notice') => void
  /** Adds a message about servers, separated from other items. */
  readonly reportServers: (kind: 'output' | 'notice', line: OutputLine) => void
  /** The next message about servers belongs to the items that are there now. */
  readonly joinServers: () => void
}

export function createChatStore(initial: ChatState): ChatStore {
  const listeners = new Set<() => void>()
  let state = initial
  let reportedServers: readonly Item[] | undefined
  const change = (next: Partial<ChatState>) => {
    state = { ...state, ...next }
    for (const listener of listeners) listener()
  }
  const update = (turn: TurnState) => {
    const { items, parts, isBegun } = settle(turn.parts, state.isVerbose)
    change({
      items: items.length === 0 ? state.items : [...state.items, ...items],
      turn: { ...turn, parts, isBegun: turn.isBegun || isBegun },
    })
  }
  const say = (items: readonly Item[]) => {
    if (state.turn) update(items.reduce(withAside, state.turn))
    else change({ items: [...state.items, ...items] })
  }
  const joinServers = () => {
    reportedServers = state.items
  }
  return {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    change,
    update,
    say,
    notify: (lines, kind = 'output') => say(lines.map((line) => itemOf(kind, line))),
    reportServers(kind, line) {
      const isApart = state.turn !== undefined || state.items !== reportedServers
      say([{ ...itemOf(kind, line), isApart }])
      joinServers()
    },
    joinServers,
  }
}
