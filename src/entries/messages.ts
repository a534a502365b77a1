// `toolshelf/messages`: the Messages gateway and its upstreams.
export type { Figures, PriceTable } from '../core/figures/index.ts'
export {
  createChatUpstream,
  createMessagesGateway,
  createMessagesMetrics,
  createMessagesUpstream,
  createResponsesUpstream,
  createScriptUpstream,
  loadScript,
  type MessagesGateway,
  type MessagesGatewayOptions,
  type MessagesHttpOptions,
  type ModeSetting,
  parseModeSetting,
  type RequestRecord,
  serveMessagesGateway,
  type Upstream,
} from '../messages/index.ts'
