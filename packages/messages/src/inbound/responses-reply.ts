// Writes a reply in the Responses API: its events with their sequence numbers, and the response object.
import { randomUUID } from 'node:crypto'
import {
  type BlockInMaking,
  type Fields,
  fieldsOf,
  finishBlock,
  grow,
  listOf,
  textOf,
} from '@toolshelf/core/internal'
import { exactJson, stringifyExact } from '../json/exact.ts'
import type { HttpAnswer, StreamEvent } from '../types.ts'
import { REFUSAL_BLOCK } from '../upstream/openai.ts'
import { laterUsage } from '../usage.ts'
import { refusalIn, toOpenaiError } from './openai-content.ts'
import { type ItemWriter, itemWriterFor, type Place } from './responses-output.ts'
import { asksForSummary } from './responses-reasoning.ts'
import type { ToolTable } from './responses-tools.ts'
import type { StoredItems } from './stored-items.ts'
import type { ReplyWriter } from './types.ts'

type ResponsesReplyOptions = {
  /** The client's request. */
  readonly body: Fields
  readonly model: string
  readonly table: ToolTable
  /** Remembers the items, unless the client says `store: false`. */
  readonly stored?: StoredItems | undefined
}

export function createResponsesWriter({ body, model, table, stored }: ResponsesReplyOptions): ReplyWriter {
  const memory = body.store === false ? undefined : stored
  const events = createEvents(body.stream === true)
  const output = createOutput(events, table, asksForSummary(body.reasoning))
  const createdAt = seconds()
  let head: Fields = {}
  let usage: Fields = {}
  let stopReason = ''
  /** How the response ended; undefined while it is still streaming. */
  let ending: Ending | undefined

  function start(message: Fields): string {
    // Ids of remembered items are ours: those of an upstream may repeat, or be guessed by others.
    const upstreamId = memory ? '' : textOf(message.id).replace(/^msg_/, '')
    const suffix = upstreamId || randomUUID().replaceAll('-', '')
    output.nameItems(suffix)
    usage = fieldsOf(message.usage)
    head = responseHead(body, `resp_${suffix}`, textOf(message.model) || model, createdAt)
    return (
      events.write('response.created', { response: head }) +
      events.write('response.in_progress', { response: head })
    )
  }

  const isRefused = () => output.items().some(isRefusal)

  function response(end: Ending): Fields {
    return {
      ...head,
      ...repeatedOnce(body),
      ...end,
      output: output.items(),
      usage: end.status === 'failed' ? null : toResponsesUsage(usage),
      ...(end.status === 'completed' ? { completed_at: seconds() } : {}),
    }
  }

  function finish(end: Ending): string {
    if (ending) return ''
    ending = end
    // Clients run a call once its item is done, so an item that broke off must not be marked as done.
    const rest = end.status === 'failed' ? '' : output.endAll()
    if (end.status !== 'failed') memory?.keep(output.items())
    return rest + events.write(`response.${end.status}`, { response: response(end) }, stringifyExact)
  }

  function written(event: StreamEvent): string {
    switch (event.type) {
      case 'message_start':
        return start(fieldsOf(event.message))
      case 'content_block_start':
        return output.start(event)
      case 'content_block_delta':
        return output.grow(event)
      case 'content_block_stop':
        return output.end(event.index)
      case 'message_delta':
        stopReason = textOf(fieldsOf(event.delta).stop_reason)
        usage = laterUsage(usage, fieldsOf(event.usage))
        return isRefused() ? '' : output.whole({ ...REFUSAL_BLOCK, text: refusalIn(fieldsOf(event.delta)) })
      case 'message_stop':
        return finish(endingOf(stopReason, isRefused()))
      case 'error':
        return finish(failedEnding(answerOf(event)))
      default:
        return ''
    }
  }

  return {
    // A client counts only events as signs of life, but wants `response.created` to be the first.
    get ping() {
      return events.count() === 0 || ending ? ': ping\n\n' : events.write('keepalive', {})
    },
    add: written,
    // A stream starts with `response.created`, even if the model never answers.
    failure: (answer) => (events.count() === 0 ? start({}) : '') + finish(failedEnding(answer)),
    document: () => stringifyExact(response(ending ?? endingOf(stopReason, isRefused()))),
  }
}

type Events = ReturnType<typeof createEvents>

function createEvents(isStream: boolean) {
  let sequence = 0
  return {
    /** Returns an event as text; empty if the reply is not streamed. */
    write(type: string, fields: Fields, stringify: (value: unknown) => string = JSON.stringify) {
      if (!isStream) return ''
      return `event: ${type}\ndata: ${stringify({ type, sequence_number: sequence++, ...fields })}\n\n`
    },
    count: () => sequence,
  }
}

/** A block on its way, and the item that it becomes. */
type Making = BlockInMaking & { readonly item: ItemWriter }

