// A server of the newest protocol, made with the official library: it answers a call with a question, and is called again
// with the answer.
import { inputRequired, inputResponse, Server } from '@modelcontextprotocol/server'

const question = {
  message: 'Your name?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
}

const tools = [
  {
    name: 'greet',
    description: 'Asks for a name and greets',
    inputSchema: { type: 'object', properties: {} },
  },
]

export function createServer() {
  const server = new Server({ name: 'modern', version: '1.0.0' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({ tools }))
  server.setRequestHandler('tools/call', (_, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'name')
    if (answer.kind === 'missing')
      return inputRequired({
        inputRequests: { name: inputRequired.elicit(question) },
        requestState: 'asked',
      })
    return { content: [{ type: 'text', text: JSON.stringify(answer) }] }
  })
  return server
}
