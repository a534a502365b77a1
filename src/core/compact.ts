// Step 10. What a summary must carry so that no loaded tool is lost (C). All three kinds of compaction are one.
import { carriesState, foldHistory } from './history.ts'
import { type BoundaryNote, readDelta } from './notes.ts'
import { wrong } from './options.ts'
import type { Block, Message } from './types.ts'

export type CompactOptions = {
  /** Writes the summary of the messages that go; or the text itself, as a session memory has it. */
  readonly summarize: ((messages: readonly Message[]) => string | Promise<string>) | string
  /** How many of the newest messages stay as they are; more where a call and its result would be parted. */
  readonly keep?: number
  readonly trigger?: string
}

/** The boundary and the messages that stay. The loaded set is read from all messages, kept ones included (C2). */
export async function compactHistory(
  entries: readonly Message[],
  searchName: string,
  { summarize, keep = 0, trigger = 'manual' }: CompactOptions,
): Promise<Message[]> {
  if (!Number.isInteger(keep) || keep < 0) throw wrong('keep', keep, 'a whole number of messages')
  if (typeof summarize !== 'function' && typeof summarize !== 'string') {
    throw wrong('summarize', summarize, 'a function that returns the summary, or its text')
  }
  const loaded = [...foldHistory(entries, searchName).loaded]
  const start = safeStart(entries, entries.length - keep)
  const content: unknown =
    typeof summarize === 'string' ? summarize : await summarize(entries.slice(0, start))
  if (typeof content !== 'string') throw wrong('summarize', content, 'a function that returns text')
  const boundary: BoundaryNote = {
    type: 'system',
    subtype: 'compact_boundary',
    role: 'user',
    content: content.trim() === '' ? 'The conversation so far was summarised.' : content,
    compactMetadata: {
      trigger,
      keptDeltas: entries.slice(start).filter((entry) => readDelta(entry)).length,
      ...(loaded.length > 0 ? { preCompactDiscoveredTools: [...loaded].sort(), loadOrder: loaded } : {}),
    },
  }
  return [boundary, ...entries.slice(start)]
}

/** Leaves out single messages, but never one that loads tools, nor the call it answers (C5). */
export function snipHistory<Entry extends Message>(
  entries: readonly Entry[],
  searchName: string,
  drop: (message: Entry, index: number) => boolean,
): Entry[] {
  const { searchCalls } = foldHistory(entries, searchName)
  const carriers = new Set(entries.filter((message) => carriesState(message, searchCalls, searchName)))
  const answered = new Set<unknown>()
  for (const message of carriers) {
    for (const block of blocksOf(message)) if (block.type === 'tool_result') answered.add(block.tool_use_id)
  }
  const callers = entries.filter((message) => blocksOf(message).some(({ id }) => answered.has(id)))
  for (const { id } of callers.flatMap(blocksOf)) if (id !== undefined) answered.add(id)
  const isKept = (message: Entry) =>
    carriers.has(message) ||
    blocksOf(message).some(({ id, tool_use_id }) => answered.has(id) || answered.has(tool_use_id))
  return entries.filter((message, index) => isKept(message) || !drop(message, index))
}

/** Moves the cut back until no kept result has lost its call. */
function safeStart(entries: readonly Message[], wanted: number): number {
  let start = Math.max(0, wanted)
  while (start > 0 && start < entries.length && !startsTurn(entries[start])) start--
  return start
}

/** A message at which a history can begin behind a summary, which is itself a user message. */
function startsTurn(message: Message | undefined): boolean {
  const blocks = blocksOf(message)
  if (message?.role === 'user') return !blocks.some(({ type }) => type === 'tool_result')
  const calls = new Set(blocks.map(({ id }) => id))
  const answersEarlier = ({ type, tool_use_id }: Block) =>
    type === 'tool_search_tool_result' && !calls.has(tool_use_id)
  return message?.role === 'assistant' && !blocks.some(answersEarlier)
}

function blocksOf(message: Message | undefined): readonly Block[] {
  const content = message?.content
  return Array.isArray(content) ? content.filter((block) => typeof block === 'object' && block !== null) : []
}
