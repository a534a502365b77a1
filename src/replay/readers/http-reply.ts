// Reads the reply of an HTTP log: calls, length and usage, from a JSON document or the text of an event stream.
import { type BilledTokens, billedTokens } from '../../core/figures/index.ts'
import { createCollector, type StreamEvent } from '../../core/index.ts'
import { type Fields, fieldsOf, isFields, listOf, textOf } from '../../lib/index.ts'
import type { ApiName } from '../../messages/index.ts'
import { createMessageReader, type MessageParts, readCall } from '../recorder.ts'
import { openaiUsage } from './openai-usage.ts'

/** A reply of an HTTP log. */
export type HttpReply = MessageParts & { readonly usage: BilledTokens | undefined }

const NONE: HttpReply = { calls: [], queries: [], characters: 0, usage: undefined }

/** Reads a reply: a JSON document, or the text of an event stream. */
export function readHttpReply(api: ApiName, reply: unknown): HttpReply {
  const events = typeof reply === 'string' ? eventsIn(reply) : []
  const document = isFields(reply) ? reply : (documentIn(reply) ?? {})
  if (api === 'messages') return readMessage(events.length > 0 ? collected(events) : document)
  if (api === 'chat') return readChat(events.length > 0 ? events : [document])
  const last = events.findLast(({ response }) => isFields(response))
  return readResponse(events.length > 0 ? fieldsOf(last?.response) : document)
}

function documentIn(reply: unknown): Fields | undefined {
  try {
    return fieldsOf(JSON.parse(textOf(reply)))
  } catch {
    return undefined
  }
}

/** Returns the data of server-sent events; empty for any other text. */
function eventsIn(text: string): Fields[] {
  if (!/^(?:event|data|id|retry|:)/m.test(text.slice(0, 1000))) return []
  return text.split(/\r?\n/).flatMap((line) => {
    if (!line.startsWith('data:')) return []
    try {
      return [fieldsOf(JSON.parse(line.slice('data:'.length)))]
    } catch {
      return []
    }
  })
}

function collected(events: readonly Fields[]): Fields {
  const collector = createCollector()
  for (const event of events) if (typeof event.type === 'string') collector.add(event as StreamEvent)
  return collector.message()
}

function readMessage(message: Fields): HttpReply {
  const read = createMessageReader()
  return {
    ...read({ role: 'assistant', content: message.content }),
    usage: billedTokens(fieldsOf(message.usage)),
  }
}

/** Reads a document with a whole message, or a stream with its parts; only the first choice counts. */
function readChat(parts: readonly Fields[]): HttpReply {
  const calls = new Map<unknown, { name: string; argumentText: string }>()
  let characters = 0
  let usage: BilledTokens | undefined
  for (const part of parts) {
    usage = isFields(part.usage) ? openaiUsage(part.usage) : usage
    const choice = fieldsOf(listOf(part.choices)[0])
    const message = fieldsOf(choice.message ?? choice.delta)
    characters += textOf(message.content).length
    for (const [at, call] of listOf(message.tool_calls).map(fieldsOf).entries()) {
      const { name, arguments: argumentText } = fieldsOf(call.function)
      const known = calls.get(call.index ?? at) ?? { name: '', argumentText: '' }
      calls.set(call.index ?? at, {
        name: known.name + textOf(name),
        argumentText: known.argumentText + textOf(argumentText),
      })
    }
  }
  return withCalls([...calls.values()], { characters, usage })
}

function readResponse({ output, usage }: Fields): HttpReply {
  const items = listOf(output).map(fieldsOf)
  const calls = items
    .filter(({ type }) => type === 'function_call' || type === 'custom_tool_call')
    .map(({ name, arguments: argumentText, input }) => ({
      name: textOf(name),
      argumentText: textOf(argumentText ?? input),
    }))
  const texts = items.flatMap(({ content }) => listOf(content).map((part) => textOf(fieldsOf(part).text)))
  const characters = texts.reduce((sum, text) => sum + text.length, 0)
  return withCalls(calls, { characters, usage: openaiUsage(fieldsOf(usage)) })
}

function withCalls(
  found: readonly { readonly name: string; readonly argumentText: string }[],
  { characters, usage }: Pick<HttpReply, 'characters' | 'usage'>,
): HttpReply {
  const calls = found.map(({ name, argumentText }) => readCall(name, documentIn(argumentText)))
  return {
    ...NONE,
    calls: calls.filter(({ query }) => query === undefined).map(({ name }) => name),
    queries: calls.flatMap(({ query }) => query ?? []),
    characters: found.reduce(
      (sum, { name, argumentText }) => sum + name.length + argumentText.length,
      characters,
    ),
    usage,
  }
}
