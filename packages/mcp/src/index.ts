// `@toolshelf/mcp`: a host that feeds a shelf from many MCP servers, and the gateway built on it.

export { type LoadedConfig, readConfig } from './config/config.ts'
export { userConfigFiles } from './config/places.ts'
export {
  createMcpGateway,
  gatewayShelfOptions,
  type McpGateway,
  type McpGatewayOptions,
} from './gateway/gateway.ts'
export { createMcpMetrics } from './gateway/mcp-metrics.ts'
export { serveMcpGatewayOnStdio } from './gateway/stdio.ts'
export { createMcpHost, type McpHostOptions } from './host/host.ts'

export { createOAuth } from './oauth/authorize.ts'
export { openPins } from './pins/pins.ts'
export type {
  CallOptions,
  CallOutput,
  HostEvent,
  McpHost,
  QuestionHandler,
  ServerConfig,
  ServerStatus,
} from './types.ts'
