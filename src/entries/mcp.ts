// `toolshelf/mcp`: a host that feeds a shelf from many MCP servers, and the gateway built on it.

export { type LoadedConfig, readConfig } from '../mcp/config/config.ts'
export { userConfigFiles } from '../mcp/config/places.ts'
export { createMcpGateway, type McpGateway, type McpGatewayOptions } from '../mcp/gateway/gateway.ts'
export { createMcpMetrics } from '../mcp/gateway/mcp-metrics.ts'
export { gatewayShelfOptions } from '../mcp/gateway/shelf-options.ts'
export { serveMcpGatewayOnStdio } from '../mcp/gateway/stdio.ts'
export { createMcpHost, type McpHostOptions } from '../mcp/host/host.ts'
export { type McpHttpOptions, serveMcpGatewayOnHttp } from '../mcp/http/http.ts'
export { createOAuth } from '../mcp/oauth/authorize.ts'
export { openPins } from '../mcp/pins/pins.ts'
export type {
  CallOptions,
  CallOutput,
  HostEvent,
  McpHost,
  QuestionHandler,
  ServerConfig,
  ServerStatus,
} from '../mcp/types.ts'
