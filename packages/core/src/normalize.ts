// Makes the copy of the history that a request may contain: what its tools allow, in the words of its wire, without thinking
// whose ground changed.
// Implements C4, G7, L3, L4, M1, N1, N2, N3, N4, N5, N6, N7, S9.

import {
  type Facts,
  filterThinking,
  hasResult,
  isHostedSearch,
  isThinking,
  noOpenCalls,
  type OpenCalls,
  pairedReply,
  pairedTurn,
  referredNames,
  withoutSearches,
  withoutThinking,
} from './history.ts'
import { toJson, withoutCacheControl } from './lib/json.ts'
import { hash, oncePerFrozen } from './lib/objects.ts'
import {
  isAnnouncement,
  isBlock,
  isOurText,
  isToolChange,
  messageBlocks,
  readDelta,
  TOOL_LOADED,
  TOOLS_CHANGED,
  takeRemark,
  textBlock,
  withoutNoteFields,
} from './notes.ts'
import { isReference } from './reading.ts'
import type { Block, Context, Definition, Message, MessageLike, SendableItem } from './types.ts'
import { loadedEarlier, type Wire } from './wires.ts'

/** Returns what the messages of this request may contain. */
export function viewFor(
  { capability, own: { continuesThread } }: Context,
  wire: Wire | undefined,
  tools: readonly Definition[],
  facts: Facts,
): View {
  const takesReferences = wire?.takesReferences ?? false
  const referred = takesReferences ? referredNames(facts) : []
  const declared = new Set(referred.length > 0 ? tools.map(({ name }) => name) : [])
  const undeclared = referred.filter((name) => !declared.has(name))
  return {
    isOpen: wire !== undefined,
    takesReferences,
    takesAdditions: wire?.takesAdditions ?? false,
    declares: (name) => declared.has(name),
    recall: wire?.recall ?? loadedEarlier,
    isBound: capability.boundThinking,
    continuesThread,
    key: JSON.stringify([wire?.name, capability.boundThinking, continuesThread, undeclared]),
  }
}

/** What the messages of a request may contain. */
export type View = {
  /** Whether tool search is on; if not, announcements and notes are removed (N1, G7). */
  readonly isOpen: boolean
  readonly takesReferences: boolean
  readonly takesAdditions: boolean
  /** Returns whether a reference to this name resolves in this request (N2). */
  readonly declares: (name: string) => boolean
  /** Returns the text of a result whose references cannot be sent. */
  readonly recall: (names: readonly string[]) => string
  /** Nothing already sent may change, so a turn's form depends only on that turn (N5). */
  readonly isBound: boolean
  /** Results in front of the first reply answer calls of messages that only the API has. */
  readonly continuesThread: boolean
  /** Identifies these rules: the same key means the same rules. */
  readonly key: string
}

/** Returns the same message, a changed copy, or undefined if nothing is left of it. */
export function rewrite(message: Message, view: View): Message | undefined {
  if (!view.isOpen && readDelta(message)) return undefined
  const plain = withoutNoteFields(message)
  if (!plain || !Array.isArray(plain.content)) return plain
  const role = String(plain.role)
  const rewriteBlock = Object.hasOwn(rewriters, role) ? rewriters[role] : undefined
  if (!rewriteBlock) return plain
  const blocks = plain.content as readonly Block[]
  const kept = blocks.flatMap((block) => (isBlock(block) ? rewriteBlock(block, view) : [block]))
  const changed = plain.role === 'user' ? apart(kept) : kept
  if (changed.length === blocks.length && changed.every((block, index) => block === blocks[index]))
    return plain
  return changed.length === 0 ? undefined : { ...plain, content: changed }
}

const rewriters: Record<string, (block: Block, view: View) => Block[]> = {
  user: (block, view) => [block.type === 'tool_result' ? rewriteResult(block, view) : block],
  assistant: rewriteReply,
  system: rewriteChange,
}

