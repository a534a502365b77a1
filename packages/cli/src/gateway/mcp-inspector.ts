// The inspector of `toolshelf mcp --http`: shows the events of the gateway, and its servers as the reader's clients see them.
import type { EventFeed } from '@toolshelf/inspector'
import type { McpGateway, ServerConfig } from '@toolshelf/mcp'
import { type GatewaySettings, type Pins, thisMachine } from '@toolshelf/mcp/internal'
import type { Audit } from '../audit.ts'
import { editableFiles } from '../servers/own-servers.ts'
import { inspectedServers } from './inspected-servers.ts'
import { type OpenedInspector, type OpenInspectorOptions, openGatewayInspector } from './inspector.ts'

export type McpInspectorOptions = Pick<OpenInspectorOptions, 'address' | 'hosts' | 'users' | 'usage'> & {
  readonly gateway: Pick<McpGateway, 'viewOf'>
  /** The files of `--config`. */
  readonly named: readonly string[] | undefined
}

/** What only the holder of the printed key sees, and what is the same for all. */
export type InspectedParts = {
  readonly onChange: GatewaySettings['onChange']
  readonly pins?: Pins | undefined
  readonly configs: () => readonly ServerConfig[]
}

export function openMcpInspector(
  { onChange, pins, configs }: InspectedParts,
  audit: Audit & { readonly feed: EventFeed },
  { named, gateway, ...options }: McpInspectorOptions,
): OpenedInspector {
  const manage = { configs, editable: editableFiles(named, thisMachine()) }
  return openGatewayInspector({
    ...options,
    source: 'mcp',
    audit,
    trace: audit.stream.trace,
    servers(user) {
      const { host, shelf } = gateway.viewOf(user)
      return inspectedServers({ host, shelf, onChange, ...(user ? {} : { pins, manage }) })
    },
  })
}
