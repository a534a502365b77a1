// A server over HTTP of the older protocol, in which what belongs to a call comes in the stream of that call. The tool `ask`
// asks the client and gives the answer, `log` logs its argument, `wait` never ends. Prints its address.
import { createServer } from 'node:http'
import { initialized, text, tool } from './wire.mjs'

const events = { 'content-type': 'text/event-stream' }
const json = { 'content-type': 'application/json' }
const waiting = new Map()
let questions = 0

const question = { mode: 'form', message: 'Your name?', requestedSchema: { type: 'object', properties: {} } }

async function call({ id, params }, response) {
  const send = (message) =>
    response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
  response.writeHead(200, events).flushHeaders()
  const { name, arguments: input = {} } = params
  if (name === 'wait') return
  if (name === 'log') send({ method: 'notifications/message', params: { level: 'error', data: input.text } })
  let answer = { result: 'none' }
  if (name === 'ask') {
    const asked = `question-${++questions}`
    send({ id: asked, method: 'elicitation/create', params: question })
    answer = await new Promise((resolve) => waiting.set(asked, resolve))
  }
  send({ id, result: text(JSON.stringify(answer)) })
  response.end()
}

const server = createServer(async (request, response) => {
  if (request.method !== 'POST') return response.writeHead(405).end()
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const message = JSON.parse(Buffer.concat(chunks).toString())
  if (message.method === undefined) waiting.get(message.id)?.(message)
  if (message.id === undefined || message.method === undefined) return response.writeHead(202).end()
  if (message.method === 'tools/call') return call(message, response)
  const results = {
    initialize: () => initialized(message.params, { logging: {} }),
    'tools/list': () => ({ tools: ['ask', 'log', 'wait'].map((name) => tool(name)) }),
    ping: () => ({}),
    'logging/setLevel': () => ({}),
  }
  const result = results[message.method]?.()
  const error = { code: -32601, message: `no method ${message.method}` }
  response.writeHead(200, json)
  response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...(result ? { result } : { error }) }))
})

// A busy test would otherwise send on a connection that this end is just closing.
server.keepAliveTimeout = 600_000
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`))
process.stdin.on('end', () => process.exit(0)).resume()
