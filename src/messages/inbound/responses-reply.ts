// Writes a reply in the Responses API: its events with their sequence numbers, and the response object.
import { randomUUID } from 'node:crypto'
import { type BlockInMaking, finished, grow } from '../../core/index.ts'
import { type Fields, fieldsOf, textOf } from '../../lib/index.ts'
import { exactJson, stringifyExact } from '../json/index.ts'
import type { HttpAnswer, StreamEvent } from '../types.ts'
import { laterUsage } from '../usage.ts'
import {
  type Ending,
  endingOf,
  failedEnding,
  repeatedOnce,
  responseHead,
  toResponsesUsage,
} from './responses-envelope.ts'
import { type ItemWriter, itemWriterFor } from './responses-output.ts'
import type { ToolTable } from './responses-tools.ts'
import type { ReplyWriter } from './types.ts'

export type ResponsesReplyOptions = {
  /** The client's request. */
  readonly body: Fields
  readonly model: string
  readonly table: ToolTable
}

/** A block on its way, and the item that it becomes. */
type Making = BlockInMaking & { readonly item: ItemWriter }

export function createResponsesWriter({ body, model, table }: ResponsesReplyOptions): ReplyWriter {
  const isStream = body.stream === true
  const { summary, generate_summary: older } = fieldsOf(body.reasoning)
  const showsReasoning = (summary ?? older ?? null) !== null
  const output: Fields[] = []
  const open = new Map<unknown, Making>()
  const createdAt = seconds()
  let head: Fields = {}
  let suffix = ''
  let sequence = 0
  let usage: Fields = {}
  let stopReason = ''
  let isOver = false

  const emit = (type: string, fields: Fields, write: (value: unknown) => string = JSON.stringify): string => {
    if (!isStream) return ''
    return `event: ${type}\ndata: ${write({ type, sequence_number: sequence++, ...fields })}\n\n`
  }

  function start(message: Fields): string {
    suffix = textOf(message.id).replace(/^msg_/, '') || randomUUID().replaceAll('-', '')
    usage = fieldsOf(message.usage)
    head = responseHead(body, `resp_${suffix}`, textOf(message.model) || model, createdAt)
    return emit('response.created', { response: head }) + emit('response.in_progress', { response: head })
  }

  /** Reserves a place in the output for an item, and writes its events. */
  const place = (prefix: string) => {
    const index = output.length
    const id = `${prefix}${suffix}_${index}`
    output.push({})
    return {
      id,
      emit: (type: string, fields: Fields) => emit(type, { item_id: id, output_index: index, ...fields }),
      added: (item: Fields) => emit('response.output_item.added', { output_index: index, item }),
      done(item: Fields) {
        output[index] = item
        // Its input may have numbers that JavaScript cannot represent.
        return emit('response.output_item.done', { output_index: index, item }, stringifyExact)
      },
    }
  }

  function startBlock(event: StreamEvent): string {
    const block = fieldsOf(event.content_block)
    const item = itemWriterFor(block, { table, showsReasoning, place })
    if (!item) return ''
    open.set(event.index, { block, json: '', item })
    return item.start(block)
  }

  function growBlock({ index, delta: given }: StreamEvent): string {
    const making = open.get(index)
    if (!making) return ''
    const delta = fieldsOf(given)
    grow(making, delta)
    return making.item.grow(textOf(delta.text) || textOf(delta.thinking) || textOf(delta.partial_json))
  }

  function endBlock(index: unknown): string {
    const making = open.get(index)
    open.delete(index)
    return making ? making.item.end(finished(making, exactJson), making.json) : ''
  }

  function response(ending: Ending): Fields {
    const isFailed = ending.status === 'failed'
    return {
      ...head,
      ...repeatedOnce(body),
      ...ending,
      output: output.filter(({ type }) => type !== undefined),
      usage: isFailed ? null : toResponsesUsage(usage),
      ...(ending.status === 'completed' ? { completed_at: seconds() } : {}),
    }
  }

  function end(ending: Ending): string {
    if (isOver) return ''
    // Clients run a call once its item is done, so that one that broke off must not be.
    const rest = ending.status === 'failed' ? '' : [...open.keys()].map(endBlock).join('')
    isOver = true
    return rest + emit(`response.${ending.status}`, { response: response(ending) }, stringifyExact)
  }

  function written(event: StreamEvent): string {
    switch (event.type) {
      case 'message_start':
        return start(fieldsOf(event.message))
      case 'content_block_start':
        return startBlock(event)
      case 'content_block_delta':
        return growBlock(event)
      case 'content_block_stop':
        return endBlock(event.index)
      case 'message_delta':
        stopReason = textOf(fieldsOf(event.delta).stop_reason)
        usage = laterUsage(usage, fieldsOf(event.usage))
        return ''
      case 'message_stop':
        return end(endingOf(stopReason))
      case 'error':
        return end(failedEnding(answerOf(event)))
      default:
        return ''
    }
  }

  return {
    // A client counts only events as signs of life, but wants `response.created` to be the first.
    get ping() {
      return sequence === 0 || isOver ? ': ping\n\n' : emit('keepalive', {})
    },
    add: written,
    // A stream starts with `response.created`, even if the model never answers.
    failure: (answer) => (sequence === 0 ? start({}) : '') + end(failedEnding(answer)),
    document: () => stringifyExact(response(endingOf(stopReason))),
  }
}

/** An error in a stream as a response. */
function answerOf(event: StreamEvent): HttpAnswer {
  const isRequest = fieldsOf(event.error).type === 'invalid_request_error'
  return { status: isRequest ? 400 : 502, headers: {}, body: JSON.stringify(event) }
}

function seconds(): number {
  return Math.floor(Date.now() / 1000)
}
