// Answers a search call: waits for servers that still connect, searches, and tells what was found, what is missing and which
// skills fit.
// Implements S1, S8, S12, S13, S16, S17.

import type { TraceListener } from './events.ts'
import { isConnecting } from './gate.ts'
import { aboutChanges, oneLine } from './lib/text.ts'
import { splitName } from './names.ts'
import { refuse, searchNote, textResult } from './notes.ts'
import type { Settings, Timer } from './options.ts'
import { partitionOf } from './policy.ts'
import {
  byExactName,
  cleanQuery,
  find,
  fold,
  isTooLong,
  MAX_QUERY_LENGTH,
  type QueryResult,
  searchText,
  selectedNames,
  UNSPACED,
} from './query.ts'
import { compactDefinition, fitTools } from './signature.ts'
import { charactersFor } from './tokens.ts'
import type {
  Conversation,
  Host,
  LiveHost,
  PoolTool,
  ServerDetails,
  ToolPartition,
  ToolResult,
  ToolUse,
} from './types.ts'
import { searchWire, selectIt } from './wires.ts'

/**
 * Finds tools once enough servers are connected: at once if a tool's name answers the query, else when every server has
 * settled, at the latest after `pendingWaitMs`. A query that names a connecting server waits for that one.
 */
async function findWhenReady(query: string, limit: number, live: LiveHost): Promise<Found> {
  const { settings } = live.host
  const named = missingServers(live.host).filter((server) => namesServer(query, server))
  let timer: Timer | undefined
  let isOver = settings.timer === undefined
  try {
    while (true) {
      const change = live.changed()
      const { host } = live
      const partition = partitionOf(host)
      const isEnough = isOver ? () => true : enoughFor(query, named, host, partition)
      if (isEnough) {
        const found = await find(query, limit, partition, settings)
        if (isEnough(found)) return { host, partition, found }
      }
      if (live.host.pool !== host.pool) continue
      timer ??= settings.timer!(settings.pendingWaitMs)
      isOver = await Promise.race([timer.over.then(() => true), change.then(() => false)])
    }
  } finally {
    timer?.cancel()
  }
}

/** What a search found, and where. */
type Found = { readonly host: Host; readonly partition: ToolPartition; readonly found: QueryResult }

/** Returns the test for a result that ends the search now; undefined if no result can, so that none is computed. */
function enoughFor(
  query: string,
  named: readonly string[],
  host: Host,
  partition: ToolPartition,
): ((found: QueryResult) => boolean) | undefined {
  if (!isConnecting(host.servers)) return () => true
  const missing = missingServers(host)
  if (named.some((server) => missing.includes(server))) return undefined
  if (missing.length === 0 || isNamed(query, partition)) return ({ tools }) => tools.length > 0
  return named.length > 0 ? ({ tools: [best] }) => named.includes(best?.server ?? '') : undefined
}

/** Returns servers that are still connecting and whose tools are unknown, also from an earlier run. */
function missingServers({ pool, servers }: Host): string[] {
  const known = new Set(pool.tools.map(({ server }) => server))
  return [...servers].flatMap(([name, { state }]) => (state === 'pending' && !known.has(name) ? [name] : []))
}

/** Whether the query contains the server's name as whole words: "GitHub issues" and `github__list` name `github`. */
function namesServer(query: string, server: string): boolean {
  const name = spaced(server)
  return name.trim() !== '' && spaced(query).includes(name)
}

function spaced(text: string): string {
  return ` ${fold(text)
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== '')
    .join(' ')} `
}

