// Replies as each API has them, read by hand: the blocks of a message as events and back, and what a client of each API makes
// of a stream, which must be what it makes of the document.
import type { Loose } from '../../../packages/testkit/src/talk.ts'

/** A block of a reply, with the fragments in which its text or input comes; all at once if there are none. */
export type Block = Loose & { readonly type: string; readonly parts?: readonly string[] }

type Said = {
  readonly blocks: readonly Block[]
  readonly stop?: string
  readonly usage?: Loose
  readonly id?: string
}

const USAGE = {
  input_tokens: 9,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 4,
  output_tokens: 0,
}

/** The events of a reply, as Anthropic sends them. */
export function eventsOf({ blocks, stop, usage = { output_tokens: 5 }, id = 'msg_1' }: Said): Loose[] {
  const reason = stop ?? (blocks.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn')
  const message = {
    id,
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: USAGE,
  }
  return [
    { type: 'message_start', message },
    ...blocks.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: opening(block) },
      ...deltasOf(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ]
}

function opening({ parts: _, citations: __, ...block }: Block): Loose {
  if (block.type === 'text') return { ...block, text: '' }
  if (block.type === 'thinking') return { ...block, thinking: '', signature: '' }
  return block.type === 'tool_use' ? { ...block, input: {} } : block
}

function deltasOf({ type, text, thinking, signature, input, citations = [], parts }: Block): Loose[] {
  if (type === 'text')
    return [
      ...(parts ?? [text]).map((part: string) => ({ type: 'text_delta', text: part })),
      ...citations.map((citation: Loose) => ({ type: 'citations_delta', citation })),
    ]
  if (type === 'thinking')
    return [
      ...(parts ?? [thinking]).map((part: string) => ({ type: 'thinking_delta', thinking: part })),
      { type: 'signature_delta', signature },
    ]
  if (type !== 'tool_use') return []
  return ['', ...(parts ?? [JSON.stringify(input)])].map((partial_json) => ({
    type: 'input_json_delta',
    partial_json,
  }))
}

/** The message that events add up to; throws if their order is not Anthropic's. */
export function messageOf(events: readonly Loose[]): Loose {
  let message: Loose
  let open = false
  let json = ''
  for (const { type, index, message: start, content_block, delta, usage, error } of events) {
    const at = message ? message.content.length - 1 : -1
    const expected = {
      message_start: !message,
      content_block_start: !open && index === at + 1,
      content_block_delta: open && index === at,
      content_block_stop: open && index === at,
      message_delta: !open,
    }[type as string]
    if (expected === false) throw new Error(`the event ${type} ${index} is out of order`)
    const block = message?.content[at]
    if (type === 'error') throw new Error(error.message)
    if (type === 'message_start') message = structuredClone(start)
    if (type === 'content_block_start') message.content.push({ ...content_block })
    if (type === 'content_block_start') json = ''
    if (/^content_block_st/.test(type)) open = type === 'content_block_start'
    if (type === 'content_block_stop' && json !== '') block.input = parsed(json)
    if (type === 'message_delta') Object.assign(message, delta, { usage: { ...message.usage, ...usage } })
    if (type !== 'content_block_delta') continue
    const { text = '', thinking = '', signature, partial_json = '', citation } = delta
    if (delta.type === 'text_delta') block.text += text
    if (delta.type === 'thinking_delta') block.thinking += thinking
    if (signature !== undefined) block.signature = signature
    if (citation) block.citations = [...(block.citations ?? []), citation]
    json += partial_json
  }
  if (open || events.at(-1)?.type !== 'message_stop') throw new Error('the stream has no end')
  return message
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return { broken: json }
  }
}

/** The data of a stream's events. */
export function dataIn(text: string): Loose[] {
  return text.split('\n\n').flatMap((part) => {
    const data = part
      .split('\n')
      .find((line) => line.startsWith('data: '))
      ?.slice(6)
    return data === undefined || data === '[DONE]' ? [] : [JSON.parse(data)]
  })
}

/** What a client reads of a stream, in the form of the document that it would get without one. */
export const streamReaders: { readonly [api: string]: (text: string) => Loose } = {
  messages: (text) => messageOf(dataIn(text)),
  chat: chatOf,
  responses: responseOf,
}

function chatOf(text: string): Loose {
  if (!text.endsWith('data: [DONE]\n\n')) throw new Error('the stream has no end')
  const message: Loose = { role: 'assistant', content: '', refusal: null }
  let finish: string | undefined
  let usage: Loose
  let head: Loose
  for (const { choices, usage: counted, ...rest } of dataIn(text)) {
    head ??= { ...rest, object: 'chat.completion' }
    usage = counted ?? usage
    const [{ delta = {}, finish_reason = undefined } = {}] = choices
    finish = finish_reason ?? finish
    for (const field of ['content', 'refusal', 'reasoning_content'])
      if (delta[field]) message[field] = (message[field] ?? '') + delta[field]
    if (delta.annotations) message.annotations = [...(message.annotations ?? []), ...delta.annotations]
    for (const { index, function: called, custom, ...more } of delta.tool_calls ?? []) {
      message.tool_calls ??= []
      message.tool_calls[index] ??= {}
      const call = message.tool_calls[index]
      Object.assign(call, more)
      for (const [kind, piece] of Object.entries({ function: called, custom }))
        if (piece) call[kind] = joined(call[kind] ?? {}, piece)
    }
  }
  if (message.content === '' && (message.tool_calls || message.refusal)) message.content = null
  return { ...head, choices: [{ index: 0, message, logprobs: null, finish_reason: finish }], usage }
}

function joined(one: Loose, { name, ...more }: Loose): Loose {
  const texts = Object.entries(more).map(([key, text]) => [key, (one[key] ?? '') + text])
  return { ...one, ...(name === undefined ? {} : { name }), ...Object.fromEntries(texts) }
}

/** The response of the last event; throws if the events before it say something else. */
function responseOf(text: string): Loose {
  const events = dataIn(text)
  const items: Loose[] = []
  const deltas = new Map<string, string>()
  for (const [
    at,
    { type, sequence_number, output_index, item_id, delta, item, ...more },
  ] of events.entries()) {
    if (sequence_number !== at) throw new Error(`the event ${at} has the number ${sequence_number}`)
    if (type === 'response.output_item.added') items[output_index] = item
    if (item_id !== undefined && items[output_index]?.id !== item_id)
      throw new Error(`${type} of ${item_id} before its item`)
    if (typeof delta === 'string') deltas.set(item_id, (deltas.get(item_id) ?? '') + delta)
    if (/(output_text|refusal|summary_text|arguments|_input)\.done$/.test(type)) {
      const whole = more.text ?? more.refusal ?? more.arguments ?? more.input
      if ((deltas.get(item_id) ?? '') !== whole)
        throw new Error(`${type} says ${whole}, the deltas ${deltas.get(item_id)}`)
    }
    if (type === 'response.output_item.done') items[output_index] = item
  }
  const { type, response } = events.at(-1)
  if (!/^response\.(completed|incomplete|failed)$/.test(type)) throw new Error('the stream has no end')
  if (JSON.stringify(items) !== JSON.stringify(response.output))
    throw new Error('the items are not those of the response')
  return response
}
