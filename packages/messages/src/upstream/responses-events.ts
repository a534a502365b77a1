// Converts Responses stream events to Messages stream events. A complete response is treated as its final event.
import { type Fields, fieldsOf, listOf, textOf, toJson } from '@toolshelf/core/internal'
import type { StreamEvent } from '../types.ts'
import { usageApart } from '../usage.ts'
import { UpstreamError } from './http.ts'
import { callItemsIn, type NativeTools, toolTypeOf } from './native-tools.ts'
import { deltaOf, errorTextOf, messageStart, type Names, REFUSAL_BLOCK, REFUSAL_DETAILS } from './openai.ts'
import { thoughtOf } from './responses-request.ts'
import { citationsOf, keepItem, type Thoughts } from './thoughts.ts'

/** What the conversion needs of the request. */
type ReplyContext = {
  readonly model: string
  readonly names: Names
  readonly searchName: string | undefined
  readonly thoughts: Thoughts
  /** The client's own tools, if it speaks this API. */
  readonly native?: NativeTools | undefined
}

/** Converts the events of one reply. */
export async function* toMessageEvents(
  events: AsyncIterable<Fields>,
  context: ReplyContext,
): AsyncGenerator<StreamEvent> {
  const reply = createReply(context)
  for await (const event of events) if (!reply.isOver()) yield* reply.read(event)
  if (!reply.isOver())
    throw new UpstreamError('the upstream ended its reply before it was complete. Try again.')
}

/** A content block being built: it starts as `start`, and `text` is its content so far. */
type Piece = {
  readonly key: string
  readonly start: Fields
  readonly text: string
  /** A thinking block's signature, sent at its end. */
  readonly signature?: string
  /** What a text cites, sent at its end. */
  readonly citations?: readonly Fields[]
}

function createReply(context: ReplyContext) {
  const blocks = createBlocks()
  let isStarted = false
  let isOver = false
  let isRefused = false

  const start = (response: Fields): StreamEvent[] => {
    if (isStarted) return []
    isStarted = true
    const id = `msg_${textOf(response.id).replace(/^resp_/, '')}`
    const model = textOf(response.model) || context.model
    return [messageStart(id, model, { input_tokens: 0, output_tokens: 0 })]
  }
  const finish = (pieces: readonly Piece[]) => pieces.flatMap(blocks.finish)

  const end = (response: Fields): StreamEvent[] => {
    isOver = true
    const items = blocks.count() === 0 ? listOf(response.output).map(fieldsOf) : []
    isRefused ||= items.some(hasRefusal)
    return [
      ...start(response),
      ...finish(items.flatMap((item, index) => piecesOf(item, index, context))),
      ...blocks.end(),
      messageDelta(response, { isRefused, hasCalled: blocks.hasCalled() }),
      { type: 'message_stop' },
    ]
  }

  const read = (event: Fields): StreamEvent[] => {
    const { delta } = event
    const index = toJson(event.output_index)
    const part = toJson(event.content_index)
    const item = fieldsOf(event.item)
    switch (event.type) {
      case 'response.created':
        return start(fieldsOf(event.response))
      case 'response.output_item.added':
        blocks.forget(index)
        return [...start({}), ...callPieces(item, index, context).filter(isCallable).flatMap(blocks.begin)]
      case 'response.output_text.delta':
      case 'response.refusal.delta': {
        isRefused ||= event.type === 'response.refusal.delta'
        if (textOf(delta) === '') return []
        const piece = textPiece(index, part, '', event.type === 'response.refusal.delta')
        return [...start({}), ...blocks.begin(piece), ...blocks.add(piece.key, textOf(delta))]
      }
      case 'response.function_call_arguments.delta':
        return blocks.add(String(index), textOf(delta))
      case 'response.content_part.done':
        return [...start({}), ...finish(partPieces(fieldsOf(event.part), index, part))]
      case 'response.output_item.done':
        isRefused ||= hasRefusal(item)
        return [...start({}), ...finish(piecesOf(item, index, context))]
      case 'response.completed':
      case 'response.incomplete':
        return end(fieldsOf(event.response))
      case 'error':
      case 'response.failed':
        throw new UpstreamError(failureIn(event))
      default:
        return []
    }
  }
  return { read, isOver: () => isOver }
}

