// Runs hosted searches within a reply. The client sees each as a `server_tool_use` with its result and sends both back.
// Implements wire 17, 20, 21, 22, 23, 28.
import { createHash } from 'node:crypto'
import type { PoolTool, Rank, TraceListener } from '@toolshelf/core'
import {
  blocksOf,
  buildPool,
  changeIn,
  type Fields,
  fieldsOf,
  hasCode,
  isDeferred,
  listOf,
  nameOf,
  textOf,
  visibleTools,
} from '@toolshelf/core/internal'
import { createRecent } from '../recent.ts'
import {
  type ReplySearchOptions,
  type SearchCall,
  type SearchStrategy,
  withoutSearchTools,
} from '../search-strategy.ts'
import type { MessagesRequest } from '../types.ts'

type HostedOptions = ReplySearchOptions & {
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
  let corpus: Corpus | undefined
  const read = () => {
    corpus ??= Promise.resolve(request).then(corpusOf)
    return corpus
  }
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
      if (hasCode(error, 'LIMIT')) return searchError('too_many_requests', error.message)
      throw error
    }
    const found = await searchHosted(read, name, input, rankers, trace)
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
  const loaded = new Set(visibleTools(request))
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

const TYPE = /^tool_search_tool_(regex|bm25)(?:_20251119)?$/

/** The two kinds of hosted search tools. */
export type Variant = 'regex' | 'bm25'

/** Returns which hosted search tool an entry of `tools` is; undefined for any other tool. */
export function variantOf(tool: Fields): Variant | undefined {
  return TYPE.exec(textOf(tool.type))?.[1] as Variant | undefined
}

/** Returns the names of a request's hosted search tools, deferred ones included. */
function hostedNames({ tools = [] }: MessagesRequest): ReadonlySet<string> {
  return new Set(tools.filter((tool) => variantOf(tool) !== undefined).map(nameOf))
}

const RESULTS = 5
/** The largest limit that the API takes. */
const MAX_LIMIT = 10_000
/** Most results of one search, whatever its limit: so many definitions fill a context. */
const MAX_RESULTS = 50
const MAX_QUERY_LENGTHS = { regex: 200, bm25: 500 }
const MAX_CORPORA = 16
const KEY = { regex: 'pattern', bm25: 'query' }

/** Returns a hosted search tool as a plain tool definition. */
export function plainSearchTool(variant: Variant): Fields {
  const about = {
    regex: 'A Python regular expression, matched without case, such as "get_.*_data" or "weather|forecast".',
    bm25: 'Words for the service, the action and the object, such as "slack send message".',
  }
  return {
    name: `tool_search_tool_${variant}`,
    description: `Finds tools that are not in your list yet and loads them, so that they can be called. Searches the names, descriptions and arguments of all available tools. Search before you say that something cannot be done.`,
    input_schema: {
      type: 'object',
      properties: {
        [KEY[variant]]: {
          type: 'string',
          description: `${about[variant]} At most ${MAX_QUERY_LENGTHS[variant]} characters.`,
        },
        limit: { type: 'integer', description: `How many tools at most; ${RESULTS} if left out.` },
      },
      required: [KEY[variant]],
    },
  }
}

/** The API's error codes of searches. */
type SearchErrorCode = 'invalid_tool_input' | 'unavailable' | 'too_many_requests' | 'execution_time_exceeded'

/** The content of a `tool_search_tool_result`. */
type SearchContent =
  | {
      type: 'tool_search_tool_search_result'
      tool_references: { type: 'tool_reference'; tool_name: string }[]
    }
  | { type: 'tool_search_tool_result_error'; error_code: SearchErrorCode; error_message: string }

/** A ranker for each kind of search. */
export type HostedRankers = { readonly [variant in Variant]: Rank }

/** The tools that a search can find; rejects if the request's tools are not valid. */
type Corpus = Promise<readonly PoolTool[]>

/** Runs a hosted search; never throws. */
async function searchHosted(
  read: () => Corpus,
  name: string,
  input: Fields,
  rankers: HostedRankers,
  trace?: TraceListener,
): Promise<SearchContent> {
  const variant: Variant = name.endsWith('regex') ? 'regex' : 'bm25'
  const text = input[KEY[variant]]
  const { limit = RESULTS } = input
  if (typeof text !== 'string' || text.trim() === '')
    return invalid(`${KEY[variant]}: a non-empty string is required`)
  if (text.length > MAX_QUERY_LENGTHS[variant])
    return invalid(
      `${KEY[variant]}: at most ${MAX_QUERY_LENGTHS[variant]} characters are allowed, but it has ${text.length}`,
    )
  if (!Number.isInteger(limit) || Number(limit) < 1 || Number(limit) > MAX_LIMIT)
    return invalid(`limit: an integer from 1 to ${MAX_LIMIT} is required`)
  try {
    const corpus = await read()
    const most = Math.min(Number(limit), MAX_RESULTS)
    const { hits, matched, ranker = variant } = await rankers[variant](corpus, text, most)
    trace?.({
      type: 'searched',
      query: text,
      matched,
      ranker,
      searchable: corpus.length,
      refused: 0,
      unsearched: [],
      found: hits.map(({ tool }) => tool.name),
      scores: hits.map(({ score }) => score),
    })
    const references = hits.map(({ tool }) => ({ type: 'tool_reference' as const, tool_name: tool.name }))
    return { type: 'tool_search_tool_search_result', tool_references: references }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return variant === 'regex'
      ? invalid(`Invalid regular expression pattern: ${reason}`)
      : searchError('unavailable', reason)
  }
}

/** Returns the result of a search that did not run. */
function searchError(code: SearchErrorCode, message: string): SearchContent {
  return { type: 'tool_search_tool_result_error', error_code: code, error_message: message }
}

function invalid(message: string): SearchContent {
  return searchError('invalid_tool_input', message)
}

const corpora = createRecent<readonly PoolTool[]>(MAX_CORPORA)

/** The request's deferred tools and those added by value. Returns the same list object for the same tools. */
function corpusOf({ tools = [], messages }: MessagesRequest): readonly PoolTool[] {
  const added = messages.flatMap(addedByValue)
  const searchable = [...tools.filter((tool) => isDeferred(tool) && !variantOf(tool)), ...added]
  const key = createHash('sha1').update(JSON.stringify(searchable)).digest('base64')
  let corpus = corpora.get(key)
  if (!corpus) {
    const named = new Map(searchable.map((tool) => [nameOf(tool), { ...tool, name: nameOf(tool) }]))
    const options = { descriptionLimit: 1, exactNames: true, reserved: [], warn: () => {} }
    corpus = buildPool([...named.values()], options).tools
    corpora.set(key, corpus)
  }
  return corpus
}

function addedByValue({ role, content }: Fields): Fields[] {
  if (role !== 'system') return []
  const definitions = listOf(content).map((block) => changeIn(fieldsOf(block))?.definition)
  return definitions.filter((definition) => definition !== undefined)
}
