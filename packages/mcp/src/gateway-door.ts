// For a process that is the gateway: it and its metrics, loaded on demand, since they need the SDK for servers.

export { createMcpGateway } from './gateway/gateway.ts'
export { createMcpMetrics, GATEWAY, type McpMetrics } from './gateway/mcp-metrics.ts'