/** Turns the blocks of a reply into output items. */
function createOutput({ write }: Events, table: ToolTable, showsReasoning: boolean) {
  const items: Fields[] = []
  const open = new Map<unknown, Making>()
  let suffix = ''

  const place = (prefix: string): Place => {
    const index = items.length
    const id = `${prefix}${suffix}_${index}`
    items.push({})
    return {
      id,
      emit: (type, fields) => write(type, { item_id: id, output_index: index, ...fields }),
      added: (item) => write('response.output_item.added', { output_index: index, item }),
      done(item) {
        items[index] = item
        // Its input may have numbers that JavaScript cannot represent.
        return write('response.output_item.done', { output_index: index, item }, stringifyExact)
      },
    }
  }
  const end = (index: unknown): string => {
    const making = open.get(index)
    open.delete(index)
    return making ? making.item.end(finishBlock(making, exactJson), making.json) : ''
  }
  const start = (index: unknown, block: Fields): string => {
    const item = itemWriterFor(block, { table, showsReasoning, place })
    if (!item) return ''
    open.set(index, { block, json: '', item })
    return item.start(block)
  }
  return {
    /** Sets what the ids of all items have in common. */
    nameItems(given: string) {
      suffix = given
    },
    start: ({ index, content_block: block }: StreamEvent) => start(index, fieldsOf(block)),
    whole: (block: Fields) => start('whole', block) + end('whole'),
    grow({ index, delta: given }: StreamEvent) {
      const making = open.get(index)
      if (!making) return ''
      const delta = fieldsOf(given)
      grow(making, delta)
      return making.item.grow(textOf(delta.text) || textOf(delta.thinking) || textOf(delta.partial_json))
    },
    end,
    /** Ends the blocks that are still open. */
    endAll: () => [...open.keys()].map(end).join(''),
    items: () => items.filter(({ type }) => type !== undefined),
  }
}

function isRefusal({ content }: Fields): boolean {
  return listOf(content).some((part) => fieldsOf(part).type === 'refusal')
}

function answerOf(event: StreamEvent): HttpAnswer {
  const isRequest = fieldsOf(event.error).type === 'invalid_request_error'
  return { status: isRequest ? 400 : 502, headers: {}, body: JSON.stringify(event) }
}

function seconds(): number {
  return Math.floor(Date.now() / 1000)
}

/** The fields that say how a response ended. */
type Ending = { readonly status: string; readonly [field: string]: unknown }

/** Returns the response object at its start; `usage` and the ending come later. */
function responseHead(body: Fields, id: string, model: string, createdAt: number): Fields {
  const { reasoning, text } = body
  return {
    id,
    object: 'response',
    created_at: createdAt,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    metadata: body.metadata ?? {},
    model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls !== false,
    previous_response_id: null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort: null, summary: null, ...fieldsOf(reasoning) },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: 'default',
    // Nothing is stored, whatever the client asks for.
    store: false,
    temperature: body.temperature ?? 1,
    text: { format: { type: 'text' }, ...fieldsOf(text) },
    tool_choice: body.tool_choice ?? 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? 'disabled',
    usage: null,
    user: body.user ?? null,
  }
}

/** Returns the long fields, which only the last event of a stream repeats. */
function repeatedOnce({ instructions, tools }: Fields): Fields {
  return { instructions: instructions ?? null, tools: listOf(tools) }
}

/** Returns the status for a stop reason of the Messages API. A refusal in words is a complete answer. */
function endingOf(stopReason: string, isRefused: boolean): Ending {
  const reason = isRefused ? undefined : INCOMPLETE.get(stopReason)
  if (reason === undefined) return { status: 'completed' }
  return { status: 'incomplete', incomplete_details: { reason } }
}

const INCOMPLETE: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'max_output_tokens'],
  ['model_context_window_exceeded', 'max_output_tokens'],
  // The searches used up all samplings of this reply; the client can continue from here.
  ['pause_turn', 'max_output_tokens'],
  ['refusal', 'content_filter'],
])

/** Returns the ending for an error response in the Messages envelope. */
function failedEnding(answer: HttpAnswer): Ending {
  const { message, code } = toOpenaiError(answer)
  return { status: 'failed', error: { code: CODES[textOf(code)] ?? code ?? 'server_error', message } }
}

/** Codes that clients read in a failed response, where they differ from those in error responses. */
const CODES: { readonly [code: string]: string } = { server_overloaded: 'server_is_overloaded' }

/** Converts usage. OpenAI counts cached tokens as part of the input. */
function toResponsesUsage(usage: Fields): Fields {
  const read = countOf(usage.cache_read_input_tokens)
  const written = countOf(usage.cache_creation_input_tokens)
  const input = countOf(usage.input_tokens) + read + written
  const output = countOf(usage.output_tokens)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  }
}

function countOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.trunc(value) : 0
}
