// Folds messages into facts: what is loaded and announced. Repairs calls without results and results without calls first,
// which the API refuses and hosts that drop single messages leave behind (C5).
// Implements A3, C3, C4, D8, L1, L2, L3, L4.

import {
  blocksIn,
  isBlock,
  messageBlocks,
  noteKey,
  readBoundary,
  readDelta,
  readLoadedNote,
  strings,
  textBlock,
} from './notes.ts'
import type { AnnouncementStep, Block, Memory, Message, MessageLike } from './types.ts'

/** Replaces a result that is no longer in the history. */
const MISSING_RESULT = 'The result of this call is no longer in the conversation.'

/** The calls of the newest reply, and the provider's own searches that have no result yet. */
export type OpenCalls = {
  readonly calls: Set<unknown>
  readonly searches: Set<unknown>
}

export function noOpenCalls(): OpenCalls {
  return { calls: new Set(), searches: new Set() }
}

/** Records the calls of a reply; returns false for a search result whose search is missing. */
function followReply(open: OpenCalls, block: Block): boolean {
  if (block.type === 'tool_use' && typeof block.id === 'string') open.calls.add(block.id)
  if (isHostedSearch(block)) open.searches.add(block.id)
  return block.type !== 'tool_search_tool_result' || open.searches.delete(block.tool_use_id)
}

/** Returns true for the first result of a call of the newest reply. */
function followResult(open: OpenCalls, block: Block): boolean {
  return open.calls.delete(block.tool_use_id)
}

/** Removes search results whose search is missing from a reply. */
export function pairedReply(message: Message, open: OpenCalls): Message | undefined {
  return keepBlocks(message, (block) => followReply(open, block))
}

/** Removes results without a call from a user turn, and adds one for each call without a result. */
export function pairedTurn(turn: readonly Message[], open: OpenCalls): Message[] {
  const isKept = (block: Block) => block.type !== 'tool_result' || followResult(open, block)
  const kept = turn.flatMap((message): Message[] => {
    const paired = keepBlocks(message, isKept)
    return paired ? [paired] : []
  })
  const missing = [...open.calls].map(missingResult)
  open.calls.clear()
  if (missing.length === 0) return kept
  const [first, ...rest] = kept
  if (!first || !hasResult(first)) return [{ role: 'user', content: missing }, ...kept]
  return [{ ...first, content: [...missing, ...messageBlocks(first)] }, ...rest]
}

export function withoutSearches(message: Message, ids: ReadonlySet<unknown>): Message | undefined {
  return keepBlocks(message, (block) => !isHostedSearch(block) || !ids.has(block.id))
}

/** Filters the blocks of a message; returns undefined if nothing but thinking is left. */
export function keepBlocks(message: Message, isKept: (block: Block) => boolean): Message | undefined {
  if (!Array.isArray(message?.content)) return message
  const blocks = message.content as readonly unknown[]
  const kept = blocks.filter((block) => !isBlock(block) || isKept(block))
  if (kept.length === blocks.length) return message
  return kept.every(isThinking) ? undefined : { ...message, content: kept }
}

export function isThinking(block: unknown): boolean {
  return isBlock(block) && (block.type === 'thinking' || block.type === 'redacted_thinking')
}

/** Filters the thinking of a message; if nothing is left, a text says that there was some. */
export function filterThinking(message: Message, isKept: (block: Block) => boolean): Message {
  const blocks = messageBlocks(message)
  const kept = blocks.filter(isKept)
  if (kept.length === blocks.length) return message
  return { ...message, content: kept.length > 0 ? kept : [textBlock('(thought)')] }
}

/** Removes thinking from a message; if nothing else is left, a text says that there was some. */
export function withoutThinking(message: Message): Message {
  return filterThinking(message, (block) => !isThinking(block))
}

/** Whether a block is a search that the provider runs itself. */
export function isHostedSearch({ type, name }: Block): boolean {
  return type === 'server_tool_use' && /^tool_search_tool_/.test(String(name))
}

export function hasResult(message: Message | undefined): boolean {
  return messageBlocks(message).some(({ type }) => type === 'tool_result')
}

