// Exports of mcp/gateway for other folders.
export { createMcpGateway, type McpGateway, type McpGatewayOptions } from './gateway.ts'
export { createMcpMetrics, GATEWAY, type McpMetrics } from './mcp-metrics.ts'
export type { GatewayScripts } from './scripts.ts'
export { gatewayShelfOptions } from './shelf-options.ts'
export type { GatewayResults } from './shelved-results.ts'
export { type McpStdioOptions, serveMcpGatewayOnStdio } from './stdio.ts'
