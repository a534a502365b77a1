// `@toolshelf/messages`: the Messages gateway and its upstreams.
export type { Figures, PriceTable } from '@toolshelf/core/internal'
export {
  createMessagesGateway,
  type MessagesGateway,
  type MessagesGatewayOptions,
} from './gateway.ts'
export { type ModeSetting, parseModeSetting } from './plan.ts'

export type { Upstream } from './types.ts'
export { createChatUpstream } from './upstream/chat.ts'
export { createMessagesUpstream } from './upstream/messages.ts'
export { createResponsesUpstream } from './upstream/responses.ts'
export { createScriptUpstream, type ObservedRequest } from './upstream/script.ts'
export { loadScript } from './upstream/script-file.ts'
