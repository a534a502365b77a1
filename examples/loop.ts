// A whole agent loop on a shelf, with the official SDK. The README shows the body of this function.
import type Anthropic from '@anthropic-ai/sdk'
import type { Execute, History, Shelf } from '@toolshelf/core'

export async function runTask(
  client: Anthropic,
  shelf: Shelf,
  model: string,
  task: string,
  runTool: Execute,
) {
  let messages: History<Anthropic.MessageParam> = [{ role: 'user', content: task }]
  while (true) {
    const prepared = await shelf.prepare({ model, max_tokens: 1024, messages })
    const reply = await client.messages.create(prepared.request, { headers: prepared.headers })
    messages = [...prepared.history, { role: 'assistant', content: reply.content }]

    const calls = reply.content.filter((block): block is Anthropic.ToolUseBlock => block.type === 'tool_use')
    if (calls.length === 0) break
    const results = calls.map((call) => shelf.run(call, { messages, execute: runTool }))
    messages.push({ role: 'user', content: await Promise.all(results) })
  }
  return messages
}
