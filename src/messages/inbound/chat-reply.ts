// Writes a reply as a chat completion: chunks of a stream, or one document.
import { type Fields, fieldsOf, textOf } from '../../lib/index.ts'
import { stringifyExact } from '../json/index.ts'
import type { HttpAnswer, StreamEvent } from '../types.ts'
import { freeformInput } from './freeform.ts'
import { toOpenaiError } from './openai-errors.ts'
import type { ReplyWriter } from './types.ts'

export type ChatReplyOptions = {
  readonly model: string
  readonly isStream: boolean
  /** The client asked for a last chunk with the usage. */
  readonly includesUsage: boolean
  /** Names of freeform tools: their calls have plain text instead of arguments. */
  readonly freeform: ReadonlySet<string>
  /** The client's name for a tool. */
  readonly nameOf: (name: string) => string
}

type ToolCall = { readonly id: string; readonly name: string; readonly index: number; json: string }

/** A completion in progress. */
type Completion = {
  id: string
  model: string
  readonly created: number
  content: string
  reasoning: string
  readonly calls: ToolCall[]
  stopReason: string
  usage: Fields
}

export function createChatWriter(options: ChatReplyOptions): ReplyWriter {
  const { isStream, includesUsage } = options
  const completion: Completion = {
    ...{ id: '', model: options.model, created: Math.floor(Date.now() / 1000), content: '', reasoning: '' },
    ...{ calls: [], stopReason: '', usage: {} },
  }
  /** Open blocks by index. */
  const open = new Map<unknown, ToolCall>()

  const chunk = (delta: Fields, finish: string | null = null): string =>
    line({ ...head(completion, 'chat.completion.chunk'), ...withChoice({ delta, finish_reason: finish }) })

  const withChoice = (choice: Fields): Fields => ({
    choices: [{ index: 0, ...choice, logprobs: null }],
    ...(includesUsage ? { usage: null } : {}),
  })

  function start(message: Fields): string {
    completion.id = toCompletionId(textOf(message.id))
    completion.model = textOf(message.model) || options.model
    completion.usage = fieldsOf(message.usage)
    return chunk({ role: 'assistant', content: '' })
  }

  function startBlock(event: StreamEvent): string {
    const block = fieldsOf(event.content_block)
    if (block.type === 'text') return say('content', textOf(block.text))
    if (block.type !== 'tool_use') return ''
    const { calls } = completion
    const call = { id: textOf(block.id), name: textOf(block.name), index: calls.length, json: '' }
    calls.push(call)
    open.set(event.index, call)
    // The input of a freeform call can only be written when its JSON is complete.
    if (options.freeform.has(call.name)) return ''
    return chunk({ tool_calls: [{ index: call.index, ...toToolCall(call, options) }] })
  }

  function say(field: 'content' | 'reasoning_content', text: string): string {
    if (text === '') return ''
    completion[field === 'content' ? 'content' : 'reasoning'] += text
    return chunk({ [field]: text })
  }

  function growBlock({ index, delta: given }: StreamEvent): string {
    const delta = fieldsOf(given)
    if (delta.type === 'text_delta') return say('content', textOf(delta.text))
    if (delta.type === 'thinking_delta') return say('reasoning_content', textOf(delta.thinking))
    const call = open.get(index)
    if (delta.type !== 'input_json_delta' || !call) return ''
    const json = textOf(delta.partial_json)
    call.json += json
    if (json === '' || options.freeform.has(call.name)) return ''
    return chunk({ tool_calls: [{ index: call.index, function: { arguments: json } }] })
  }

  function endBlock({ index }: StreamEvent): string {
    const call = open.get(index)
    open.delete(index)
    if (!call) return ''
    if (options.freeform.has(call.name))
      return chunk({ tool_calls: [{ index: call.index, ...toToolCall(call, options) }] })
    if (call.json !== '') return ''
    call.json = '{}'
    return chunk({ tool_calls: [{ index: call.index, function: { arguments: call.json } }] })
  }

  function end(): string {
    const usage = includesUsage
      ? line({
          ...head(completion, 'chat.completion.chunk'),
          choices: [],
          usage: toChatUsage(completion.usage),
        })
      : ''
    return `${chunk({}, finishReason(completion.stopReason))}${usage}data: [DONE]\n\n`
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
        return endBlock(event)
      case 'message_delta':
        completion.stopReason = textOf(fieldsOf(event.delta).stop_reason)
        completion.usage = { ...completion.usage, ...known(fieldsOf(event.usage)) }
        return ''
      case 'message_stop':
        return end()
      case 'error':
        return chatFailure({ status: 502, headers: {}, body: JSON.stringify(event) })
      default:
        return ''
    }
  }

  return {
    ping: ': ping\n\n',
    add(event) {
      const text = written(event)
      return isStream ? text : ''
    },
    failure: chatFailure,
    document: () => stringifyExact(toDocument(completion, options)),
  }
}

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
  const { content, reasoning, calls, stopReason, usage } = completion
  const message = {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    refusal: null,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length > 0 ? { tool_calls: calls.map((call) => toToolCall(call, options)) } : {}),
  }
  return {
    ...head(completion, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(stopReason) }],
    usage: toChatUsage(usage),
  }
}

function toToolCall({ id, name, json }: ToolCall, { freeform, nameOf }: ChatReplyOptions): Fields {
  if (!freeform.has(name)) return { id, type: 'function', function: { name: nameOf(name), arguments: json } }
  return { id, type: 'custom', custom: { name: nameOf(name), input: freeformInput(json) } }
}

const FINISH_REASONS: ReadonlyMap<string, string> = new Map([
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
])

function finishReason(stopReason: string): string {
  return FINISH_REASONS.get(stopReason) ?? 'stop'
}

/** OpenAI counts cached tokens as part of the prompt. */
function toChatUsage(usage: Fields): Fields {
  const cached = countOf(usage.cache_read_input_tokens)
  const prompt = countOf(usage.input_tokens) + countOf(usage.cache_creation_input_tokens) + cached
  const output = countOf(usage.output_tokens)
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: cached },
  }
}

function countOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0
}

function known(usage: Fields): Fields {
  return Object.fromEntries(
    Object.entries(usage).filter(([, value]) => value !== null && value !== undefined),
  )
}

function toCompletionId(id: string): string {
  return id.startsWith('chatcmpl-') ? id : `chatcmpl-${id.replace(/^msg_/, '')}`
}