function rewriteResult(block: Block, view: View): Block {
  const result = view.isOpen ? block : takeRemark(block).rest
  if (!Array.isArray(block.content)) return result
  const items = block.content as readonly Block[]
  const isKept = (item: Block) =>
    !isReference(item) || (view.takesReferences && view.declares(String(item.tool_name)))
  const kept = items.filter(isKept)
  if (kept.length === items.length) return result
  const lost = items.filter((item) => !isKept(item)).map((item) => String(item.tool_name))
  const said = view.takesReferences ? `Tools no longer available: ${lost.join(', ')}.` : view.recall(lost)
  return { ...result, content: kept.length > 0 ? kept : [textBlock(said)] }
}

/** Moves other blocks after all results, because a result with references may contain nothing else. */
function apart(blocks: readonly Block[]): readonly Block[] {
  const others: Block[] = []
  let isChanged = false
  const results = blocks.map((block) => {
    const items =
      block?.type === 'tool_result' && Array.isArray(block.content) ? (block.content as Block[]) : []
    if (!items.some(isReference) || items.every(isReference)) return block
    isChanged = true
    others.push(
      ...items.filter(
        (item) => !isReference(item) && !(item.type === 'text' && String(item.text).trim() === ''),
      ),
    )
    return { ...block, content: items.filter(isReference) }
  })
  return isChanged ? [...results, ...others] : blocks
}

/** Removes hosted searches and `caller` for back-ends that do not support references. */
function rewriteReply(block: Block, view: View): Block[] {
  if (block.type === 'tool_search_tool_result') return [rewriteHostedResult(block, view)]
  if (view.takesReferences) return [block]
  if (isHostedSearch(block)) return []
  const { caller: _, tool_changes: changes, ...rest } = block
  return 'caller' in block || changes !== undefined ? [rest] : [block]
}

function rewriteHostedResult(block: Block, view: View): Block {
  const content = block.content as Block | null | undefined
  const references = Array.isArray(content?.tool_references)
    ? (content.tool_references as readonly Block[])
    : []
  const names = references.map((reference) => String(reference?.tool_name))
  if (!view.takesReferences) return textBlock(names.length > 0 ? view.recall(names) : 'No tools were found.')
  if (names.every(view.declares)) return block
  const kept = references.filter((reference) => view.declares(String(reference?.tool_name)))
  return { ...block, content: { ...content, tool_references: kept } }
}

function rewriteChange(block: Block, view: View): Block[] {
  if (block.type !== 'tool_addition' && block.type !== 'tool_removal') return [block]
  const tool = block.tool as Block | null | undefined
  const isResolved = tool?.type !== 'tool_reference' || view.declares(String(tool.name))
  return view.takesAdditions && isResolved ? [block] : []
}

/** The last request to a model that binds thinking; extended in place. */
export type BoundRequest = {
  readonly messages: Message[]
  /** The hash of everything in front of each message, and at the end that of the whole request. */
  readonly before: string[]
  /** Messages that have lost thinking, by their place. */
  readonly changed: Map<number, Message>
}

/** Messages with only valid thinking, and the state to recognise it by. */
type Valid = {
  readonly messages: readonly Message[]
  readonly grounds: readonly string[] | undefined
  /** Thinking by hand, which must begin a series of calls, is left out at the start of the current one. */
  readonly losesThinking: boolean
}

/** Hashes to remember; beyond that the oldest thinking is left out, which the API allows. */
const MAX_GROUNDS = 4096

