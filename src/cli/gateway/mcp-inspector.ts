// The inspector of `toolshelf mcp --http`: shows the events and the servers of the gateway.
import type { EventFeed } from '../../inspector/events/index.ts'
import type { InspectedServers } from '../../inspector/index.ts'
import { thisMachine } from '../../mcp/config/index.ts'
import type { Audit } from '../events/index.ts'
import { editableFiles } from '../servers/index.ts'
import { type OpenedInspector, type OpenInspectorOptions, openGatewayInspector } from './inspector.ts'

/** Options of `openMcpInspector`. */
export type McpInspectorOptions = Pick<
  OpenInspectorOptions,
  'address' | 'hosts' | 'clientKey' | 'hasUsers' | 'notify'
> & {
  /** The files of `--config`. */
  readonly named: readonly string[] | undefined
}

/** Opens the inspector; returns undefined if it would be open to everybody. */
export function openMcpInspector(
  shown: Pick<InspectedServers, 'host' | 'shelf' | 'configs' | 'onChange' | 'pins'>,
  audit: Audit & { readonly feed: EventFeed },
  { named, ...options }: McpInspectorOptions,
): OpenedInspector | undefined {
  const editable = editableFiles(named, thisMachine())
  return openGatewayInspector({
    ...options,
    source: 'mcp',
    audit,
    servers: (canManage) => ({ ...shown, canManage, editable }),
  })
}
