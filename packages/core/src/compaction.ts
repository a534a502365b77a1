// Shortens a history without losing a loaded tool: by a summary (C1–C4), or by leaving out single messages (C5).
// Implements C1, C2, C3, C5.

import { carriesState, foldHistory, hasResult, keepBlocks, withoutThinking } from './history.ts'
import { plainView, rewrite } from './normalize.ts'
import { isToolChange, messageBlocks, readDelta, writeBoundary } from './notes.ts'
import { badOption } from './options.ts'
import type { History, Message, MessageLike, SendableItem } from './types.ts'

/** Options of `shelf.compact`. */
export type CompactOptions<Item extends MessageLike = MessageLike> = {
  /**
   * Returns a summary of the messages to replace, which are in a form that any back-end accepts; or is the summary
   * itself.
   */
  readonly summarize: ((messages: SendableItem<Item>[]) => string | Promise<string>) | string
  /** How many of the newest messages to keep; more are kept if a result would lose its call. Default: 0. */
  readonly keep?: number
  /** Recorded with the summary, e.g. `auto`. Default: `manual`. */
  readonly trigger?: string
  /** Text to add to the summary, such as which long results can still be read. Default: none. */
  readonly reminder?: string
}

/**
 * The function form of `shelf.compact`: returns the summary as a note, followed by the kept messages. The note lists the
 * tools that any message loaded, kept messages included (C2).
 *
 * @example
 * messages = await compactHistory(messages, 'ToolSearch', { keep: 4, summarize: (old) => summaryOf(old) })
 */
export async function compactHistory<Item extends MessageLike>(
  messages: readonly Item[],
  searchName: string,
  options: CompactOptions<Item>,
): Promise<History<SendableItem<Item>>> {
  const { summarize, keep = 0, trigger = 'manual', reminder = '' } = options ?? {}
  if (!Number.isInteger(keep) || keep < 0) throw badOption('keep', keep, 'a whole number of messages')
  if (typeof summarize !== 'function' && typeof summarize !== 'string') {
    throw badOption('summarize', summarize, 'a function that returns the summary, or its text')
  }
  const entries = messages as unknown as readonly Message[]
  const start = safeStart(entries, entries.length - keep)
  if (start === 0 && typeof summarize === 'function') return [...messages] as History<SendableItem<Item>>
  const loaded = [...foldHistory(entries, searchName).loaded]
  const kept = entries.slice(start)
  const left = entries
    .slice(0, start)
    .map((message) => rewrite(message, plainView))
    .filter((message) => message !== undefined)
    .map(withoutThinking)
  const content: unknown =
    typeof summarize === 'string' ? summarize : await summarize(left as unknown as SendableItem<Item>[])
  if (typeof content !== 'string') throw badOption('summarize', content, 'a function that returns text')
  const summary = content.trim() === '' ? 'The conversation so far was summarised.' : content
  const boundary = writeBoundary({
    content: reminder === '' ? summary : `${summary}\n\n${reminder}`,
    compactMetadata: {
      trigger,
      keptDeltas: kept.filter(readDelta).length,
      ...(loaded.length > 0 ? { preCompactDiscoveredTools: [...loaded].sort(), loadOrder: loaded } : {}),
    },
  })
  // The boundary is a user message with additional fields of the shelf.
  return [boundary, ...kept] as unknown as History<SendableItem<Item>>
}

/**
 * The function form of `shelf.snip`. Removes single messages, except those that load tools and those tied to them by a
 * call. Removing a call also removes its result, and vice versa; the other blocks of those messages stay (C5).
 */
export function snipHistory<Item extends MessageLike>(
  messages: readonly Item[],
  searchName: string,
  drop: (message: Item, index: number) => boolean,
): Item[] {
  const isKept = keptByState(messages as unknown as readonly Message[], searchName)
  const isGone = messages.map((message, index) => !isKept[index] && Boolean(drop(message, index)))
  const entries = messages as unknown as readonly Message[]
  const gone = new Set(entries.filter((_, index) => isGone[index]).flatMap(idsIn))
  const left = entries.map((message, index) =>
    isGone[index]
      ? undefined
      : keepBlocks(message, ({ id, tool_use_id }) => !gone.has(id) && !gone.has(tool_use_id)),
  )
  return left.filter((message) => message !== undefined) as unknown as Item[]
}

/** Marks the messages that must stay: those that carry state, and those that calls and tool changes tie to them. */
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

function idsIn(message: Message): unknown[] {
  return messageBlocks(message).flatMap(({ id, tool_use_id }) =>
    [id, tool_use_id].filter((one) => one !== undefined),
  )
}

/** Moves the cut back until no kept result has lost its call. */
function safeStart(entries: readonly Message[], wanted: number): number {
  let start = Math.max(0, wanted)
  while (start > 0 && start < entries.length && !isCleanCut(entries, start)) start--
  return start
}

/** Whether the history can be cut here: a summary, which is a user message, comes in front. */
function isCleanCut(entries: readonly Message[], start: number): boolean {
  const first = entries[start]
  const reply = entries.slice(start).find(({ role }) => role === 'assistant')
  if (reply && answersEarlier(reply)) return false
  if (first?.role === 'assistant') return true
  return first?.role === 'user' && !hasResult(first)
}

/** Whether a reply begins with the result of a hosted search made in the previous turn. */
function answersEarlier(reply: Message): boolean {
  const blocks = messageBlocks(reply)
  const calls = new Set(blocks.map(({ id }) => id))
  return blocks.some(({ type, tool_use_id }) => type === 'tool_search_tool_result' && !calls.has(tool_use_id))
}
