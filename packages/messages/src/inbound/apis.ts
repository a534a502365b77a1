// Determines which API a client speaks.
import type { IncomingHttpHeaders } from 'node:http'
import {
  createCollector,
  fieldsOf,
  isFields,
  listOf,
  omitFields,
  parseJson,
  textOf,
} from '@toolshelf/core/internal'
import { invalidRequest } from '../errors.ts'
import { exactJson, stringifyExact } from '../json/exact.ts'
import type { Fields, HttpAnswer, MessagesRequest, StreamEvent } from '../types.ts'
import { serializeEvent } from '../upstream/sse.ts'
import { readChatRequest } from './chat-request.ts'
import { areFields, toOpenaiAnswer } from './openai.ts'
import { readResponsesRequest } from './responses-request.ts'
import type { InboundApi, ReplyWriter } from './types.ts'

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

/** Validates requests of the Messages API; needs no conversion. */
const messagesApi: InboundApi = {
  name: 'messages',
  path: '/v1/messages',
  read(body) {
    if (!isMessages(body))
      throw invalidRequest(
        'invalid request: "model" must be a string, "messages" and "tools" lists of objects',
      )
    return { request: body, reply: () => createMessagesWriter(body.stream === true) }
  },
  error: (answer) => answer,
}

function isMessages(request: Fields): request is MessagesRequest {
  const { model, messages, tools } = request
  return typeof model === 'string' && areFields(messages) && (tools === undefined || areFields(tools))
}

function createMessagesWriter(isStream: boolean): ReplyWriter {
  const collector = createCollector(exactJson)
  return {
    ping: serializeEvent({ type: 'ping' }),
    add(given) {
      const event = withoutFlag(given)
      if (isStream) return serializeEvent(event)
      collector.add(event)
      return ''
    },
    failure: (answer) => serializeEvent(toErrorEvent(answer)),
    document: () => stringifyExact(collector.message()),
  }
}

/** The flag of a refusal is none of the Messages API, where the stop reason says it. */
function withoutFlag(event: StreamEvent): StreamEvent {
  const block = fieldsOf(event.content_block)
  return block.refusal === undefined ? event : { ...event, content_block: omitFields(block, 'refusal') }
}

function toErrorEvent({ body }: HttpAnswer): StreamEvent {
  const value = parseJson(body)
  if (isFields(value) && value.type === 'error') return value as StreamEvent
  return { type: 'error', error: { type: 'api_error', message: body.slice(0, 2000) } }
}

/** Converts requests and replies of the Chat Completions API. */
const chatApi: InboundApi = {
  name: 'chat',
  path: '/v1/chat/completions',
  read: readChatRequest,
  error: toOpenaiAnswer,
}

/** Converts requests and replies of the Responses API. */
const responsesApi: InboundApi = {
  name: 'responses',
  path: '/v1/responses',
  read: readResponsesRequest,
  error: toOpenaiAnswer,
}

/** Converts a model list in the Messages shape. */
export function modelsAnswer(answer: HttpAnswer, { name, error }: InboundApi): HttpAnswer {
  if (name === 'messages') return answer
  if (answer.status !== 200) return error(answer)
  return withBody(answer, { object: 'list', data: modelsIn(answer).map(toOpenaiModel) })
}

/** Returns one model of the list; 404 if it is not there. */
export function modelAnswer(answer: HttpAnswer, { name, error }: InboundApi, id: string): HttpAnswer {
  if (answer.status !== 200) return error(answer)
  const model = modelsIn(answer).find((one) => one.id === id)
  if (model) return withBody(answer, name === 'messages' ? model : toOpenaiModel(model))
  const message = `model: ${id.slice(0, 200)} is not among the models of this upstream`
  const body = JSON.stringify({ type: 'error', error: { type: 'not_found_error', message } })
  return error({ status: 404, headers: answer.headers, body })
}

function withBody({ headers }: HttpAnswer, body: Fields): HttpAnswer {
  return {
    status: 200,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
}

function modelsIn({ body }: HttpAnswer): Fields[] {
  return listOf(fieldsOf(parseJson(body)).data).map(fieldsOf)
}

function toOpenaiModel({ id, created_at: date }: Fields): Fields {
  const seconds = Math.floor(Date.parse(textOf(date)) / 1000)
  return { id, object: 'model', created: Number.isFinite(seconds) ? seconds : 0, owned_by: 'toolshelf' }
}
