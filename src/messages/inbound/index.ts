// Exports of messages/inbound for other folders.
export { apiFor } from './apis.ts'
export { chatApi } from './chat.ts'
export { messagesApi } from './messages.ts'
export { modelAnswer, modelsAnswer } from './models.ts'
export { toOpenaiHeaders } from './openai-errors.ts'
export { responsesApi } from './responses.ts'
export { createItemMemory } from './stored-items.ts'
export type { InboundApi, InboundRequest, ReplyWriter } from './types.ts'
