// The Responses API inbound: what Codex and newer OpenAI SDKs speak.
import { toOpenaiAnswer } from './openai-errors.ts'
import { readResponsesRequest } from './responses-request.ts'
import type { InboundApi } from './types.ts'

/** Converts requests and replies of the Responses API. */
export const responsesApi: InboundApi = {
  name: 'responses',
  path: '/v1/responses',
  read: readResponsesRequest,
  error: toOpenaiAnswer,
}
