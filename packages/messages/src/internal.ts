// What our other packages use of @toolshelf/messages, besides its public door. It may change with every version.

export { conversationStart, traceparentIn } from './conversations.ts'
export { errorAnswer, newRequestId, RefusedRequest, reasonIn, refuseForNow, refuseRequest } from './errors.ts'
export type { ReplyOptions } from './gateway.ts'
export { apiFor, modelAnswer, modelsAnswer } from './inbound/apis.ts'
export { toOpenaiHeaders } from './inbound/openai.ts'
export type { InboundApi, InboundRequest, ReplyWriter } from './inbound/types.ts'
export { createListCache, type ListCache, type ListItem } from './json/lists.ts'
export {
  endOfValue,
  isListAt,
  isObjectAt,
  memberAt,
  nextItem,
  readValue,
  ScanError,
  skipSpace,
} from './json/read.ts'
export { newOutcome, type RequestOutcome, type UsageListener } from './observe-reply.ts'
export { AUTO } from './plan.ts'
export { createItemMemory } from './reply-memory.ts'
export { RefusedMidway } from './rounds.ts'
export {
  type ApiName,
  type Fields,
  type Headers,
  type HttpAnswer,
  type MessagesRequest,
  type StreamEvent,
  type UpstreamCall,
  type UpstreamOrigin,
  type UpstreamWire,
  wires,
} from './types.ts'
export {
  createHopByHopTest,
  type Flow,
  openRequest,
  pickEndToEndHeaders,
  UpstreamError,
} from './upstream/http.ts'
export { maskable, maskHeaders, maskingStream, maskText } from './upstream/mask.ts'
export { ANTHROPIC, withoutSearchBetas } from './upstream/messages.ts'
export { type ModelScript, readScript } from './upstream/script-file.ts'
export { OFFLINE_NOTE } from './upstream/script-model.ts'
