// Translates contract messages for upstreams without tool search: searches become plain calls with results, and
// references, additions and removals become text in their place.
// Implements wire 28, 30.

import type { RequestWalk, WalkStep } from '../../core/oracle/index.ts'
import {
  blocksOf,
  isChange,
  isDirective,
  isReference,
  mayChangeView,
  referencesIn,
} from '../../core/oracle/index.ts'
import { type Fields, fieldsOf, omitFields, oncePerFrozen, textOf } from '../../lib/index.ts'
import { throughCallTool } from './call-tool.ts'
import { failedText, loadedText, NO_MATCH, removedText, systemReminder } from './notes.ts'

/** Names of the tools that are called through CallTool. */
type Bridged = ReadonlySet<string>

/** Lowers all messages; the walk may have skipped plain ones. */
export function lowerMessages(
  { steps }: RequestWalk,
  messages: readonly Fields[],
  bridged: Bridged,
): Fields[] {
  const stepsOf = new Map<number, WalkStep[]>()
  for (const step of steps) {
    const own = stepsOf.get(step.message)
    if (own) own.push(step)
    else stepsOf.set(step.message, [step])
  }
  const lowered: Fields[] = []
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as Fields
    if (isPlainMessage(message)) {
      lowered.push(bridged.size === 0 ? message : withCalls(message, bridged))
      continue
    }
    const own = stepsOf.get(index) ?? []
    if (isDirective(message)) continue
    const known = bridged.size === 0 ? withListedTools(message) : undefined
    if (known) lowered.push(known)
    else if (message.role === 'system') lowered.push(...fromSystem(own, bridged))
    else if (message.role === 'assistant') addReply(lowered, message, own, bridged)
    else lowered.push(withBlocks(message, own, (step) => fromUser(step, bridged)))
  }
  return lowered
}

/** Whether a message neither shows nor hides a tool, so that at most its calls are rewritten for the bridge. */
export const isPlainMessage = oncePerFrozen(({ role, content }: Fields): boolean => {
  if (role !== 'user' && role !== 'assistant') return false
  return blocksOf(content).every(
    (block) => !mayChangeView(block) && block.type !== 'server_tool_use' && !('caller' in block),
  )
})

/**
 * A user message with references as text, where no tool goes through CallTool: it depends on the message alone.
 * Undefined for other messages.
 */
const withListedTools = oncePerFrozen((message: Fields): Fields | undefined => {
  const blocks = blocksOf(message.content)
  if (message.role !== 'user' || blocks.some(({ type }) => type === 'compaction')) return undefined
  return Object.freeze({ ...message, content: blocks.map((block) => withText(block, [], NONE)) })
})

const NONE: Bridged = new Set()

/** The tool names that a reply calls, and a cache of its last lowered form. */
const callsOf = oncePerFrozen(({ role, content }: Fields) => ({
  names:
    role === 'assistant'
      ? blocksOf(content)
          .filter(isCall)
          .map(({ name }) => textOf(name))
      : [],
  last: { key: '', message: undefined as Fields | undefined },
}))

function isCall({ type }: Fields): boolean {
  return type === 'tool_use'
}

/** Rewrites the calls of a plain message to go through CallTool. */
function withCalls(message: Fields, bridged: Bridged): Fields {
  const { names, last } = callsOf(message)
  const isBridged = names.map((name) => bridged.has(name))
  if (!isBridged.includes(true)) return message
  const key = isBridged.join()
  if (last.message && last.key === key) return last.message
  const content = blocksOf(message.content).map((block) =>
    isCall(block) && bridged.has(textOf(block.name)) ? throughCallTool(block) : block,
  )
  last.key = key
  last.message = Object.freeze({ ...message, content })
  return last.message
}

/** Splits a reply with searches into turns: each search result becomes a user message. */
function addReply(lowered: Fields[], message: Fields, own: readonly WalkStep[], bridged: Bridged): void {
  const steps = own.slice(addSummary(lowered, own, bridged))
  if (steps.length === 0 && own.length > 0) return
  const add = (part: readonly WalkStep[]) =>
    lowered.push(withBlocks(message, part, (step) => fromReply(step, bridged)))
  if (!steps.some(isResult)) return void add(steps)
  let results: Fields[] = []
  const addPending = () => {
    if (results.length > 0) addResults(lowered, results)
    results = []
  }
  for (const part of partsOf(steps)) {
    if (part.said.length > 0) {
      addPending()
      add(part.said)
    }
    for (const step of part.results) results.push(searchResult(step, bridged))
  }
  addPending()
}

/** Writes an API compaction as a user message, because a conversation may start with it. Returns the steps consumed. */
function addSummary(lowered: Fields[], steps: readonly WalkStep[], bridged: Bridged): number {
  const rest = steps.findIndex(({ block }) => block.type !== 'compaction')
  const count = rest < 0 ? steps.length : rest
  const content = steps.slice(0, count).map((step) => fromReply(step, bridged))
  if (count > 0) lowered.push({ role: 'user', content })
  return count
}

function isResult({ block }: WalkStep): boolean {
  return block.type === 'tool_search_tool_result'
}

/** What a reply says up to some search results, and these. */
type ReplyPart = { readonly said: WalkStep[]; readonly results: WalkStep[] }

/**
 * Divides a reply at its runs of search results. A search moves to the run that has its last result, and the client's
 * calls to the end, where their results follow. Looks at each step once, because a client may send very many.
 */
