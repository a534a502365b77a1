// Puts hidden searches back into a client's history, from the ids of its calls and from memory. Where neither knows of a
// search, a call of a deferred tool implies one, because a tool that was called must have been loaded.
import { isDeepStrictEqual } from 'node:util'
import { defaultCapabilities } from '@toolshelf/core'
import {
  blocksOf,
  capabilityOf,
  type Fields,
  fieldsOf,
  groupBy,
  oncePerFrozen,
  parseBetas,
  searchNote,
  textOf,
  withRemark,
} from '@toolshelf/core/internal'
import { type Headers, type MessagesRequest, THINKING_BINDING } from '../types.ts'
import {
  type CodedNames,
  carriedBy,
  carriesSearches,
  type FoundNames,
  type HiddenSearch,
  type SearchPlace,
  withPlainIds,
} from './carry.ts'

/** What `restore` needs to know. */
export type RestoreContext = {
  readonly names: CodedNames
  readonly deferred: ReadonlySet<string>
  readonly searchTool: string
  /** Remembered searches of the reply at this index that its call ids do not carry. */
  readonly remembered: (message: number) => readonly HiddenSearch[]
  /** Extended thinking is on: the API then refuses a turn with calls that does not start with a thinking block. */
  readonly thinksByHand: boolean
}

/** Maximum restored searches per conversation, so that a client cannot inflate the request without limit. */
const MAX_RESTORED = 2000

/** Returns the messages with their hidden searches. */
export function restore(messages: readonly Fields[], restoring: RestoreContext): Fields[] {
  const loaded = new Set<string>()
  let room = MAX_RESTORED
  const restored: Fields[] = []
  /** Results of searches made together with the previous reply's calls. */
  let results: readonly Fields[] = []
  for (let index = 0; index < messages.length; index++) {
    const given = messages[index] as Fields
    const next = messages[index + 1]
    const message = given.role === 'assistant' && next?.role !== 'assistant' ? spoken(given) : given
    const plain = withPlainIds(message)
    const pending = results
    results = NONE
    if (message.role !== 'assistant') {
      const isWhole = pending.length === 0
      restored.push(isWhole ? plain : { ...plain, content: [...pending, ...blocksOf(plain.content)] })
      continue
    }
    // A reply of hidden searches only is empty in the client's history, and no API accepts an empty message.
    if (index < messages.length - 1 && callsIn(message).latest < 0) continue
    const found = searchesIn(message, index, loaded, restoring)
    if (found.length === 0 || room === 0) {
      restored.push(plain)
      continue
    }
    const searches = found.slice(0, room)
    room -= searches.length
    const isAnswered = hasResults(next)
    const { searchTool, thinksByHand } = restoring
    const isBeside = searches.map(({ at }) => thinksByHand && isAnswered && losesThought(plain, at))
    const split = splitOnce(plain, { index, searches, isBeside, searchTool, thinksByHand })
    results = split.results
    restored.push(...split.turns)
  }
  return restored
}

/**
 * Removes thinking from the end of a reply: a hidden search followed it, and the API accepts no reply that ends with
 * thinking.
 */
const spoken = oncePerFrozen((message: Fields): Fields => {
  const blocks = blocksOf(message.content)
  const last = blocks.findLastIndex((block) => !isThought(block))
  if (last === blocks.length - 1) return message
  return Object.freeze({ ...message, content: blocks.slice(0, last + 1) })
})

export function isThought({ type }: Fields): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

function hasResults(message: Fields | undefined): boolean {
  return message?.role === 'user' && blocksOf(message.content).some(({ type }) => type === 'tool_result')
}

/** Whether the part of a reply from `at` on has calls whose thinking block lies before `at`. */
function losesThought({ content }: Fields, at: number): boolean {
  const blocks = blocksOf(content)
  return (
    blocks.slice(at).some(({ type }) => type === 'tool_use') &&
    blocks.slice(0, at).some(isThought) &&
    !blocks.slice(at, at + 1).some(isThought)
  )
}

