// Exports of the Messages gateway for other folders. The public entry point is src/entries/messages.ts.
export type { Figures, Price, PriceTable } from '../core/figures/index.ts'
export type { ReadinessCheck, TlsFiles } from '../operate/index.ts'
export {
  createMessagesGateway,
  type MessagesGateway,
  type MessagesGatewayOptions,
} from './gateway.ts'
export { type GatewayMode, type ModeSetting, parseModeSetting } from './plan.ts'
export type { RequestOutcome } from './request-outcome.ts'
export type { Wait } from './sampling.ts'
export type { ClientKey } from './server/index.ts'
export {
  createMessagesMetrics,
  type MessagesHttpGateway,
  type MessagesHttpOptions,
  type MessagesMetrics,
  type RequestRecord,
  serveMessagesGateway,
} from './server/index.ts'
export type {
  ApiName,
  Headers,
  HttpAnswer,
  MessagesRequest,
  SamplingOutcome,
  StreamEvent,
  Upstream,
  UpstreamCall,
  UpstreamWire,
} from './types.ts'
export { wires } from './types.ts'
export {
  type ChatOptions,
  createChatUpstream,
  createMessagesUpstream,
  createResponsesUpstream,
  createScriptUpstream,
  loadScript,
  type MessagesOptions,
  type ModelScript,
  type ObservedRequest,
  readScript,
  ScriptError,
  type ScriptUpstreamOptions,
} from './upstream/index.ts'
