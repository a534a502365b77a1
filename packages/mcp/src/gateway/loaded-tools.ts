// Keeps the tools that a client's searches put on its list. The list is bounded: tools that were not used for a while
// make room for new ones, and return when they are called.
// Implements S17.
import type { PoolTool } from '@toolshelf/core'
import { definitionTokens, dropOldest } from '@toolshelf/core/internal'

/** Limits of the tools that searches put on a client's list. */
const loadedToolsLimits = {
  /** Above these, a search drops tools that were not used for `unusedMs`. */
  tools: 50,
  tokens: 20_000,
  /** Above these, a search drops the tools that were not used for longest, however short that is. */
  maxTools: 120,
  maxTokens: 60_000,
  unusedMs: 600_000,
}

export type LoadedToolsLimits = Readonly<typeof loadedToolsLimits>

/** The tools that searches put on a client's list. */
export type LoadedTools = ReturnType<typeof createLoadedTools>

const MAX_REMEMBERED = 1000

/** Creates an empty list. */
export function createLoadedTools(limits: LoadedToolsLimits = loadedToolsLimits) {
  const entries = new Map<string, { readonly tokens: number; readonly usedAt: number }>()
  /** Dropped names that a call may load again, the latest last. */
  const gone = new Set<string>()
  let isShelved = false

  const load = (tool: PoolTool) => {
    entries.set(tool.name, { tokens: definitionTokens(tool), usedAt: performance.now() })
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
      const isUnused = performance.now() - entry.usedAt >= limits.unusedMs
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
    gone.delete(name)
    gone.add(name)
    dropOldest(gone, MAX_REMEMBERED)
  }

  return {
    /** Returns the names in loading order. */
    names: () => [...entries.keys()],
    has: (name: string) => entries.has(name),
    /** Adds what a search found. Drops tools only here, because the list changes anyway. */
    add(tools: readonly PoolTool[]) {
      const hasAdded = tools.some(({ name }) => !entries.has(name))
      for (const tool of tools) {
        gone.delete(tool.name)
        load(tool)
      }
      return { hasAdded, dropped: hasAdded ? makeRoom(new Set(tools.map(({ name }) => name))) : [] }
    },
    /** Records a call of a tool and reloads it if it was dropped. Returns true if the list has changed. */
    use(tool: PoolTool) {
      const isBack = gone.delete(tool.name)
      if (isBack || entries.has(tool.name)) load(tool)
      if (isBack) makeRoom(new Set([tool.name]))
      return isBack
    },
    /** Returns whether a result of the client was stored, so that its list has ReadResult. */
    hasShelved: () => isShelved,
    /** Records that a result was stored. Returns true if it is the first. */
    shelve() {
      const isFirst = !isShelved
      isShelved = true
      return isFirst
    },
  }
}
