// Exports of messages/server for other folders.
export type { ClientKey } from './guard.ts'
export { createMessagesMetrics, type MessagesMetrics } from './metrics.ts'
export { type RequestRecord, type RunningServer, type ServeOptions, serveMessagesGateway } from './server.ts'
