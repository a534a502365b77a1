// Step 8. A search call → its tool_result. Whatever the model typed, the answer is one it can act on (S8–S16).
import { oneLine } from './errors.ts'
import { searchNote } from './notes.ts'
import type { Settings, Timer } from './options.ts'
import { cleanQuery, type Found, find, isTooLong } from './query.ts'
import { textBlock } from './rewrite.ts'
import type { PoolTool, Server, Servers, Shelving, ToolResult, ToolUse } from './types.ts'
import type { Wire } from './wire/wire.ts'

export type AnswerContext = {
  readonly settings: Settings
  /** Undefined while tool search is off. */
  readonly wire: Wire | undefined
  /** The pool and the servers as they are now: they may change while a search waits. */
  readonly now: () => { readonly shelving: Shelving; readonly servers: Servers }
  /** Resolves at the next change of pool or servers. */
  readonly changed: () => Promise<void>
}

const MOST_RESULTS = 50
const MOST_UNKNOWN = 10

export async function answerSearch(call: ToolUse, context: AnswerContext): Promise<ToolResult> {
  const { wire, settings } = context
  if (!wire)
    return say(call, 'Tool search is off: every tool is in your list already. Call the one you need.')
  const { typed, query, limit } = readInput(call.input, settings)
  if (query === '') return say(call, emptyQuery(settings), true)
  const found = await findOrWait(query, limit, context)
  const allowed = await allow(found.tools, query, settings)
  settings.trace({ type: 'searched', query, found: allowed.map(({ name }) => name), matched: found.matched })
  const { shelving, servers } = context.now()
  const remarks = [
    ...(found.tools.length === 0 ? [nothing(query, shelving)] : []),
    ...(isTooLong(typed) ? ['Only the first 2,000 characters of the query were searched.'] : []),
    ...aboutNames(found),
    ...aboutRest(found, allowed),
    ...aboutServers(servers, shelving),
  ].join(' ')
  if (allowed.length === 0) return say(call, remarks)
  return wire.answer(call.id, allowed, remarks === '' ? undefined : searchNote(remarks))
}

function say(call: ToolUse, text: string, isError = false): ToolResult {
  return {
    type: 'tool_result',
    tool_use_id: call.id,
    content: [textBlock(text)],
    ...(isError ? { is_error: true } : {}),
  }
}

type Input = { readonly query?: unknown; readonly max_results?: unknown }

function readInput(input: unknown, settings: Settings): { typed: string; query: string; limit: number } {
  const { query: given, max_results: most } = (input ?? {}) as Input
  const typed = typeof given === 'string' || typeof given === 'number' ? String(given) : ''
  const text = cleanQuery(typed)
  const isEmpty = /^[+\s]*$/.test(text) || /^select:[\s,]*$/i.test(text)
  const asked = typeof most === 'number' || typeof most === 'string' ? Number(most) : settings.maxResults
  const limit = Number.isNaN(asked)
    ? settings.maxResults
    : Math.min(MOST_RESULTS, Math.max(1, Math.trunc(asked)))
  return { typed, query: isEmpty ? '' : text, limit }
}

function emptyQuery({ searchTool }: Settings): string {
  return `The query is empty. Call ${searchTool} with words for the service, the action and the object, such as {"query": "slack send message"}, or with exact names, such as {"query": "select:NAME"}.`
}

/** Searches again at each change, while nothing matches and servers are still connecting (S8). */
async function findOrWait(query: string, limit: number, context: AnswerContext): Promise<Found> {
  const { settings, now, changed } = context
  let patience: Timer | undefined
  let isOver = false
  try {
    while (true) {
      const change = changed()
      const { shelving, servers } = now()
      const found = await find(query, limit, shelving, settings)
      if (found.tools.length > 0 || isOver) return found
      if (now().shelving !== shelving) continue
      if (!settings.timer || !isConnecting(servers)) return found
      patience ??= settings.timer(settings.pendingWait)
      isOver = await Promise.race([patience.over.then(() => true), change.then(() => false)])
    }
  } finally {
    patience?.cancel()
  }
}

function isConnecting(servers: Servers): boolean {
  return [...servers.values()].some(({ state }) => state === 'pending')
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

function nothing(query: string, { deferred }: Shelving): string {
  return `No deferred tool matches "${oneLine(query, 100)}". ${deferred.length} deferred tools can be searched.`
}

function aboutNames({ unknown }: Found): string[] {
  const told = unknown.slice(0, MOST_UNKNOWN).map(({ name, near }) => {
    const asked = `There is no tool named "${oneLine(name, 100)}".`
    return near.length > 0 ? `${asked} Nearest: ${near.join(', ')}.` : asked
  })
  const rest = unknown.length - told.length
  return rest > 0 ? [...told, `${rest} more of the names do not exist.`] : told
}

function aboutRest(found: Found, allowed: readonly PoolTool[]): string[] {
  const held = found.tools.length - allowed.length
  const left = found.matched - found.tools.length
  return [
    ...(held > 0 ? [`${held} found but kept back by the host's rules.`] : []),
    ...(left > 0
      ? [`${left} more matched and are not loaded; use more specific words or a larger max_results.`]
      : []),
  ]
}

/** Servers that were not searched, and why; one whose last good tools are in the pool was. */
function aboutServers(servers: Servers, { pool }: Shelving): string[] {
  const searched = new Set(pool.tools.map(({ server }) => server))
  const missed = [...servers].filter(([name]) => !searched.has(name))
  const named = (state: Server['state'], why: (server: Server) => string = () => '') =>
    missed
      .flatMap(([name, server]) => (server.state === state ? [oneLine(name, 60) + why(server)] : []))
      .join(', ')
  const waiting = named('pending')
  const failed = named('failed', ({ error }) => ` (${oneLine(error ?? 'no reason given', 200)})`)
  const disabled = named('disabled')
  return [
    ...(waiting ? [`Not searched, still connecting: ${waiting}; try again shortly.`] : []),
    ...(failed ? [`Not searched, failed to connect: ${failed}.`] : []),
    ...(disabled ? [`Not searched, disabled: ${disabled}.`] : []),
  ]
}
