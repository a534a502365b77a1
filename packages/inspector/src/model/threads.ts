// The events of conversations, each in its order and once, and the newest of all up to a limit.
import { textOf } from '@toolshelf/core/internal'
import { type ConversationFold, emptyFold, foldEvent } from './fold.ts'
import { compareEvents, type EventRecord } from './records.ts'

type Kept = { readonly event: EventRecord; readonly characters: number }

/** The events of one conversation, or of no conversation under the empty id. */
export type Thread = {
  kept: readonly Kept[]
  /** The first `folded` events are in the fold. */
  fold: ConversationFold
  folded: number
}

type OpenThread = Thread & { kept: Kept[]; isOrdered: boolean }

/** The events of all conversations. */
type Threads = {
  add(event: EventRecord, characters: number): void
  /** The thread with all of its events in order; undefined if there is none. */
  get(id: string): Thread | undefined
  /** Drops what is beyond the limits, and returns all threads. */
  settle(): ReadonlyMap<string, Thread>
  readonly kept: number
  readonly dropped: number
}

/** Limits of what is kept. */
type ThreadLimits = { readonly maxEvents: number; readonly maxCharacters: number }

/** The share of the limits beyond which events are dropped: dropping takes time, so it is done rarely. */
const SLACK = 1.25

/** Creates an empty collection. */
export function createThreads(limits: ThreadLimits): Threads {
  const threads = new Map<string, OpenThread>()
  const sums = { kept: 0, characters: 0, dropped: 0 }
  /** Events up to this one were dropped, and are refused if they arrive again. */
  let horizon: EventRecord | undefined
  const isBeyond = (slack: number) =>
    sums.kept > limits.maxEvents * slack || sums.characters > limits.maxCharacters * slack

  const settle = () => {
    for (const thread of threads.values()) order(thread)
    Object.assign(sums, sumsOf(threads))
    if (!isBeyond(1)) return threads
    horizon = newestBeyond(threads, limits) ?? horizon
    for (const [id, thread] of threads) {
      const left = thread.kept.filter(({ event }) => isAfter(event, horizon))
      sums.dropped += thread.kept.length - left.length
      if (left.length === 0) threads.delete(id)
      else if (left.length < thread.kept.length) threads.set(id, newThread(left))
    }
    Object.assign(sums, sumsOf(threads))
    return threads
  }
  return {
    add(event, characters) {
      if (!isAfter(event, horizon)) {
        sums.dropped++
        return
      }
      push(threads, { event, characters })
      sums.kept++
      sums.characters += characters
      if (isBeyond(SLACK)) settle()
    },
    get(id) {
      const thread = threads.get(id)
      if (thread) order(thread)
      return thread
    },
    settle,
    get kept() {
      return sums.kept
    },
    get dropped() {
      return sums.dropped
    },
  }
}

function isAfter(event: EventRecord, horizon: EventRecord | undefined): boolean {
  return horizon === undefined || compareEvents(event, horizon) > 0
}

function sumsOf(threads: ReadonlyMap<string, Thread>) {
  let [kept, characters] = [0, 0]
  for (const thread of threads.values()) {
    kept += thread.kept.length
    for (const one of thread.kept) characters += one.characters
  }
  return { kept, characters }
}

/** The newest event that does not fit into the limits, counted from the newest of all. */
function newestBeyond(threads: ReadonlyMap<string, Thread>, limits: ThreadLimits): EventRecord | undefined {
  const all = [...threads.values()].flatMap(({ kept }) => kept)
  all.sort((one, other) => compareEvents(other.event, one.event))
  let characters = 0
  const at = all.findIndex((one, index) => {
    characters += one.characters
    return index >= limits.maxEvents || characters > limits.maxCharacters
  })
  return all[at]?.event
}

function newThread(kept: Kept[]): OpenThread {
  return { kept, isOrdered: true, fold: emptyFold(), folded: 0 }
}

function push(threads: Map<string, OpenThread>, one: Kept): void {
  const id = textOf(one.event.conversation)
  const thread = threads.get(id) ?? newThread([])
  threads.set(id, thread)
  const last = thread.kept.at(-1)
  if (last && compareEvents(last.event, one.event) >= 0) thread.isOrdered = false
  thread.kept.push(one)
}

/** Sorts what arrived out of order and drops what arrived twice; what was folded is folded anew. */
function order(thread: OpenThread): void {
  if (thread.isOrdered) return
  const sorted = [...thread.kept].sort((one, other) => compareEvents(one.event, other.event))
  const isFirst = ({ event }: Kept, at: number) =>
    at === 0 || compareEvents(sorted[at - 1]!.event, event) !== 0
  Object.assign(thread, newThread(sorted.filter(isFirst)))
}

/** Returns the thread's turns so far; folds the events that came since the last time. */
export function foldThread(thread: Thread): ConversationFold {
  for (; thread.folded < thread.kept.length; thread.folded++)
    foldEvent(thread.fold, thread.kept[thread.folded]!.event)
  return thread.fold
}
