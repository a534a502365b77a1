// Hides tools and servers from a fork, as if they did not exist, for hosts whose users have different rights.
// Implements S10.
import { attempt } from './attempt.ts'
import type { Settings } from './options.ts'
import type { SharedShelf } from './shared-shelf.ts'
import type { Host } from './state.ts'
import type { Pool, PoolTool, Servers } from './types.ts'

/**
 * Tools and servers that do not exist for a fork, besides those that the option `isHidden` hides. A fork that hides anything
 * does not use the option `related`, which could reveal them. The functions must always return the same for a tool, because
 * results are cached per list of tools; forks with the same object share one search index.
 */
export type HiddenParts = {
  /** Returns whether a tool is hidden; it also is if this throws. */
  readonly tool: (tool: PoolTool) => boolean
  /** Returns whether a server is hidden, with its state and all of its tools. */
  readonly server: (name: string) => boolean
}

const restricted = new WeakMap<SharedShelf, WeakMap<HiddenParts, SharedShelf>>()

/** Returns the shelf without the hidden parts; the same one for the same shelf and the same `hide`. */
export function restrictShelf(shared: SharedShelf, hide: HiddenParts): SharedShelf {
  const known = restricted.get(shared) ?? new WeakMap<HiddenParts, SharedShelf>()
  restricted.set(shared, known)
  const shelf = known.get(hide) ?? createRestricted(shared, hide)
  known.set(hide, shelf)
  return shelf
}

function createRestricted(shared: SharedShelf, hide: HiddenParts): SharedShelf {
  const pools = new WeakMap<Pool, Pool>()
  const { host: _, ...others } = shared
  let settings: { readonly from: Settings; readonly own: Settings } | undefined

  function ownSettings(from: Settings): Settings {
    if (settings?.from !== from) settings = { from, own: { ...from, related: undefined } }
    return settings.own
  }

  function visiblePool(pool: Pool): Pool {
    let visible = pools.get(pool)
    if (!visible) {
      visible = hideTools(pool, hide)
      pools.set(pool, visible)
    }
    return visible
  }

  return {
    ...others,
    get host(): Host {
      const { host } = shared
      return {
        ...host,
        settings: ownSettings(host.settings),
        pool: visiblePool(host.pool),
        servers: serversIn(host.servers, hide),
      }
    },
  }
}

function hideTools(pool: Pool, hide: HiddenParts): Pool {
  const tools = pool.tools.filter(
    (entry) => !isHidden(() => (entry.server !== undefined && hide.server(entry.server)) || hide.tool(entry)),
  )
  if (tools.length === pool.tools.length) return pool
  return { tools, byName: new Map(tools.map((entry) => [entry.name, entry])) }
}

function serversIn(servers: Servers, hide: HiddenParts): Servers {
  return new Map([...servers].filter(([name]) => !isHidden(() => hide.server(name))))
}

function isHidden(check: () => boolean): boolean {
  let answer: unknown = true
  attempt(() => {
    answer = check()
  })
  return Boolean(answer)
}