function missingResult(id: unknown): Block {
  return { type: 'tool_result', tool_use_id: id, content: [textBlock(MISSING_RESULT)], is_error: true }
}

/** How a name came into the history. A removed tool is `mentioned`: its blocks are still there. */
type NameSource = 'reference' | 'addition' | 'value' | 'text' | 'mentioned'

/** What a history shows: which tools are loaded and announced. */
export type Facts = {
  /** Names in the order of loading (D8). Only an explicit removal takes a name out (L2). */
  readonly loaded: Set<string>
  /** The kinds of blocks that loaded or mentioned each name. */
  readonly sources: Map<string, Set<NameSource>>
  /** Names that were announced and not withdrawn. */
  readonly announced: Set<string>
  /** Servers whose instructions were announced. */
  readonly instructed: Set<string>
  /** The ids of calls of the shelf's own search tool. */
  readonly searchCalls: Set<string>
  /** The calls that the next results can answer; other results are not sent (C5). */
  readonly open: OpenCalls
  /** The newest message is the model's. */
  isReplying: boolean
  /** How many names all deltas announced, withdrawn ones included. */
  announcedEver: number
  /** Estimated tokens of all announcements, for their budget (A7). */
  announcedTokens: number
  /** The step of the newest announcement (A7). */
  step: AnnouncementStep | undefined
  /** How many deltas the history contains. */
  deltas: number
  /** Those of them after the newest compaction (A4). */
  deltasSinceBoundary: number
  /** How many compactions the history contains. */
  boundaries: number
  /** How many tools were removed explicitly. */
  removals: number
  /** How many messages the model wrote. */
  replies: number
}

/**
 * Reads a whole history: which tools are loaded and announced. `searchName` is the name of the search tool.
 *
 * @example
 * const { loaded, announced } = foldHistory(messages, 'ToolSearch')
 */
export function foldHistory(messages: readonly (Message | MessageLike)[], searchName: string): Facts {
  const facts = noFacts()
  for (const message of messages as readonly Message[]) visit(facts, message, searchName)
  return facts
}

/** Returns the loaded names that were loaded by none of these sources. */
export function loadedOtherwise({ loaded, sources }: Facts, ...seen: readonly NameSource[]): string[] {
  return [...loaded].filter((name) => !seen.some((one) => sources.get(name)?.has(one)))
}

/** Returns the names that blocks in the history refer to; a request with these blocks needs their definitions. */
export function referredNames({ sources }: Facts): string[] {
  const refers = (set: Set<NameSource>) => set.has('reference') || set.has('addition') || set.has('mentioned')
  return [...sources].filter(([, set]) => refers(set)).map(([name]) => name)
}

/** Returns whether leaving this message out would lose a load, a removal or an announcement. */
export function carriesState(message: Message, searchCalls: Set<string>, searchName: string): boolean {
  const facts = { ...noFacts(), searchCalls: new Set(searchCalls) }
  visit(facts, message, searchName)
  return facts.loaded.size > 0 || facts.removals > 0 || facts.deltas > 0 || facts.boundaries > 0
}

/**
 * The messages of a conversation that were read so far. Extended in place; an edited history is read from the start.
 */
export type FoldedHistory = {
  /** The host's messages, by identity. */
  hostMessages: Message[]
  /** The same with the shelf's notes in place, also those that the host did not keep. Requests are built from these. */
  entries: Message[]
  /** The shelf's notes among the entries. */
  placed: Placed[]
  facts: Facts
  /** The blocks of the newest message when it was read. */
  lastBlocks: readonly unknown[]
}

/** A note, the host's message that it follows, and whether the host's messages contain it. */
type Placed = { readonly note: Message; readonly anchor: Message; isCarried: boolean }

/** Notes by the message of the host that they follow. */
export type Anchors = WeakMap<Message, Message[]>

/**
 * Continues reading where the last call stopped (L4). Messages are recognised by identity: a host that changes an old
 * message must replace the object.
 */