/** A search to restore; `isRepeat` if earlier searches had already loaded all its tools. */
type RestoredSearch = HiddenSearch & { readonly isRepeat: boolean }

/** Returns the canonical search call and its result. */
export function searchTurn(
  { names, left, isRepeat }: FoundNames & { readonly isRepeat: boolean },
  id: string,
  searchTool: string,
): { call: Fields; result: Fields } {
  const call = { type: 'tool_use', id, name: searchTool, input: { query: `select:${names.join(',')}` } }
  const result = { type: 'tool_result', tool_use_id: id }
  if (isRepeat)
    return { call, result: { ...result, content: [{ type: 'text', text: alreadyLoaded(names) }] } }
  const more = `${left} more tools matched; search with more specific words for those.`
  const content = names.map((name) => ({ type: 'tool_reference', tool_name: name }))
  return { call, result: withRemark({ ...result, content }, left > 0 ? searchNote(more) : undefined) }
}

/** Tells the model that a search found only tools that are already loaded. */
export function alreadyLoaded(names: readonly string[]): string {
  return `What this finds can be called already: ${names.join(', ')}. Call it, or search with other words.`
}

/** Returns an id that is unique in the conversation and the same in every process. */
export function searchId(message: number, search: number): string {
  return `toolu_shelf_${message}_${search}`
}

/** What the calls of a reply reveal about searches. */
type Calls = {
  readonly names: readonly string[]
  /** Ids that carry searches. */
  readonly carrying: readonly string[]
  /** The index of the first call, or of the last block; -1 for an empty reply. */
  readonly latest: number
  /** The indexes of all blocks but thinking, and the number of blocks. */
  readonly spoken: readonly number[]
  readonly length: number
}

const callsIn = oncePerFrozen(({ content }: Fields): Calls => {
  const blocks = blocksOf(content)
  const calls = blocks.filter(({ type }) => type === 'tool_use')
  const firstCall = blocks.findIndex(({ type }) => type === 'tool_use')
  return {
    names: calls.map(({ name }) => textOf(name)),
    carrying: calls.map(({ id }) => textOf(id)).filter(carriesSearches),
    latest: firstCall < 0 ? blocks.length - 1 : firstCall,
    spoken: blocks.flatMap((block, index) => (isThought(block) ? [] : [index])),
    length: blocks.length,
  }
})

/** The index of a search in a reply as the client sent it: behind the same words, whatever thinking it left out. */
function placeIn({ spoken, length, latest }: Calls, { at, thoughts }: SearchPlace): number {
  const words = at - thoughts
  const first = words > 0 ? (spoken[words - 1] ?? length) + 1 : 0
  const last = spoken[words] ?? length
  const place = thoughts > 0 ? Math.max(first, Math.min(at, last)) : at
  return Math.min(place, latest)
}

const NONE: readonly never[] = []

function searchesIn(
  message: Fields,
  index: number,
  loaded: Set<string>,
  { names, deferred, remembered }: RestoreContext,
): readonly RestoredSearch[] {
  const calls = callsIn(message)
  const { names: calledNames, carrying, latest } = calls
  const kept = remembered(index)
  if (carrying.length + kept.length === 0 && !hasMissing(calledNames, deferred, loaded)) return NONE
  const carried = carrying.flatMap((id) => carriedBy(id, names))
  const hidden = [...carried, ...kept].map((search) => ({ ...search, isCalled: false }))
  const called = { at: latest, thoughts: 0, left: 0, names: calledNames, isCalled: true }
  return [...hidden, called]
    .map((search) => ({ ...search, at: placeIn(calls, search) }))
    .sort((a, b) => a.at - b.at)
    .map((search) => {
      const isMissing = (name: string) => deferred.has(name) && (!search.isCalled || !loaded.has(name))
      const names = [...new Set(search.names.filter(isMissing))]
      const isRepeat = names.every((name) => loaded.has(name))
      for (const name of names) loaded.add(name)
      return { ...search, names, isRepeat }
    })
    .filter((search) => search.names.length > 0)
}

