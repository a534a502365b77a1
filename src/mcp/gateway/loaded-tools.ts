// Keeps the tools that a client's searches put on its list. The list is bounded: tools that were not used for a while
// make room for new ones, and return when they are called.
// Implements S17.

import { definitionTokens, type PoolTool } from '../../core/index.ts'
import { dropOldest } from '../../lib/index.ts'

/** Limits of the tools that searches put on a client's list. */
export type LoadedToolsLimits = {
  /** Above these, a search drops tools that were not used for `unusedMs`. */
  readonly tools: number
  readonly tokens: number
  /** Above these, a search drops the tools that were not used for longest, however short that is. */
  readonly maxTools: number
  readonly maxTokens: number
  readonly unusedMs: number
}

const loadedToolsLimits: LoadedToolsLimits = {
  tools: 50,
  tokens: 20_000,
  maxTools: 120,
  maxTokens: 60_000,
  unusedMs: 600_000,
}

/** The tools that searches put on a client's list. */
export type LoadedTools = {
  /** Returns the names in loading order. */
  names(): readonly string[]
  has(name: string): boolean
  /** Adds what a search found. Drops tools only here, because the list changes anyway. */
  add(tools: readonly PoolTool[]): LoadedToolsChange
  /** Records a call of a tool and reloads it if it was dropped. Returns true if the list has changed. */
  use(tool: PoolTool): boolean
  /** Returns whether a result of the client was stored, so that its list has ReadResult. */
  hasShelved(): boolean
  /** Records that a result was stored. Returns true if it is the first. */
  shelve(): boolean
  /** Returns the changes since the last call, for replicas that share the list. */
  takeChanges(): LoadedToolsDelta
  /** Adopts the list that replicas share; tools that `find` does not know yet count as empty. */
  restore(shared: SharedList, find: (name: string) => PoolTool | undefined): void
}

/** The part of a client's list that replicas share. */
export type SharedList = { readonly tools: readonly string[]; readonly hasShelved: boolean }

/** Applies the changes to a list that others may have changed meanwhile. */
export type LoadedToolsDelta = <List extends SharedList>(list: List) => List

/** What a search changed in the list. */
export type LoadedToolsChange = { readonly hasAdded: boolean; readonly dropped: readonly string[] }

type Entry = { readonly tokens: number; readonly usedAt: number }

const MAX_REMEMBERED = 1000

/** Creates an empty list. */
export function createLoadedTools(
  limits: LoadedToolsLimits = loadedToolsLimits,
  now: () => number = () => performance.now(),
): LoadedTools {
  const entries = new Map<string, Entry>()
  /** Dropped names that a call may load again, the latest last. */
  const gone = new Set<string>()
  const changes = createListChanges()

  const load = (tool: PoolTool) => {
    const { name } = tool
    if (!entries.has(name)) changes.add(name)
    entries.set(name, { tokens: definitionTokens(tool), usedAt: now() })
  }

  /** Drops unused tools, then as many others as necessary; never a tool of the search that needs the room. */
  function makeRoom(kept: ReadonlySet<string>): string[] {
    const oldest = [...entries]
      .filter(([name]) => !kept.has(name))
      .sort(([, a], [, b]) => a.usedAt - b.usedAt)
    let count = entries.size
    let tokens = [...entries.values()].reduce((sum, entry) => sum + entry.tokens, 0)
    const dropped: string[] = []
    for (const [name, entry] of oldest) {
      const isUnused = now() - entry.usedAt >= limits.unusedMs
      const isOver = isUnused
        ? count > limits.tools || tokens > limits.tokens
        : count > limits.maxTools || tokens > limits.maxTokens
      if (!isOver) break
      count--
      tokens -= entry.tokens
      drop(name)
      dropped.push(name)
    }
    return dropped
  }

  function drop(name: string): void {
    entries.delete(name)
    changes.remove(name)
    gone.delete(name)
    gone.add(name)
    dropOldest(gone, MAX_REMEMBERED)
  }

  return {
    names: () => [...entries.keys()],
    has: (name) => entries.has(name),
    add(tools) {
      const hasAdded = tools.some(({ name }) => !entries.has(name))
      for (const tool of tools) {
        gone.delete(tool.name)
        load(tool)
      }
      return { hasAdded, dropped: hasAdded ? makeRoom(new Set(tools.map(({ name }) => name))) : [] }
    },
    use(tool) {
      const isBack = gone.delete(tool.name)
      if (isBack || entries.has(tool.name)) load(tool)
      if (isBack) makeRoom(new Set([tool.name]))
      return isBack
    },
    hasShelved: changes.hasShelved,
    shelve: changes.shelve,
    takeChanges: changes.take,
    restore({ tools, hasShelved }, find) {
      if (hasShelved) changes.shelve()
      const before = new Map(entries)
      entries.clear()
      for (const name of changes.appliedTo(tools)) {
        const known = before.get(name)
        const tokens = known?.tokens || definitionTokens(find(name) ?? { json: '' })
        entries.set(name, { tokens, usedAt: known?.usedAt ?? now() })
        gone.delete(name)
      }
    },
  }
}

/** Tracks which tools were added to and removed from a list since the changes were taken. */
function createListChanges() {
  const [added, removed] = [new Set<string>(), new Set<string>()]
  let isShelved = false

  function apply(tools: readonly string[], more: Iterable<string>, less: ReadonlySet<string>): string[] {
    return [...new Set([...tools.filter((name) => !less.has(name)), ...more])]
  }

  return {
    add(name: string): void {
      added.add(name)
      removed.delete(name)
    },
    remove(name: string): void {
      added.delete(name)
      removed.add(name)
    },
    appliedTo: (tools: readonly string[]) => apply(tools, added, removed),
    hasShelved: () => isShelved,
    shelve(): boolean {
      const isFirst = !isShelved
      isShelved = true
      return isFirst
    },
    take(): LoadedToolsDelta {
      const [more, less, hasShelved] = [[...added], new Set(removed), isShelved]
      added.clear()
      removed.clear()
      return (list) => ({
        ...list,
        tools: apply(list.tools, more, less),
        hasShelved: list.hasShelved || hasShelved,
      })
    },
  }
}
