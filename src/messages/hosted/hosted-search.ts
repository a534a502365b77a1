// Runs hosted searches within a reply. The client sees each as a `server_tool_use` with its result and sends both back.
// Implements wire 22, 28.

import type { TraceListener } from '../../core/index.ts'
import { blocksOf } from '../../core/oracle/index.ts'
import { type Fields, fieldsOf, textOf } from '../../lib/index.ts'
import type { SearchCall, SearchStrategy } from '../search-strategy.ts'
import type { MessagesRequest } from '../types.ts'
import { type HostedRankers, hostedNames, searchHosted } from './tools.ts'

/** Starts the hosted searches of a reply. */
export async function startHosted(
  request: MessagesRequest,
  rankers: HostedRankers,
  onSearch: (names: readonly string[]) => void,
  trace?: TraceListener,
): Promise<SearchStrategy> {
  const names = hostedNames(request)
  const content: Fields[] = []
  let open: SearchCall[] = []

  async function run({ id, name, input }: SearchCall): Promise<Fields> {
    const found = await searchHosted(request, name, input, rankers, trace)
    const references = found.type === 'tool_search_tool_search_result' ? found.tool_references : []
    onSearch(references.map((reference) => reference.tool_name))
    return { type: 'tool_search_tool_result', tool_use_id: id, content: found }
  }

  const opening = await Promise.all(unansweredSearches(request.messages).map(run))
  content.push(...opening)
  return {
    opening,
    request: async () => ({
      ...request,
      messages:
        content.length === 0
          ? request.messages
          : [...request.messages, { role: 'assistant', content: [...content] }],
    }),
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
    async answer() {
      const results = await Promise.all(open.map(run))
      open = []
      content.push(...results)
      return results
    },
    stopReason: 'pause_turn',
    close: () => {},
  }
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