/** A loop, because this runs for every reply of every request. */
function hasMissing(
  names: readonly string[],
  deferred: ReadonlySet<string>,
  loaded: ReadonlySet<string>,
): boolean {
  for (const name of names) if (deferred.has(name) && !loaded.has(name)) return true
  return false
}

/** Returns whether any reply carries or is remembered with hidden searches for tools that are deferred now. */
export function isRestored(messages: readonly Fields[], restoring: RestoreContext): boolean {
  return (
    hasSearches(messages, restoring) &&
    messages.some(
      (message, index) =>
        message.role === 'assistant' && searchesIn(message, index, new Set(), restoring).length > 0,
    )
  )
}

function hasSearches(messages: readonly Fields[], { remembered }: RestoreContext): boolean {
  return messages.some(
    (message, index) => remembered(index).length > 0 || callsIn(message).carrying.length > 0,
  )
}

/** The turns that replace a reply with searches, and results to add to those of its calls. */
type Split = { readonly turns: readonly Fields[]; readonly results: readonly Fields[] }

/** Everything that a reply's split depends on besides the reply. */
type SplitInput = {
  readonly index: number
  readonly searches: readonly RestoredSearch[]
  /** For each search, whether it is put before the reply's first call instead of ending a turn. */
  readonly isBeside: readonly boolean[]
  readonly searchTool: string
  readonly thinksByHand: boolean
}

/** Caches the last split of each reply, so that the same searches yield the same objects. */
const lastSplits = oncePerFrozen((_: Fields): { last?: { input: SplitInput; split: Split } } => ({}))

function splitOnce(message: Fields, input: SplitInput): Split {
  const known = lastSplits(message)
  if (known.last && isDeepStrictEqual(known.last.input, input)) return known.last.split
  const { turns, results } = split(message, input)
  known.last = { input, split: { turns: turns.map((turn) => Object.freeze(turn)), results } }
  return known.last.split
}

/**
 * Splits a reply at its searches: each ends a turn and is followed by a user turn with its result. Searches in `isBeside`
 * are put before the first call instead, and their results are returned for the next message.
 */
function split(message: Fields, { index, searches, isBeside, searchTool, thinksByHand }: SplitInput): Split {
  const blocks = blocksOf(message.content)
  const turns: Fields[] = []
  const beside = searches.filter((_, search) => isBeside[search])
  const alone = searches.filter((_, search) => !isBeside[search])
  const turnOf = (search: RestoredSearch) =>
    searchTurn(search, searchId(index, searches.indexOf(search)), searchTool)
  let from = 0
  // Searches that ran at the same index share the thinking block before them.
  const together = thinksByHand ? groupBy(alone, ({ at }) => at).values() : alone.map((search) => [search])
  for (const group of together) {
    const at = group[0]?.at ?? from
    const found = group.map(turnOf)
    turns.push({ ...message, content: [...blocks.slice(from, at), ...found.map(({ call }) => call)] })
    turns.push({ role: 'user', content: found.map(({ result }) => result) })
    from = at
  }
  const rest = blocks.slice(from)
  const found = beside.map(turnOf)
  const first = rest.findIndex(({ type }) => type === 'tool_use')
  const content = rest.toSpliced(first, 0, ...found.map(({ call }) => call))
  return { turns: [...turns, { ...message, content }], results: found.map(({ result }) => result) }
}

export function isBound({ model, thinking }: MessagesRequest): boolean {
  const { type } = fieldsOf(thinking)
  const isThinking = type === 'enabled' || type === 'adaptive'
  return isThinking && capabilityOf(model, 'anthropic', defaultCapabilities).boundThinking
}

/** Adds the option to drop mismatched thinking; the client's own thinking options take precedence. */
export function withDroppedThinking(request: MessagesRequest): MessagesRequest {
  const binding = { prefix_mismatch_behavior: 'drop_block' }
  return { ...request, thinking: { block_binding: binding, ...fieldsOf(request.thinking) } }
}

export function withBindingBeta(headers: Headers): Headers {
  const betas = new Set([...parseBetas(headers['anthropic-beta']), THINKING_BINDING])
  return { ...headers, 'anthropic-beta': [...betas].join(',') }
}
