// Shortens a history without losing a loaded tool: by a summary (C1–C4), or by leaving out single messages (C5).
// Implements C1, C2, C3, C5.

import {
  carriesState,
  foldHistory,
  isToolChange,
  keepBlocks,
  messageBlocks,
  readDelta,
  writeBoundary,
} from './history/index.ts'
import { wrong } from './options.ts'
import { rewrite } from './request/index.ts'
import { type Bound, plainView, withoutThinking } from './sendable.ts'
import type { History, Message, MessageLike, SendableItem } from './types.ts'

/** Options of `shelf.compact`. */
export type CompactOptions<Item extends MessageLike = MessageLike> = {
  /** Writes the summary of the messages that are replaced, in a form that any back-end takes; or the summary's text. */
  readonly summarize: ((messages: SendableItem<Item>[]) => string | Promise<string>) | string
  /** How many of the newest messages stay as they are; more where a call would lose its result. Default: 0. */
  readonly keep?: number
  /** Recorded with the summary, such as `auto`. Default: `manual`. */
  readonly trigger?: string
  /** Where thinking is bound to the prefix, that of messages that stay is dropped (N5). */
  readonly bound?: Bound
}

/**
 * The function form of `shelf.compact`: the summary as a note, and the messages that stay. What is loaded is read from
 * all messages, kept ones included (C2).
 */
export async function compactHistory<Item extends MessageLike>(
  given: readonly Item[],
  searchName: string,
  options: CompactOptions<Item>,
): Promise<History<SendableItem<Item>>> {
  const { summarize, keep = 0, trigger = 'manual', bound = false } = options ?? {}
  if (!Number.isInteger(keep) || keep < 0) throw wrong('keep', keep, 'a whole number of messages')
  if (typeof summarize !== 'function' && typeof summarize !== 'string') {
    throw wrong('summarize', summarize, 'a function that returns the summary, or its text')
  }
  const entries = given as unknown as readonly Message[]
  const start = safeStart(entries, entries.length - keep)
  if (start === 0 && typeof summarize === 'function') return [...given] as History<SendableItem<Item>>
  const loaded = [...foldHistory(entries, searchName).loaded]
  const kept = entries.slice(start)
  const left = entries
    .slice(0, start)
    .map((message) => rewrite(message, plainView))
    .filter((message) => message !== undefined)
  const gone = bound ? left.map(withoutThinking) : left
  const content: unknown =
    typeof summarize === 'string' ? summarize : await summarize(gone as unknown as SendableItem<Item>[])
  if (typeof content !== 'string') throw wrong('summarize', content, 'a function that returns text')
  const boundary = writeBoundary({
    content: content.trim() === '' ? 'The conversation so far was summarised.' : content,
    compactMetadata: {
      trigger,
      keptDeltas: kept.filter(readDelta).length,
      ...(loaded.length > 0 ? { preCompactDiscoveredTools: [...loaded].sort(), loadOrder: loaded } : {}),
    },
  })
  // The boundary has the shape of a user message, with fields of ours.
  return [boundary, ...withoutBound(kept, bound)] as unknown as History<SendableItem<Item>>
}

/**
 * The function form of `shelf.snip`. Leaves out single messages, but never one that loads tools, nor what is tied to it by
 * a call. A call that goes takes its result along, and a result its call; what else stands in those messages stays (C5).
 */
export function snipHistory<Item extends MessageLike>(
  given: readonly Item[],
  searchName: string,
  drop: (message: Item, index: number) => boolean,
  { bound = false }: { readonly bound?: Bound } = {},
): Item[] {
  const isKept = keptByState(given as unknown as readonly Message[], searchName)
  const isGone = given.map((message, index) => !isKept[index] && Boolean(drop(message, index)))
  const entries = given as unknown as readonly Message[]
  const gone = new Set(entries.filter((_, index) => isGone[index]).flatMap(idsIn))
  const left = entries.map((message, index) =>
    isGone[index]
      ? undefined
      : keepBlocks(message, ({ id, tool_use_id }) => !gone.has(id) && !gone.has(tool_use_id)),
  )
  const first = left.findIndex((message, index) => message !== entries[index])
  if (first < 0) return [...given]
  const after = left.slice(first).filter((message) => message !== undefined)
  return [...entries.slice(0, first), ...withoutBound(after, bound)] as unknown as Item[]
}

/** Which messages must stay: those that carry state, and all that calls and tool changes tie to them. */
function keptByState(entries: readonly Message[], searchName: string): boolean[] {
  const { searchCalls } = foldHistory(entries, searchName)
  const isKept = entries.map((message) => carriesState(message, searchCalls, searchName))
  for (let changed = true; changed; ) {
    changed = false
    const ids = new Set(entries.filter((_, index) => isKept[index]).flatMap(idsIn))
    for (const [index, message] of entries.entries()) {
      const next = entries[index + 1]
      const isBase = isKept[index + 1] === true && next !== undefined && isToolChange(next)
      if (isKept[index] || !(isBase || idsIn(message).some((id) => ids.has(id)))) continue
      isKept[index] = true
      changed = true
    }
  }
  return isKept
}

/** The calls that a message makes or answers. */
function idsIn(message: Message): unknown[] {
  return messageBlocks(message).flatMap(({ id, tool_use_id }) =>
    [id, tool_use_id].filter((one) => one !== undefined),
  )
}

/** Thinking bound to messages that are gone is refused (N5); that of a newest reply by another model is not bound. */
function withoutBound(messages: readonly Message[], bound: Bound): readonly Message[] {
  if (!bound) return messages
  const isReply = (message: Message) => message?.role === 'assistant'
  const last = messages.findLastIndex(isReply)
  const start = messages.slice(0, last + 1).findLastIndex((message) => !isReply(message)) + 1
  const end = bound === 'earlier' && last >= 0 ? start : messages.length
  return messages.map((message, index) => (index < end ? withoutThinking(message) : message))
}

/** Moves the cut back until no kept result has lost its call. */
function safeStart(entries: readonly Message[], wanted: number): number {
  let start = Math.max(0, wanted)
  while (start > 0 && start < entries.length && !isCleanCut(entries, start)) start--
  return start
}

/** A history can begin here behind a summary, which is itself a user message. */
function isCleanCut(entries: readonly Message[], start: number): boolean {
  const first = entries[start]
  const reply = entries.slice(start).find(({ role }) => role === 'assistant')
  if (reply && answersEarlier(reply)) return false
  if (first?.role === 'assistant') return true
  return first?.role === 'user' && !messageBlocks(first).some(({ type }) => type === 'tool_result')
}

/** A reply that begins with the result of a hosted search made in the turn before. */
function answersEarlier(reply: Message): boolean {
  const blocks = messageBlocks(reply)
  const calls = new Set(blocks.map(({ id }) => id))
  return blocks.some(({ type, tool_use_id }) => type === 'tool_search_tool_result' && !calls.has(tool_use_id))
}
