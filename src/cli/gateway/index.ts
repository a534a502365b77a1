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
export { hostsIn, oauthOptions } from './oauth-options.ts'
export { savedInAll, savedInLog } from './saved-text.ts'
export { drainDelayIn, serviceIn, serviceOptions, serviceRemedies } from './service-options.ts'
export { storeIn, storeOption } from './store-option.ts'
export { DRAIN_MS, nextSignal, untilSignalled } from './until-signalled.ts'
export { openUpstream } from './upstreams.ts'
export {
  type GatewayUsers,
  gatewayUsersIn,
  openUsers,
  uidOf,
  userFileOption,
  usersOption,
  withUsers,
} from './users-option.ts'