/** Emits blocks in sequence, as Anthropic does, whatever the order of the item events. */
function createBlocks() {
  const sent = new Set<string>()
  const waiting: Piece[] = []
  let open: Piece | undefined
  let index = 0
  let hasCalled = false

  const begin = (piece: Piece): StreamEvent[] => {
    if (open || sent.has(piece.key)) return []
    open = { ...piece, text: '' }
    const isCall = piece.start.type === 'tool_use'
    hasCalled ||= isCall
    return [
      { type: 'content_block_start', index, content_block: piece.start },
      ...(isCall ? [deltaEvent(index, piece, '')] : []),
    ]
  }
  const add = (key: string, text: string): StreamEvent[] => {
    if (open?.key !== key || text === '') return []
    open = { ...open, text: open.text + text }
    return [deltaEvent(index, open, text)]
  }
  const close = (): StreamEvent[] => {
    if (!open) return []
    const { key, signature, citations = [] } = open
    sent.add(key)
    open = undefined
    const signed = { type: 'signature_delta', signature }
    const cited = citations.map((citation) => ({ type: 'citations_delta', citation }))
    return [
      ...(signature === undefined ? cited : [signed]).map((delta) => ({
        type: 'content_block_delta',
        index,
        delta,
      })),
      { type: 'content_block_stop', index: index++ },
    ]
  }
  const whole = (piece: Piece) => {
    const said = open?.key === piece.key ? open.text : ''
    const rest = piece.text.startsWith(said) ? piece.text.slice(said.length) : ''
    const events = [...begin(piece), ...add(piece.key, rest)]
    // An open text does not know yet what it cites.
    if (open && piece.citations) open = { ...open, citations: piece.citations }
    return [...events, ...close()]
  }
  const finish = (piece: Piece): StreamEvent[] => {
    if (sent.has(piece.key)) return []
    if (open && open.key !== piece.key) {
      waiting.push(piece)
      return []
    }
    return [...whole(piece), ...waiting.splice(0).flatMap(whole)]
  }
  return {
    /** Opens a block; if another one is open, the block is sent whole later. */
    begin,
    add,
    /** Ends a block and sends what its deltas have not. */
    finish,
    end: () => [...close(), ...waiting.splice(0).flatMap(whole)],
    /** Forgets an item index that is reused: some servers do not count their items. */
    forget(item: unknown) {
      for (const key of sent) if (key === String(item) || key.startsWith(`${item}.`)) sent.delete(key)
    },
    count: () => index + (open ? 1 : 0),
    hasCalled: () => hasCalled,
  }
}

function deltaEvent(index: number, { start }: Piece, text: string): StreamEvent {
  return { type: 'content_block_delta', index, delta: deltaOf(start.type, text) }
}

/** The blocks of a complete item; items of OpenAI's hosted tools have none, unless the client speaks this API. */
function piecesOf(item: Fields, index: unknown, context: ReplyContext): Piece[] {
  if (item.type === 'reasoning') return reasoningPieces(item, index, context)
  if (item.type === 'message')
    return listOf(item.content).flatMap((part, place) => partPieces(fieldsOf(part), index, place))
  const calls = callPieces(item, index, context)
  if (!calls.every(isCallable)) throw new UpstreamError('the upstream called a tool without a name or an id.')
  return calls.length === 0 && context.native?.isNative ? [hostedPiece(item, index)] : calls
}

