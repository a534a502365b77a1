// Writes a reply as a chat completion: chunks of a stream, or one document.
import { type Fields, fieldsOf, listOf, textOf } from '@toolshelf/core/internal'
import { stringifyExact } from '../json/exact.ts'
import type { HttpAnswer, StreamEvent } from '../types.ts'
import { laterUsage, usageTogether } from '../usage.ts'
import { createFreeformReader, type FreeformReader } from './freeform.ts'
import { refusalIn, toOpenaiError, urlCitationsOf } from './openai.ts'
import type { ReplyWriter } from './types.ts'

type ChatReplyOptions = {
  readonly model: string
  readonly isStream: boolean
  /** The client asked for a last chunk with the usage. */
  readonly includesUsage: boolean
  /** Names of freeform tools: their calls have plain text instead of arguments. */
  readonly freeform: ReadonlySet<string>
  /** The client's name for a tool. */
  readonly nameOf: (name: string) => string
}

/** A text that is being streamed: its place in the message, where it starts there, and what it cites. */
type OpenText = {
  readonly field: 'content' | 'refusal'
  readonly start: number
  readonly citations: unknown[]
}

/** A call with the JSON of its arguments, or with the plain text of a freeform one. */
type ToolCall = { readonly id: string; readonly name: string; readonly index: number; input: string }

/** A call that is being streamed: the JSON of its input so far, and what its block began with. */
type OpenCall = {
  readonly call: ToolCall
  readonly freeform: FreeformReader | undefined
  readonly given: unknown
  json: string
}

type Completion = ReturnType<typeof newCompletion>

function newCompletion(model: string) {
  const created = Math.floor(Date.now() / 1000)
  const nothing = { id: '', content: '', refusal: '', reasoning: '', stopReason: '' }
  const lists = { annotations: [] as Fields[], calls: [] as ToolCall[] }
  return { ...nothing, ...lists, model, created, usage: {} as Fields }
}

export function createChatWriter(options: ChatReplyOptions): ReplyWriter {
  return new ChatWriter(options)
}

class ChatWriter implements ReplyWriter {
  readonly ping = ': ping\n\n'
  readonly #options: ChatReplyOptions
  readonly #completion: Completion
  /** Calls that are being streamed, by the index of their block. */
  readonly #open = new Map<unknown, OpenCall>()
  readonly #texts = new Map<unknown, OpenText>()

  constructor(options: ChatReplyOptions) {
    this.#options = options
    this.#completion = newCompletion(options.model)
  }

  add(event: StreamEvent): string {
    const text = this.#written(event)
    return this.#options.isStream ? text : ''
  }

  failure(answer: HttpAnswer): string {
    return chatFailure(answer)
  }

  document(): string {
    return stringifyExact(toDocument(this.#completion, this.#options))
  }

  #written(event: StreamEvent): string {
    const completion = this.#completion
    switch (event.type) {
      case 'message_start':
        return this.#start(fieldsOf(event.message))
      case 'content_block_start':
        return this.#startBlock(event)
      case 'content_block_delta':
        return this.#growBlock(event)
      case 'content_block_stop':
        return this.#endBlock(event)
      case 'message_delta':
        completion.stopReason = textOf(fieldsOf(event.delta).stop_reason)
        completion.usage = laterUsage(completion.usage, fieldsOf(event.usage))
        return completion.refusal === '' ? this.#say('refusal', refusalIn(fieldsOf(event.delta))) : ''
      case 'message_stop':
        return this.#end()
      case 'error':
        return chatFailure({ status: 502, headers: {}, body: JSON.stringify(event) })
      default:
        return ''
    }
  }

  #start(message: Fields): string {
    const completion = this.#completion
    completion.id = toCompletionId(textOf(message.id))
    completion.model = textOf(message.model) || completion.model
    completion.usage = fieldsOf(message.usage)
    return this.#chunk({ role: 'assistant', content: '' })
  }

