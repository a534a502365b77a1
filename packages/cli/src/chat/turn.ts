// The state of a running turn: text and calls in order, and what happens now.

import type { AgentEvent } from '@toolshelf/agent'
import { addUsage, noUsage, type TokenUsage } from '@toolshelf/agent/internal'
import type { Message, ToolUse } from '@toolshelf/core'
import { oneLine, SEARCH_TOOL } from '@toolshelf/core/internal'
import { harmless } from '../terminal/table.ts'
import type { Item } from './items.ts'
import { closedLines } from './markdown.ts'
import { type Call, isCall, isInRow, isSeen, itemsOf, type Part, partsOf, type Speech } from './parts.ts'
import { type Status, statusParts } from './status.ts'

/** A turn while it runs. */
export type TurnState = {
  /** Parts that may still change, and what follows them. */
  readonly parts: readonly Part[]
  /** Part of the streaming reply is already final on screen. */
  readonly isBegun: boolean
  readonly running: readonly ToolUse[]
  /** Notices since the model or a tool last answered. */
  readonly notices: readonly string[]
  /** When the model is asked again after a failure. */
  readonly again: { readonly at: number; readonly attempt: number; readonly attempts: number } | undefined
  readonly usage: TokenUsage
  /** Start time, moved forward by the time that questions took. */
  readonly began: number
  /** Since when a question is open. */
  readonly askedAt: number | undefined
}

/** Starts a turn now. */
export function newTurn(): TurnState {
  return {
    parts: [],
    isBegun: false,
    running: [],
    notices: [],
    again: undefined,
    usage: noUsage,
    began: Date.now(),
    askedAt: undefined,
  }
}

export function applyEvent(turn: TurnState, event: AgentEvent): TurnState {
  switch (event.type) {
    case 'text':
      return spoken(turn, 'said', event.text)
    case 'thinking':
      return spoken(turn, 'thought', event.text)
    case 'request':
      return { ...unspoken(turn), parts: withoutSpeech(turn.parts).map(ended), again: undefined }
    case 'reply':
      return replied(turn, event.content, event.usage)
    case 'broken-off':
      return { ...turn, usage: addUsage(turn.usage, event.usage) }
    case 'call':
      return { ...turn, running: [...turn.running, event.call] }
    case 'result':
      return {
        ...turn,
        notices: [],
        running: turn.running.filter(({ id }) => id !== event.call.id),
        parts: changed(turn.parts, event.call, (call) => over(call, event)),
      }
    case 'inside':
      return { ...turn, parts: changed(turn.parts, event.call, (call) => within(call, event.event)) }
    case 'retry':
      return retried(turn, event)
    case 'notice':
      return noticed(turn, event.text)
    case 'compacted':
      return noticed(turn, 'The older part of the conversation was summarised.')
    case 'end':
      return noticed(turn, event.reason === 'stopped' ? STOPPED : event.error)
    default:
      return turn
  }
}

/** Appends to the latest text, even if something else follows it by now. */
function spoken(turn: TurnState, kind: 'said' | 'thought', text: string): TurnState {
  const at = turn.parts.findLastIndex((part) => isSpeech(part) && part.isOpen)
  const last = turn.parts[at]
  if (last?.kind !== kind)
    return { ...turn, parts: [...turn.parts, { kind, text: text.trimStart(), isOpen: true }] }
  const whole = last.text === '' ? text.trimStart() : last.text + text
  return { ...turn, parts: turn.parts.with(at, { ...last, text: whole }) }
}

/** Discards the text of an interrupted reply that is not final on screen. */
function unspoken(turn: TurnState): TurnState {
  return { ...turn, parts: withoutSpeech(turn.parts), isBegun: false }
}

function withoutSpeech(parts: readonly Part[]): Part[] {
  return parts.filter((part) => !isSpeech(part) || !part.isOpen)
}