function partsOf(steps: readonly WalkStep[]): ReplyPart[] {
  const parts: ReplyPart[] = [{ said: [], results: [] }]
  const places: number[] = []
  const lastResults = new Map<unknown, number>()
  for (const step of steps) {
    if (!isResult(step) && (parts.at(-1) as ReplyPart).results.length > 0)
      parts.push({ said: [], results: [] })
    places.push(parts.length - 1)
    if (!isResult(step)) continue
    parts.at(-1)?.results.push(step)
    lastResults.set(step.block.tool_use_id, parts.length - 1)
  }
  if ((parts.at(-1) as ReplyPart).results.length > 0) parts.push({ said: [], results: [] })
  for (const [index, step] of steps.entries()) {
    if (isResult(step)) continue
    const { type, id } = step.block
    const answered = type === 'server_tool_use' ? (lastResults.get(id) ?? 0) : 0
    const place = type === 'tool_use' ? parts.length - 1 : Math.max(answered, places[index] ?? 0)
    parts[place]?.said.push(step)
  }
  return parts
}

/** Adds search results after the results of client calls made in the same turn, which must come first (wire 28). */
function addResults(lowered: Fields[], results: readonly Fields[]): void {
  const turn = lowered.findLastIndex(({ role }) => role !== 'user') + 1
  if (turn === lowered.length) {
    lowered.push({ role: 'user', content: results })
    return
  }
  const isMixed = ({ content }: Fields) => blocksOf(content).some(({ type }) => type !== 'tool_result')
  const mixed = lowered.slice(turn).findIndex(isMixed)
  const place = mixed < 0 ? lowered.length - 1 : turn + mixed
  const blocks = blocksOf(lowered[place]?.content)
  const other = blocks.findIndex(({ type }) => type !== 'tool_result')
  const end = other < 0 ? blocks.length : other
  lowered[place] = {
    ...lowered[place],
    content: [...blocks.slice(0, end), ...results, ...blocks.slice(end)],
  }
}

/** Maps a message's blocks; returns the same object if none changes. */
function withBlocks(message: Fields, steps: readonly WalkStep[], change: (step: WalkStep) => Fields): Fields {
  const blocks = steps.map(change)
  const { content } = message
  const count = Array.isArray(content) ? content.length : blocksOf(content).length
  const isSame = blocks.length === count && blocks.every((block, index) => block === steps[index]?.block)
  return isSame ? message : { ...message, content: blocks }
}

function fromReply({ block, revealed, removed }: WalkStep, bridged: Bridged): Fields {
  switch (block.type) {
    case 'server_tool_use':
      return isSearch(block)
        ? { ...omitFields(block, 'caller'), type: 'tool_use', id: plainId(block.id) }
        : block
    case 'tool_use': {
      const call = 'caller' in block ? omitFields(block, 'caller') : block
      return bridged.has(textOf(call.name)) ? throughCallTool(call) : call
    }
    case 'compaction':
      return {
        type: 'text',
        text: [textOf(block.content), ...changesText({ revealed, removed }, bridged)].join('\n'),
      }
    default:
      return block
  }
}

/** Replaces the `srvtoolu_` prefix: APIs with hosted tools accept no client result for such an id. */
function plainId(id: unknown): string {
  return textOf(id).replace(/^srvtoolu_/, 'toolu_search_')
}

function isSearch({ name }: Fields): boolean {
  return textOf(name).startsWith('tool_search_tool_')
}

function fromUser(step: WalkStep, bridged: Bridged): Fields {
  const { block, revealed } = step
  return block.type === 'compaction' ? fromReply(step, bridged) : withText(block, revealed, bridged)
}

/** A result with text in place of its references. */
function withText(block: Fields, revealed: WalkStep['revealed'], bridged: Bridged): Fields {
  const references = referencesIn(block)
  if (references.length === 0) return block
  const names = references.map(({ tool_name: name }) => textOf(name))
  const mark = references.findLast(({ cache_control: control }) => control)?.cache_control
  const note = {
    type: 'text',
    text: loadedText(names, revealed, bridged),
    ...(mark ? { cache_control: mark } : {}),
  }
  const others = blocksOf(block.content).filter((inner) => !isReference(inner))
  return { ...block, content: [note, ...others] }
}

function searchResult({ block, revealed }: WalkStep, bridged: Bridged): Fields {
  const result = { type: 'tool_result', tool_use_id: plainId(block.tool_use_id) }
  const content = fieldsOf(block.content)
  if (content.type === 'tool_search_tool_result_error') {
    const text = failedText(textOf(content.error_code), textOf(content.error_message))
    return { ...result, content: [{ type: 'text', text }], is_error: true }
  }
  const names = referencesIn(block).map(({ tool_name: name }) => textOf(name))
  const text = names.length === 0 ? NO_MATCH : loadedText(names, revealed, bridged)
  return { ...result, content: [{ type: 'text', text }] }
}

/** Turns a system message inside the conversation into a user message, because not every upstream accepts it there. */
function fromSystem(steps: readonly WalkStep[], bridged: Bridged): Fields[] {
  const texts = steps.flatMap((step) => {
    if (isChange(step.block)) return changesText(step, bridged)
    const isCleared = step.segments.length === 0
    return isCleared ? [] : [textOf(step.block.text)]
  })
  if (texts.length === 0) return []
  return [{ role: 'user', content: texts.map((text) => ({ type: 'text', text: systemReminder(text) })) }]
}

function changesText(
  { revealed, removed }: Pick<WalkStep, 'revealed' | 'removed'>,
  bridged: Bridged,
): string[] {
  const names = revealed.map(({ name }) => name)
  return [
    ...(names.length > 0 ? [loadedText(names, revealed, bridged)] : []),
    ...(removed.length > 0 ? [removedText(removed)] : []),
  ]
}
