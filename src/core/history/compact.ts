// What a summary must carry so that no loaded tool is lost (C). All three kinds of compaction are one.

import { wrong } from '../options.ts'
import { loadedEarlier } from '../request/wire/wire.ts'
import type { Message, MessageLike } from '../types.ts'
import { blocksOf, isToolChange, textBlock } from './blocks.ts'
import { carriesState, foldHistory } from './fold.ts'
import { readDelta, writeBoundary } from './notes.ts'
import { rewrite, type View } from './rewrite.ts'

export type CompactOptions<Item extends MessageLike = MessageLike> = {
  /** Writes the summary of the messages that go, in a form that any back-end takes; or the text itself, as a session memory has it. */
  readonly summarize: ((messages: Item[]) => string | Promise<string>) | string
  /** How many of the newest messages stay as they are; more where a call and its result would be parted. */
  readonly keep?: number
  readonly trigger?: string
  /** The model binds thinking to the prefix: the thinking of messages that stay is dropped (N5). */
  readonly bound?: boolean
}

/** Messages as they are without tool search. */
const plain: View = {
  open: false,
  takesReferences: false,
  takesAdditions: false,
  declares: () => false,
  recall: loadedEarlier,
}

/** The boundary and the messages that stay. The loaded set is read from all messages, kept ones included (C2). */
export async function compactHistory<Item extends MessageLike>(
  given: readonly Item[],
  searchName: string,
  options: CompactOptions<Item>,
): Promise<Item[]> {
  const { summarize, keep = 0, trigger = 'manual', bound = false } = options ?? {}
  if (!Number.isInteger(keep) || keep < 0) throw wrong('keep', keep, 'a whole number of messages')
  if (typeof summarize !== 'function' && typeof summarize !== 'string') {
    throw wrong('summarize', summarize, 'a function that returns the summary, or its text')
  }
  const entries = given as unknown as readonly Message[]
  const start = safeStart(entries, entries.length - keep)
  if (start === 0 && typeof summarize === 'function') return [...given]
  const loaded = [...foldHistory(entries, searchName).loaded]
  const kept = entries.slice(start)
  const left = entries
    .slice(0, start)
    .map((message) => rewrite(message, plain))
    .filter((message) => message !== undefined)
  const gone = bound ? left.map(withoutThinking) : left
  const content: unknown =
    typeof summarize === 'string' ? summarize : await summarize(gone as unknown as Item[])
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
  return [boundary, ...(bound ? kept.map(withoutThinking) : kept)] as unknown as Item[]
}

/** Leaves out single messages, but never one that loads tools, nor what is tied to it by a call (C5). */
export function snipHistory<Item extends MessageLike>(
  given: readonly Item[],
  searchName: string,
  drop: (message: Item, index: number) => boolean,
): Item[] {
  const entries = given as unknown as readonly Message[]
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
  return given.filter((message, index) => isKept[index] || !drop(message, index))
}

/** The calls that a message makes or answers. */
function idsIn(message: Message): unknown[] {
  return blocksOf(message).flatMap(({ id, tool_use_id }) =>
    [id, tool_use_id].filter((one) => one !== undefined),
  )
}

/** Thinking bound to messages that are gone is refused (N5). */
function withoutThinking(message: Message): Message {
  const blocks = blocksOf(message)
  const kept = blocks.filter(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
  if (kept.length === blocks.length) return message
  return { ...message, content: kept.length > 0 ? kept : [textBlock('(thought)')] }
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
  return first?.role === 'user' && !blocksOf(first).some(({ type }) => type === 'tool_result')
}

/** A reply that begins with the result of a hosted search made in the turn before. */
function answersEarlier(reply: Message): boolean {
  const blocks = blocksOf(reply)
  const calls = new Set(blocks.map(({ id }) => id))
  return blocks.some(({ type, tool_use_id }) => type === 'tool_search_tool_result' && !calls.has(tool_use_id))
}