/** The text was already shown; it is reordered only if calls are in between. */
function replied(turn: TurnState, content: readonly Message[], usage: TokenUsage): TurnState {
  const heard = turn.parts.map((part) => (isSpeech(part) ? { ...part, isOpen: false } : part))
  const isMixed = content.findLastIndex(({ type }) => type === 'text') > content.findIndex(isCall)
  const isInOrder = turn.isBegun || !content.some(isCall) || !isMixed
  const all = partsOf([{ role: 'assistant', content }]).map(waiting)
  const parts = isInOrder
    ? [...heard, ...all.filter(({ kind }) => kind === 'call')]
    : [...withoutSpeech(turn.parts), ...all]
  return { ...turn, parts, isBegun: false, notices: [], usage: addUsage(turn.usage, usage) }
}

/** The API answers its own (server-side) calls within the reply. */
function waiting(part: Part): Part {
  return part.kind === 'call' ? { ...part, isOver: part.block.type !== 'tool_use' } : part
}

/** When the model is asked again, calls without a result will not get one. */
function ended(part: Part): Part {
  return part.kind === 'call' ? { ...part, isOver: true } : part
}

function changed(parts: readonly Part[], { id }: ToolUse, change: (call: Call) => Call): Part[] {
  return parts.map((part) => (part.kind === 'call' && part.block.id === id ? change(part) : part))
}

function over(call: Call, { result, change, outside }: AgentEvent & { readonly type: 'result' }): Call {
  return { ...call, result, isOver: true, ...(change ? { change } : {}), ...(outside ? { outside } : {}) }
}

function within(call: Call, event: AgentEvent): Call {
  if (event.type === 'call')
    return { ...call, inside: [...call.inside, { call: event.call, result: undefined }] }
  if (event.type !== 'result') return call
  const inside = call.inside.map((one) =>
    one.call.id === event.call.id ? { ...one, result: event.result } : one,
  )
  return { ...call, inside }
}

function retried(turn: TurnState, event: AgentEvent & { readonly type: 'retry' }): TurnState {
  const { reason, attempt, attempts, milliseconds } = event
  const again = { at: Date.now() + milliseconds, attempt: attempt + 1, attempts }
  const anew = turn.isBegun ? ' The answer above broke off and starts again.' : ''
  return noticed({ ...unspoken(turn), again }, `${sentence(reason)} Trying again.${anew}`)
}

const STOPPED = 'Stopped. The session continues.'

function noticed(turn: TurnState, text: string | undefined): TurnState {
  return text === undefined ? turn : withAside(turn, { kind: 'notice', text })
}

/** Adds an item after what is visible; does not repeat a notice. */
export function withAside(turn: TurnState, item: Item): TurnState {
  const { notices } = turn
  const isNotice = item.kind === 'notice'
  if (isNotice && notices.includes(item.text)) return turn
  const parts: Part[] = [...turn.parts, { kind: 'aside', item }]
  return { ...turn, parts, notices: isNotice ? [...notices, item.text] : notices }
}

/** Stops the turn's clock while the user is asked, and restarts it afterwards. */
export function pauseWhileAsking(turn: TurnState, isAsking: boolean): TurnState {
  const { began, askedAt } = turn
  if (isAsking) return { ...turn, askedAt: askedAt ?? Date.now() }
  return askedAt === undefined ? turn : { ...turn, began: began + Date.now() - askedAt, askedAt: undefined }
}

