// Types of what a process passes to the inspector: the source of events, and the servers that it may show and use.
import type { Shelf } from '../../core/index.ts'
import type { GatewaySettings } from '../../mcp/config/index.ts'
import type { McpHost, ServerConfig } from '../../mcp/index.ts'
import type { Pins } from '../../mcp/pins/index.ts'
import type { About } from '../api.ts'
import type { EventFeed } from '../events/index.ts'

/** A server of a folder that the user has not trusted: it is shown and never started. */
export type ShownServer = {
  readonly name: string
  /** The configuration it came from. */
  readonly source: string
  /** What it would run or connect to, one per line. */
  readonly does: readonly string[]
}

/** The servers that the inspector shows and uses. */
export type InspectedServers = {
  readonly host: McpHost
  /** Where the host puts their tools. */
  readonly shelf: Shelf
  /** The configurations in use, with their secrets, which are hidden in everything that the inspector sends. */
  readonly configs: () => readonly ServerConfig[]
  readonly onChange: GatewaySettings['onChange']
  /** The reader is the operator, who may start and stop servers, accept changes and save hints. */
  readonly canManage: boolean
  readonly pins?: Pins | undefined
  readonly untrusted?: readonly ShownServer[] | undefined
  /** Files that hints may be saved in: the user's own configuration. */
  readonly editable?: readonly string[] | undefined
  /** Logs the user in to a remote server, in a browser of this machine. */
  readonly login?: ((config: ServerConfig) => Promise<unknown>) | undefined
}

/** The read-only part of `InspectedServers`. */
export type ShownServers = Pick<
  InspectedServers,
  'shelf' | 'onChange' | 'canManage' | 'pins' | 'untrusted' | 'login'
> & {
  readonly host: Pick<McpHost, 'status'>
}

/** Options of `createInspector`. */
export type InspectorOptions = {
  readonly version: string
  readonly source: Exclude<About['source'], 'snapshot'>
  readonly feed: EventFeed
  /** How to record events: a command to copy. */
  readonly advice: string
  /** Without servers, the page shows events alone. */
  readonly servers?: InspectedServers | undefined
  /** Hides secrets in exports. */
  readonly redact: (text: string) => string
  /** The folder that exports write as `~`. */
  readonly home?: string | undefined
  /** The key that every request to an endpoint carries. */
  readonly key: string
  /** Where the page is: `/`, or a path that ends in a slash. */
  readonly path: string
  /** The address that the process listens on. */
  readonly address: string
  /** Additional host names that requests may use. */
  readonly hosts?: readonly string[] | undefined
  readonly notify?: ((message: string) => void) | undefined
  /** The page's files. */
  readonly page: () => Promise<PageFiles>
}

/** The bundled page. */
export type PageFiles = { readonly script: string; readonly style: string }
