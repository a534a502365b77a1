// What our other packages use of @toolshelf/mcp.

export { createMcpGateway } from './gateway/gateway.ts'
export { createMcpMetrics, GATEWAY, type McpMetrics } from './gateway/mcp-metrics.ts'
