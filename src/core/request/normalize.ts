// Makes a copy of the history that is valid with the tools of this request (N); the history itself stays complete.
//
// A message with references must have some text behind it (N3), and no foreign text in it (N4). Text goes behind all
// results of a turn, which is what adjacent user messages are to the API. Only turns that are new since the last request
// are processed.
// Implements S9, L4, N3, N4, N5, N6, N7.

import {
  isAnnouncement,
  isOurText,
  isToolChange,
  messageBlocks,
  noOpenCalls,
  type OpenCalls,
  pairedReply,
  pairedTurn,
  TOOL_LOADED,
  TOOLS_CHANGED,
  takeRemark,
  textBlock,
  withoutSearches,
} from '../history/index.ts'
import { isReference } from '../oracle/index.ts'
import type { Block, Message } from '../types.ts'
import { rewrite, type View } from './rewrite.ts'

/** The rules by which a history is normalised. */
export type NormalizeView = View & {
  /** Nothing already sent may change, so a turn's form depends only on that turn (N5). */
  readonly isBound: boolean
  /** Results in front of the first reply answer calls of messages that only the API has. */
  readonly continuesThread: boolean
  /** Identifies these rules: the same key means the same rules. */
  readonly key: string
}

/** The normalised part of a history, kept for the next request. */
export type NormalizedHistory = {
  readonly entries: readonly Message[]
  readonly key: string
  read: number
  /** The normalised messages; undefined in place of a message of which nothing is left. */
  readonly out: (Message | undefined)[]
  /** Turns with foreign text beside references; the text moves to the next turn. */
  readonly waiting: Turn[]
  /** Calls and searches of the newest reply that have no result yet. */
  readonly open: OpenCalls
  /** Searches of the reply before that; their results can come only at the start of the newest reply. */
  readonly late: Set<unknown>
}

type Turn = { readonly first: number; readonly length: number }

/** Normalises a copy of the history, which itself stays as it is (N7); a normalised history stays the same (N6). */
export function normalize(
  entries: readonly Message[],
  view: NormalizeView,
  memory: { normalized?: NormalizedHistory | undefined },
): Message[] {
  const known = memory.normalized
  const normalized =
    known && known.entries === entries && known.key === view.key ? known : emptyHistory(entries, view.key)
  let turn: Message[] = []
  let changes: Message[] = []
  for (let index = normalized.read; index < entries.length; index++) {
    const message = rewrite(entries[index] as Message, view)
    if (!message) continue
    if (message.role === 'user') {
      turn.push(message)
      continue
    }
    // Tool changes move to the end of their user turn.
    if (isToolChange(message)) {
      changes.push(message)
      continue
    }
    if (turn.length + changes.length > 0) closeTurn(normalized, turn, changes, view)
    const reply = message.role === 'assistant' ? pairedReply(message, normalized.open) : message
    if (reply) normalized.out.push(reply)
    turn = []
    changes = []
    normalized.read = index + 1
  }
  const last = copyOf(normalized)
  closeTurn(last, turn, changes, view)
  memory.normalized = normalized
  return last.out.includes(undefined) ? last.out.filter(isThere) : (last.out as Message[])
}

function emptyHistory(entries: readonly Message[], key: string): NormalizedHistory {
  return { entries, key, read: 0, out: [], waiting: [], open: noOpenCalls(), late: new Set() }
}

function copyOf(normalized: NormalizedHistory): NormalizedHistory {
  const { calls, searches } = normalized.open
  return {
    ...normalized,
    out: [...normalized.out],
    waiting: [...normalized.waiting],
    open: { calls: new Set(calls), searches: new Set(searches) },
    late: new Set(normalized.late),
  }
}

function isThere(message: Message | undefined): message is Message {
  return message !== undefined
}

/** Finishes a user turn: adds its messages, made valid, and then its tool changes. */
function closeTurn(
  normalized: NormalizedHistory,
  turn: readonly Message[],
  changes: readonly Message[],
  view: NormalizeView,
): void {
  if (turn.length > 0) expireSearches(normalized)
  const isFirst = view.continuesThread && !normalized.out.some((message) => message?.role === 'assistant')
  shapeTurn(normalized, isFirst ? turn : pairedTurn(turn, normalized.open), view)
  if (changes.length === 0) return
  if (normalized.out.findLast(isThere)?.role !== 'user')
    normalized.out.push({ role: 'user', content: TOOLS_CHANGED })
  normalized.out.push(...changes)
}

