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
import type { StoredItems } from '../reply-memory.ts'
import type { HttpAnswer, StreamEvent } from '../types.ts'
import { callItemsOf, withJoinedNamespaces } from '../upstream/native-tools.ts'
import { REFUSAL_BLOCK } from '../upstream/openai.ts'
import { itemIn } from '../upstream/thoughts.ts'
import { laterUsage, usageTogether } from '../usage.ts'
import { createFreeformReader, type FreeformReader } from './freeform.ts'
import { refusalIn, toOpenaiError, urlCitationsOf } from './openai.ts'
import { asksForSummary, encryptedContent } from './responses-items.ts'
import { HOSTED_SEARCH, type ToolTable } from './responses-tools.ts'
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
export type Ending = { readonly status: string; readonly [field: string]: unknown }

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
export function endingOf(stopReason: string, isRefused: boolean): Ending {
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

function toResponsesUsage(usage: Fields): Fields {
  const { input, read, written, output } = usageTogether(usage)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  }
}

/** Writes one item. Each method returns its events; empty if there are none. */
type ItemWriter = {
  readonly start: (block: Fields) => string
  readonly grow: (text: string) => string
  /** Takes the complete block and, for calls, its input as the model wrote it. */
  readonly end: (block: Fields, json: string) => string
}

/** An item's place in the output. */
export type Place = {
  readonly id: string
  readonly emit: (type: string, fields: Fields) => string
  readonly added: (item: Fields) => string
  readonly done: (item: Fields) => string
}

/** What writers need of the reply. */
type OutputOptions = {
  readonly table: ToolTable
  /** The client asked for a summary of the reasoning. */
  readonly showsReasoning: boolean
  /** Takes the next place in the output, for an item whose id has this prefix. */
  readonly place: (idPrefix: string) => Place
}

/** Returns the writer for a block; undefined for blocks that the API cannot express. */
function itemWriterFor(block: Fields, options: OutputOptions): ItemWriter | undefined {
  switch (block.type) {
    case 'text':
      return textWriter(options, block.refusal === true ? REFUSAL : OUTPUT_TEXT)
    case 'thinking':
    case 'redacted_thinking':
      return reasoningWriter(options)
    case 'tool_use':
      return callWriter(block, options)
    case 'server_tool_use':
      return block.name === HOSTED_SEARCH.name ? wholeItem(options, searchCall) : undefined
    case 'tool_search_tool_result':
      return wholeItem(options, (found) => searchOutput(found, options.table))
    default:
      return undefined
  }
}

/** A kind of text in a message: the name of its events, the field that has it, and the other fields. */
type TextKind = {
  readonly event: string
  readonly part: (text: string, annotations: readonly Fields[]) => Fields
  readonly field: 'text' | 'refusal'
  readonly more: Fields
}

const OUTPUT_TEXT: TextKind = {
  event: 'response.output_text',
  part: (text, annotations) => ({ type: 'output_text', annotations, logprobs: [], text }),
  field: 'text',
  more: { logprobs: [] },
}

const REFUSAL: TextKind = {
  event: 'response.refusal',
  part: (refusal) => ({ type: 'refusal', refusal }),
  field: 'refusal',
  more: {},
}

/** Text becomes a message; the item starts with the first text, so that there are no empty messages. */
function textWriter({ place }: OutputOptions, { event, part, field, more }: TextKind): ItemWriter {
  let at: Place | undefined
  const message = (status: string, content: readonly Fields[]) => ({
    id: at?.id,
    type: 'message',
    status,
    content,
    role: 'assistant',
  })
  const say = (text: string): string => {
    if (text === '') return ''
    let start = ''
    if (!at) {
      at = place('msg_')
      start = at.added(message('in_progress', []))
      start += at.emit('response.content_part.added', { content_index: 0, part: part('', []) })
    }
    return start + at.emit(`${event}.delta`, { content_index: 0, delta: text, ...more })
  }
  return {
    start: ({ text }) => say(textOf(text)),
    grow: say,
    end({ text: whole, citations }) {
      if (!at) return ''
      const { emit } = at
      const text = textOf(whole)
      const cited = urlCitationsOf(citations, 0, text.length)
      const annotations = cited.map((citation) => ({ type: 'url_citation', ...citation }))
      const added = annotations.map((annotation, index) =>
        emit('response.output_text.annotation.added', {
          content_index: 0,
          annotation_index: index,
          annotation,
        }),
      )
      const done = part(text, annotations)
      return (
        added.join('') +
        emit(`${event}.done`, { content_index: 0, [field]: text, ...more }) +
        emit('response.content_part.done', { content_index: 0, part: done }) +
        at.done(message('completed', [done]))
      )
    },
  }
}

