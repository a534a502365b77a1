// The history made shorter: its oldest part becomes a summary that the model writes; what was loaded stays loaded.
import type { Message, Shelf } from '../core/index.ts'
import { fieldsOf, listOf, textOf } from '../core/oracle/json.ts'
import type { StreamEvent } from '../reply.ts'
import type { Client } from './types.ts'

export type Compacting = {
  readonly client: Client
  readonly shelf: Shelf
  readonly model: string
  readonly maxTokens: number
}

/** The newest messages that stay as they are. */
const KEPT = 4

const INSTRUCTION = `Summarise this conversation for yourself: you will go on from the summary alone. Keep what was asked for, decided, found out and done, exact names, paths, ids and figures, what failed and why, and what is still to do. No preamble.`

export async function compactMessages(
  messages: readonly Message[],
  { client, shelf, model, maxTokens }: Compacting,
  signal: AbortSignal,
): Promise<Message[]> {
  const summarize = async (gone: readonly Message[]) => {
    const request = {
      model,
      max_tokens: maxTokens,
      messages: [...gone, { role: 'user', content: INSTRUCTION }],
    }
    const text = await textFrom(await client.messages.create(request as never, { signal }))
    if (text.trim() === '') throw new Error('the model wrote no summary')
    return `Summary of the conversation so far:\n${text}`
  }
  const keep = Math.min(KEPT, Math.max(0, messages.length - 2))
  const compacted = await shelf.compact(messages as never[], {
    summarize: summarize as never,
    keep,
    trigger: 'auto',
  })
  return compacted as Message[]
}

async function textFrom(answer: unknown): Promise<string> {
  if (typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer) {
    let text = ''
    for await (const { delta } of answer as AsyncIterable<StreamEvent>) text += textOf(fieldsOf(delta).text)
    return text
  }
  return listOf(fieldsOf(answer).content)
    .map((block) => textOf(fieldsOf(block).text))
    .join('')
}
