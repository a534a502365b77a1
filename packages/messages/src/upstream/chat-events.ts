// Converts chat completion chunks to Messages stream events. Servers differ: calls may lack an id or index, arrive whole
// or in pieces, in sequence or interleaved; the blocks of the reply always come in sequence.
import { randomUUID } from 'node:crypto'
import { type Fields, fieldsOf, inputOf, isFields, listOf, textOf, toJson } from '@toolshelf/core/internal'
import type { MessagesRequest, StreamEvent } from '../types.ts'
import { usageApart } from '../usage.ts'
import type { Dialect } from './dialects.ts'
import { UpstreamError } from './http.ts'
import { deltaOf, errorTextOf, messageStart, namesOf, REFUSAL_BLOCK, REFUSAL_DETAILS } from './openai.ts'
import { asksForThinking, citationsOf, type Thoughts } from './thoughts.ts'

type Text = {
  readonly kind: 'text' | 'refusal'
  waiting: string
  isOpened: boolean
  /** All of it, for its citations. */
  whole: string
  readonly annotations: unknown[]
}
/** A thinking block, with the data that the call after it needs. */
type Thinking = { readonly kind: 'thinking'; readonly kept: Fields; waiting: string; isOpened: boolean }
type ToolCall = {
  readonly kind: 'tool_use'
  readonly index: unknown
  readonly id: string
  name: string
  json: string
  waiting: string
  isOpened: boolean
}
type Block = Text | Thinking | ToolCall

export class ChatReply {
  readonly #request: MessagesRequest
  readonly #hasThinking: boolean
  readonly #blocks: BlockQueue
  #isStarted = false
  #finish = ''
  #isRefused = false
  #stopSequence: string | null = null
  #usage: Fields = {}

  constructor(request: MessagesRequest, dialect: Dialect, thoughts: Thoughts, isChatClient = false) {
    this.#request = request
    // Clients of this API expect to see whatever the model thinks.
    this.#hasThinking = asksForThinking(request) || dialect.wantsReasoning || isChatClient
    this.#blocks = new BlockQueue(request, dialect, thoughts)
  }

