// Repairs calls without results and results without calls in the messages of a request: adds or removes the other half.
//
// The API refuses a call without a result right after it, and a result without its call right before it. Hosts that drop
// single messages leave such halves behind (C5).

import type { Block, Message } from '../types.ts'
import { isBlock, messageBlocks, textBlock } from './blocks.ts'

/** Replaces a result that is no longer in the history. */
const MISSING_RESULT = 'The result of this call is no longer in the conversation.'

/** The calls of the newest reply, and the provider's own searches that have no result yet. */
export type OpenCalls = {
  readonly calls: Set<unknown>
  readonly searches: Set<unknown>
}

/** Returns an empty set of open calls. */
export function noOpenCalls(): OpenCalls {
  return { calls: new Set(), searches: new Set() }
}

/** Records the calls of a reply; returns false for a search result whose search is missing. */
export function followReply(open: OpenCalls, block: Block): boolean {
  if (block.type === 'tool_use' && typeof block.id === 'string') open.calls.add(block.id)
  if (isSearch(block)) open.searches.add(block.id)
  return block.type !== 'tool_search_tool_result' || open.searches.delete(block.tool_use_id)
}

/** Returns true for the first result of a call of the newest reply. */
export function followResult(open: OpenCalls, block: Block): boolean {
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

/** Removes searches without a result from a reply. */
export function withoutSearches(message: Message, ids: ReadonlySet<unknown>): Message | undefined {
  return keepBlocks(message, (block) => !isSearch(block) || !ids.has(block.id))
}

/** Filters the blocks of a message; returns undefined if nothing but thinking is left. */
export function keepBlocks(message: Message, isKept: (block: Block) => boolean): Message | undefined {
  if (!Array.isArray(message?.content)) return message
  const blocks = message.content as readonly unknown[]
  const kept = blocks.filter((block) => !isBlock(block) || isKept(block))
  if (kept.length === blocks.length) return message
  return kept.every(isThinking) ? undefined : { ...message, content: kept }
}

/** Returns whether a block is thinking, redacted or not. */
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
function isSearch({ type, name }: Block): boolean {
  return type === 'server_tool_use' && /^tool_search_tool_/.test(String(name))
}

function hasResult(message: Message): boolean {
  return messageBlocks(message).some(({ type }) => type === 'tool_result')
}

function missingResult(id: unknown): Block {
  return { type: 'tool_result', tool_use_id: id, content: [textBlock(MISSING_RESULT)], is_error: true }
}