/** The item of a tool that OpenAI runs, kept for a client that knows such items. */
function hostedPiece(item: Fields, index: unknown): Piece {
  const { signature } = keepItem(item)
  const start = { type: 'thinking', thinking: '', signature: '' }
  return { key: `${index}.item`, start, text: '', signature: textOf(signature) }
}

function reasoningPieces(item: Fields, index: unknown, { thoughts }: ReplyContext): Piece[] {
  const thought = thoughtOf(item, thoughts)
  const start = { type: 'thinking', thinking: '', signature: '' }
  return thought ? [{ key: `${index}.reasoning`, start, ...thought }] : []
}

function partPieces(part: Fields, index: unknown, place: unknown): Piece[] {
  const text = textOf(part.text) || textOf(part.refusal)
  const piece = textPiece(index, place, text, part.type === 'refusal')
  return text === '' ? [] : [{ ...piece, citations: citationsOf(part.annotations, text) }]
}

function textPiece(index: unknown, place: unknown, text: string, isRefusal: boolean): Piece {
  return { key: `${index}.${place}`, start: isRefusal ? REFUSAL_BLOCK : { type: 'text', text: '' }, text }
}

/** The blocks of a call. Only the finished item of a search has its final id and arguments. */
function callPieces(item: Fields, index: unknown, context: ReplyContext): Piece[] {
  const { names, searchName, native } = context
  const { type, status, arguments: input } = item
  const id = textOf(item.call_id) || textOf(item.id)
  const namespace = textOf(item.namespace)
  if (type === 'function_call') {
    const own = native?.insideName(namespace, textOf(item.name))
    // Names are sent without dots, so anything before a dot is a namespace.
    const name = own ?? names.long(textOf(item.name).replace(/^.*\./, ''))
    return [{ key: String(index), start: { type: 'tool_use', id, name, input: {} }, text: json(input) }]
  }
  const items = callItemsIn(textOf(type))
  if (items && !textOf(type).endsWith('_output')) {
    const called = textOf(item.name) || toolTypeOf(items)
    const name = native?.insideName(namespace, called) ?? called
    const start = { type: 'tool_use', id, name, input: {} }
    return [{ key: String(index), start, text: json(items.toInput(item)) }]
  }
  if (type !== 'tool_search_call' || item.execution === 'server' || status === 'in_progress') return []
  const start = { type: 'tool_use', id, name: searchName ?? 'tool_search', input: {} }
  return [{ key: String(index), start, text: json(input) }]
}

function isCallable({ start }: Piece): boolean {
  return start.id !== '' && start.name !== ''
}

function json(input: unknown): string {
  return typeof input === 'string' ? input : toJson(input ?? {})
}

function hasRefusal({ content }: Fields): boolean {
  return listOf(content).some((part) => fieldsOf(part).type === 'refusal')
}

type Ending = { readonly isRefused: boolean; readonly hasCalled: boolean }

function messageDelta(response: Fields, ending: Ending): StreamEvent {
  const details = ending.isRefused ? { stop_details: REFUSAL_DETAILS } : {}
  const delta = { stop_reason: stopReason(response, ending), stop_sequence: null, ...details }
  return { type: 'message_delta', delta, usage: usageOf(fieldsOf(response.usage)) }
}

function stopReason(response: Fields, { isRefused, hasCalled }: Ending): string {
  const { reason } = fieldsOf(response.incomplete_details)
  if (reason === 'max_output_tokens') return 'max_tokens'
  if (reason === 'content_filter' || isRefused) return 'refusal'
  return hasCalled ? 'tool_use' : 'end_turn'
}

function usageOf(usage: Fields): Fields {
  const { cached_tokens: cached } = fieldsOf(usage.input_tokens_details)
  return usageApart(usage.input_tokens, cached, usage.output_tokens)
}

function failureIn(event: Fields): string {
  const said = errorTextOf(event.response) || errorTextOf(event)
  return `the upstream ended its reply with an error${said === '' ? '' : `: ${said}`}`
}
