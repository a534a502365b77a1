// Runs searches that the client never sees. The model sees them in a canonical form that can be restored later.
import type { SearchOutcome } from '@toolshelf/core'
import {
  blocksOf,
  hasCode,
  nameOf,
  oneLine,
  READ_TOOL,
  SEARCH_TOOL,
  searchNote,
  textOf,
} from '@toolshelf/core/internal'
import { type ClientWork, pauseIn } from '@toolshelf/core/internal/node'
import {
  type ReplySearchOptions,
  type SearchCall,
  type SearchStrategy,
  withoutSearchTools,
} from '../search-strategy.ts'
import type { Fields, MessagesRequest } from '../types.ts'
import { carry, type FoundNames, type HiddenSearch, type SearchPlace } from './carry.ts'
import type { Shelved } from './lift.ts'
import { alreadyLoaded, isThought, searchId, searchTurn } from './restore.ts'

type HiddenOptions = ReplySearchOptions & {
  /** Keeps the searches of a reply whose calls cannot carry them. */
  readonly remember: (messages: readonly Fields[], searches: readonly HiddenSearch[]) => void
}

/** Starts the hidden searches of a reply. */
export function startHidden(
  request: MessagesRequest,
  shelved: Shelved,
  { work, signal, onSearch, remember }: HiddenOptions,
): SearchStrategy {
  const turns: Fields[] = []
  let part: Fields[] = []
  const loaded = new Set(shelved.loaded)
  /** Searches of this sampling that found tools and wait for their place; those that found none, and reads. */
  let found: Found[] = []
  let vain: Vain[] = []
  let waiting: HiddenSearch[] = []
  let firstCall: SearchPlace | undefined
  let thoughts = 0
  let number = 0
  const queries: string[] = []

  const putAt = (place: SearchPlace) => {
    waiting.push(...found.map((search) => ({ ...search, ...place })))
    found = []
  }

  const isSearch = (name: string) =>
    name === SEARCH_TOOL || (name === READ_TOOL && shelved.read !== undefined)

  const restorable = (search: Found) =>
    searchTurn(search, searchId(request.messages.length, number++), SEARCH_TOOL)

  return {
    opening: [],
    request: () => shelved.prepare(turns),
    async lastRequest() {
      const last = turns.at(-1)
      const content = [...blocksOf(last?.content), { type: 'text', text: searchNote(lastNote(queries)) }]
      const prepared = await shelved.prepare([...turns.slice(0, -1), { ...last, content }])
      return withoutSearchTools(prepared, isSearch, loaded, request.tools)
    },
    isSearch,
    async shown(call) {
      signal.throwIfAborted()
      const outcome = await runCall(call, shelved, work)
      if ('texts' in outcome) {
        vain.push(outcome)
        return undefined
      }
      const { tools, left, remark } = outcome
      queries.push(textOf(call.input.query))
      const names = tools.map(({ name }) => name).filter((name) => shelved.deferred.has(name))
      const news = names.filter((name) => !loaded.has(name))
      onSearch(news)
      for (const name of names) loaded.add(name)
      if (names.length > 0) found.push({ names, left, isRepeat: news.length === 0 })
      else vain.push({ call, texts: [tools.length > 0 ? alreadyLoaded(tools.map(nameOf)) : remark] })
      return undefined
    },
    callId(id, at) {
      firstCall ??= { at, thoughts }
      putAt(firstCall)
      const carried = carry(id, waiting)
      waiting = []
      return carried
    },
    said(block) {
      part.push(block)
      if (isThought(block)) thoughts++
    },
    async answer(shownBlocks) {
      const answered = [...found.map(restorable), ...vain.map(unrestored)]
      const groups = shelved.thinksByHand ? [answered] : answered.map((one) => [one])
      turns.push(...turnsOf(part, groups))
      part = []
      putAt({ at: shownBlocks, thoughts })
      vain = []
      return []
    },
    stopReason: 'end_turn',
    close(content) {
      putAt(firstCall ?? { at: content.length, thoughts })
      if (waiting.length > 0) remember([...request.messages, { role: 'assistant', content }], waiting)
    },
  }
}

/** A search that found tools; `isRepeat` if all of them were loaded before. */
type Found = FoundNames & { readonly isRepeat: boolean }

type Vain = { readonly call: SearchCall; readonly texts: readonly string[] }

/** Runs a search, or reads a part of a result; what the user's limits refuse is answered with the reason. */
async function runCall(call: SearchCall, shelved: Shelved, work: ClientWork): Promise<SearchOutcome | Vain> {
  try {
    if (call.name === READ_TOOL && shelved.read) {
      const { slice } = await work.use('calls')
      return { call, texts: await shelved.read(call.input, pauseIn(slice)) }
    }
    await work.use('searches')
    return await shelved.search(call.input)
  } catch (error) {
    if (hasCode(error, 'LIMIT')) return { call, texts: [error.message] }
    throw error
  }
}

/** A search that found nothing, or a read, exactly as the model made it. */
function unrestored({ call, texts }: Vain): { call: Fields; result: Fields } {
  const content = texts.map((text) => ({ type: 'text', text }))
  return {
    call: { type: 'tool_use', ...call },
    result: { type: 'tool_result', tool_use_id: call.id, content },
  }
}

/** The turns in which the model made each group of calls and was answered; what it said before is in the first. */
function turnsOf(
  said: readonly Fields[],
  groups: readonly (readonly { readonly call: Fields; readonly result: Fields }[])[],
): Fields[] {
  return groups.flatMap((group, index) => [
    { role: 'assistant', content: [...(index === 0 ? said : []), ...group.map(({ call }) => call)] },
    { role: 'user', content: group.map(({ result }) => result) },
  ])
}

const MAX_QUERIES = 10

/** Names the queries, which the canonical form of a search does not contain. */
function lastNote(queries: readonly string[]): string {
  const tried = queries.slice(-MAX_QUERIES).map((query) => `"${oneLine(query, 100)}"`)
  const rule =
    'No more searches are possible in this reply. Answer with what you have, or call a tool you see.'
  return tried.length === 0 ? rule : `you searched for ${tried.join(', ')}. ${rule}`
}