  #startBlock(event: StreamEvent): string {
    const block = fieldsOf(event.content_block)
    if (block.type === 'text') {
      const field = block.refusal === true ? 'refusal' : 'content'
      const start = this.#completion[field].length
      this.#texts.set(event.index, { field, start, citations: [...listOf(block.citations)] })
      return this.#say(field, textOf(block.text))
    }
    if (block.type !== 'tool_use') return ''
    const { calls } = this.#completion
    const call = { id: textOf(block.id), name: textOf(block.name), index: calls.length, input: '' }
    calls.push(call)
    const freeform = this.#options.freeform.has(call.name) ? createFreeformReader() : undefined
    this.#open.set(event.index, { call, freeform, given: block.input, json: '' })
    return this.#call(call, toToolCall(call, this.#options))
  }

  #growBlock({ index, delta: given }: StreamEvent): string {
    const delta = fieldsOf(given)
    if (delta.type === 'text_delta')
      return this.#say(this.#texts.get(index)?.field ?? 'content', textOf(delta.text))
    if (delta.type === 'citations_delta') this.#texts.get(index)?.citations.push(delta.citation)
    if (delta.type === 'thinking_delta') return this.#say('reasoning_content', textOf(delta.thinking))
    const open = this.#open.get(index)
    if (delta.type !== 'input_json_delta' || !open) return ''
    const json = textOf(delta.partial_json)
    open.json += json
    return this.#input(open, open.freeform ? open.freeform.add(json) : json)
  }

  #endBlock({ index }: StreamEvent): string {
    const text = this.#texts.get(index)
    if (text) {
      this.#texts.delete(index)
      return this.#cite(text)
    }
    const open = this.#open.get(index)
    this.#open.delete(index)
    if (!open) return ''
    const json = open.json === '' ? stringifyExact(open.given ?? {}) : open.json
    if (open.freeform) return this.#input(open, open.freeform.end(json).rest)
    return open.json === '' ? this.#input(open, json) : ''
  }

  #cite({ start, citations }: OpenText): string {
    const cited = urlCitationsOf(citations, start, this.#completion.content.length)
    if (cited.length === 0) return ''
    const annotations = cited.map((citation) => ({ type: 'url_citation', url_citation: citation }))
    this.#completion.annotations.push(...annotations)
    return this.#chunk({ annotations })
  }

  #end(): string {
    const { usage } = this.#completion
    const counted = { ...head(this.#completion, CHUNK), choices: [], usage: toChatUsage(usage) }
    const last = this.#options.includesUsage ? line(counted) : ''
    return `${this.#chunk({}, finishReason(this.#completion))}${last}data: [DONE]\n\n`
  }

  #input({ call, freeform }: OpenCall, text: string): string {
    if (text === '') return ''
    call.input += text
    return this.#call(call, freeform ? { custom: { input: text } } : { function: { arguments: text } })
  }

  #say(field: 'content' | 'refusal' | 'reasoning_content', text: string): string {
    if (text === '') return ''
    this.#completion[field === 'reasoning_content' ? 'reasoning' : field] += text
    return this.#chunk({ [field]: text })
  }

  #call({ index }: ToolCall, fields: Fields): string {
    return this.#chunk({ tool_calls: [{ index, ...fields }] })
  }

  #chunk(delta: Fields, finish: string | null = null): string {
    return line({
      ...head(this.#completion, CHUNK),
      choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }],
      ...(this.#options.includesUsage ? { usage: null } : {}),
    })
  }
}

const CHUNK = 'chat.completion.chunk'

/** The last event of a stream that fails after it began. */
function chatFailure(answer: HttpAnswer): string {
  return line({ error: toOpenaiError(answer) })
}

function head({ id, created, model }: Completion, object: string): Fields {
  return { id, object, created, model }
}

function line(value: Fields): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

function toDocument(completion: Completion, options: ChatReplyOptions): Fields {
  const { content, refusal, reasoning, annotations, calls, usage } = completion
  const message = {
    role: 'assistant',
    content: content === '' && (calls.length > 0 || refusal !== '') ? null : content,
    refusal: refusal || null,
    ...(annotations.length === 0 ? {} : { annotations }),
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length > 0 ? { tool_calls: calls.map((call) => toToolCall(call, options)) } : {}),
  }
  return {
    ...head(completion, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(completion) }],
    usage: toChatUsage(usage),
  }
}

function toToolCall({ id, name, input }: ToolCall, { freeform, nameOf }: ChatReplyOptions): Fields {
  if (!freeform.has(name)) return { id, type: 'function', function: { name: nameOf(name), arguments: input } }
  return { id, type: 'custom', custom: { name: nameOf(name), input } }
}

const FINISH_REASONS: ReadonlyMap<string, string> = new Map([
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
])

function finishReason({ stopReason, refusal }: Completion): string {
  return refusal === '' ? (FINISH_REASONS.get(stopReason) ?? 'stop') : 'stop'
}

function toChatUsage(usage: Fields): Fields {
  const { input, read, output } = usageTogether(usage)
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: read },
  }
}

function toCompletionId(id: string): string {
  return id.startsWith('chatcmpl-') ? id : `chatcmpl-${id.replace(/^msg_/, '')}`
}
