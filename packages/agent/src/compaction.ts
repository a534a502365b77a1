// Compacts the history: the model summarises the oldest part, and loaded tools stay loaded.
import type { Message, Shelf } from '@toolshelf/core'
import {
  blocksOf,
  createCollector,
  type Fields,
  type MessageLike,
  MIN_CHARACTERS_PER_TOKEN,
  textOf,
  toJson,
  wellFormed,
} from '@toolshelf/core/internal'
import { eventsFrom, faultOf, textOfReply } from './ask.ts'
import type { MessagesClient } from './types.ts'

type CompactionOptions = {
  readonly client: MessagesClient
  readonly shelf: Shelf
  readonly model: string
  readonly maxTokens: number
  readonly contextWindow: number
  readonly trigger: 'auto' | 'manual'
  /** Maximum number of newest messages to keep unchanged. */
  readonly keep: number
  /** The user message being worked on, whose text is kept. */
  readonly task: Message | undefined
}

const INSTRUCTION = `Summarise this conversation for yourself: you will go on from the summary alone. Keep what was asked for, decided, found out and done, exact names, paths, ids and figures, what failed and why, and what is still to do. No preamble.`

/** Replaces the oldest messages by a summary; returns the new history. */
export async function compactMessages(
  messages: readonly Message[],
  compacting: CompactionOptions,
  signal: AbortSignal,
): Promise<Message[]> {
  const { shelf, trigger, task } = compacting
  const keep = Math.min(compacting.keep, Math.max(0, messages.length - 2))
  const isIncluded = task === undefined || messages.slice(messages.length - keep).includes(task)
  const summarize = async (gone: readonly Message[]) => {
    const text = await summaryOf(gone.map(written).join('\n\n'), compacting, signal)
    if (text.trim() === '') throw new Error('the model wrote no summary')
    const words = isIncluded
      ? ''
      : `\n\nThe user's newest message, which you are working on:\n${wordsOf(task)}`
    return `Summary of the conversation so far:\n${text}${words}`
  }
  const compacted = shelf.compact(messages as readonly MessageLike[], { summarize, keep, trigger })
  return (await compacted) as Message[]
}

function wordsOf({ content }: Message): string {
  return blocksOf(content).map(partOf).join('\n')
}

const MIN_CHARACTERS = 4000

/** Summarises the conversation; if it is too long even for that, omits its middle, more with each attempt. */
async function summaryOf(
  conversation: string,
  { client, model, maxTokens, contextWindow }: CompactionOptions,
  signal: AbortSignal,
): Promise<string> {
  const room = Math.floor(Math.max(0, contextWindow - maxTokens) * MIN_CHARACTERS_PER_TOKEN)
  for (let maxLength = Math.max(MIN_CHARACTERS, room); ; maxLength = Math.floor(maxLength / 2)) {
    const heading = 'A conversation between a user and you:'
    const prompt = [
      { role: 'user', content: `${heading}\n\n${keepEnds(conversation, maxLength)}` },
      { role: 'assistant', content: 'I have read it.' },
      { role: 'user', content: INSTRUCTION },
    ]
    try {
      const request = { model, max_tokens: maxTokens, messages: wellFormed(prompt) }
      // `Client` accepts the clients of any SDK version, so that no request has its type.
      return await textFrom(await client.messages.create(request as never, { signal }))
    } catch (error) {
      if (faultOf(error).kind !== 'too-long' || maxLength <= MIN_CHARACTERS) throw error
    }
  }
}

const MAX_PART_LENGTH = 4000

/** Writes a message as text, so that calls and results need no tool definitions and any back-end accepts it. */
function written({ role, content }: Message): string {
  const parts = blocksOf(content).map((block) => keepEnds(partOf(block), MAX_PART_LENGTH))
  return `${String(role)}:\n${parts.filter((part) => part !== '').join('\n')}`
}

function partOf({ type, text, name, input, content }: Fields): string {
  if (type === 'text') return textOf(text)
  if (type === 'tool_use') return `(calls ${textOf(name)} with ${toJson(input)})`
  if (type === 'tool_result') return `(result: ${blocksOf(content).map(partOf).join('\n')})`
  return type === 'thinking' || type === 'redacted_thinking' ? '' : `(${textOf(type)})`
}

function keepEnds(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const half = Math.floor(maxLength / 2)
  return `${text.slice(0, half)}\n… (${text.length - 2 * half} characters left out) …\n${text.slice(-half)}`
}

/** Reads the summary; throws if it is incomplete or a refusal, which must not replace a history. */
async function textFrom(answer: unknown): Promise<string> {
  const collector = createCollector()
  for await (const event of eventsFrom(answer)) collector.add(event)
  const reply = collector.message()
  const stopReason = textOf(reply.stop_reason)
  if (stopReason === '') throw new Error('the summary broke off')
  if (stopReason === 'refusal') throw new Error('the model refused to write a summary')
  return textOfReply(reply)
}
