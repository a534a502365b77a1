// `toolshelf/messages`: the Messages gateway and its upstreams.
export type { Figures, PriceTable } from '../core/figures/figures.ts'
export {
  createMessagesGateway,
  type MessagesGateway,
  type MessagesGatewayOptions,
} from '../messages/gateway.ts'
export { type ModeSetting, parseModeSetting } from '../messages/plan.ts'
export { createMessagesMetrics } from '../messages/server/metrics.ts'
export {
  type MessagesHttpOptions,
  type RequestRecord,
  serveMessagesGateway,
} from '../messages/server/server.ts'
export type { Upstream } from '../messages/types.ts'
export { createChatUpstream } from '../messages/upstream/chat.ts'
export { createMessagesUpstream } from '../messages/upstream/messages.ts'
export { createResponsesUpstream } from '../messages/upstream/responses.ts'
export { createScriptUpstream } from '../messages/upstream/script.ts'
export { loadScript } from '../messages/upstream/script-file.ts'
