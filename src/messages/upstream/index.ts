// Exports of messages/upstream for other folders.

export { type CallItems, callItemsIn, callItemsOf, toolTypeOf } from './call-items.ts'
export { type ChatOptions, createChatUpstream } from './chat.ts'
export { citedRange } from './citations.ts'
export { createHopByHopTest, type Flow, openRequest, pickEndToEndHeaders, UpstreamError } from './http.ts'
export { maskable, maskHeaders, maskingStream, maskText } from './mask.ts'
export {
  ANTHROPIC,
  appendPath,
  createMessagesUpstream,
  type MessagesOptions,
  withoutSearchBetas,
  withPromptCache,
} from './messages.ts'
export { REFUSAL_BLOCK } from './refused.ts'
export { createResponsesUpstream } from './responses.ts'
export { foreignBlock } from './responses-request.ts'
export { createScriptUpstream, type ObservedRequest, type ScriptUpstreamOptions } from './script.ts'
export { loadScript, type ModelScript, readScript, ScriptError } from './script-file.ts'
export { OFFLINE_NOTE } from './script-model.ts'
export { serializeEvent } from './sse.ts'
export { asksForThinking, isKeptThought, itemIn, keepItem } from './thoughts.ts'
