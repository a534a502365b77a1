// What a host may and may not write with a history, which cannot be sent by mistake. Nothing here runs: `tsc` checks it
// (npm run typecheck), and an `@ts-expect-error` without an error is one.
import type Anthropic from '@anthropic-ai/sdk'
import type { History, Shelf } from '../../core/src/index.ts'
import { SEARCH_TOOL } from '../../core/src/names.ts'
import { presentMessages } from '../../core/src/present.ts'

type MessageParam = Anthropic.MessageParam

export async function historyTypes(shelf: Shelf, client: Anthropic, reply: Anthropic.Message) {
  const base = { model: 'claude-opus-4-6', max_tokens: 100 }
  let history: History<MessageParam> = [{ role: 'user', content: 'hello' }]
  const prepared = await shelf.prepare({ ...base, messages: history })

  // The request fits; the history does not, nor does what is made of it.
  await client.messages.create(prepared.request, { headers: prepared.headers })
  // @ts-expect-error
  await client.messages.create({ ...base, messages: prepared.history })
  // @ts-expect-error
  await client.beta.messages.create({ ...base, messages: history })
  // @ts-expect-error
  const sent: MessageParam[] = [...prepared.history, { role: 'assistant', content: reply.content }]

  // It grows by the SDK's messages, and nothing else.
  history = [...prepared.history, { role: 'assistant', content: reply.content }]
  history.push({ role: 'user', content: [shelf.result({ id: 'toolu_1', name: 'Read' }, 'fine')] })
  // @ts-expect-error
  history.push({ role: 'user' })

  // The shelf takes it everywhere.
  const call = { id: 'toolu_1', name: 'Read', input: {} }
  shelf.check(call, history)
  presentMessages(history, { searchTool: SEARCH_TOOL })
  await shelf.run(call, { messages: history, execute: () => 'fine' })
  history = shelf.snip(history, ({ role }) => role === 'assistant')
  history = await shelf.compact(history, {
    summarize: async (messages) => {
      const { content } = await client.messages.create({ ...base, messages })
      return JSON.stringify(content)
    },
  })

  // A compaction adds a note to the SDK's own messages too.
  const own: MessageParam[] = [{ role: 'user', content: 'hello' }]
  const compacted = await shelf.compact(own, { summarize: 'All so far.' })
  // @ts-expect-error
  await client.messages.create({ ...base, messages: compacted })

  // The first request of a host that keeps the SDK's messages.
  const first = await shelf.prepare({ ...base, messages: own })
  history = first.history
  await client.messages.create(first.request)

  // The sendable form.
  await client.messages.create({ ...base, messages: shelf.sendable(history) })
  await client.messages.countTokens({ model: base.model, messages: shelf.sendable(prepared.history) })
  return sent
}
