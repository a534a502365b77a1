// Step 8. A search call → its tool_result. Whatever the model typed, the answer is one it can act on (S8–S16).
import { oneLine } from './errors.ts'
import { searchNote } from './notes.ts'
import type { Settings } from './options.ts'
import { cleanQuery, type Found, find } from './query.ts'
import { textBlock } from './rewrite.ts'
import type { PoolTool, Servers, Shelving, ToolResult, ToolUse } from './types.ts'
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

export async function answerSearch(call: ToolUse, context: AnswerContext): Promise<ToolResult> {
  const { wire, settings } = context
  if (!wire)
    return say(call, 'Tool search is off: every tool is in your list already. Call the one you need.')
  const query = readQuery(call.input)
  if (query === '') return say(call, emptyQuery(settings), true)
  const limit = readLimit(call.input, settings.maxResults)
  const found = await findOrWait(query, limit, context)
  const allowed = await allow(found.tools, query, settings)
  const { shelving, servers } = context.now()
  settings.trace({ type: 'searched', query, found: allowed.map(({ name }) => name), matched: found.matched })
  const remarks = [...aboutNames(found), ...aboutRest(found, allowed), ...aboutServers(servers)]
  if (allowed.length === 0) return say(call, [nothing(query, shelving), ...remarks].join(' '))
  return wire.answer(call.id, allowed, remarks.length > 0 ? searchNote(remarks.join(' ')) : undefined)
}

function say(call: ToolUse, text: string, isError = false): ToolResult {
  return {
    type: 'tool_result',
    tool_use_id: call.id,
    content: [textBlock(text)],
    ...(isError ? { is_error: true } : {}),
  }
}

function readQuery(input: unknown): string {
  const query = (input as { query?: unknown } | null | undefined)?.query
  const text = cleanQuery(typeof query === 'string' ? query : typeof query === 'number' ? String(query) : '')
  return /^[+\s]*$/.test(text) || /^select:[\s,]*$/i.test(text) ? '' : text
}

function readLimit(input: unknown, standard: number): number {
  const asked = Number((input as { max_results?: unknown } | null | undefined)?.max_results ?? standard)
  return Number.isNaN(asked) ? standard : Math.min(MOST_RESULTS, Math.max(1, Math.trunc(asked)))
}

function emptyQuery({ searchTool }: Settings): string {
  return `The query is empty. Call ${searchTool} with words for the service, the action and the object, such as {"query": "slack send message"}, or with exact names, such as {"query": "select:NAME"}.`
}

/** Searches again at each change, while nothing matches and servers are still connecting (S8). */
async function findOrWait(query: string, limit: number, context: AnswerContext): Promise<Found> {
  const { settings, now, changed } = context
  const search = () => find(query, limit, now().shelving, settings.rank)
  let found = await search()
  if (!settings.timer || found.tools.length > 0 || pending(now().servers).length === 0) return found
  const patience = settings.timer(settings.pendingWait)
  let isOver = false
  const end = patience.over.then(() => {
    isOver = true
  })
  while (found.tools.length === 0 && !isOver && pending(now().servers).length > 0) {
    await Promise.race([end, changed()])
    found = await search()
  }
  patience.cancel()
  return found
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
  return unknown.map(({ name, near }) => {
    const asked = `There is no tool named "${oneLine(name, 100)}".`
    return near.length > 0 ? `${asked} Nearest: ${near.join(', ')}.` : asked
  })
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

function aboutServers(servers: Servers): string[] {
  const waiting = pending(servers)
  const failed = [...servers].flatMap(([name, server]) =>
    server.state === 'failed'
      ? [`${oneLine(name, 60)} (${oneLine(server.error ?? 'no reason given', 200)})`]
      : [],
  )
  return [
    ...(waiting.length > 0
      ? [`Not searched, still connecting: ${waiting.join(', ')}; try again shortly.`]
      : []),
    ...(failed.length > 0 ? [`Not searched, failed to connect: ${failed.join(', ')}.`] : []),
  ]
}

function pending(servers: Servers): string[] {
  return [...servers].filter(([, { state }]) => state === 'pending').map(([name]) => oneLine(name, 60))
}
