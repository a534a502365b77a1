// Creates a view of a store in which some tools and servers do not exist, for hosts whose users have different rights.
// Implements U1.
import { attempt } from './attempt.ts'
import type { Settings } from './options.ts'
import type { Host } from './state.ts'
import type { Store } from './store.ts'
import type { Pool, PoolTool, Servers } from './types.ts'

/**
 * Tools and servers that do not exist for a fork, besides those that the option `hidden` hides. A fork that hides anything
 * does not use the option `related`, which could reveal them. The functions must always return the same for a tool, because
 * results are cached per list of tools; forks with the same object share one search index.
 */
export type HiddenParts = {
  /** Returns whether a tool is hidden; it also is if this throws. */
  readonly tool: (tool: PoolTool) => boolean
  /** Returns whether a server is hidden, with its state and all of its tools. */
  readonly server: (name: string) => boolean
}

const views = new WeakMap<Store, WeakMap<HiddenParts, Store>>()

/** Returns the view; the same one for the same store and the same `hidden`. */
export function viewOf(store: Store, hidden: HiddenParts): Store {
  const known = views.get(store) ?? new WeakMap<HiddenParts, Store>()
  views.set(store, known)
  const view = known.get(hidden) ?? createView(store, hidden)
  known.set(hidden, view)
  return view
}

function createView(store: Store, hidden: HiddenParts): Store {
  const pools = new WeakMap<Pool, Pool>()
  const { host: _, ...shared } = store
  let settings: { readonly from: Settings; readonly own: Settings } | undefined

  function ownSettings(from: Settings): Settings {
    if (settings?.from !== from) settings = { from, own: { ...from, related: undefined } }
    return settings.own
  }

  function visiblePool(pool: Pool): Pool {
    let visible = pools.get(pool)
    if (!visible) {
      visible = without(pool, hidden)
      pools.set(pool, visible)
    }
    return visible
  }

  return {
    ...shared,
    get host(): Host {
      const { host } = store
      return {
        ...host,
        settings: ownSettings(host.settings),
        pool: visiblePool(host.pool),
        servers: serversIn(host.servers, hidden),
      }
    },
  }
}

function without(pool: Pool, hidden: HiddenParts): Pool {
  const tools = pool.tools.filter(
    (entry) =>
      !isHidden(() => (entry.server !== undefined && hidden.server(entry.server)) || hidden.tool(entry)),
  )
  if (tools.length === pool.tools.length) return pool
  return { tools, byName: new Map(tools.map((entry) => [entry.name, entry])) }
}

function serversIn(servers: Servers, hidden: HiddenParts): Servers {
  return new Map([...servers].filter(([name]) => !isHidden(() => hidden.server(name))))
}

function isHidden(check: () => boolean): boolean {
  let answer: unknown = true
  attempt(() => {
    answer = check()
  })
  return Boolean(answer)
}
