// The chunks of a chat completion as the events of a Messages reply. Servers differ: calls may lack an id or an index,
// come whole or in pieces, one after the other or mixed; the reply has its blocks one after the other all the same.
import { randomUUID } from 'node:crypto'
import { inputOf } from '../../core/index.ts'
import { type Fields, fieldsOf, isFields, listOf, textOf, toJson } from '../../lib/index.ts'
import type { MessagesRequest, StreamEvent } from '../types.ts'
import { usageApart } from '../usage.ts'
import type { Dialect } from './dialects.ts'
import { UpstreamError } from './http.ts'
import { errorTextOf, namesOf } from './openai.ts'
import { asksForThinking, type Thoughts } from './thoughts.ts'

/** A reply in the making. */
export type ChatReply = {
  /** The events that a chunk brings; a whole completion is a single chunk. */
  add(chunk: unknown): Generator<StreamEvent>
  /** The events at the end; `told` where the server said that it is one. */
  end(told: boolean): Generator<StreamEvent>
}

type Text = { readonly kind: 'text'; waiting: string; opened: boolean }
/** Thinking, with what it carries for the call behind it. */
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

export function createReply(request: MessagesRequest, dialect: Dialect, thoughts: Thoughts): ChatReply {
  const { wantsReasoning, wantsExtraContent } = dialect
  const names = namesOf(request.tools)
  const newId = idsFor(request, wantsReasoning || wantsExtraContent)
  const hasThinking = asksForThinking(request) || wantsReasoning
  const calls: ToolCall[] = []
  /** Blocks that have not ended; only the first one may be open. */
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

  /** What the server wants back with a call stands in front of it. */
  function keep(extra: Fields | undefined): void {
    if (wantsExtraContent && extra)
      queue.push({ kind: 'thinking', kept: { extra }, waiting: '', opened: false })
  }

  function call(piece: Piece): void {
    const known = callOf(piece, calls)
    // Some servers say a whole call again at the end.
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

  /** What can be told of the blocks: a block is open until it is whole and another one waits. */
  function* flush(isEnd: boolean): Generator<StreamEvent> {
    for (let block = queue[0]; block; block = queue[0]) {
      const hasEnded = isEnd || (queue.length > 1 && isWhole(block))
      if (isReady(block)) yield* told(block)
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

  function* told(block: Block): Generator<StreamEvent> {
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
    *end(told) {
      if (finish === '' && !told)
        throw new UpstreamError('the reply of the upstream broke off before its end. Try again.')
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

/** Some servers give a list of parts. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map((part) => textOf(fieldsOf(part).text))
    .join('')
}

/** A piece of a call, or a whole one. */
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

/** The call that a piece belongs to; undefined where it begins one. */
function callOf(piece: Piece, calls: readonly ToolCall[]): ToolCall | undefined {
  const { index, id, name, json } = piece
  const sameIndex = (call: ToolCall) => index === undefined || call.index === index
  const alike = calls.findLast((call) => sameIndex(call) && (id === '' || call.id === '' || call.id === id))
  // Without a name it begins nothing, whatever its id and index say.
  if (name === '') return alike ?? calls.findLast(sameIndex) ?? calls.at(-1)
  if (!alike || alike.name === '' || (id !== '' && alike.id === id)) return alike
  // A name again: of the same call by servers that repeat it, of the next one by those that count nothing.
  const isNext = alike.name !== name || (isWhole(alike) && json.trim() !== '' && json !== alike.json)
  return isNext ? undefined : alike
}

/** Nothing can follow in it: a text as soon as another block comes, a call when its input is an object. */
function isWhole(block: Block): boolean {
  if (block.kind !== 'tool_use') return true
  return block.json.trimEnd().endsWith('}') && inputOf(block.json) !== undefined
}

/** Blank text before calls is no text, and the API would not take it back. */
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

/** Ids for calls: the server's own where the Messages API would take it and the conversation has it not yet. */
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

/** Chat counts what came from a cache as part of the prompt. */
function usageOf(usage: Fields): Fields {
  const { cached_tokens: cached } = fieldsOf(usage.prompt_tokens_details)
  const read = cached ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens
  return usageApart(usage.prompt_tokens, read, usage.completion_tokens)
}