  /** Returns the events for a chunk; a complete, unstreamed completion counts as one chunk. */
  *add(value: unknown): Generator<StreamEvent> {
    const blocks = this.#blocks
    const chunk = fieldsOf(value)
    const choice = fieldsOf(listOf(chunk.choices)[0])
    throwError(chunk, choice)
    this.#usage = { ...this.#usage, ...fieldsOf(choice.usage), ...fieldsOf(chunk.usage) }
    yield* this.#start(chunk)
    const delta = fieldsOf(choice.delta ?? choice.message)
    if (this.#hasThinking) blocks.say('thinking', textOf(delta.reasoning_content) || textOf(delta.reasoning))
    blocks.say('text', contentText(delta.content))
    blocks.annotate(delta.annotations)
    this.#isRefused ||= textOf(delta.refusal) !== ''
    blocks.say('refusal', textOf(delta.refusal))
    for (const piece of piecesOf(delta)) blocks.call(piece)
    this.#finish = textOf(choice.finish_reason) || this.#finish
    if (listOf(this.#request.stop_sequences).includes(choice.stop_reason))
      this.#stopSequence = textOf(choice.stop_reason)
    yield* blocks.flush(false)
  }

  /** Returns the final events. `isMarked` says whether the server marked the end of the stream. */
  *end(isMarked: boolean): Generator<StreamEvent> {
    if (this.#finish === '' && !isMarked)
      throw new UpstreamError("the upstream's reply broke off before its end. Try again.")
    if (this.#blocks.calls.some(({ name }) => name === ''))
      throw new UpstreamError(
        'the upstream sent a tool call without a name. Try again, or use another model.',
      )
    yield* this.#start({})
    yield* this.#blocks.flush(true)
    const delta = {
      stop_reason: this.#stopReason(),
      stop_sequence: this.#stopSequence,
      ...(this.#isRefused ? { stop_details: REFUSAL_DETAILS } : {}),
    }
    yield { type: 'message_delta', delta, usage: usageOf(this.#usage) }
    yield { type: 'message_stop' }
  }

  *#start(chunk: Fields): Generator<StreamEvent> {
    if (this.#isStarted) return
    this.#isStarted = true
    const model = textOf(chunk.model) || this.#request.model
    yield messageStart(`msg_${newDigits()}`, model, usageOf(this.#usage))
  }

  #stopReason(): string {
    if (this.#finish === 'length') return 'max_tokens'
    if (this.#finish === 'content_filter' || this.#isRefused) return 'refusal'
    if (this.#blocks.calls.length > 0) return 'tool_use'
    return this.#stopSequence === null ? 'end_turn' : 'stop_sequence'
  }
}

/** Brings the blocks of a reply into sequence. */
class BlockQueue {
  readonly calls: ToolCall[] = []
  readonly #wantsExtraContent: boolean
  readonly #thoughts: Thoughts
  readonly #names: ReturnType<typeof namesOf>
  readonly #newId: (id: string) => string
  /** Unfinished blocks; only the first may have been started in the output. */
  readonly #queue: Block[] = []
  #index = 0

  constructor(request: MessagesRequest, { wantsReasoning, wantsExtraContent }: Dialect, thoughts: Thoughts) {
    this.#wantsExtraContent = wantsExtraContent
    this.#thoughts = thoughts
    this.#names = namesOf(request.tools)
    this.#newId = idsFor(request, wantsReasoning || wantsExtraContent)
  }

  say(kind: 'text' | 'refusal' | 'thinking', text: string): void {
    if (text === '') return
    const last = this.#queue.at(-1)
    if (last?.kind === kind) last.waiting += text
    else if (kind === 'thinking') this.#queue.push({ kind, kept: {}, waiting: text, isOpened: false })
    else this.#queue.push({ kind, whole: '', annotations: [], waiting: text, isOpened: false })
    const block = this.#queue.at(-1)
    if (block && isText(block)) block.whole += text
  }

  /** Annotations come with or after their text. */
  annotate(annotations: unknown): void {
    const text = this.#queue.findLast(isText)
    text?.annotations.push(...listOf(annotations))
  }

  call(piece: Piece): void {
    const known = callOf(piece, this.calls)
    // Some servers repeat a complete call at the end.
    if (known && piece.name !== '' && isWhole(known)) return
    const call = known ?? { ...piece, kind: 'tool_use', json: '', waiting: '', isOpened: false }
    if (!known) {
      this.#keep(piece.extra)
      this.calls.push(call)
      this.#queue.push(call)
    }
    call.name ||= piece.name
    call.json += piece.json
    call.waiting += piece.json
  }

  /** Emits what is ready; a block stays open until it is complete and another one waits. */
  *flush(isEnd: boolean): Generator<StreamEvent> {
    const queue = this.#queue
    for (let block = queue[0]; block; block = queue[0]) {
      const hasEnded = isEnd || (queue.length > 1 && isWhole(block))
      if (isReady(block)) yield* this.#emit(block)
      if (!hasEnded) return
      if (block.isOpened) yield* this.#ended(block)
      queue.shift()
    }
  }

  /** Stores data that the server needs back with a call in a thinking block before the call. */
  #keep(extra: Fields | undefined): void {
    if (this.#wantsExtraContent && extra)
      this.#queue.push({ kind: 'thinking', kept: { extra }, waiting: '', isOpened: false })
  }

  *#emit(block: Block): Generator<StreamEvent> {
    if (!block.isOpened) {
      block.isOpened = true
      yield { type: 'content_block_start', index: this.#index, content_block: this.#opening(block) }
      if (block.kind === 'tool_use') yield this.#delta(deltaOf(block.kind, ''))
    }
    if (block.waiting !== '') yield this.#delta(deltaOf(isText(block) ? 'text' : block.kind, block.waiting))
    block.waiting = ''
  }

  *#ended(block: Block): Generator<StreamEvent> {
    if (isText(block))
      for (const citation of citationsOf(block.annotations, block.whole))
        yield this.#delta({ type: 'citations_delta', citation })
    if (block.kind === 'thinking')
      yield this.#delta({ type: 'signature_delta', signature: this.#thoughts.sign(block.kept) })
    yield { type: 'content_block_stop', index: this.#index++ }
  }

  #delta(fields: Fields): StreamEvent {
    return { type: 'content_block_delta', index: this.#index, delta: fields }
  }

  #opening(block: Block): Fields {
    if (block.kind === 'tool_use')
      return { type: 'tool_use', id: this.#newId(block.id), name: this.#names.long(block.name), input: {} }
    if (block.kind === 'thinking') return { type: 'thinking', thinking: '', signature: '' }
    return block.kind === 'refusal' ? REFUSAL_BLOCK : { type: 'text', text: '' }
  }
}

function isText(block: Block): block is Text {
  return block.kind === 'text' || block.kind === 'refusal'
}

function throwError(chunk: Fields, choice: Fields): void {
  const error = chunk.error ?? choice.error ?? (choice.finish_reason === 'error' ? {} : undefined)
  if (error === undefined || error === null) return
  throw new UpstreamError(
    errorTextOf(error) || 'the upstream ended its reply with an error and no reason. Try again.',
  )
}

/** Text content, which some servers send as a list of parts. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map((part) => textOf(fieldsOf(part).text))
    .join('')
}

type Piece = {
  readonly index: unknown
  readonly id: string
  readonly name: string
  readonly json: string
  readonly extra: Fields | undefined
}

function piecesOf({ tool_calls, function_call }: Fields): Piece[] {
  const pieces = function_call ? [{ function: function_call }] : listOf(tool_calls)
  return pieces.map(fieldsOf).map(({ index, id, function: called, extra_content: extra }) => {
    const { name, arguments: input } = fieldsOf(called)
    const json = typeof input === 'string' ? input : input ? toJson(input) : ''
    const given = isFields(extra) ? extra : undefined
    return { index: index ?? undefined, id: textOf(id), name: textOf(name), json, extra: given }
  })
}

/** The call that a piece belongs to; undefined if it starts a new one. */
function callOf(piece: Piece, calls: readonly ToolCall[]): ToolCall | undefined {
  const { index, id, name, json } = piece
  const sameIndex = (call: ToolCall) => index === undefined || call.index === index
  const alike = calls.findLast((call) => sameIndex(call) && (id === '' || call.id === '' || call.id === id))
  // A piece without a name never starts a call, whatever its id and index.
  if (name === '') return alike ?? calls.findLast(sameIndex) ?? calls.at(-1)
  if (!alike || alike.name === '' || (id !== '' && alike.id === id)) return alike
  // A repeated name: some servers repeat it within a call; for servers without indexes it starts the next call.
  const isNext = alike.name !== name || (isWhole(alike) && json.trim() !== '' && json !== alike.json)
  return isNext ? undefined : alike
}

/** Whether a block is complete: text once another block follows, a call once its input is an object. */
function isWhole(block: Block): boolean {
  if (block.kind !== 'tool_use') return true
  return block.json.trimEnd().endsWith('}') && inputOf(block.json) !== undefined
}

/** Whether a block may be started; blank text before calls is dropped, because the API would refuse it later. */
function isReady(block: Block): boolean {
  if (block.isOpened) return true
  if (block.kind === 'tool_use') return block.name !== ''
  return block.waiting.trim() !== '' || (block.kind === 'thinking' && 'extra' in block.kept)
}

/** Chooses call ids: the server's if the Messages API accepts it and the conversation does not contain it yet. */
function idsFor({ messages }: MessagesRequest, isAlwaysNew: boolean): (id: string) => string {
  const blocks = listOf(messages).flatMap((message) => listOf(fieldsOf(message).content))
  const taken = new Set(blocks.map((block) => fieldsOf(block).id))
  return (id) => {
    const isTaken = isAlwaysNew || taken.has(id) || id === '' || /[^\w-]/.test(id)
    const fresh = !isTaken ? id : `toolu_${newDigits()}`
    taken.add(fresh)
    return fresh
  }
}

function newDigits(): string {
  return randomUUID().replaceAll('-', '').slice(0, 24)
}

/** Converts usage; Chat Completions counts cached tokens as part of the prompt. */
function usageOf(usage: Fields): Fields {
  const { cached_tokens: cached } = fieldsOf(usage.prompt_tokens_details)
  const read = cached ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens
  return usageApart(usage.prompt_tokens, read, usage.completion_tokens)
}
