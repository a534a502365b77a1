// Converts chat completion chunks to Messages stream events. Servers differ: calls may lack an id or index, arrive whole
// or in pieces, in sequence or interleaved; the blocks of the reply always come in sequence.
import { randomUUID } from 'node:crypto'
import { inputOf } from '../../core/index.ts'
import { type Fields, fieldsOf, isFields, listOf, textOf, toJson } from '../../lib/index.ts'
import type { MessagesRequest, StreamEvent } from '../types.ts'
import { usageApart } from '../usage.ts'
import type { Dialect } from './dialects.ts'
import { UpstreamError } from './http.ts'
import { errorTextOf, namesOf } from './openai.ts'
import { asksForThinking, type Thoughts } from './thoughts.ts'

/** Converts the chunks of one reply. */
export type ChatReply = {
  /** Returns the events for a chunk; a complete, unstreamed completion counts as one chunk. */
  add(chunk: unknown): Generator<StreamEvent>
  /** Returns the final events. `isMarked` says whether the server marked the end of the stream. */
  end(isMarked: boolean): Generator<StreamEvent>
}

type Text = { readonly kind: 'text'; waiting: string; opened: boolean }
/** A thinking block, with the data that the call after it needs. */
type Thinking = { readonly kind: 'thinking'; readonly kept: Fields; waiting: string; opened: boolean }
type ToolCall = {
  readonly kind: 'tool_use'
  readonly index: unknown
  readonly id: string
  name: string
  json: string
  waiting: string
  opened: boolean
}
type Block = Text | Thinking | ToolCall

