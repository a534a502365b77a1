// Decides which tools can be deferred: the first rule that applies (D).
// Implements D1, D2, D3, D5, D6, D7, D9, G4, S10, Q3.

import { oncePer, silencePromise } from './lib/objects.ts'
import { byName, matchesAny, SEARCH_TOOL } from './names.ts'
import type { Host, Pool, PoolTool, Servers, Tool, ToolPartition } from './types.ts'

const ALWAYS_LOAD = 'anthropic/alwaysLoad'

/** Applies the first rule that fits: D1 to D3 for MCP tools; D1, D5, D7 and D6 for built-ins. */
function isDeferrable({ tool, server }: PoolTool, servers: Servers): boolean {
  const own = ownAlwaysLoad(tool)
  if (own === true) return false
  if (server !== undefined) return own === false || servers.get(server)?.alwaysLoad !== true
  if (ask(tool.critical)) return false
  return tool.shouldDefer === true || ask(tool.initializing)
}

/** Splits a host's tools as they are now. Calls marks that are functions each time; caches the rest per pool. */
export function partitionOf({ pool, servers, settings: { isHidden } }: Host): ToolPartition {
  const key = splitKey(pool, servers, isHidden)
  const known = remembered.get(pool)
  if (known?.key === key) return known.partition
  const visible = isHidden ? poolOf(pool, ({ tool }) => !hides(isHidden, tool)) : pool
  const deferred = visible.tools.filter((entry) => isDeferrable(entry, servers))
  const deferredNames = new Set(deferred.map(({ name }) => name))
  const immediate = visible.tools.filter(({ name }) => !deferredNames.has(name)).sort(byOriginThenName)
  const partition = { pool: visible, immediate, deferred, deferredNames }
  remembered.set(pool, { key, partition })
  return partition
}

/** Moves the tools with these names to the immediate ones. */
export function undefer(partition: ToolPartition, names: readonly string[]): ToolPartition {
  const { pool, immediate, deferred, deferredNames } = partition
  const open = new Set(names.filter((name) => deferredNames.has(name)))
  if (open.size === 0) return partition
  const key = JSON.stringify([...open])
  const known = remembered.get(partition)
  if (known?.key === key) return known.partition
  const moved = {
    pool,
    immediate: [...immediate, ...deferred.filter(({ name }) => open.has(name))].sort(byOriginThenName),
    deferred: deferred.filter(({ name }) => !open.has(name)),
    deferredNames: new Set([...deferredNames].filter((name) => !open.has(name))),
  }
  remembered.set(partition, { key, partition: moved })
  return moved
}

/** Returns a tool's own `alwaysLoad`, for an MCP tool also from `_meta`; ignores values of other types. */
function ownAlwaysLoad(tool: Tool): boolean | undefined {
  return [tool.alwaysLoad, tool._meta?.[ALWAYS_LOAD]].find((value) => typeof value === 'boolean')
}

/** Returns a warning about marks of the wrong type. */
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

/** Names of built-in tools that are always loaded, and of those that may be deferred; `*` matches anything. */
export type ToolPolicy = { readonly always: readonly string[]; readonly defer: readonly string[] }

/** The policy for the built-in tools of a coding agent (D9). */
export const codingAgentPolicy: ToolPolicy = {
  always: ['Bash', 'Read', 'Edit', 'Write', 'Glob', 'Grep', 'Agent', SEARCH_TOOL, 'Skill'],
  defer: [
    ...['WebSearch', 'WebFetch', 'TodoWrite', 'NotebookEdit', 'Task*', 'Team*', 'Cron*', 'AskUserQuestion'],
    ...['EnterWorktree', 'ExitWorktree', 'EnterPlanMode', 'ExitPlanMode', 'ConfigTool', 'LSPTool'],
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

/** The last split of a pool, and of a partition by the tools that were moved in it. */
const remembered = new WeakMap<Pool | ToolPartition, { key: string; partition: ToolPartition }>()

/** Returns a key of everything that may differ between two splits of one pool. */
function splitKey(pool: Pool, servers: Servers, isHidden?: (tool: Tool) => boolean): string {
  const always = [...servers].filter(([, { alwaysLoad }]) => alwaysLoad === true).map(([name]) => name)
  const answers = askedTools(pool).map(({ tool }) => [ask(tool.critical), ask(tool.initializing)])
  const hiddenNames = isHidden
    ? pool.tools.filter(({ tool }) => hides(isHidden, tool)).map(({ name }) => name)
    : []
  return JSON.stringify([always, answers, hiddenNames])
}

/** Returns tools whose marks are functions or may change: a host may set `initializing` on the object it passed in. */
const askedTools = oncePer(({ tools }: Pool) =>
  tools.filter(({ tool }) => tool.critical !== undefined || tool.initializing !== undefined),
)

/** Evaluates a mark; one that throws or returns a promise counts as false (G4). */
function ask(mark: boolean | (() => boolean) | undefined): boolean {
  if (typeof mark !== 'function') return mark === true
  try {
    const answer: unknown = mark()
    return !silencePromise(answer) && answer === true
  } catch {
    return false
  }
}

/** Evaluates the option `isHidden`; a tool for which it throws is hidden (S10). */
function hides(isHidden: (tool: Tool) => boolean, tool: Tool): boolean {
  try {
    return Boolean(isHidden(tool))
  } catch {
    return true
  }
}

/** Sorts built-ins in front of MCP tools, so that a server that joins late does not move them. */
function byOriginThenName(a: PoolTool, b: PoolTool): number {
  const order = Number(a.server !== undefined) - Number(b.server !== undefined)
  return order || byName(a, b)
}

/** Returns the pool of these tools; the same one if they are all. */
export function poolOf(pool: Pool, isShown: (entry: PoolTool) => boolean): Pool {
  const tools = pool.tools.filter(isShown)
  if (tools.length === pool.tools.length) return pool
  return { tools, byName: new Map(tools.map((entry) => [entry.name, entry])) }
}
