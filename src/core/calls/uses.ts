// Detects which searches led to a call, for hosts that learn from use (the option `learn`). Only calls count: a tool
// that was found but not called proves nothing.
import { attempt } from '../attempt.ts'
import type { Conversation, Host, RecentSearch } from '../state.ts'
import type { PoolTool } from '../types.ts'
import type { SearchOutcome } from './answer.ts'
import { selectedNames } from './query.ts'

/** A search that led to a call: what the option `learn` receives. */
export type SearchUse = {
  /** The query as the model wrote it. */
  readonly query: string
  /** The tool that was called. */
  readonly tool: PoolTool
  /** False if only the next search found the tool, and nothing that this one found was called. */
  readonly isFound: boolean
}

/** Searches to remember per conversation; a call counts for the newest of them that found its tool. */
const MAX_RECENT = 8

/** Remembers a search until calls follow. Ignores searches for exact names, from which no words can be learned. */
export function noteSearch({ memory }: Conversation, { query, tools, shortened }: SearchOutcome): void {
  if (query === '' || selectedNames(query)) return
  const found = new Set([...tools, ...shortened].map(({ name }) => name))
  const search = { query, found, called: new Set<string>(), isCounted: false }
  memory.searches = [...memory.searches, search].slice(-MAX_RECENT)
}

/** The function form of `shelf.recordUse`: reports the searches that led to a call of this tool. */
export function noteUse({ settings }: Host, { memory }: Conversation, tool: PoolTool | undefined): void {
  const { learn } = settings
  if (learn && tool) for (const use of usesOf(memory.searches, tool)) attempt(() => learn(use))
}

/** Returns the searches that a call confirms; each counts once per tool, however often it is called. */
function usesOf(searches: readonly RecentSearch[], tool: PoolTool): SearchUse[] {
  const place = searches.findLastIndex(({ found }) => found.has(tool.name))
  const search = searches[place]
  if (!search || search.called.has(tool.name)) return []
  search.called.add(tool.name)
  const uses = [{ query: search.query, tool, isFound: true }]
  const before = searches[place - 1]
  const isMiss = before && before.called.size === 0 && !before.found.has(tool.name) && !before.isCounted
  if (!isMiss) return uses
  before.isCounted = true
  return [...uses, { query: before.query, tool, isFound: false }]
}
