// Folds events into what the page shows: conversations with their turns, pools, servers, costs. Events may arrive in any
// order, twice or not at all: the result depends only on which have arrived. The newest are kept up to a limit.
import { textOf } from '../../lib/index.ts'
import { applyEvent, type ConversationFold, emptyFold } from './fold.ts'
import { createPools, type Pools } from './pools.ts'
import { compareEvents, type EventRecord, readEvent } from './records.ts'
import { addSpending, NO_SPENDING, type Spending, spendingOf } from './spending.ts'
import type { InspectedTurn } from './turn-types.ts'

export type EventModelLimits = {
  /** Events that are kept. Default: 200,000. */
  readonly mostEvents?: number
  /** Characters of the events that are kept, as JSON. Default: 200 million. */
  readonly mostCharacters?: number
}

/** A conversation in a list. */
export type ConversationSummary = {
  readonly id: string
  /** `mcp`, `serve`, `chat`, `run` or `library`; empty in recordings that do not say. */
  readonly kind: string
  readonly client: string
  readonly startTime: string
  readonly endTime: string
  readonly models: readonly string[]
  readonly events: number
  readonly turns: number
  readonly searches: number
  readonly calls: number
  /** Calls that failed, were refused or stopped. */
  readonly troubles: number
  /** Turns in which the cached prefix broke. */
  readonly breaks: number
  /** The first search: what the conversation was about. */
  readonly topic: string
  readonly spending: Spending
}

/** Counts of what arrived. */
export type EventCounts = {
  readonly kept: number
  /** Dropped because newer ones reached the limit. */
  readonly dropped: number
  /** Not events of this format. */
  readonly refused: number
}

export type EventModel = {
  /** Takes an event; `characters` is its length as JSON. Anything that is not an event is counted and dropped. */
  add(value: unknown, characters?: number): void
  /** Grows with each change. */
  readonly version: number
  counts(): EventCounts
  /** The newest first. */
  conversations(): readonly ConversationSummary[]
  turns(conversation: string): readonly InspectedTurn[]
  /** Events of a conversation, or of the whole process for an empty id, in their order. */
  events(conversation: string): readonly EventRecord[]
  pools(): Pools
}

type Kept = { readonly event: EventRecord; readonly characters: number }

type Thread = {
  kept: Kept[]
  /** The events are in their order and each is there once. */
  isOrdered: boolean
  /** The first `folded` events are in the fold. */
  fold: ConversationFold
  folded: number
  summary: ConversationSummary | undefined
}

/** The share of the limits beyond which events are dropped: dropping takes time, so it is done rarely. */
const SLACK = 1.25

