// Runs hosted searches within a reply. The client sees each as a `server_tool_use` with its result and sends both back.
// Implements wire 22, 28.

import type { TraceListener } from '../../core/index.ts'
import { blocksOf, walkRequest } from '../../core/oracle/index.ts'
import { type Fields, fieldsOf, textOf } from '../../lib/index.ts'
import { LimitError } from '../../users/index.ts'
import {
  type ReplySearchOptions,
  type SearchCall,
  type SearchStrategy,
  withoutSearchTools,
} from '../search-strategy.ts'
import type { MessagesRequest } from '../types.ts'
import {
  createHostedSearch,
  type HostedRankers,
  hostedNames,
  type SearchContent,
  searchError,
} from './tools.ts'

/** Options of `startHosted`. */
export type HostedOptions = ReplySearchOptions & {
  readonly rankers: HostedRankers
  readonly trace?: TraceListener | undefined
}

/** Most searches of one reply, those that it opens with included; others are answered with `too_many_requests`. */
const MAX_SEARCHES = 50

/** Starts the hosted searches of a reply. */
export async function startHosted(
  request: MessagesRequest,
  { work, signal, onSearch, rankers, trace }: HostedOptions,
): Promise<SearchStrategy> {
  const names = hostedNames(request)
  const search = createHostedSearch(request, rankers, trace)
  const content: Fields[] = []
  let open: SearchCall[] = []
  let searches = 0

  async function find({ name, input }: SearchCall): Promise<SearchContent> {
    signal.throwIfAborted()
    if (++searches > MAX_SEARCHES)
      return searchError(
        'too_many_requests',
        `a reply can make ${MAX_SEARCHES} searches; go on with what was found`,
      )
    try {
      await work.use('searches')
    } catch (error) {
      if (error instanceof LimitError) return searchError('too_many_requests', error.message)
      throw error
    }
    const found = await search(name, input)
    const references = found.type === 'tool_search_tool_search_result' ? found.tool_references : []
    onSearch(references.map((reference) => reference.tool_name))
    return found
  }

  /** Answers the calls one after the other, so that each takes its turn. */
  async function answer(calls: readonly SearchCall[]): Promise<Fields[]> {
    const results: Fields[] = []
    for (const call of calls)
      results.push({ type: 'tool_search_tool_result', tool_use_id: call.id, content: await find(call) })
    content.push(...results)
    return results
  }

  const { type, name: forced, ...choice } = fieldsOf(request.tool_choice)
  const whole = (): MessagesRequest => {
    if (content.length === 0) return request
    const messages = [...request.messages, { role: 'assistant', content: [...content] }]
    // A search that the client forces is made once.
    const isMade = type === 'tool' && names.has(textOf(forced))
    return { ...request, messages, ...(isMade ? { tool_choice: { ...choice, type: 'auto' } } : {}) }
  }
  const opening = await answer(unansweredSearches(request.messages))
  return {
    opening,
    request: async () => whole(),
    // A client that forces a call gets one; another may continue the reply.
    ...(type === 'any' ? { lastRequest: async () => lastOf(whole(), names) } : {}),
    isSearch: (name) => names.has(name),
    async shown(call) {
      const search = {
        ...call,
        id: call.id.startsWith(SERVER) ? call.id : SERVER + call.id.replace(/^toolu_/, ''),
      }
      open.push(search)
      return { type: 'server_tool_use', ...search, caller: { type: 'direct' } }
    },
    callId: (id) => id,
    said: (block) => content.push(block),
    answer() {
      const calls = open
      open = []
      return answer(calls)
    },
    stopReason: 'pause_turn',
    close: () => {},
  }
}

function lastOf(request: MessagesRequest, names: ReadonlySet<string>): MessagesRequest {
  const loaded = new Set(walkRequest(request).visible.keys())
  return withoutSearchTools(request, (name) => names.has(name), loaded, request.tools)
}

const SERVER = 'srvtoolu_'

/** Searches made together with client calls: their results open the reply that follows the client's results (wire 28). */
function unansweredSearches(messages: readonly Fields[]): SearchCall[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const blocks = blocksOf(messages[last]?.content)
  const answered = new Set(blocks.map(({ tool_use_id: id }) => id))
  return blocks
    .filter(
      ({ type, id, name }) =>
        type === 'server_tool_use' && !answered.has(id) && textOf(name).startsWith('tool_search_tool_'),
    )
    .map(({ id, name, input }) => ({ id: textOf(id), name: textOf(name), input: fieldsOf(input) }))
}
