// Folds events into what the page shows: conversations with their turns, pools, servers, costs. Events may arrive in any
// order, twice or not at all: the result depends only on which have arrived. The newest are kept up to a limit. They come from
// the process, or from a file: an export of the page, or lines of JSON as `--audit` writes them.
import { isFields, listOf, parseJson } from '@toolshelf/core/internal'
import { createPools, type Pools } from './pools.ts'
import { createTextLines, type EventRecord, readEvent } from './records.ts'
import { addSpending, type InspectedSpending, NO_SPENDING, spendingOf } from './spending.ts'
import { createThreads, foldThread, type Thread } from './threads.ts'
import type { InspectedTurn } from './turn-types.ts'

/** Limits of what is kept. */
type EventModelLimits = {
  /** Events that are kept. Default: 200,000. */
  readonly maxEvents?: number
  /** Characters of the events that are kept, as JSON. Default: 200 million. */
  readonly maxCharacters?: number
}

/** A conversation in a list. */
export type ConversationSummary = {
  readonly id: string
  /** `mcp`, `serve`, `chat`, `run` or `library`; empty in recordings that do not say. */
  readonly kind: string
  readonly client: string
  /** The user of a gateway for teams; empty where there are no users. */
  readonly user: string
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
  readonly spending: InspectedSpending
}

/** Counts of what arrived. */
export type EventCounts = {
  readonly kept: number
  /** Dropped because newer ones reached the limit. */
  readonly dropped: number
  /** Not events of this format. */
  readonly refused: number
}

/** Everything that the recorded events say. */
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

/** Creates an empty model. */
export function createEventModel(limits: EventModelLimits = {}): EventModel {
  const { maxEvents = 200_000, maxCharacters = 200_000_000 } = limits
  const threads = createThreads({ maxEvents, maxCharacters })
  const summaries = createSummaries()
  let [version, refused] = [0, 0]
  let listed: { readonly version: number; readonly summaries: readonly ConversationSummary[] } | undefined
  let known: { readonly events: number; readonly thread: Thread; readonly pools: Pools } | undefined
  return {
    add(value, characters) {
      version++
      const event = readEvent(value)
      if (event) threads.add(event, characters ?? JSON.stringify(event).length)
      else refused++
    },
    get version() {
      return version
    },
    counts() {
      threads.settle()
      return { kept: threads.kept, dropped: threads.dropped, refused }
    },
    conversations() {
      if (listed?.version !== version) listed = { version, summaries: summaries(threads.settle()) }
      return listed.summaries
    },
    turns(conversation) {
      const thread = threads.get(conversation)
      return thread ? foldThread(thread).turns : []
    },
    events(conversation) {
      return threads.get(conversation)?.kept.map(({ event }) => event) ?? []
    },
    pools() {
      const thread = threads.get('')
      if (!thread) return createPools()
      if (known?.thread === thread && known.events === thread.kept.length) return known.pools
      const pools = createPools()
      for (const { event } of thread.kept) pools.add(event)
      known = { events: thread.kept.length, thread, pools }
      return pools
    },
  }
}

/** Summaries of all conversations, the newest first; those without new events are remembered. */
function createSummaries(): (threads: ReadonlyMap<string, Thread>) => readonly ConversationSummary[] {
  const known = new WeakMap<Thread['fold'], ConversationSummary>()
  const summaryOf = (id: string, thread: Thread) => {
    const kept = known.get(thread.fold)
    if (kept?.events === thread.kept.length) return kept
    const summary = summarise(id, thread)
    known.set(thread.fold, summary)
    return summary
  }
  return (threads) => {
    const all = [...threads].flatMap(([id, thread]) => (id === '' ? [] : [summaryOf(id, thread)]))
    const byTime = (a: ConversationSummary, b: ConversationSummary) =>
      a.endTime < b.endTime ? 1 : a.endTime > b.endTime ? -1 : a.id < b.id ? -1 : 1
    return all.sort(byTime)
  }
}

function summarise(id: string, thread: Thread): ConversationSummary {
  const { turns, kind, client, user } = foldThread(thread)
  const calls = turns.flatMap((turn) => turn.calls)
  return {
    id,
    kind,
    client,
    user,
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
    spending: turns.reduce((sum, turn) => addSpending(sum, spendingOf(turn)), NO_SPENDING),
  }
}

/** How many events a file held, and how many of its lines are not events. */
type ReadFile = { readonly events: number; readonly broken: number }

const FORMAT = 'toolshelf-events'

/** Adds the events of a file to the model. */
export function addEventFile(text: string, model: EventModel): ReadFile {
  const whole = text.trimStart().startsWith('{') && text.includes(FORMAT) ? parseJson(text) : undefined
  return isFields(whole) && whole.format === FORMAT ? addExport(whole.events, model) : addLines(text, model)
}

function addExport(events: unknown, model: EventModel): ReadFile {
  let added = 0
  for (const event of listOf(events))
    if (readEvent(event)) {
      model.add(event)
      added++
    }
  return { events: added, broken: listOf(events).length - added }
}

function addLines(text: string, model: EventModel): ReadFile {
  let [events, broken] = [0, 0]
  const splitter = createTextLines((line) => {
    if (line.trim() === '') return
    const event = readEvent(parseJson(line))
    if (!event) broken++
    else {
      events++
      model.add(event, line.length)
    }
  })
  splitter.add(text)
  splitter.end()
  return { events, broken }
}