export function follow(memory: Memory, messages: readonly MessageLike[], searchName: string): FoldedHistory {
  memory.history = extended(memory.history, messages as readonly Message[], memory.anchors, searchName)
  return memory.history
}

function extended(
  known: FoldedHistory | undefined,
  messages: readonly Message[],
  anchors: Anchors,
  searchName: string,
): FoldedHistory {
  const history: FoldedHistory =
    known && isContinued(known, messages)
      ? known
      : { hostMessages: [], entries: [], placed: [], facts: noFacts(), lastBlocks: [] }
  for (let index = history.hostMessages.length; index < messages.length; index++) {
    const message = messages[index] as Message
    history.hostMessages.push(message)
    if (!isBlock(message)) continue
    const own = carriedNote(history, message)
    if (own && own.note !== message) {
      const notes = anchors.get(own.anchor) ?? []
      anchors.set(
        own.anchor,
        notes.map((note) => (note === own.note ? message : note)),
      )
      return extended(undefined, messages, anchors, searchName)
    }
    if (own) own.isCarried = true
    else enter(history, message, searchName)
    for (const note of anchors.get(message) ?? []) place(history, note, message, searchName)
  }
  history.lastBlocks = [...contentOf(history.hostMessages.at(-1))]
  return history
}

/** Adds a note after the newest user message, and remembers its place. */
export function appendNote(
  history: FoldedHistory,
  note: Message,
  anchors: Anchors,
  searchName: string,
): void {
  const anchor = history.hostMessages.findLast((message) => isBlock(message) && message.role === 'user')
  if (!anchor) return
  const last = history.entries.at(-1)
  const isAtEnd = last === anchor || history.placed.some((one) => one.note === last && one.anchor === anchor)
  anchors.set(anchor, [...(anchors.get(anchor) ?? []), note])
  if (isAtEnd) place(history, note, anchor, searchName)
  else Object.assign(history, extended(undefined, history.hostMessages, anchors, searchName))
}

/** Finds the shelf's note that a message of the host is, unchanged or as a copy with a breakpoint. */
function carriedNote({ placed }: FoldedHistory, message: Message): Placed | undefined {
  const key = noteKey(message)
  if (key === undefined) return undefined
  return placed.find(({ note, isCarried }) => note === message || (!isCarried && noteKey(note) === key))
}

function place(history: FoldedHistory, note: Message, anchor: Message, searchName: string): void {
  if (history.placed.some((one) => one.note === note)) return
  history.placed.push({ note, anchor, isCarried: false })
  enter(history, note, searchName)
}

function enter(history: FoldedHistory, message: Message, searchName: string): void {
  history.entries.push(message)
  visit(history.facts, message, searchName)
}

/** Whether the messages continue those read so far; the newest one may have gained blocks. */
function isContinued({ hostMessages, lastBlocks }: FoldedHistory, messages: readonly Message[]): boolean {
  if (messages.length < hostMessages.length) return false
  for (let index = 0; index < hostMessages.length; index++)
    if (messages[index] !== hostMessages[index]) return false
  const blocks = contentOf(hostMessages.at(-1))
  return blocks.length === lastBlocks.length && blocks.every((block, index) => block === lastBlocks[index])
}

function contentOf(message: Message | undefined): readonly unknown[] {
  return Array.isArray(message?.content) ? message.content : []
}

function noFacts(): Facts {
  return {
    loaded: new Set(),
    sources: new Map(),
    announced: new Set(),
    instructed: new Set(),
    searchCalls: new Set(),
    open: noOpenCalls(),
    isReplying: false,
    announcedEver: 0,
    announcedTokens: 0,
    step: undefined,
    deltas: 0,
    deltasSinceBoundary: 0,
    boundaries: 0,
    removals: 0,
    replies: 0,
  }
}

/** Reads one message; ignores everything that it does not know (L3). */
function visit(facts: Facts, message: Message, searchName: string): void {
  if (!isBlock(message)) return
  visitNotes(facts, message)
  visitAdapterItem(facts, message)
  followTurns(facts, message)
  for (const block of blocksIn(message.content)) {
    if (message.role === 'user') visitResult(facts, block)
    else if (message.role === 'assistant') visitReply(facts, block, searchName)
    else if (message.role === 'system') visitChange(facts, block)
  }
}