/** Thinking becomes a reasoning item, its text the summary if the client wants one. */
function reasoningWriter({ place, showsReasoning }: OutputOptions): ItemWriter {
  let at: Place | undefined
  const item = (fields: Fields) => ({ id: at?.id, type: 'reasoning', summary: [], ...fields })
  const say = (text: string): string => {
    if (text === '' || !showsReasoning) return ''
    let start = ''
    if (!at) {
      at = place('rs_')
      const part = { type: 'summary_text', text: '' }
      start = at.added(item({ encrypted_content: null }))
      start += at.emit('response.reasoning_summary_part.added', { summary_index: 0, part })
    }
    return start + at.emit('response.reasoning_summary_text.delta', { summary_index: 0, delta: text })
  }
  const endSummary = (text: string): string => {
    if (!at || text === '') return ''
    const part = { type: 'summary_text', text }
    return (
      at.emit('response.reasoning_summary_text.done', { summary_index: 0, text }) +
      at.emit('response.reasoning_summary_part.done', { summary_index: 0, part })
    )
  }
  return {
    start: ({ thinking }) => say(textOf(thinking)),
    grow: say,
    end(block) {
      const own = itemIn(block)
      if (own) {
        at = place('')
        return at.added(own) + at.done(own)
      }
      const text = textOf(block.thinking)
      if (text === '' && textOf(block.signature) === '' && textOf(block.data) === '') return ''
      const isShown = showsReasoning && text !== ''
      const shown = endSummary(text)
      at ??= place('rs_')
      const start = isShown ? '' : at.added(item({ encrypted_content: null }))
      const summary = isShown ? [{ type: 'summary_text', text }] : []
      return shown + start + at.done(item({ summary, encrypted_content: encryptedContent(block, isShown) }))
    },
  }
}

function callWriter(block: Fields, options: OutputOptions): ItemWriter {
  const name = textOf(block.name)
  const tool = options.table.tools.get(name) ?? { type: 'function', name, namespace: '' }
  const called = {
    call_id: textOf(block.id),
    name: tool.name,
    ...(tool.namespace === '' ? {} : { namespace: tool.namespace }),
  }
  if (tool.type === 'function') return textCallWriter(called, options, FUNCTION)
  if (tool.type === 'custom') return textCallWriter(called, options, FREEFORM, createFreeformReader())
  const items = callItemsOf(tool.type)
  return wholeItem(options, ({ input }) => ({
    prefix: items?.idPrefix ?? 'tsc_',
    fields: {
      type: items?.type ?? 'tool_search_call',
      call_id: called.call_id,
      ...(items ? items.fromInput(fieldsOf(input)) : { execution: 'client', arguments: fieldsOf(input) }),
    },
  }))
}

/** How a call is written that streams its input: as JSON, or as the text of a freeform call, read as its JSON arrives. */
const FUNCTION = { prefix: 'fc_', type: 'function_call', field: 'arguments' }
const FREEFORM = { prefix: 'ctc_', type: 'custom_tool_call', field: 'input' }

function textCallWriter(
  called: Fields,
  { place }: OutputOptions,
  { prefix, type, field }: typeof FUNCTION,
  reader?: FreeformReader,
): ItemWriter {
  const at = place(prefix)
  const event = `response.${type}_${field}`
  const say = (text: string) => (text === '' ? '' : at.emit(`${event}.delta`, { delta: text }))
  const item = (status: string, text: string) => ({ id: at.id, type, status, [field]: text, ...called })
  return {
    start: () => at.added(item('in_progress', '')),
    grow: (json) => say(reader ? reader.add(json) : json),
    end({ input }, written) {
      const json = written === '' ? stringifyExact(input ?? {}) : written
      const { text, rest } = reader?.end(json) ?? { text: json, rest: written === '' ? json : '' }
      const name = reader ? {} : { name: called.name }
      return (
        say(rest) + at.emit(`${event}.done`, { ...name, [field]: text }) + at.done(item('completed', text))
      )
    },
  }
}

type WholeItem = { readonly prefix: string; readonly id?: string; readonly fields: Fields }

/** An item without events of its own, written when its block is complete. */
function wholeItem({ place }: OutputOptions, itemOf: (block: Fields) => WholeItem): ItemWriter {
  return {
    start: () => '',
    grow: () => '',
    end(block) {
      const { prefix, id, fields } = itemOf(block)
      const at = place(prefix)
      const item = { id: id ?? at.id, status: 'completed', ...fields }
      return at.added({ ...item, status: 'in_progress' }) + at.done(item)
    },
  }
}

/** A search by the gateway. Both of its items carry the id of the search, which pairs them on the way back. */
function searchCall({ id, input }: Fields): WholeItem {
  const fields = { type: 'tool_search_call', call_id: null, execution: 'server', arguments: fieldsOf(input) }
  return { prefix: 'tsc_', id: `tsc_${bareId(id)}`, fields }
}

function searchOutput({ tool_use_id: id, content }: Fields, table: ToolTable): WholeItem {
  const { type, tool_references: references } = fieldsOf(content)
  const names = listOf(references).map((reference) => textOf(fieldsOf(reference).tool_name))
  const isError = type === 'tool_search_tool_result_error'
  return {
    prefix: 'tso_',
    id: `tso_${bareId(id)}`,
    fields: {
      type: 'tool_search_output',
      call_id: null,
      execution: 'server',
      status: isError ? 'incomplete' : 'completed',
      tools: definitionsOf(names, table),
    },
  }
}

function bareId(id: unknown): string {
  return textOf(id).replace(/^srvtoolu_/, '')
}

/** The client's own definitions, the tools of a namespace together. */
function definitionsOf(names: readonly string[], { native }: ToolTable): Fields[] {
  const definitions = [...new Set(names)].map((name) => native.get(name))
  return withJoinedNamespaces(definitions.filter((definition) => definition !== undefined))
}
