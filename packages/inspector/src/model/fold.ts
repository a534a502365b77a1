// Folds the events of one conversation, in their order, into turns.
import { type BilledTokens, type Fields, fieldsOf, isFields, listOf, textOf } from '@toolshelf/core/internal'
import { amountOf, type EventRecord, numberOf, stringsOf } from './records.ts'
import type {
  DefinitionShare,
  InspectedCall,
  InspectedCause,
  InspectedPrefix,
  InspectedSampling,
  InspectedSearch,
  InspectedTurn,
} from './turn-types.ts'

/** A conversation while it is folded. */
export type ConversationFold = {
  readonly turns: InspectedTurn[]
  kind: string
  client: string
  /** The user of a gateway for teams; empty where there are no users. */
  user: string
  /** Calls whose result is not known yet, by id. */
  readonly running: Map<string, InspectedCall>
}

/** Returns a conversation without events. */
export function emptyFold(): ConversationFold {
  return { turns: [], kind: '', client: '', user: '', running: new Map() }
}

/** Applies the next event of the conversation. */
export function foldEvent(fold: ConversationFold, event: EventRecord): void {
  if (event.type === 'opened') {
    applyOpened(fold, event)
    return
  }
  const turn = turnFor(fold, event)
  turn.endTime = event.time
  if (Object.hasOwn(APPLY, event.type)) APPLY[event.type]?.(turn, event, fold)
}

function applyOpened(fold: ConversationFold, event: EventRecord): void {
  fold.kind = textOf(event.kind)
  fold.user = textOf(event.user)
  const { name, version } = fieldsOf(event.client)
  fold.client = [textOf(name), textOf(version)].filter((part) => part !== '').join(' ')
}

function turnFor(fold: ConversationFold, event: EventRecord): InspectedTurn {
  const last = fold.turns.at(-1)
  if (last && !startsTurn(last, event)) return last
  const turn = emptyTurn(fold.turns.length, event.time)
  // The working set holds until the next request or list says otherwise.
  if (last) {
    turn.pool = last.pool
    turn.loaded = last.loaded
    turn.share = last.share
  }
  fold.turns.push(turn)
  return turn
}

/**
 * Returns whether an event starts a turn. A request does, with the announcements and reloads that belong to it.
 * Without requests, a search after calls does, or an answer after an answer.
 */
function startsTurn(last: InspectedTurn, { type, by }: EventRecord): boolean {
  if (type === 'announced' || (type === 'loaded' && by === 'reload')) return last.decision !== undefined
  if (type === 'decision') return last.decision !== undefined || !isUntouched(last)
  if (type === 'searched') return last.decision === undefined && last.calls.length > 0
  return type === 'answered' && last.answer !== undefined
}

function isUntouched({ searches, calls, samplings, answer }: InspectedTurn): boolean {
  return searches.length === 0 && calls.length === 0 && samplings.length === 0 && answer === undefined
}

/** One literal: turns are many, and spreading objects into each took a third of the time of a large recording. */
function emptyTurn(index: number, time: string): InspectedTurn {
  return {
    index,
    time,
    endTime: time,
    model: '',
    decision: undefined,
    pool: '',
    loaded: undefined,
    share: undefined,
    messages: undefined,
    isSubAgent: false,
    prefix: undefined,
    answer: undefined,
    searches: [],
    loads: [],
    calls: [],
    samplings: [],
    notes: [],
  }
}

type Apply = (turn: InspectedTurn, event: EventRecord, fold: ConversationFold) => void

/** What each type of event does to its turn; types that are not known yet do nothing. */
const APPLY: { readonly [type: string]: Apply | undefined } = {
  decision(turn, event) {
    const { open, reason, error, lacks } = fieldsOf(event.decision)
    const problem = textOf(error) || textOf(lacks)
    turn.decision = { isOpen: open === true, reason: textOf(reason), error: problem }
    turn.model = textOf(event.model)
    turn.messages = numberOf(event.messages)
    turn.isSubAgent = event.isSubAgent === true
    applyWorkingSet(turn, event)
  },
  listed(turn, event) {
    const { loaded } = turn
    applyWorkingSet(turn, event)
    // What a bridge loads is called through CallTool, and never on the list.
    if (event.mode === 'bridge') turn.loaded = loaded ?? turn.loaded
  },
  prefix(turn, event) {
    turn.prefix = readPrefix(event)
  },
  searched(turn, event) {
    turn.searches.push(readSearch(event))
  },
  loaded(turn, event) {
    const names = stringsOf(event.names)
    turn.loads.push({ names, by: textOf(event.by) })
    // A request names what is loaded; without one, what was loaded stays.
    if (!turn.decision) turn.loaded = [...new Set([...(turn.loaded ?? []), ...names])]
  },
  sampled(turn, event) {
    turn.samplings.push(readSampling(event))
  },
  call(turn, event, fold) {
    startCall(turn, event, fold).input = event.content
  },
  result: applyResult,
  permission(turn, event, fold) {
    const call = fold.running.get(textOf(event.id))
    if (call) call.isAllowed = event.isAllowed === true
    else if (event.isAllowed === false) note(turn, event, `${textOf(event.name)} was not allowed to run`)
  },
  answered: applyAnswer,
  announced(turn, event) {
    const [added, removed] = [amountOf(event.added), amountOf(event.removed)]
    note(turn, event, `announced ${added} names of tools and withdrew ${removed}`)
    if (event.fault === true) note(turn, event, 'the records of earlier announcements were lost')
  },
  compacted(turn, event) {
    note(
      turn,
      event,
      `compacted (${textOf(event.trigger)}) from ${amountOf(event.before)} messages to ${amountOf(event.after)}`,
    )
  },
  rejected: (turn, event) => note(turn, event, `the back-end refused tool search: ${textOf(event.message)}`),
  warning: (turn, event) => note(turn, event, textOf(event.message)),
}

