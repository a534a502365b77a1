// Determines which API a client speaks.
import type { IncomingHttpHeaders } from 'node:http'
import { chatApi } from './chat.ts'
import { messagesApi } from './messages.ts'
import { responsesApi } from './responses.ts'
import type { InboundApi } from './types.ts'

/** Paths of OpenAI's APIs. Those that the gateway does not serve are refused in OpenAI's words. */
const OPENAI = /^\/v1\/(?:chat|completions|embeddings|responses|realtime)(?:\/|$)/

/** Returns the API of a request, by its path. Where both vendors have the same path, only Anthropic's clients send a version. */
export function apiFor(path: string, headers: IncomingHttpHeaders): InboundApi {
  if (path === responsesApi.path) return responsesApi
  if (OPENAI.test(path)) return chatApi
  const isAnthropic = headers['anthropic-version'] !== undefined || headers['x-api-key'] !== undefined
  const isShared = path.startsWith('/v1/') && !path.startsWith(messagesApi.path)
  return isShared && !isAnthropic && headers.authorization !== undefined ? chatApi : messagesApi
}
