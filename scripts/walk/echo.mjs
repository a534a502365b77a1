// An MCP server with one tool that repeats a message.
import { createInterface } from 'node:readline'

const results = {
  initialize: () => ({
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'echo', version: '1' },
  }),
  'tools/list': () => ({
    tools: [
      {
        name: 'echo',
        description: 'Repeats a message',
        inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
      },
    ],
  }),
  'tools/call': ({ arguments: { message } }) => ({ content: [{ type: 'text', text: `Echo: ${message}` }] }),
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const answer = results[method]
  const outcome = answer ? { result: answer(params) } : { error: { code: -32601, message: 'unknown method' } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`)
})