export function createEventModel({
  mostEvents = 200_000,
  mostCharacters = 200_000_000,
}: EventModelLimits = {}): EventModel {
  const threads = new Map<string, Thread>()
  let [version, kept, characters, dropped, refused] = [0, 0, 0, 0, 0]
  let horizon: EventRecord | undefined
  let memory: { readonly version: number; readonly summaries: readonly ConversationSummary[] } | undefined
  let poolMemory: { readonly events: number; readonly thread: Thread; readonly pools: Pools } | undefined

  const settle = () => {
    for (const thread of threads.values()) order(thread)
    recount()
    if (kept > mostEvents || characters > mostCharacters) dropOldest()
  }
  const recount = () => {
    kept = 0
    characters = 0
    for (const thread of threads.values()) {
      kept += thread.kept.length
      for (const one of thread.kept) characters += one.characters
    }
  }
  const dropOldest = () => {
    const all = [...threads.values()].flatMap((thread) => thread.kept)
    all.sort((one, other) => compareEvents(other.event, one.event))
    let size = 0
    const most = all.findIndex((one, index) => {
      size += one.characters
      return index >= mostEvents || size > mostCharacters
    })
    horizon = all[most]?.event
    for (const [id, thread] of threads) {
      const left = thread.kept.filter(({ event }) => isAhead(event))
      dropped += thread.kept.length - left.length
      if (left.length === 0) threads.delete(id)
      else if (left.length < thread.kept.length) threads.set(id, newThread(left))
    }
    recount()
  }
  const isAhead = (event: EventRecord) => horizon === undefined || compareEvents(event, horizon) > 0
  const isFull = () => kept > mostEvents * SLACK || characters > mostCharacters * SLACK
  const threadOf = (id: string) => {
    const thread = threads.get(id)
    if (thread) order(thread)
    return thread
  }

  return {
    add(value, size) {
      version++
      const event = readEvent(value)
      if (!event) refused++
      else if (!isAhead(event)) dropped++
      else {
        const length = size ?? JSON.stringify(event).length
        push(threads, event, length)
        kept++
        characters += length
        if (isFull()) settle()
      }
    },
    get version() {
      return version
    },
    counts() {
      settle()
      return { kept, dropped, refused }
    },
    conversations() {
      if (memory?.version === version) return memory.summaries
      settle()
      const summaries = [...threads].flatMap(([id, thread]) => (id === '' ? [] : [summaryOf(id, thread)]))
      summaries.sort((a, b) =>
        a.endTime < b.endTime ? 1 : a.endTime > b.endTime ? -1 : a.id < b.id ? -1 : 1,
      )
      memory = { version, summaries }
      return summaries
    },
    turns(conversation) {
      const thread = threadOf(conversation)
      return thread ? folded(thread).turns : []
    },
    events(conversation) {
      return threadOf(conversation)?.kept.map(({ event }) => event) ?? []
    },
    pools() {
      const thread = threadOf('')
      if (!thread) return createPools()
      const events = thread.kept.length
      if (poolMemory?.thread === thread && poolMemory.events === events) return poolMemory.pools
      const pools = createPools()
      for (const { event } of thread.kept) pools.add(event)
      poolMemory = { events, thread, pools }
      return pools
    },
  }
}

function newThread(kept: Kept[]): Thread {
  return { kept, isOrdered: true, fold: emptyFold(), folded: 0, summary: undefined }
}

function push(threads: Map<string, Thread>, event: EventRecord, characters: number): void {
  const id = textOf(event.conversation)
  const thread = threads.get(id) ?? newThread([])
  threads.set(id, thread)
  const last = thread.kept.at(-1)
  if (last && compareEvents(last.event, event) >= 0) thread.isOrdered = false
  thread.kept.push({ event, characters })
  thread.summary = undefined
}

/** Sorts what arrived out of order and drops what arrived twice; what was folded is folded anew. */
function order(thread: Thread): void {
  if (thread.isOrdered) return
  const sorted = [...thread.kept].sort((one, other) => compareEvents(one.event, other.event))
  thread.kept = sorted.filter(
    ({ event }, at) => at === 0 || compareEvents(sorted[at - 1]!.event, event) !== 0,
  )
  Object.assign(thread, newThread(thread.kept))
}

function folded(thread: Thread): ConversationFold {
  for (; thread.folded < thread.kept.length; thread.folded++)
    applyEvent(thread.fold, thread.kept[thread.folded]!.event)
  return thread.fold
}

function summaryOf(id: string, thread: Thread): ConversationSummary {
  thread.summary ??= summarise(id, thread)
  return thread.summary
}

function summarise(id: string, thread: Thread): ConversationSummary {
  const { turns, kind, client } = folded(thread)
  const calls = turns.flatMap((turn) => turn.calls)
  return {
    ...{ id, kind, client },
    startTime: thread.kept[0]?.event.time ?? '',
    endTime: thread.kept.at(-1)?.event.time ?? '',
    models: [...new Set(turns.flatMap(({ model }) => (model === '' ? [] : [model])))],
    events: thread.kept.length,
    turns: turns.length,
    searches: turns.reduce((sum, { searches }) => sum + searches.length, 0),
    calls: calls.length,
    troubles: calls.filter(({ outcome }) => outcome !== 'done' && outcome !== 'running').length,
    breaks: turns.filter(({ prefix }) => prefix?.isKept === false).length,
    topic: turns.find(({ searches }) => searches.length > 0)?.searches[0]?.query ?? '',
    spending: turns.map(spendingOf).reduce(addSpending, NO_SPENDING),
  }
}
