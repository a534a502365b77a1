// Which tools can be deferred: the first rule that applies decides (D).
// Implements D1, D2, D3, D5, D6, D7, D9, G4, S10, Q3.

import { byName, matchesAny } from '../../lib/index.ts'
import { isLate } from '../attempt.ts'
import type { Pool, PoolTool, Server, Servers, Tool, ToolPartition } from '../types.ts'

const ALWAYS_LOAD = 'anthropic/alwaysLoad'

function isDeferrable({ tool, server }: PoolTool, servers: Servers): boolean {
  const own = ownAlwaysLoad(tool)
  if (own === true) return false
  if (server !== undefined) return own === false || servers.get(server)?.alwaysLoad !== true
  if (ask(tool.critical)) return false
  return tool.shouldDefer === true || ask(tool.initializing)
}

/** Splits the pool. Rules that the host answers by a function are asked anew; the rest is remembered per pool. */
export function partitionTools(
  pool: Pool,
  servers: Servers,
  hidden?: (tool: Tool) => boolean,
): ToolPartition {
  const key = splitKey(pool, servers, hidden)
  const known = remembered.get(pool)
  if (known?.key === key) return known.partition
  const visible = hidden ? pool.tools.filter(({ tool }) => !isHidden(tool, hidden)) : pool.tools
  const deferred = visible.filter((entry) => isDeferrable(entry, servers))
  const deferredNames = new Set(deferred.map(({ name }) => name))
  const immediate = visible.filter(({ name }) => !deferredNames.has(name)).sort(byOriginThenName)
  const shown = visible.length === pool.tools.length ? pool : poolOf(visible)
  const partition = { pool: shown, immediate, deferred, deferredNames }
  remembered.set(pool, { key, partition })
  return partition
}

/** A tool's own word on being always loaded; on an MCP tool it stands in `_meta`. Any other type is no word. */
function ownAlwaysLoad(tool: Tool): boolean | undefined {
  return [tool.alwaysLoad, tool._meta?.[ALWAYS_LOAD]].find((value) => typeof value === 'boolean') as
    | boolean
    | undefined
}

/** What is wrong with a tool's marks, for a warning. */
export function oddMark(tool: Tool): string | undefined {
  const marks = {
    alwaysLoad: tool.alwaysLoad as unknown,
    [`_meta["${ALWAYS_LOAD}"]`]: tool._meta?.[ALWAYS_LOAD],
  }
  const odd = Object.entries(marks).find(([, value]) => value !== undefined && typeof value !== 'boolean')
  return (
    odd &&
    `"${tool.name}" has ${odd[0]} of type ${typeof odd[1]}; only true and false count, so it is ignored.`
  )
}

/** Names of built-in tools that are always loaded, and of those that may be deferred; `*` stands for anything. */
export type ToolPolicy = { readonly always: readonly string[]; readonly defer: readonly string[] }

/** The policy for the built-in tools of a coding agent (D9). */
export const codingAgentPolicy: ToolPolicy = {
  always: ['Bash', 'Read', 'Edit', 'Write', 'Glob', 'Grep', 'Agent', 'ToolSearch', 'Skill'],
  defer: [
    ...[
      'WebSearch',
      'WebFetch',
      'TodoWrite',
      'NotebookEdit',
      'Task*',
      'Team*',
      'Cron*',
      'EnterWorktree',
      'ExitWorktree',
    ],
    ...['EnterPlanMode', 'ExitPlanMode', 'ConfigTool', 'LSPTool', 'AskUserQuestion'],
  ],
}

/**
 * Marks built-in tools as always loaded or deferrable by a policy. Marks that a tool already has stay.
 *
 * @example
 * const shelf = createShelf({ tools: applyPolicy(tools, codingAgentPolicy) })
 */
export function applyPolicy<Given extends Tool>(tools: readonly Given[], policy: ToolPolicy): Given[] {
  return tools.map((tool) => {
    if (tool.server !== undefined || tool.alwaysLoad !== undefined || tool.shouldDefer !== undefined)
      return tool
    if (matchesAny(policy.always, tool.name)) return { ...tool, alwaysLoad: true }
    return matchesAny(policy.defer, tool.name) ? { ...tool, shouldDefer: true } : tool
  })
}

type Remembered = { readonly key: string; readonly partition: ToolPartition }

const remembered = new WeakMap<Pool, Remembered>()

/** Spells every answer that may differ between two splits of one pool. */
function splitKey(pool: Pool, servers: Servers, hidden?: (tool: Tool) => boolean): string {
  const always = [...servers]
    .filter(([, server]: [string, Server]) => server.alwaysLoad === true)
    .map(([name]) => name)
  const answers = askedTools(pool).map(
    ({ tool }) => `${Number(ask(tool.critical))}${Number(ask(tool.initializing))}`,
  )
  const hiddenNames = hidden
    ? pool.tools.filter(({ tool }) => isHidden(tool, hidden)).map(({ name }) => name)
    : []
  return JSON.stringify([always, answers, hiddenNames])
}

const asked = new WeakMap<Pool, readonly PoolTool[]>()

/** The few tools whose marks are functions or may flip; a host sets `initializing` on the tool it holds. */
function askedTools(pool: Pool): readonly PoolTool[] {
  let tools = asked.get(pool)
  if (!tools) {
    tools = pool.tools.filter(({ tool }) => tool.critical !== undefined || tool.initializing !== undefined)
    asked.set(pool, tools)
  }
  return tools
}

/** A mark that throws counts as unset for `initializing` and as set for nothing: the tool stays loaded (G4). */
function ask(mark: boolean | (() => boolean) | undefined): boolean {
  if (typeof mark !== 'function') return mark === true
  try {
    const answer: unknown = mark()
    return !isLate(answer) && answer === true
  } catch {
    return false
  }
}

function isHidden(tool: Tool, hidden: (tool: Tool) => boolean): boolean {
  try {
    return Boolean(hidden(tool))
  } catch {
    return true
  }
}

/** Built-ins before MCP tools, so that a server that joins late leaves the built-ins' bytes in front of it. */
function byOriginThenName(a: PoolTool, b: PoolTool): number {
  const order = Number(a.server !== undefined) - Number(b.server !== undefined)
  return order || byName(a, b)
}

function poolOf(tools: readonly PoolTool[]): Pool {
  return { tools, byName: new Map(tools.map((entry) => [entry.name, entry])) }
}