/** Removes the provider's searches whose results can no longer come. */
function expireSearches({ out, open, late }: NormalizedHistory): void {
  const expired = new Set([...open.searches].filter((id) => late.has(id) || open.calls.size === 0))
  for (const id of expired) open.searches.delete(id)
  late.clear()
  for (const id of open.searches) late.add(id)
  if (expired.size === 0) return
  for (const [index, message] of out.entries()) if (message) out[index] = withoutSearches(message, expired)
}

function shapeTurn(normalized: NormalizedHistory, messages: readonly Message[], view: NormalizeView): void {
  const turn = { first: normalized.out.length, length: messages.length }
  normalized.out.push(...messages)
  placeNotes(normalized, turn)
  if (!view.takesReferences) return
  if (!some(normalized, turn, hasReference)) {
    const target = lastResult(normalized, turn)
    if (target >= 0 && normalized.waiting.length > 0) moveWaiting(normalized, target)
  } else {
    if (!view.isBound && some(normalized, turn, isMixed)) normalized.waiting.push(turn)
    ensureText(normalized, turn)
  }
}

/** Moves the remarks of our searches after all results of their turn (S9). */
function placeNotes(normalized: NormalizedHistory, turn: Turn): void {
  const notes: Block[] = []
  for (let index = turn.first; index < turn.first + turn.length; index++) {
    const message = normalized.out[index]
    const taken = messageBlocks(message).map(takeRemark)
    if (!message || taken.every(({ remark }) => remark === undefined)) continue
    notes.push(...taken.flatMap(({ remark }) => (remark === undefined ? [] : [textBlock(remark)])))
    const blocks = taken.map(({ rest }) => rest)
    normalized.out[index] = { ...message, content: blocks }
  }
  if (notes.length > 0) addBlocks(normalized, lastResult(normalized, turn), notes)
}

/** Moves the text of waiting turns after the results of this one, in the same order (N4). */
function moveWaiting(normalized: NormalizedHistory, target: number): void {
  const moved: Block[] = []
  for (const turn of normalized.waiting.splice(0)) {
    for (let index = turn.first; index < turn.first + turn.length; index++) {
      const message = normalized.out[index]
      if (!message || !isMixed(message)) continue
      const blocks = messageBlocks(message)
      moved.push(...blocks.filter(isForeignText))
      normalized.out[index] = { ...message, content: blocks.filter((block) => !isForeignText(block)) }
    }
    ensureText(normalized, turn)
  }
  addBlocks(normalized, target, moved)
}

/**
 * Adds text to the message of the turn's last result if it has none. Only this message decides, so that a message that
 * joins the turn later changes nothing that was sent.
 */
function ensureText(normalized: NormalizedHistory, turn: Turn): void {
  const target = lastResult(normalized, turn)
  const holder = normalized.out[target]
  if (holder && !hasText(holder)) addBlocks(normalized, target, [textBlock(TOOL_LOADED)])
}

function addBlocks(normalized: NormalizedHistory, index: number, blocks: readonly Block[]): void {
  const message = normalized.out[index]
  if (message) normalized.out[index] = { ...message, content: [...messageBlocks(message), ...blocks] }
}

function lastResult(normalized: NormalizedHistory, turn: Turn): number {
  for (let index = turn.first + turn.length - 1; index >= turn.first; index--) {
    const message = normalized.out[index]
    if (message && messageBlocks(message).some(({ type }) => type === 'tool_result')) return index
  }
  return -1
}

function some(normalized: NormalizedHistory, turn: Turn, test: (message: Message) => boolean): boolean {
  for (let index = turn.first; index < turn.first + turn.length; index++) {
    const message = normalized.out[index]
    if (message && test(message)) return true
  }
  return false
}

function hasReference(message: Message): boolean {
  return messageBlocks(message).some(
    ({ type, content }) => type === 'tool_result' && Array.isArray(content) && content.some(isReference),
  )
}

function hasText(message: Message): boolean {
  return messageBlocks(message).some(({ type, text }) => type === 'text' && !isAnnouncement(String(text)))
}

/** Returns whether a message has foreign text beside references (N4). */
function isMixed(message: Message): boolean {
  return hasReference(message) && messageBlocks(message).some(isForeignText)
}

function isForeignText(block: Block): boolean {
  return block.type === 'text' && !(typeof block.text === 'string' && isOurText(block.text))
}
