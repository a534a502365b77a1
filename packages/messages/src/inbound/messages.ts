// The Messages API inbound: requests and replies already have the shape that the gateway uses inside.
import { createCollector, fieldsOf, isFields, omitFields, parseJson } from '@toolshelf/core/internal'
import { refuseRequest } from '../errors.ts'
import { exactJson, stringifyExact } from '../json/exact.ts'
import type { Fields, HttpAnswer, MessagesRequest, StreamEvent } from '../types.ts'
import { serializeEvent } from '../upstream/sse.ts'
import type { InboundApi, ReplyWriter } from './types.ts'

/** Validates requests of the Messages API; needs no conversion. */
export const messagesApi: InboundApi = {
  name: 'messages',
  path: '/v1/messages',
  read(body) {
    if (!isMessages(body))
      throw refuseRequest(
        400,
        'invalid_request_error',
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

function areFields(value: unknown): boolean {
  return Array.isArray(value) && value.every(isFields)
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
