// The API gateway's ways: a Chat Completions request, shelved, with one hidden search; and its next turn, streamed.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveMessagesGateway } from '../../packages/cli/src/http/messages/server.ts'
import { createMessagesGateway } from '../../packages/messages/src/gateway.ts'
import { parseModeSetting } from '../../packages/messages/src/plan.ts'
import { createChatUpstream } from '../../packages/messages/src/upstream/chat.ts'
import { walk } from './coverage.ts'
import { sendTools } from './tools.ts'

type Asked = {
  readonly messages: readonly { readonly role: string }[]
  readonly stream?: boolean
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
}
type Reply = {
  readonly choices: readonly [{ readonly message: { readonly tool_calls: readonly [{ id: string }] } }]
}

let calls = 0
/** Searches after a user's message, and calls a tool that it has after anything else. */
function callFor({ messages, tools = [] }: Asked): object {
  const isTask = messages.at(-1)?.role === 'user'
  const name = isTask
    ? 'ToolSearch'
    : tools.map((tool) => tool.function.name).find((one) => one.startsWith('tool_'))
  const input = isTask ? { query: 'send message to channel' } : { text: 'hi' }
  const fn = { name, arguments: JSON.stringify(input) }
  return { index: 0, id: `call_${++calls}`, type: 'function', function: fn }
}

const model = createServer(async (incoming, outgoing) => {
  const chunks = []
  for await (const chunk of incoming) chunks.push(chunk)
  if (incoming.method === 'GET') return outgoing.end('{"object":"list","data":[]}')
  const asked = JSON.parse(Buffer.concat(chunks).toString()) as Asked
  const tool_calls = [callFor(asked)]
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  const head = { id: 'c', created: 1, model: 'gpt-4o' }
  if (!asked.stream) {
    const message = { role: 'assistant', content: null, tool_calls }
    const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
    outgoing.setHeader('content-type', 'application/json')
    return outgoing.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }))
  }
  const parts = [
    { choices: [{ index: 0, delta: { role: 'assistant', tool_calls }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
    { choices: [], usage },
  ]
  outgoing.setHeader('content-type', 'text/event-stream')
  for (const part of parts)
    outgoing.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...part })}\n\n`)
  outgoing.end('data: [DONE]\n\n')
})
await new Promise<void>((resolve) => model.listen(0, '127.0.0.1', resolve))
const address = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`
const gateway = createMessagesGateway({ upstream: createChatUpstream({ url: new URL(address) }) })
const setting = parseModeSetting('shelve')
if (!setting) throw new Error('there is no mode "shelve"')
const { url } = await serveMessagesGateway({ gateway, setting, port: 0 })

const tools = sendTools.map(({ input_schema: parameters, ...tool }) => ({
  type: 'function',
  function: { ...tool, parameters },
}))
async function ask(messages: readonly object[], stream: boolean): Promise<string> {
  const body = JSON.stringify({ model: 'gpt-4o', messages, tools, stream })
  const headers = { 'content-type': 'application/json', authorization: 'Bearer key' }
  const answer = await fetch(new URL('/v1/chat/completions', url), { method: 'POST', headers, body })
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return text
}

const task = { role: 'user', content: 'please do' }
for (const stream of [false, true]) await ask([{ role: 'user', content: 'hello' }], stream)
const text = await walk('chat request with a hidden search', () => ask([task], false))
const [{ message }] = (JSON.parse(text) as Reply).choices
const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'done' }
await walk('chat request, next turn', () => ask([task, message, result], true))
process.exit(0)
