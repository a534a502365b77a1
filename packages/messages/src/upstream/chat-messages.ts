// Converts messages to the Chat Completions format: each call is answered directly after it, text is one string, and
// nothing that the model could use is lost.
import {
  type Fields,
  fieldsOf,
  hash,
  isFields,
  listOf,
  textOf,
  toJson,
  withoutCacheControl,
} from '@toolshelf/core/internal'
import { stringifyExact } from '../json/exact.ts'
import type { MessagesRequest } from '../types.ts'
import type { Dialect } from './dialects.ts'
import { type Names, systemText } from './openai.ts'
import type { Thoughts } from './thoughts.ts'

type Context = Dialect & { readonly names: Names; readonly thoughts: Thoughts }

type Turn = { readonly role: string; readonly blocks: readonly Fields[] }

/** Converts the system prompt and the messages. */
export function toMessages(request: MessagesRequest, context: Context): Fields[] {
  const system = systemText(request.system)
  const turns = turnsOf(listOf(request.messages), context)
  return [
    ...(system === '' ? [] : [{ role: 'system', content: system }]),
    ...turns.flatMap((turn, index) => {
      if (turn.role === 'assistant') return fromAssistant(turn, turns[index + 1], context)
      if (turn.role === 'system') return [{ role: 'system', content: systemText(turn.blocks) }]
      return fromUser(turn, turns[index - 1], context)
    }),
  ]
}

/** Merges consecutive messages of one role into turns, as the Messages API does; drops empty ones. */
function turnsOf(messages: readonly unknown[], { takesSystemAnywhere, thoughts }: Context): Turn[] {
  const turns: { readonly role: string; readonly blocks: Fields[] }[] = []
  for (const { role, content } of messages.map(fieldsOf)) {
    const isNote = role === 'system' && !takesSystemAnywhere
    const isPassedOn = (block: Fields) => isSpoken(block) || thoughts.keptIn(block) !== undefined
    const blocks = blocksOf(content).filter(role === 'system' ? isSpokenText : isPassedOn)
    if (!blocks.some(isSpoken)) continue
    const turnBlocks = isNote
      ? [{ type: 'text', text: `<system>\n${systemText(blocks)}\n</system>` }]
      : blocks
    const as = isNote ? 'user' : textOf(role)
    const last = turns.at(-1)
    if (last?.role === as) for (const block of turnBlocks) last.blocks.push(block)
    else turns.push({ role: as, blocks: turnBlocks })
  }
  return turns
}

function blocksOf(content: unknown): readonly Fields[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).filter(isFields)
}

function isSpokenText(block: Fields): boolean {
  return isText(block) && isSpoken(block)
}

/** Whether a block is content; thinking goes only to the model it came from. */
function isSpoken({ type, text }: Fields): boolean {
  return type === 'text' ? textOf(text) !== '' : type !== 'thinking' && type !== 'redacted_thinking'
}

/** An assistant message with its calls, followed directly by one answer per call. */
function fromAssistant(turn: Turn, next: Turn | undefined, context: Context): Fields[] {
  const spoken = turn.blocks.filter(isSpoken)
  const calls = spoken.filter(isCall)
  const answers = answersTo(turn, next)
  const text = textIn(spoken.filter((block) => !isCall(block)).flatMap((block) => toParts(block, context)))
  return [
    {
      role: 'assistant',
      content: text || null,
      ...reasoningOf(turn, context),
      ...(calls.length > 0 ? { tool_calls: toToolCalls(turn, context) } : {}),
    },
    ...calls.map(({ id }) => ({
      role: 'tool',
      tool_call_id: toCallId(id, context),
      content: toResultText(answers.get(id), context),
    })),
  ]
}

/** Replaces lost reasoning, because some servers refuse calls without it. */
const LOST_REASONING = '.'

function reasoningOf({ blocks }: Turn, { wantsReasoning, thoughts }: Context): Fields {
  if (!wantsReasoning) return {}
  const kept = blocks.filter((block) => thoughts.keptIn(block)).map(({ thinking }) => textOf(thinking))
  const text = kept.join('') || (blocks.some(isCall) ? LOST_REASONING : '')
  return text === '' ? {} : { reasoning_content: text }
}

/** Attaches the data stored in a thinking block to the call after it. */
function toToolCalls({ blocks }: Turn, context: Context): Fields[] {
  const { wantsExtraContent, extraContentOtherwise, thoughts } = context
  let extra = extraContentOtherwise
  const calls: Fields[] = []
  for (const block of blocks) {
    const kept = fieldsOf(thoughts.keptIn(block)?.extra)
    if (Object.keys(kept).length > 0) extra = kept
    if (!isCall(block)) continue
    calls.push({
      ...toToolCall(block, context),
      ...(wantsExtraContent && extra ? { extra_content: extra } : {}),
    })
    extra = undefined
  }
  return calls
}

function isCall({ type }: Fields): boolean {
  return type === 'tool_use'
}

