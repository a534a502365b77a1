// Every public door, and what has none yet, for the suites: they import this file and packages/testkit, and nothing else of
// ours. Whoever moves or renames a door changes one line here.
export * from '../packages/agent/src/index.ts'
export { type McpHttpOptions, serveMcpGatewayOnHttp } from '../packages/cli/src/http/mcp/http.ts'
export { createMessagesMetrics } from '../packages/cli/src/http/messages/metrics.ts'
export {
  type MessagesHttpOptions,
  type RequestRecord,
  serveMessagesGateway,
} from '../packages/cli/src/http/messages/server.ts'
export * from '../packages/core/src/index.ts'
export * from '../packages/core/src/node/with-lock.ts'
export * from '../packages/core/src/pure.ts'
export * from '../packages/core/src/store.ts'
export * from '../packages/mcp/src/index.ts'
export * from '../packages/messages/src/index.ts'
export * from '../packages/messages/src/oracle.ts'
export * from '../packages/server/src/store/memory.ts'
export * from '../packages/server/src/store/open.ts'
export * from '../packages/server/src/store/stored-results.ts'
