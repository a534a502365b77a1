// OpenAI's SDK and the Responses API: `tool_search` of gpt-5.4 and later, run here, with definitions from the shelf.
// They join the end of the conversation, so what was sent before stays cached.
import assert from 'node:assert/strict'
import { createShelf, type PoolTool, type ResolvedCall, type ToolResult } from '@toolshelf/core'
import OpenAI from 'openai'
import { expectedDeeds, task } from './offline-model.ts'
import { startOfflineResponses } from './offline-responses.ts'
import { exampleTools } from './tools.ts'

type Item = OpenAI.Responses.ResponseInputItem
type Call = OpenAI.Responses.ResponseFunctionToolCall
type Search = OpenAI.Responses.ResponseToolSearchCall

const model = await startOfflineResponses()
const client = new OpenAI({ baseURL: model.url, apiKey: 'none' })
const shelf = createShelf({ tools: exampleTools })

const ran: string[] = []
async function runTool({ server, original }: ResolvedCall): Promise<string> {
  ran.push(`${server}/${original}`)
  return 'ok'
}

const { immediate, deferred } = shelf.partition()
const tools: OpenAI.Responses.Tool[] = [
  {
    type: 'tool_search',
    execution: 'client',
    description: `Finds and loads tools, by words or by "select:NAME". They are: ${deferred.map(({ name }) => name).join(', ')}`,
    parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  },
  ...immediate.map(toFunction),
]

const input: Item[] = [{ role: 'user', content: task }]
while (true) {
  const include: OpenAI.Responses.ResponseIncludable[] = ['reasoning.encrypted_content']
  const { output } = await client.responses.create({ model: 'gpt-5.4', tools, input, store: false, include })
  input.push(...(output as Item[]))
  const answers = await Promise.all(
    output.map((item) => {
      if (item.type === 'tool_search_call') return answerSearch(item)
      return item.type === 'function_call' ? answerCall(item) : []
    }),
  )
  if (answers.flat().length === 0) break
  input.push(...answers.flat())
}
await model.close()

function toFunction({ name, definition }: PoolTool): OpenAI.Responses.FunctionTool {
  const description = definition.description as string | undefined
  const parameters = definition.input_schema as OpenAI.Responses.FunctionTool['parameters']
  return { type: 'function', name, description, parameters, strict: false }
}

async function answerSearch({ call_id, arguments: query }: Search): Promise<Item[]> {
  const { tools, remark } = await shelf.search(query)
  return [
    {
      type: 'tool_search_output',
      call_id,
      execution: 'client',
      status: 'completed',
      tools: tools.map(toFunction),
    },
    ...(remark ? [{ role: 'developer' as const, content: remark }] : []),
  ]
}

async function answerCall({ call_id, name, arguments: json }: Call): Promise<Item[]> {
  const call = { id: call_id, name, input: parsed(json) }
  const result = await shelf.run(call, { execute: runTool })
  return [{ type: 'function_call_output', call_id, output: textOf(result) }]
}

/** Invalid JSON stays text, which `run` refuses with an explanation for the model. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}

function textOf({ content }: ToolResult): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('\n')
}

assert.deepEqual(model.actions, expectedDeeds)
assert.deepEqual(ran, ['github/create_issue', 'github/create_issue', 'slack/create_message'])
for (const [index, body] of model.bodies.entries()) {
  const before = model.bodies[index - 1] ?? { tools: body.tools, input: [] }
  assert.deepEqual([body.tools, body.input.slice(0, before.input.length)], [before.tools, before.input])
}
console.log(model.saved(shelf))