function toToolCall({ id, name, input }: Fields, context: Context): Fields {
  const called = { name: context.names.short(textOf(name)), arguments: stringifyExact(input ?? {}) }
  return { id: toCallId(id, context), type: 'function', function: called }
}

const MAX_ID_LENGTH = 40

/** Shortens call ids: OpenAI accepts 40 characters, Mistral nine letters and digits. */
function toCallId(id: unknown, { callIds }: Context): string {
  const text = textOf(id)
  if (callIds === 'nine') return /^[a-z\d]{9}$/i.test(text) ? text : hash(text).slice(-9)
  return text.length <= MAX_ID_LENGTH ? text : `call_${hash(text)}`
}

/** The first result for each call id. */
function answersTo(turn: Turn | undefined, next: Turn | undefined): ReadonlyMap<unknown, Fields> {
  const ids = new Set((turn?.blocks ?? []).filter(isCall).map(({ id }) => id))
  const results = next?.role === 'user' ? next.blocks.filter(({ type }) => type === 'tool_result') : []
  return new Map(
    results
      .filter(({ tool_use_id }) => ids.has(tool_use_id))
      .reverse()
      .map((result) => [result.tool_use_id, result]),
  )
}

function toResultText(result: Fields | undefined, context: Context): string {
  if (!result) return '(no result)'
  const parts = resultParts(result, context)
  const shown = parts.some(isText) ? textIn(parts) : '(no text)'
  const media = parts.every(isText) ? '' : '\n\n(images or files of it: in the next message)'
  return `${result.is_error === true ? 'Error: ' : ''}${shown}${media}`
}

function resultParts({ content }: Fields, context: Context): Fields[] {
  return blocksOf(content)
    .filter(isSpoken)
    .flatMap((block) => toParts(block, context))
}

/** User messages, preceded by parts of results that a tool message cannot contain. */
function fromUser(turn: Turn, before: Turn | undefined, context: Context): Fields[] {
  const answers = new Set(answersTo(before, turn).values())
  const [results, rest] = [true, false].map((answer) =>
    turn.blocks.filter((block) => answers.has(block) === answer),
  )
  const media = (results ?? []).flatMap((result) => {
    const shown = resultParts(result, context).filter((part) => !isText(part))
    return shown.length > 0
      ? [toText(`From the result of ${toCallId(result.tool_use_id, context)}:`), ...shown]
      : []
  })
  const parts = [...media, ...(rest ?? []).flatMap((block) => toParts(block, context))]
  if (parts.length === 0) return []
  const isAfterTool = before?.blocks.some(isCall) && context.wantsAssistantAfterTool
  return [
    ...(isAfterTool ? [{ role: 'assistant', content: 'OK.' }] : []),
    { role: 'user', content: parts.every(isText) ? textIn(parts) : parts },
  ]
}

function toText(text: string): Fields {
  return { type: 'text', text }
}

function isText({ type }: Fields): boolean {
  return type === 'text'
}

function textIn(parts: readonly Fields[]): string {
  return parts
    .filter(isText)
    .map(({ text }) => textOf(text))
    .join('\n\n')
}

/** Converts a block to chat message parts; unknown blocks become JSON text. */
function toParts(block: Fields, context: Context): Fields[] {
  switch (block.type) {
    case 'text':
      return [toText(textOf(block.text))]
    case 'image':
      return [toImage(fieldsOf(block.source))]
    case 'document':
      return toDocument(block, context)
    case 'search_result': {
      const found = blocksOf(block.content).map(({ text }) => textOf(text))
      return [toText([textOf(block.title), textOf(block.source), ...found].filter(Boolean).join('\n'))]
    }
    case 'tool_result':
      return [toText('The result of an earlier call:'), ...resultParts(block, context)]
    default:
      return [toText(toJson(withoutCacheControl(block)))]
  }
}

function toImage({ type, media_type, data, url }: Fields): Fields {
  if (type === 'base64') return { type: 'image_url', image_url: { url: `data:${media_type};base64,${data}` } }
  if (type === 'url') return { type: 'image_url', image_url: { url } }
  return toText('(an image that this model cannot be shown)')
}

function toDocument({ title, context, source }: Fields, { takesFiles }: Context): Fields[] {
  const { type, media_type, data, content, url } = fieldsOf(source)
  const name = textOf(title) || 'document'
  const about = textOf(context) === '' ? [] : [toText(`About ${name}: ${textOf(context)}`)]
  if (type === 'text') return [...about, toText(`${name}:\n${textOf(data)}`)]
  if (type === 'content') return [...about, toText(`${name}:`), ...blocksOf(content).flatMap(toContentPart)]
  if (type === 'base64' && takesFiles)
    return [
      ...about,
      { type: 'file', file: { filename: name, file_data: `data:${media_type};base64,${data}` } },
    ]
  return [...about, toText(`(${name}${url ? ` at ${url}` : ''}: a file that this model cannot be shown)`)]
}

function toContentPart({ type, text, source }: Fields): Fields[] {
  if (type === 'image') return [toImage(fieldsOf(source))]
  return textOf(text) === '' ? [] : [toText(textOf(text))]
}
