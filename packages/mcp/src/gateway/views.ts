// Creates what a client sees of the gateway: everything, or what its user has the right to see. Users with the same
// rights share one view, with one search index.
import type { PoolTool, Shelf } from '@toolshelf/core'
import { type Rights, rightsOf, setNewest, type User } from '@toolshelf/core/internal'
import {
  type Addresses,
  createPageTools,
  createResourcesAndPrompts,
  type PageTools,
  type ResourcesAndPrompts,
  visibleAddresses,
  visibleHost,
} from '../lists/lists.ts'
import type { PersonalHosts, UserLayer } from '../personal/personal-hosts.ts'
import type { McpHost } from '../types.ts'

/** The parts of the gateway that answer a client, as its user sees them. */
export type ClientView = {
  /** The same for all users with the same rights. */
  readonly id: string
  readonly shelf: Shelf
  readonly host: McpHost
  readonly addresses: Addresses
  /** Returns the names of the servers configured now. */
  readonly servers: () => readonly string[]
  readonly resourcesAndPrompts: ResourcesAndPrompts
  readonly pageTools: PageTools
  /** Returns whether there is a tool of this name that the user may not see; for the audit. */
  readonly isHidden: (name: string) => boolean
}

type ViewOptions = {
  readonly shelf: Shelf
  readonly host: McpHost
  readonly addresses: Addresses
  /** Finds the servers of users with their own credentials. */
  readonly personal?: Pick<PersonalHosts, 'layerFor'> | undefined
}

/** Views to cache; beyond this the least recently used are created again. */
const MAX_VIEWS = 200
/** The id of the view without rights. */
const EVERYTHING = ''

/** Returns the function that finds the view of a user; without a user, everything is visible. */
export function createViews(options: ViewOptions): (user: User | undefined) => ClientView {
  const { addresses, personal } = options
  const everything = createView(EVERYTHING, options, () => false)
  const views = new Map<string, ClientView>()
  const personalViews = new WeakMap<UserLayer, ClientView>()

  function restricted(rights: Rights, { id, shelf, host }: Base): ClientView {
    const hide = {
      server: (name: string) => !rights.seesServer(name),
      tool: ({ server, name }: Pick<PoolTool, 'server' | 'name'>) =>
        server !== undefined && !rights.seesTool(name),
    }
    const own = shelf.fork({ isSubAgent: false, hide })
    const has = (one: Shelf, name: string) => one.partition().pool.byName.has(name)
    return createView(
      id,
      {
        ...options,
        shelf: own,
        host: visibleHost(host, rights, own),
        addresses: visibleAddresses(addresses, rights),
      },
      (name) => has(shelf, name) && !has(own, name),
    )
  }

  return (user) => {
    if (!user) return everything
    const rights = rightsOf(user.profile)
    const layer = personal?.layerFor(user)
    if (layer) {
      const own = personalViews.get(layer) ?? restricted(rights, layer)
      personalViews.set(layer, own)
      return own
    }
    const view = views.get(rights.id) ?? restricted(rights, { ...options, id: rights.id })
    setNewest(views, rights.id, view, MAX_VIEWS)
    return view
  }
}

/** Returns the names of the configured servers, without those that are switched off. */
export function enabledServers(shelf: Shelf): string[] {
  return [...shelf.servers()].flatMap(([name, { state }]) => (state === 'disabled' ? [] : [name]))
}

type Base = Pick<ViewOptions, 'shelf' | 'host'> & { readonly id: string }

function createView(
  id: string,
  { shelf, host, addresses }: ViewOptions,
  isHidden: ClientView['isHidden'],
): ClientView {
  return {
    id,
    shelf,
    host,
    addresses,
    isHidden,
    servers: () => enabledServers(shelf),
    resourcesAndPrompts: createResourcesAndPrompts(host, addresses),
    pageTools: createPageTools(host, addresses),
  }
}