/** Returns the milliseconds so far. */
export function spentBy({ began, askedAt }: TurnState): number {
  return (askedAt ?? Date.now()) - began
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** Summarises a finished turn; `status` has the figures of this turn alone. */
export function spentItem(turn: TurnState, status: Status | undefined): Item {
  const { usage } = turn
  const count = (tokens: number) => tokens.toLocaleString('en-US')
  const cached = usage.cached > 0 ? ` (${count(usage.cached)} cached)` : ''
  const seconds = (spentBy(turn) / 1000).toFixed(1)
  const tokens = `${count(usage.input + usage.cached)} tokens in${cached}, ${count(usage.output)} out`
  const isAsked = status !== undefined && status.figures.rounds > 0
  const parts = [...(usage.output > 0 ? [tokens] : []), ...(isAsked ? statusParts(status) : [])]
  return { kind: 'spent', text: [`${seconds} s`, ...parts].join(' · ') }
}

const MAX_NAMES_LENGTH = 70

/** Describes what happens now in a few words; tool searches are not shown. */
export function runningText({ running, again, parts }: TurnState): string {
  if (again) {
    const seconds = Math.max(0, Math.ceil((again.at - Date.now()) / 1000))
    return `trying again in ${seconds} s (attempt ${again.attempt} of ${again.attempts})`
  }
  const isShown = (name: string) => name !== SEARCH_TOOL
  const inside = (id: string) =>
    parts
      .flatMap((part) => (part.kind === 'call' && part.block.id === id ? part.inside : []))
      .filter(({ call, result }) => result === undefined && isShown(call.name))
      .map(({ call }) => call.name)
  const texts = running
    .filter(({ name }) => isShown(name))
    .map(({ id, name }) => [name, [...new Set(inside(id))].join(', ')].filter(Boolean).join(': '))
  if (texts.length > 0) return `running ${oneLine([...new Set(texts)].join(', '), MAX_NAMES_LENGTH)}`
  return parts.some((part) => part.kind === 'said' && part.isOpen) ? 'answering' : 'thinking'
}

/**
 * Splits a turn into its final items and the parts that may still change; `isBegun`: part of the streaming reply is already
 * among the items.
 */
export function settle(parts: readonly Part[], isVerbose: boolean) {
  const count = certainParts(parts, isVerbose)
  const certain = parts.slice(0, count)
  const items = finalItems(certain, isVerbose)
  const [first, ...others] = parts.slice(count)
  const cut = first && isSpeech(first) && isSeen(first, isVerbose) ? cutSpeech(first) : undefined
  const isBegun = certain.some((part) => isSpeech(part) && part.isOpen && isSeen(part, isVerbose))
  if (!cut) return { items, parts: parts.slice(count), isBegun }
  return { items: [...items, cut.item], parts: [cut.rest, ...others], isBegun: true }
}

/** Returns all items as final, because nothing more comes. */
export function finalItems(parts: readonly Part[], isVerbose: boolean): Item[] {
  return itemsOf(parts, isVerbose).map((item) => ({ ...item, isOpen: false }))
}

/** How many parts from the first on are final, without splitting a group that may still grow. */
function certainParts(parts: readonly Part[], isVerbose: boolean): number {
  const open = parts.findIndex((part, index) => !isCertain(part, parts.slice(index + 1)))
  const maxFinal = open < 0 ? parts.length : open
  const seen = (some: readonly Part[]) => some.filter((part) => isSeen(part, isVerbose))
  for (let count = maxFinal; count > 0; count--) {
    const before = seen(parts.slice(0, count)).at(-1)
    const [after] = seen(parts.slice(count))
    const mayGrow = before && isInRow(before, isVerbose) && (!after || isInRow(after, isVerbose))
    if (!mayGrow) return count
  }
  return 0
}

/** Of a streaming reply, only the latest text grows. */
function isCertain(part: Part, later: readonly Part[]): boolean {
  if (part.kind === 'call') return part.isOver
  return !isSpeech(part) || !part.isOpen || later.some(isSpeech)
}

/** Returns whether a part is text or thinking of the model. */
function isSpeech(part: Part): part is Speech {
  return part.kind === 'said' || part.kind === 'thought'
}

function cutSpeech(speech: Speech): { readonly item: Item; readonly rest: Speech } | undefined {
  const { kind, text, fence, isOpen } = speech
  const lines = text.split(/\r?\n/)
  const { count, fence: next } = closed(lines.map(harmless), speech)
  if (count <= 0) return undefined
  const item = { kind, text: lines.slice(0, count).join('\n') }
  const rest = { kind, text: lines.slice(count).join('\n'), isOpen }
  return { item: withFence(item, fence), rest: withFence(rest, next) }
}

function closed(lines: readonly string[], { kind, fence }: Speech): ReturnType<typeof closedLines> {
  if (kind === 'thought') return { count: lines.findLastIndex((line) => line.trim() !== '') }
  const { count, fence: next } = closedLines(fence === undefined ? lines : [fence, ...lines])
  return { count: fence === undefined ? count : count - 1, fence: next }
}

function withFence<Some extends object>(some: Some, fence: string | undefined): Some & { fence?: string } {
  return fence === undefined ? some : { ...some, fence }
}