/** Whether a tool's name is the query, or contains every word of it. */
function isNamed(query: string, partition: ToolPartition): boolean {
  const selected = selectedNames(query)
  if (selected) return selected.every((name) => byExactName(name, partition) !== undefined)
  if (byExactName(query, partition)) return true
  const words = query
    .split(/\s+/u)
    .map((word) => word.replace(/^[+"'`(<[]+|["'`)>\],.;:!?]+$/g, ''))
    .filter((word) => word !== '')
  return words.length > 0 && partition.deferred.some((tool) => words.every((word) => hasInName(tool, word)))
}

function hasInName(tool: PoolTool, word: string): boolean {
  const { parts, full } = searchText(tool)
  const whole = full.split(/[\s_\-./]+/u)
  const hasPart = (part: string) =>
    parts.includes(part) || whole.includes(part) || (part.search(UNSPACED) >= 0 && full.includes(part))
  return [fold(word).split(/[_\-./]+/u), splitName(word).map(fold)].some((spelling) =>
    spelling.filter((part) => part !== '').every(hasPart),
  )
}

/** Something that matches a search but is not a tool of the shelf, such as a skill. */
export type RelatedItem = {
  /** What it is, such as `skill`. */
  readonly kind: string
  /** The name by which the model refers to it. */
  readonly name: string
  /** What it is for; cut to one line in the answer. */
  readonly description: string
  /** What the model can do about it, such as `Read it with Skill.` */
  readonly advice: string
}

/** Finds items other than tools that match a query: the option `related`. Best first; answers name the first three. */
export type FindRelated = (
  query: string,
  tools: readonly PoolTool[],
) => readonly RelatedItem[] | Promise<readonly RelatedItem[]>

const MAX_NAMED = 3
const MAX_NAME_LENGTH = 80
const MAX_DESCRIPTION_LENGTH = 160
const MAX_ADVICE_LENGTH = 300

/** Calls the option `related`, except for searches by exact names. Returns nothing if it fails. */
async function findRelated(
  related: FindRelated | undefined,
  query: string,
  tools: readonly PoolTool[],
): Promise<readonly RelatedItem[]> {
  if (!related || selectedNames(query)) return []
  try {
    return (await related(query, tools)).slice(0, MAX_NAMED)
  } catch {
    return []
  }
}

/** Lists the items, one line each; their texts are untrusted and cut. */
function aboutRelated(items: readonly RelatedItem[]): string[] {
  const lines = items.map(({ kind, name, description, advice }) => {
    const about = `${oneLine(kind, MAX_NAME_LENGTH)} ${oneLine(name, MAX_NAME_LENGTH)}: ${oneLine(description, MAX_DESCRIPTION_LENGTH)}`
    return `- ${about} (${oneLine(advice, MAX_ADVICE_LENGTH)})`
  })
  return lines.length > 0 ? ['Beside your tools, these fit:', ...lines] : []
}

const MAX_RESULTS = 50
const MAX_UNKNOWN = 10
/** Maximum number of servers that an answer names per reason. */
const MAX_SERVERS_NAMED = 20
/** Characters that wires add in front of the definitions and of the remark. */
const AROUND_DEFINITIONS = 200
/** Searches that name their tools, and so get whole definitions. */
const BY_NAME = new Set(['select', 'name'])

/** Answers a search call of the model, and keeps the definitions of what it loads: a tool may be removed before the next request. */
export async function answerSearch(
  live: LiveHost,
  conversation: Conversation,
  call: ToolUse,
): Promise<ToolResult> {
  const { host } = live
  const wire = searchWire(host, conversation.state)
  if (!wire)
    return textResult(call, 'Tool search is off: every tool is in your list already. Call the one you need.')
  const { memory, trace = host.settings.trace } = conversation
  const options = { missed: memory.missed, trace, isCompact: !wire.callsByName }
  const { tools, remark, missed, isRefused, definitions } = await searchTools(live, call.input, options)
  if (isRefused) return refuse(call, remark)
  memory.missed = missed
  if (tools.length === 0) return textResult(call, remark)
  const { state } = conversation
  const known = new Set(state.kept.map(({ definition }) => definition.name))
  const added = tools.filter(({ name }) => !known.has(name))
  const kept = added.map(({ definition }) => ({ definition, place: 'deferred' as const }))
  if (added.length > 0) conversation.state = { ...state, kept: [...state.kept, ...kept] }
  trace?.({ type: 'loaded', names: tools.map(({ name }) => name), by: 'search' })
  return wire.answer(call.id, tools, remark ? searchNote(remark) : undefined, definitions)
}

/** What a search found. */
export type SearchOutcome = {
  /** The query as it was searched; empty if the input has none. */
  readonly query: string
  /** The tools whose definitions fit into `answerTokens`: these are loaded. */
  readonly tools: readonly PoolTool[]
  /** The definitions of `tools`: as JSON, or compact if that was asked for and the search gave no names. */
  readonly definitions: readonly string[]
  /** Tools that the remark only describes, because their definitions do not fit (S17). */
  readonly shortened: readonly PoolTool[]
  /** Other items that match, found by the option `related`. */
  readonly related: readonly RelatedItem[]
  /** How many more tools matched. */
  readonly left: number
  /** What else the model should know: why nothing was found, what was left out, what was not searched (S8, S13). */
  readonly remark: string
  /** The servers that were not searched. */
  readonly unsearched: readonly UnsearchedServer[]
  /** Those of them that are still connecting. */
  readonly missed: readonly string[]
  /** The input contains no query. */
  readonly isRefused: boolean
}

/** A server whose tools were not searched; its state says why. */
export type UnsearchedServer = ServerDetails & { readonly name: string }

/** What the model knows from earlier searches. */
export type SearchOptions = {
  /** Whether the model already knows why this server cannot be searched; then an answer with tools only names it. */
  readonly wasReported?: (server: UnsearchedServer) => boolean
  /** The `missed` of the last search: the answer says which of these servers are searched now. */
  readonly missed?: readonly string[]
  /** The answer shows definitions as text: compact ones, unless the search names its tools. Default: false. */
  readonly isCompact?: boolean
  /** Receives the event of this search in place of the option `trace`. */
  readonly trace?: TraceListener | undefined
}

/** Returns what a search call with this input finds. Loads nothing. */
export async function searchTools(
  live: LiveHost,
  input: unknown,
  {
    wasReported = () => false,
    missed = [],
    isCompact = false,
    trace = live.host.settings.trace,
  }: SearchOptions = {},
): Promise<SearchOutcome> {
  const { settings } = live.host
  const { typed, query, limit } = readInput(input, settings)
  if (query === '') {
    const remark = `The query is empty. Call ${settings.searchTool} with words for the service, the action and the object, such as {"query": "slack send message"}, or with exact names, such as {"query": "select:NAME"}.`
    return { ...NOTHING, remark, missed, isRefused: true }
  }
  const { host, partition, found } = await findWhenReady(query, limit, live)
  const allowed = await allow(found.tools, query, settings)
  const unsearched = unsearchedIn(host, partition)
  const refused = found.tools.length - allowed.length
  const left = found.matched - found.tools.length
  trace?.({
    type: 'searched',
    query,
    matched: found.matched,
    ranker: found.ranker,
    searchable: partition.deferred.length,
    refused,
    unsearched: unsearched.slice(0, MAX_SERVERS_NAMED).map(({ name }) => name),
    found: allowed.map(({ name }) => name),
    scores: allowed.map((tool) => found.scores?.get(tool) ?? null),
  })
  const isConnected = (server: string) => !unsearched.some(({ name }) => name === server)
  const remarks = [
    ...aboutNames(found, query, partition),
    refused > 0 && `${refused} found but kept back by the host's rules.`,
    left > 0 && `${left} more matched and are not loaded; use more specific words or a larger max_results.`,
    found.unread &&
      `${found.unread} tools were not searched, because they are still being read; try again shortly.`,
    ...aboutMissed(missed.filter(isConnected)),
    ...aboutServers(unsearched, allowed.length > 0 ? wasReported : () => false),
    aboutChanges([...host.servers].map(([name, { changes }]) => ({ name, changes }))),
    isTooLong(typed) && `Only the first ${MAX_QUERY_LENGTH} characters of the query were searched.`,
  ]
  const related = await findRelated(host.settings.related, query, partition.deferred)
  const remark = [remarks.filter(Boolean).join(' '), ...aboutRelated(related)].filter(Boolean).join('\n')
  const budget = charactersFor(settings.answerTokens) - remark.length - AROUND_DEFINITIONS
  const isShort = isCompact && !BY_NAME.has(found.ranker)
  const textOf = ({ definition, json }: PoolTool) => (isShort && compactDefinition(definition)) || json
  const { whole, shortened, text } = fitTools(allowed, budget, selectIt(settings, '<name>'), textOf)
  return {
    query,
    tools: whole,
    definitions: whole.map(textOf),
    shortened,
    related,
    left: left + shortened.length,
    remark: [remark, text].filter(Boolean).join('\n'),
    unsearched,
    missed: unsearched.filter(({ state }) => state === 'pending').map(({ name }) => name),
    isRefused: false,
  }
}

const NOTHING = {
  query: '',
  tools: [],
  definitions: [],
  shortened: [],
  related: [],
  left: 0,
  unsearched: [],
} as const

function readInput(input: unknown, settings: Settings): { typed: string; query: string; limit: number } {
  const { query, max_results: maxResults } = (input ?? {}) as { query?: unknown; max_results?: unknown }
  const typed = typeof query === 'string' || typeof query === 'number' ? String(query) : ''
  const text = cleanQuery(typed)
  const isEmpty = !/[^+\s]/.test(text) || /^select:[\s,]*$/i.test(text)
  const asked =
    typeof maxResults === 'number' || typeof maxResults === 'string'
      ? Number(maxResults)
      : settings.maxResults
  const wanted = Number.isNaN(asked) ? settings.maxResults : Math.trunc(asked)
  const limit = Math.min(MAX_RESULTS, Math.max(1, wanted))
  return { typed, query: isEmpty ? '' : text, limit }
}

async function allow(tools: readonly PoolTool[], query: string, settings: Settings): Promise<PoolTool[]> {
  const { allowLoad } = settings
  if (!allowLoad) return [...tools]
  const verdicts = await Promise.all(
    tools.map(async ({ tool }) => {
      try {
        return (await allowLoad(tool, query)) !== false
      } catch {
        return false
      }
    }),
  )
  return tools.filter((_, index) => verdicts[index])
}

/** Returns the servers without any tool in the pool; one whose last good list is there was searched. */
function unsearchedIn({ servers }: Host, { pool }: ToolPartition): UnsearchedServer[] {
  const searched = new Set(pool.tools.map(({ server }) => server))
  return [...servers].flatMap(([name, server]) =>
    searched.has(name) || server.state === 'connected' ? [] : [{ ...server, name }],
  )
}

/** Says that nothing matched, and which names do not exist. */
function aboutNames({ tools, unknown }: QueryResult, query: string, { deferred }: ToolPartition): string[] {
  const rest = unknown.length - MAX_UNKNOWN
  return [
    ...(tools.length > 0
      ? []
      : [
          `No deferred tool matches "${oneLine(query, 100)}". ${deferred.length} deferred tools can be searched.`,
        ]),
    ...unknown.slice(0, MAX_UNKNOWN).map(({ name, near }) => {
      const asked = `There is no tool named "${oneLine(name, 100)}".`
      return near.length > 0 ? `${asked} Nearest: ${near.join(', ')}.` : asked
    }),
    ...(rest > 0 ? [`${rest} more of the names do not exist.`] : []),
  ]
}

/** Corrects the last answer: names the servers that it missed and that are searched now. */
function aboutMissed(connected: readonly string[]): string[] {
  const names = connected.map((server) => oneLine(server, 60)).join(', ')
  return names ? [`Connected since your last search and searched now: ${names}.`] : []
}

/** Names the servers that were not searched, with the reason unless the model knows it. */
function aboutServers(
  unsearched: readonly UnsearchedServer[],
  wasReported: (server: UnsearchedServer) => boolean,
): string[] {
  const known = unsearched.filter(wasReported)
  const list = (servers: readonly UnsearchedServer[], why: (server: ServerDetails) => string = () => '') => {
    const names = servers.slice(0, MAX_SERVERS_NAMED).map((server) => oneLine(server.name, 60) + why(server))
    const rest = servers.length - names.length
    return [...names, ...(rest > 0 ? [`${rest} more`] : [])].join(', ')
  }
  const inState = (wanted: ServerDetails['state']) =>
    unsearched.filter((server) => server.state === wanted && !known.includes(server))
  const waiting = list(inState('pending'))
  const failed = list(inState('failed'), ({ error }) => ` (${oneLine(error ?? 'no reason given', 200)})`)
  const disabled = list(inState('disabled'))
  return [
    waiting && `Not searched, still connecting: ${waiting}; try again shortly.`,
    failed && `Not searched, failed to connect: ${failed}.`,
    disabled && `Not searched, disabled: ${disabled}.`,
    known.length > 0 ? `Still not searched, as told before: ${list(known)}.` : '',
  ]
}
