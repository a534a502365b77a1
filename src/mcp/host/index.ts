// Exports of mcp/host for other folders.

export { refuseMarks } from './always-load.ts'
export { createMcpHost, type McpHostOptions } from './host.ts'
export { type ShelvedTool, toShelvedTool } from './publisher.ts'
export type { HostTimeouts } from './timers.ts'
export { traceServers } from './trace-servers.ts'