/** Tracks turns: adjacent replies are one, and its calls can be answered only in the next user turn. */
function followTurns(facts: Facts, { role }: Message): void {
  if (role === 'assistant') facts.replies++
  if (role !== 'assistant' && role !== 'user') return
  if (role === 'assistant' && !facts.isReplying) facts.open.calls.clear()
  facts.isReplying = role === 'assistant'
}

/**
 * Reads a note. A boundary restores what was loaded (C3), but not what was announced, so that names are announced again
 * (A3).
 */
function visitNotes(facts: Facts, message: Message): void {
  const boundary = readBoundary(message)
  if (boundary) {
    facts.boundaries++
    facts.deltasSinceBoundary = -boundary.keptDeltas
    for (const name of boundary.loaded) facts.loaded.add(name)
  }
  const delta = readDelta(message)
  if (!delta) return
  for (const name of strings(delta.addedNames)) facts.announced.add(name)
  for (const name of strings(delta.removedNames)) facts.announced.delete(name)
  for (const server of strings(delta.instructedBy)) facts.instructed.add(server)
  facts.announcedEver += strings(delta.addedNames).length
  facts.announcedTokens += typeof delta.tokens === 'number' ? delta.tokens : 0
  facts.step = delta.step
  facts.deltas++
  facts.deltasSinceBoundary++
}

function visitResult(facts: Facts, block: Block): void {
  if (block.type !== 'tool_result') return
  const isSent = followResult(facts.open, block)
  for (const { type, tool_name } of blocksIn(block.content))
    if (type === 'tool_reference') load(facts, tool_name, isSent ? 'reference' : undefined)
  if (!facts.searchCalls.has(String(block.tool_use_id))) return
  const note = readLoadedNote(block.content)
  for (const name of note?.names ?? []) load(facts, name, note?.hasDefinitions && isSent ? 'text' : undefined)
}

/** Reads searches of the model and of the API, and the `tool_changes` of the API's compactions (C4). */
function visitReply(facts: Facts, block: Block, searchName: string): void {
  if (block.type === 'tool_use' && block.name === searchName) facts.searchCalls.add(String(block.id))
  const isSent = followReply(facts.open, block)
  if (block.type === 'tool_search_tool_result') {
    const { tool_references } = (block.content ?? {}) as Block
    for (const { tool_name } of blocksIn(tool_references))
      load(facts, tool_name, isSent ? 'reference' : undefined)
  }
  if (block.type === 'compaction')
    for (const change of blocksIn(block.tool_changes)) visitChange(facts, change)
}

/** Reads `tool_addition` and `tool_removal`, by reference (`name`) or by value (`definition`). */
function visitChange(facts: Facts, block: Block): void {
  const tool = block.tool as Block | null | undefined
  const definition = tool?.definition as Block | null | undefined
  const name = tool?.name ?? definition?.name
  if (block.type === 'tool_addition') load(facts, name, definition ? 'value' : 'addition')
  if (block.type !== 'tool_removal' || typeof name !== 'string') return
  facts.removals++
  facts.loaded.delete(name)
  facts.sources.set(name, new Set(['mentioned']))
}

/** Reads the items that OpenAI's Responses API uses for loaded tools. */
function visitAdapterItem(facts: Facts, item: Message): void {
  if (item.type !== 'tool_search_output' && item.type !== 'additional_tools') return
  for (const tool of blocksIn(item.tools)) {
    const isGroup = tool.type === 'namespace' && Array.isArray(tool.tools)
    for (const { name } of isGroup ? blocksIn(tool.tools) : [tool]) load(facts, name, 'value')
  }
}

function load(facts: Facts, name: unknown, source: NameSource | undefined): void {
  if (typeof name !== 'string') return
  facts.loaded.add(name)
  if (source === undefined) return
  const known = facts.sources.get(name)
  if (known) known.add(source)
  else facts.sources.set(name, new Set([source]))
}