/** Leaves out thinking that is no longer valid. Before the first request to a model that binds it, all counts as valid. */
export function withValidThinking(
  { capability, memory, own, state: { grounds } }: Context,
  tools: readonly Definition[],
  messages: readonly Message[],
): Valid {
  if (!capability.boundThinking) return { messages, grounds, losesThinking: false }
  const front = [...own.tools, ...tools.filter(({ defer_loading }) => defer_loading !== true)]
  const start = hash(toJson([front.map(hashOf), withoutCacheControl(own.system)]))
  if (memory.bound?.before[0] !== start) memory.bound = { messages: [], before: [start], changed: new Map() }
  const { bound } = memory
  let link = forgetFrom(sameStart(bound.messages, messages), bound)
  let all: ReadonlySet<string> | undefined
  const isKnown = (one: string): boolean => {
    // In most turns only the newest is asked for.
    if (grounds?.at(-1) === one) return true
    all ??= new Set(grounds)
    return all.has(one)
  }
  const answered: string[] = []
  const added: string[] = []
  let isAnswer = false
  const isKept = (block: Block, { role }: Message): boolean => {
    if (role !== 'assistant') isAnswer = false
    else if (!isAnswer && (!grounds || isKnown(link))) {
      isAnswer = true
      answered.push(link)
    }
    if (!isThinking(block)) {
      link = hash(toJson([link, role, withoutCacheControl(block)]))
      return true
    }
    const thought = hash(link + toJson(block))
    if (isAnswer) added.push(thought)
    return isAnswer || isKnown(thought)
  }
  for (let at = bound.messages.length; at < messages.length; at++) {
    const message = messages[at] as Message
    const kept = filterThinking(message, (block) => isKept(block, message))
    if (kept !== message) bound.changed.set(at, kept)
    bound.messages.push(message)
    bound.before.push(link)
  }
  const open = grounds?.filter((one) => !answered.includes(one) && one !== link) ?? []
  const sent =
    bound.changed.size > 0 ? messages.map((message, at) => bound.changed.get(at) ?? message) : messages
  return {
    messages: sent,
    grounds: [...open, ...added, link].slice(-MAX_GROUNDS),
    losesThinking: sent !== messages && own.thinksByHand && losesStart(messages, sent),
  }
}

const hashOf = oncePerFrozen((tool: Definition): string => hash(toJson(withoutCacheControl(tool))))

/** Returns how many messages both lists begin with, up to the start of a reply. */
function sameStart(before: readonly Message[], after: readonly Message[]): number {
  let at = 0
  while (at < before.length && before[at] === after[at]) at++
  while (at > 0 && before[at - 1]?.role === 'assistant') at--
  return at
}

/** Forgets all messages from a place on; returns the hash of what is left. */
function forgetFrom(place: number, { messages, before, changed }: BoundRequest): string {
  messages.length = place
  before.length = place + 1
  for (const at of changed.keys()) if (at >= place) changed.delete(at)
  return before[place] ?? ''
}

/** Looks at the first reply since the user's last turn without results. */
function losesStart(messages: readonly Message[], sent: readonly Message[]): boolean {
  let first = -1
  let isCalled = messages.at(-1)?.role === 'assistant'
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at] as Message
    if (message.role !== 'assistant') {
      isCalled ||= hasResult(message)
      continue
    }
    if (!isCalled) break
    first = at
    if (messages[at - 1]?.role !== 'assistant') isCalled = false
  }
  return first >= 0 && messages[first] !== sent[first]
}

type Out = (Message | undefined)[]

/** The normalised part of a history, kept for the next request. */
export type NormalizedHistory = {
  readonly entries: readonly Message[]
  readonly key: string
  read: number
  /** The normalised messages; undefined in place of a message of which nothing is left. */
  readonly out: Out
  /** Turns with foreign text beside references, which moves to the next turn: the places of their messages. */
  readonly waiting: (readonly number[])[]
  /** Calls and searches of the newest reply that have no result yet. */
  readonly open: OpenCalls
  /** Searches of the reply before that; their results can come only at the start of the newest reply. */
  readonly late: Set<unknown>
}

