// Exports of messages/server for other folders.
export type { ClientKey } from './guard.ts'
export { createMessagesMetrics, type MessagesMetrics } from './metrics.ts'
export {
  type MessagesHttpGateway,
  type MessagesHttpOptions,
  type RequestRecord,
  serveMessagesGateway,
} from './server.ts'
