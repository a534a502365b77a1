// Vercel's AI SDK: `prepareStep` sends only the tools that are loaded. Which ones are is read from the conversation, so
// it survives a saved and reloaded history. Works with any provider; each load costs the cached prefix once.
import assert from 'node:assert/strict'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createShelf, type PoolTool } from '@toolshelf/core'
import { generateText, jsonSchema, type ModelMessage, stepCountIs, type ToolSet, tool } from 'ai'
import { expectedDeeds, startOfflineModel, task } from './offline-model.ts'
import { exampleTools } from './tools.ts'

const model = await startOfflineModel()
const anthropic = createAnthropic({ baseURL: `${model.url}/v1`, apiKey: 'none' })
const shelf = createShelf({ tools: exampleTools })

const ran: string[] = []
const toTool = ({ server, original, definition }: PoolTool) =>
  tool({
    description: definition.description as string | undefined,
    inputSchema: jsonSchema(definition.input_schema as object),
    async execute() {
      ran.push(`${server}/${original}`)
      return 'ok'
    },
  })

const { pool, immediate, deferred } = shelf.partition()
const ToolSearch = tool({
  description: `Finds and loads tools, by words or by "select:NAME". They are: ${namesOf(deferred).join(', ')}`,
  inputSchema: jsonSchema<{ query: string }>({
    type: 'object',
    properties: { query: { type: 'string' } },
    required: ['query'],
  }),
  async execute(input) {
    const { tools, remark } = await shelf.search(input)
    return { loaded: namesOf(tools), remark }
  },
})

const tools: ToolSet = {
  ToolSearch,
  ...Object.fromEntries(pool.tools.map((entry) => [entry.name, toTool(entry)])),
}
const { text } = await generateText({
  model: anthropic('claude-opus-4-6'),
  prompt: task,
  tools,
  stopWhen: stepCountIs(20),
  prepareStep: ({ messages }) => ({
    activeTools: ['ToolSearch', ...namesOf(immediate), ...loadedIn(messages)],
  }),
})
await model.close()

function namesOf(tools: readonly PoolTool[]): string[] {
  return tools.map(({ name }) => name)
}

/** The tools that searches of this conversation have loaded. */
function loadedIn(messages: readonly ModelMessage[]): string[] {
  const parts = messages.flatMap(({ role, content }) => (role === 'tool' ? content : []))
  return parts.flatMap((part) =>
    part.type === 'tool-result' && part.toolName === 'ToolSearch' && part.output.type === 'json'
      ? (part.output.value as { loaded: string[] }).loaded
      : [],
  )
}

assert.match(text, /Done: both issues are filed/)
assert.deepEqual(
  model.seen.map(({ action }) => action),
  expectedDeeds,
)
assert.deepEqual(ran, ['github/create_issue', 'github/create_issue', 'slack/create_message'])
assert.ok(model.seen.every(({ visible }) => visible.length < 20))
console.log(model.saved(shelf))
