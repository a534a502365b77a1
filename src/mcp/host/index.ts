// The door of mcp/host: what other folders use of it.

export { refuseMarks } from './always-load.ts'
export { createMcpHost, type McpHostOptions } from './host.ts'
export { type ShelvedTool, toShelvedTool } from './shelved-tool.ts'
export type { Times } from './times.ts'
