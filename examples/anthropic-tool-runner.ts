// Anthropic's SDK and its tool runner. With `strategy: 'staged'` every tool is in the request from the start, hidden
// from the model until a search refers to it, so the runner needs nothing but tools that it can run. Tools that join
// later are not in its list: start it when your servers are connected.
import assert from 'node:assert/strict'
import Anthropic from '@anthropic-ai/sdk'
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError'
import { createShelf, type Prepared, type ResolvedCall, type ToolUse } from '@toolshelf/core'
import { expectedDeeds, startOfflineModel, task } from './offline-model.ts'
import { exampleTools } from './tools.ts'

const model = await startOfflineModel()
const client = new Anthropic({ baseURL: model.url, apiKey: 'none' })
const shelf = createShelf({ tools: exampleTools, toolSearch: true, strategy: 'staged' })

const ran: string[] = []
async function runTool({ server, original }: ResolvedCall): Promise<string> {
  ran.push(`${server}/${original}`)
  return 'ok'
}

async function run(call: ToolUse) {
  const { content, is_error } = await shelf.run(call, { execute: runTool })
  if (is_error) throw new ToolError(content)
  return content
}

const runnable = (tool: NonNullable<Prepared['request']['tools']>[number]) => ({
  ...tool,
  parse: (input: unknown) => input,
  run: (_: unknown, context?: { toolUse: ToolUse }) => run(context!.toolUse),
})

const { request, headers } = await shelf.prepare({
  model: 'claude-opus-4-6',
  max_tokens: 1024,
  messages: [{ role: 'user' as const, content: task }],
})
const answer = await client.beta.messages.toolRunner(
  { ...request, tools: request.tools.map(runnable), thread: false },
  { headers },
)
await model.close()

assert.equal(answer.stop_reason, 'end_turn')
assert.deepEqual(
  model.seen.map(({ action }) => action),
  expectedDeeds,
)
assert.deepEqual(ran, ['github/create_issue', 'github/create_issue', 'slack/create_message'])
console.log(model.saved(shelf))
