// Exports of cli/gateway for other folders: the host, inspector, users,
// store and signals that the gateway commands share.

export {
  type OpenedInspector,
  type OpenInspectorOptions,
  openGatewayInspector,
  openInspector,
} from './inspector.ts'
export type { HostOptions, OpenedHost } from './mcp-host.ts'
export { gatewayOptionsIn, messagesOptions, modeIn } from './messages-options.ts'
export { reportServerChanges } from './notices.ts'
export { savedInAll, savedInLog } from './saved-text.ts'
export { DRAIN_MS, nextSignal, untilSignalled } from './until-signalled.ts'
export { openUpstream } from './upstreams.ts'
