// The Chat Completions API inbound: what most agents and SDKs besides Anthropic's speak.
import { readChatRequest } from './chat-request.ts'
import { toOpenaiAnswer } from './openai-errors.ts'
import type { InboundApi } from './types.ts'

/** Converts requests and replies of the Chat Completions API. */
export const chatApi: InboundApi = {
  name: 'chat',
  path: '/v1/chat/completions',
  read: readChatRequest,
  error: toOpenaiAnswer,
}
