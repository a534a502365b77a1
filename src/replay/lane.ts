// Replays one conversation through the library: what it sends instead of definitions, and which searches it needs.
import {
  explainBreak,
  type MessageLike,
  type Prepared,
  SEARCH_TOOL,
  type Shelf,
  tokensFor,
} from '../core/index.ts'
import { readingApart } from '../core/oracle/index.ts'
import { toJson } from '../lib/index.ts'
import { type ReplayShelf, tokensOfDefinitions } from './shelves.ts'

/** Tokens that Toolshelf sends in addition to the conversation, in one sampling. */
export type Overhead = {
  readonly tokens: number
  /** Tokens of the search call that follows; 0 if none does. */
  readonly callTokens: number
}

/** What one recorded reply would have taken with Toolshelf. */
export type LaneStep = {
  /** One per sampling: those that only search, and the last, which is the recorded reply. */
  readonly samplings: readonly Overhead[]
  readonly simulated: number
  readonly recorded: number
  readonly loaded: readonly string[]
  /** What broke the prefix since the last sampling; undefined if it was kept or there was none. */
  readonly brokenBy: string | undefined
}

/** A conversation in replay. */
export type Lane = {
  readonly step: (turn: LaneTurn) => Promise<LaneStep>
}

/** A recorded reply, in terms of the shelf. */
export type LaneTurn = {
  readonly shelf: ReplayShelf
  readonly model: string
  /** Names on the shelf. */
  readonly calls: readonly string[]
  /** Recorded searches since the last turn, one list per reply that searched. */
  readonly queries: readonly (readonly string[])[]
  readonly isCompacted: boolean
}

/** Replaces every message, because its content affects neither which tools are loaded nor what they cost. */
const PLACEHOLDER = '.'

/**
 * Starts the replay of a conversation. Its history holds one message and all searches: turns without a search add
 * nothing, so that a long recording is as fast as a short one with the same searches.
 */
export function createLane(isSubAgent: boolean): Lane {
  let fork: Shelf | undefined
  let on: ReplayShelf | undefined
  let history: MessageLike[] = [{ role: 'user', content: PLACEHOLDER }]
  let last: Prepared<{ model: string; messages: MessageLike[] }> | undefined
  let model = ''
  let searches = 0

  /** Prepares a request; returns what broke the prefix of the one before it. */
  async function prepare(shelf: ReplayShelf, next: string): Promise<string | undefined> {
    if (!fork || on !== shelf) fork = shelf.shelf.fork({ isSubAgent })
    const request = { model: next, tools: [...shelf.own], messages: history }
    const prepared = await fork.prepare(request)
    const [cause] = last ? explainBreak(last, prepared) : []
    history = [...prepared.history] as MessageLike[]
    last = prepared
    on = shelf
    model = next
    if (!cause) return undefined
    return cause.kind === 'model' ? 'model' : cause.kind === 'message-edited' ? 'messages' : 'tools'
  }

  function overhead(callTokens: number): Overhead {
    const { characters, definitions } = readingApart(last?.request)
    return {
      tokens: tokensOfDefinitions(definitions) + tokensFor(characters - PLACEHOLDER.length),
      callTokens,
    }
  }

  /** Lets the shelf answer a search and appends both to the history. */
  async function search(shelf: ReplayShelf, query: string): Promise<void> {
    const call = { type: 'tool_use', id: `toolu_replay_${++searches}`, name: SEARCH_TOOL, input: { query } }
    const result = await fork?.answer(call)
    if (!result) return
    history = [...history, { role: 'assistant', content: [call] }, { role: 'user', content: [result] }]
    await prepare(shelf, model)
  }

  return {
    async step({ shelf, model: next, calls, queries, isCompacted }) {
      let brokenBy: string | undefined
      if (isCompacted && fork) {
        history = (await fork.compact(history, { summarize: PLACEHOLDER })) as MessageLike[]
        await prepare(shelf, next)
        brokenBy = 'compaction'
      } else if (!last || on !== shelf || model !== next) brokenBy = await prepare(shelf, next)
      const samplings: Overhead[] = []
      const before = new Set(last?.loaded)
      for (const group of queries) {
        samplings.push(overhead(group.reduce((sum, query) => sum + callSize(query), 0)))
        for (const query of group) await search(shelf, query)
      }
      const loaded = new Set(last?.loaded)
      const missing = [...new Set(calls)].filter((name) => shelf.deferred.has(name) && !loaded.has(name))
      const isSearching = missing.length > 0 && last?.decision.open === true
      if (isSearching) {
        const query = `select:${missing.join(',')}`
        samplings.push(overhead(callSize(query)))
        await search(shelf, query)
      }
      samplings.push(overhead(0))
      return {
        samplings,
        simulated: Number(isSearching),
        recorded: queries.length,
        loaded: [...new Set(last?.loaded)].filter((name) => !before.has(name)),
        brokenBy,
      }
    },
  }
}

function callSize(query: string): number {
  return tokensFor(toJson({ name: SEARCH_TOOL, input: { query } }).length)
}
