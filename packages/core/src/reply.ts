// Converts a reply between a message and the events of a stream, so that other code needs to handle only one form.
// Implements wire 24.
import { type Fields, fieldsOf, isFields, listOf, omitFields, textOf } from './lib/json.ts'

/** An event of a streamed reply, in the API's format. */
export type StreamEvent = { readonly type: string; readonly [field: string]: unknown }

/** Reads and writes the JSON in a reply. The default, `JSON`, loses the precision of long numbers. */
type Json = {
  readonly parse: (json: string) => unknown
  readonly stringify: (value: unknown) => string
}

/** Yields the events that would have streamed this message. */
export function* eventsOf(message: Fields, json: Json = JSON): Generator<StreamEvent> {
  const { content, stop_reason, stop_sequence, stop_details, usage } = message
  yield {
    type: 'message_start',
    message: { ...message, content: [], stop_reason: null, stop_sequence: null },
  }
  // An entry that is no block, such as null, is left out.
  for (const [index, block] of listOf(content).filter(isFields).entries())
    yield* blockEvents(block, index, json)
  yield {
    type: 'message_delta',
    delta: {
      stop_reason: stop_reason ?? null,
      stop_sequence: stop_sequence ?? null,
      ...(stop_details === undefined ? {} : { stop_details }),
    },
    usage: usage ?? {},
  }
  yield { type: 'message_stop' }
}

export function* blockEvents(block: Fields, index: number, json: Json = JSON): Generator<StreamEvent> {
  const { start, deltas } = opened(block, json)
  yield { type: 'content_block_start', index, content_block: start }
  for (const delta of deltas) yield { type: 'content_block_delta', index, delta }
  yield { type: 'content_block_stop', index }
}

/**
 * Splits a block into its start and deltas. A call's input starts with an empty fragment, as in recorded traffic;
 * results are sent whole.
 */
function opened(block: Fields, json: Json): { start: Fields; deltas: Fields[] } {
  switch (block.type) {
    case 'text':
      return {
        start: { ...block, text: '', ...(block.citations === undefined ? {} : { citations: [] }) },
        deltas: [
          ...(textOf(block.text) === '' ? [] : [{ type: 'text_delta', text: block.text }]),
          ...listOf(block.citations).map((citation) => ({ type: 'citations_delta', citation })),
        ],
      }
    case 'thinking':
      return {
        start: { ...block, thinking: '', signature: '' },
        deltas: [
          { type: 'thinking_delta', thinking: textOf(block.thinking) },
          { type: 'signature_delta', signature: textOf(block.signature) },
        ],
      }
    case 'tool_use':
    case 'server_tool_use':
      return {
        start: { ...block, input: {} },
        deltas: [
          { type: 'input_json_delta', partial_json: '' },
          { type: 'input_json_delta', partial_json: json.stringify(block.input ?? {}) },
        ],
      }
    default:
      return { start: block, deltas: [] }
  }
}

/** Assembles the message from the events of a stream. */
type Collector = {
  readonly add: (event: StreamEvent) => void
  readonly message: () => Fields
  /** Whether the input of every call is valid JSON. */
  readonly isReadable: () => boolean
}

export function createCollector(json: Json = JSON): Collector {
  let message: Fields = {}
  /** By index; an upstream may send any number. */
  const blocks = new Map<number, BlockInMaking>()
  return {
    add(event) {
      const index = Number(event.index)
      if (event.type === 'message_start') message = fieldsOf(event.message)
      if (event.type === 'content_block_start')
        blocks.set(index, { block: fieldsOf(event.content_block), json: '' })
      if (event.type === 'content_block_delta') grow(blocks.get(index), fieldsOf(event.delta))
      if (event.type === 'message_delta') {
        const counted = Object.entries(fieldsOf(event.usage)).filter(([, count]) => count !== null)
        const usage = { ...fieldsOf(message.usage), ...Object.fromEntries(counted) }
        message = { ...message, ...omitFields(event, 'type', 'delta'), ...fieldsOf(event.delta), usage }
      }
    },
    message: () => ({
      ...message,
      content: [...blocks]
        .sort(([one], [other]) => one - other)
        .map(([, making]) => finishBlock(making, json)),
    }),
    isReadable: () => [...blocks.values()].every(({ json }) => inputOf(json) !== undefined),
  }
}

export type BlockInMaking = { block: Fields; json: string }

export function grow(making: BlockInMaking | undefined, delta: Fields): void {
  if (!making) return
  const { block } = making
  if (delta.type === 'input_json_delta') making.json += textOf(delta.partial_json)
  if (delta.type === 'text_delta') making.block = { ...block, text: textOf(block.text) + textOf(delta.text) }
  if (delta.type === 'thinking_delta')
    making.block = { ...block, thinking: textOf(block.thinking) + textOf(delta.thinking) }
  if (delta.type === 'signature_delta')
    making.block = { ...block, signature: textOf(block.signature) + textOf(delta.signature) }
  if (delta.type === 'citations_delta')
    making.block = { ...block, citations: [...listOf(block.citations), delta.citation] }
  if (delta.type === 'compaction_delta') making.block = { ...block, ...omitFields(delta, 'type') }
}

/** Returns the complete block; input that was cut off becomes an empty object. */
export function finishBlock({ block, json }: BlockInMaking, { parse }: Json = JSON): Fields {
  return json === '' ? block : { ...block, input: inputOf(json, parse) ?? {} }
}

/** Parses a call's input; undefined if the text is not a JSON object. */
export function inputOf(json: string, parse: Json['parse'] = JSON.parse): Fields | undefined {
  if (json.trim() === '') return {}
  try {
    const value: unknown = parse(json)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}
