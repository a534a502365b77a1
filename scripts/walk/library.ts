// The library's ways: `prepare` and `run` of a loaded tool, and one search.
import { createShelf, type Message } from '../../packages/core/src/index.ts'
import { walk } from './coverage.ts'
import { sendTools } from './tools.ts'

const tools = sendTools.map((tool, index) => ({ ...tool, server: `s${index % 5}` }))
const shelf = createShelf({ tools, contextWindow: 200_000 })
const prepare = (messages: Message[]) =>
  shelf.prepare({ model: 'claude-opus-4-6', max_tokens: 100, messages })
const run = (
  use: { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: object },
  messages: Message[],
) => shelf.run(use, { messages, execute: () => 'done' })

let messages: Message[] = [{ role: 'user', content: 'hello' }]
const search = { type: 'tool_use', id: 't1', name: 'ToolSearch', input: { query: 'send message' } } as const
messages = [...(await prepare(messages)).history, { role: 'assistant', content: [search] }]
messages = [...messages, { role: 'user', content: [await run(search, messages)] }]
const { history, loaded } = await prepare(messages)
const call = { type: 'tool_use', id: 't2', name: loaded[0] ?? '', input: { text: 'hi' } } as const
messages = [...history, { role: 'assistant', content: [call] }]
messages = [...messages, { role: 'user', content: [await run(call, messages)] }]

await walk('prepare+run', async () => {
  await prepare(messages)
  await run({ ...call, id: 't3' }, messages)
})
// Words that no tool has: the first of them loads the tables.
await shelf.search({ query: 'transmit a memo' })
await walk('search', () => shelf.search({ query: 'post a note to a channel' }))
process.exit(0)