/** Normalises a copy of the history, which itself stays as it is (N7); a normalised history stays the same (N6). */
export function normalize(
  entries: readonly Message[],
  view: View,
  memory: { normalized?: NormalizedHistory | undefined },
): Message[] {
  const { key } = view
  const known = memory.normalized
  const normalized =
    known?.entries === entries && known.key === key
      ? known
      : { entries, key, read: 0, out: [], waiting: [], open: noOpenCalls(), late: new Set() }
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
  return last.out.includes(undefined)
    ? last.out.filter((message) => message !== undefined)
    : (last.out as Message[])
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

/** Finishes a user turn: adds its messages, made valid, and then its tool changes. */
function closeTurn(
  normalized: NormalizedHistory,
  turn: readonly Message[],
  changes: readonly Message[],
  view: View,
): void {
  if (turn.length > 0) expireSearches(normalized)
  const isFirst = view.continuesThread && !normalized.out.some((message) => message?.role === 'assistant')
  shapeTurn(normalized, isFirst ? turn : pairedTurn(turn, normalized.open), view)
  if (changes.length === 0) return
  if (normalized.out.findLast((message) => message !== undefined)?.role !== 'user')
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

function shapeTurn(normalized: NormalizedHistory, messages: readonly Message[], view: View): void {
  const { out, waiting } = normalized
  const turn = messages.map((message) => out.push(message) - 1)
  placeNotes(out, turn)
  if (!view.takesReferences) return
  if (turn.some((place) => hasReference(out[place]))) {
    if (!view.isBound && turn.some((place) => isMixed(out[place]))) waiting.push(turn)
    ensureText(out, turn)
  } else {
    const target = lastResult(out, turn)
    if (target !== undefined) moveWaiting(normalized, target)
  }
}

/** Moves the remarks of our searches after all results of their turn (S9). */
function placeNotes(out: Out, turn: readonly number[]): void {
  const notes: Block[] = []
  for (const place of turn) {
    const taken = messageBlocks(out[place]).map(takeRemark)
    if (taken.every(({ remark }) => remark === undefined)) continue
    notes.push(...taken.flatMap(({ remark }) => (remark === undefined ? [] : [textBlock(remark)])))
    out[place] = { ...out[place], content: taken.map(({ rest }) => rest) }
  }
  if (notes.length > 0) addBlocks(out, lastResult(out, turn), notes)
}

/** Moves the text of waiting turns after the results of this one, in the same order (N4). */
function moveWaiting({ out, waiting }: NormalizedHistory, target: number): void {
  const moved: Block[] = []
  for (const turn of waiting.splice(0)) {
    for (const place of turn) {
      if (!isMixed(out[place])) continue
      const blocks = messageBlocks(out[place])
      moved.push(...blocks.filter(isForeignText))
      out[place] = { ...out[place], content: blocks.filter((block) => !isForeignText(block)) }
    }
    ensureText(out, turn)
  }
  if (moved.length > 0) addBlocks(out, target, moved)
}

/**
 * Adds text to the message of the turn's last result if it has none. Only this message decides, so that a message that
 * joins the turn later changes nothing that was sent.
 */
function ensureText(out: Out, turn: readonly number[]): void {
  const target = lastResult(out, turn)
  const blocks = messageBlocks(target === undefined ? undefined : out[target])
  const hasText = blocks.some(({ type, text }) => type === 'text' && !isAnnouncement(String(text)))
  if (!hasText) addBlocks(out, target, [textBlock(TOOL_LOADED)])
}

function addBlocks(out: Out, place: number | undefined, blocks: readonly Block[]): void {
  if (place !== undefined) out[place] = { ...out[place], content: [...messageBlocks(out[place]), ...blocks] }
}

function lastResult(out: Out, turn: readonly number[]): number | undefined {
  return turn.findLast((place) => hasResult(out[place]))
}

function hasReference(message: Message | undefined): boolean {
  return messageBlocks(message).some(
    ({ type, content }) => type === 'tool_result' && Array.isArray(content) && content.some(isReference),
  )
}

/** Returns whether a message has foreign text beside references (N4). */
function isMixed(message: Message | undefined): boolean {
  return hasReference(message) && messageBlocks(message).some(isForeignText)
}

function isForeignText(block: Block): boolean {
  return block.type === 'text' && !(typeof block.text === 'string' && isOurText(block.text))
}

/** The rules for messages of a request without tool search. */
export const plainView: View = {
  isOpen: false,
  takesReferences: false,
  takesAdditions: false,
  declares: () => false,
  recall: loadedEarlier,
  isBound: false,
  continuesThread: false,
  key: 'plain',
}

/**
 * Returns the messages of a history without the shelf's notes and references. Leaves out all thinking if a model has
 * bound some to the messages before it, because these change here (N5).
 */
export function sendableMessages<Item extends MessageLike>(
  history: readonly Item[],
  hasBoundThinking: boolean,
): SendableItem<Item>[] {
  const messages = normalize(history as unknown as readonly Message[], plainView, {})
  const sendable = hasBoundThinking ? messages.map(withoutThinking) : messages
  return sendable as unknown as SendableItem<Item>[]
}