function note(turn: InspectedTurn, { time, type }: EventRecord, text: string): void {
  turn.notes.push({ time, kind: type, text })
}

function applyWorkingSet(turn: InspectedTurn, event: EventRecord): void {
  turn.pool = textOf(event.pool)
  turn.loaded = Array.isArray(event.loaded) ? stringsOf(event.loaded) : undefined
  turn.share = readShare(event.tools)
}

function readShare(value: unknown): DefinitionShare | undefined {
  if (!isFields(value)) return undefined
  return {
    visible: amountOf(value.visible),
    total: amountOf(value.total),
    tokensWith: amountOf(value.tokensWith),
    tokensWithout: amountOf(value.tokensWithout),
  }
}

function readPrefix(event: EventRecord): InspectedPrefix {
  const contents = listOf(event.content)
  const causes = listOf(event.causes).map((cause, at) => readCause(fieldsOf(cause), contents[at]))
  return { isKept: event.isKept === true, causes, left: amountOf(event.left) }
}

function readCause({ kind, name, index }: Fields, content: unknown): InspectedCause {
  const change = fieldsOf(content)
  return {
    kind: textOf(kind),
    name: textOf(name),
    position: numberOf(index),
    before: readable(change.before),
    after: readable(change.after),
  }
}

/** A value as lines that can be compared. */
function readable(value: unknown): string | undefined {
  if (value === undefined) return undefined
  return typeof value === 'string' ? value : (JSON.stringify(value, undefined, 2) ?? '')
}

function readSearch(event: EventRecord): InspectedSearch {
  const scores = listOf(event.scores)
  return {
    time: event.time,
    query: textOf(event.query),
    ranker: textOf(event.ranker),
    matched: amountOf(event.matched),
    searchable: numberOf(event.searchable),
    refused: amountOf(event.refused),
    unsearched: stringsOf(event.unsearched),
    hits: stringsOf(event.found).map((name, at) => ({ name, score: numberOf(scores[at]) })),
  }
}

function readSampling(event: EventRecord): InspectedSampling {
  return {
    time: event.time,
    model: textOf(event.model),
    milliseconds: numberOf(event.milliseconds),
    stopReason: textOf(event.stopReason),
    error: textOf(event.error),
    usage: readUsage(event.usage),
  }
}

function readUsage(value: unknown): BilledTokens | undefined {
  if (!isFields(value)) return undefined
  return {
    input: amountOf(value.input),
    cacheRead: amountOf(value.cacheRead),
    cacheWrite: amountOf(value.cacheWrite),
    cacheWrite1h: amountOf(value.cacheWrite1h),
    output: amountOf(value.output),
  }
}

function startCall(turn: InspectedTurn, event: EventRecord, { running }: ConversationFold): InspectedCall {
  const call: InspectedCall = {
    id: textOf(event.id),
    name: textOf(event.name),
    server: textOf(event.server),
    time: event.time,
    outcome: 'running',
    reason: '',
    milliseconds: undefined,
    size: undefined,
    isAllowed: undefined,
    input: undefined,
    result: undefined,
  }
  turn.calls.push(call)
  running.set(call.id, call)
  return call
}

/** A result may come turns after its call, and without one if the call was refused. */
function applyResult(turn: InspectedTurn, event: EventRecord, fold: ConversationFold): void {
  const call = fold.running.get(textOf(event.id)) ?? startCall(turn, event, fold)
  fold.running.delete(call.id)
  call.outcome = textOf(event.outcome)
  call.reason = textOf(event.reason)
  call.milliseconds = numberOf(event.milliseconds)
  call.size = numberOf(event.size)
  call.result = event.content
}

function applyAnswer(turn: InspectedTurn, event: EventRecord): void {
  turn.model ||= textOf(event.model)
  turn.answer = {
    status: amountOf(event.status),
    milliseconds: amountOf(event.milliseconds),
    mode: textOf(event.mode),
    wire: textOf(event.wire),
    why: textOf(event.why),
    toolsGiven: amountOf(event.toolsGiven),
    toolsVisible: amountOf(event.toolsVisible),
    rounds: amountOf(event.rounds),
    tokensWithout: numberOf(event.tokensWithout),
    tokensWith: numberOf(event.tokensWith),
    dollarsWithout: numberOf(event.dollarsWithout),
    dollarsWith: numberOf(event.dollarsWith),
    error: textOf(event.error),
  }
}
