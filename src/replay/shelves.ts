// Puts the tools of a replay on shelves: those of the servers, or the lists that an HTTP log brings along.
import {
  allDefinitionTokens,
  createPureShelf,
  type Rank,
  type Shelf,
  type Tool,
  type WireName,
} from '../core/index.ts'
import { entryOf } from '../core/oracle/index.ts'
import type { Fields } from '../lib/index.ts'
import { createClientShelves } from '../messages/shelve/index.ts'

/** Tools on a shelf, with what they cost when all are sent. */
export type ReplayShelf = {
  readonly shelf: Shelf
  /** Tools defined by an API itself, which are sent with and without Toolshelf. */
  readonly own: readonly Fields[]
  readonly deferred: ReadonlySet<string>
  /** Tokens of all definitions. */
  readonly tokens: number
  readonly tools: number
  readonly servers: number
  /** Returns the name on this shelf for one of the recording; undefined for tools of the client or of other servers. */
  readonly nameFor: (recorded: string) => string | undefined
}

/** Options of `createReplayShelves`. */
export type ReplayShelvesOptions = {
  readonly tools: readonly Tool[]
  /** Servers whose tools are always loaded. */
  readonly servers?: { readonly [name: string]: { readonly alwaysLoad?: boolean } }
  readonly rank: Rank
  readonly wire: WireName
}

/** Returns the shelf for a turn: the one of the servers, or one per list of an HTTP log. */
export function createReplayShelves(
  options: ReplayShelvesOptions,
): (list?: readonly Fields[]) => Promise<ReplayShelf> {
  const { tools, servers = {}, rank, wire } = options
  const settings = { toolSearch: true, wire, rank }
  const clients = createClientShelves({
    rank,
    keep: [],
    contextWindow: undefined,
    notify: () => {},
    timer: () => ({ over: new Promise(() => {}), cancel: () => {} }),
  })
  const byList = new Map<readonly Fields[], Promise<ReplayShelf>>()
  let ofServers: ReplayShelf | undefined

  /** Defers what `toolshelf serve` would defer; a list that it rejects is sent unchanged. */
  async function fromList(list: readonly Fields[]): Promise<ReplayShelf> {
    const client = await clients.shelfFor(list)
    if (typeof client === 'string') return describe(createPureShelf({ ...settings, toolSearch: false }), list)
    const own = client.own
    const marked = client.shelf.tools().map(({ tool }) => tool)
    const exact = { exactNames: true, descriptionLimit: Number.MAX_SAFE_INTEGER }
    return describe(createPureShelf({ ...settings, ...exact, tools: marked }), own)
  }

  return (list) => {
    if (!list) {
      ofServers ??= describe(createPureShelf({ ...settings, tools, servers }), [])
      return Promise.resolve(ofServers)
    }
    const shelf = byList.get(list) ?? fromList(list)
    byList.set(list, shelf)
    return shelf
  }
}

/** Estimates the tokens of definitions of a request. */
export function tokensOfDefinitions(definitions: readonly Fields[]): number {
  return allDefinitionTokens(definitions.map((definition) => ({ json: entryOf(definition).definition })))
}

function describe(shelf: Shelf, own: readonly Fields[]): ReplayShelf {
  const { pool, deferredNames } = shelf.partition()
  const byOwnName = new Map<string, string | undefined>()
  for (const { name, original } of pool.tools)
    byOwnName.set(original, byOwnName.has(original) ? undefined : name)
  return {
    shelf,
    own,
    deferred: deferredNames,
    tokens: allDefinitionTokens(pool.tools) + tokensOfDefinitions(own),
    tools: own.length + pool.tools.length,
    servers: new Set(pool.tools.flatMap(({ server }) => server ?? [])).size,
    nameFor(recorded) {
      if (pool.byName.has(recorded)) return recorded
      // The same server may have another name in the recording.
      const at = recorded.lastIndexOf('__')
      return at < 0 ? undefined : byOwnName.get(recorded.slice(at + 2))
    },
  }
}