export function createReply(
  request: MessagesRequest,
  dialect: Dialect,
  thoughts: Thoughts,
  isChatClient = false,
): ChatReply {
  const { wantsReasoning, wantsExtraContent } = dialect
  const names = namesOf(request.tools)
  const newId = idsFor(request, wantsReasoning || wantsExtraContent)
  // Clients of this API expect to see whatever the model thinks.
  const hasThinking = asksForThinking(request) || wantsReasoning || isChatClient
  const calls: ToolCall[] = []
  /** Unfinished blocks; only the first may have been started in the output. */
  const queue: Block[] = []
  let index = 0
  let started = false
  let finish = ''
  let refusal = ''
  let stopSequence: string | null = null
  let usage: Fields = {}

  function* start(chunk: Fields): Generator<StreamEvent> {
    if (started) return
    started = true
    yield {
      type: 'message_start',
      message: {
        id: `msg_${newDigits()}`,
        type: 'message',
        role: 'assistant',
        model: textOf(chunk.model) || request.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: usageOf(usage),
      },
    }
  }

  function say(kind: 'text' | 'thinking', text: string): void {
    if (text === '') return
    const last = queue.at(-1)
    if (last?.kind === kind) last.waiting += text
    else queue.push({ kind, kept: {}, waiting: text, opened: false })
  }

  /** Stores data that the server needs back with a call in a thinking block before the call. */
  function keep(extra: Fields | undefined): void {
    if (wantsExtraContent && extra)
      queue.push({ kind: 'thinking', kept: { extra }, waiting: '', opened: false })
  }

  function call(piece: Piece): void {
    const known = callOf(piece, calls)
    // Some servers repeat a complete call at the end.
    if (known && piece.name !== '' && isWhole(known)) return
    const call = known ?? { ...piece, kind: 'tool_use', json: '', waiting: '', opened: false }
    if (!known) {
      keep(piece.extra)
      calls.push(call)
      queue.push(call)
    }
    call.name ||= piece.name
    call.json += piece.json
    call.waiting += piece.json
  }

  /** Emits what is ready; a block stays open until it is complete and another one waits. */
  function* flush(isEnd: boolean): Generator<StreamEvent> {
    for (let block = queue[0]; block; block = queue[0]) {
      const hasEnded = isEnd || (queue.length > 1 && isWhole(block))
      if (isReady(block)) yield* emit(block)
      if (!hasEnded) return
      if (block.opened) yield* ended(block)
      queue.shift()
    }
  }

  const delta = (fields: Fields) => ({ type: 'content_block_delta', index, delta: fields })

  function* ended(block: Block): Generator<StreamEvent> {
    if (block.kind === 'thinking')
      yield delta({ type: 'signature_delta', signature: thoughts.sign(block.kept) })
    yield { type: 'content_block_stop', index: index++ }
  }

  function* emit(block: Block): Generator<StreamEvent> {
    if (!block.opened) {
      block.opened = true
      yield { type: 'content_block_start', index, content_block: opening(block) }
      if (block.kind === 'tool_use') yield delta(fragment(block.kind, ''))
    }
    if (block.waiting !== '') yield delta(fragment(block.kind, block.waiting))
    block.waiting = ''
  }

  function opening(block: Block): Fields {
    if (block.kind === 'tool_use')
      return { type: 'tool_use', id: newId(block.id), name: names.long(block.name), input: {} }
    return block.kind === 'text'
      ? { type: 'text', text: '' }
      : { type: 'thinking', thinking: '', signature: '' }
  }

  function stopReason(): string {
    if (finish === 'length') return 'max_tokens'
    if (finish === 'content_filter' || refusal !== '') return 'refusal'
    if (calls.length > 0) return 'tool_use'
    return stopSequence === null ? 'end_turn' : 'stop_sequence'
  }

  return {
    *add(value) {
      const chunk = fieldsOf(value)
      const choice = fieldsOf(listOf(chunk.choices)[0])
      throwError(chunk, choice)
      usage = { ...usage, ...fieldsOf(choice.usage), ...fieldsOf(chunk.usage) }
      yield* start(chunk)
      const delta = fieldsOf(choice.delta ?? choice.message)
      if (hasThinking) say('thinking', textOf(delta.reasoning_content) || textOf(delta.reasoning))
      say('text', contentText(delta.content))
      refusal += textOf(delta.refusal)
      say('text', textOf(delta.refusal))
      for (const piece of piecesOf(delta)) call(piece)
      finish = textOf(choice.finish_reason) || finish
      if (listOf(request.stop_sequences).includes(choice.stop_reason))
        stopSequence = textOf(choice.stop_reason)
      yield* flush(false)
    },
    *end(isMarked) {
      if (finish === '' && !isMarked)
        throw new UpstreamError("the upstream's reply broke off before its end. Try again.")
      if (calls.some(({ name }) => name === ''))
        throw new UpstreamError(
          'the upstream sent a tool call without a name. Try again, or use another model.',
        )
      yield* start({})
      yield* flush(true)
      const delta = { stop_reason: stopReason(), stop_sequence: stopSequence }
      yield { type: 'message_delta', delta, usage: usageOf(usage) }
      yield { type: 'message_stop' }
    },
  }
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

/** A call or a fragment of one. */
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
  if (block.opened) return true
  if (block.kind === 'tool_use') return block.name !== ''
  return block.waiting.trim() !== '' || (block.kind === 'thinking' && 'extra' in block.kept)
}

function fragment(kind: Block['kind'], text: string): Fields {
  if (kind === 'text') return { type: 'text_delta', text }
  if (kind === 'thinking') return { type: 'thinking_delta', thinking: text }
  return { type: 'input_json_delta', partial_json: text }
}

/** Chooses call ids: the server's if the Messages API accepts it and the conversation does not contain it yet. */
function idsFor({ messages }: MessagesRequest, isAlwaysNew: boolean): (id: string) => string {
  const blocks = listOf(messages).flatMap((message) => listOf(fieldsOf(message).content))
  const taken = new Set(blocks.map((block) => fieldsOf(block).id))
  return (id) => {
    const isTaken = isAlwaysNew || taken.has(id) || !/^[\w-]+$/.test(id)
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
