// A server of the newest protocol, made with the official library, that answers calls with tasks (SEP-2663): one tool only to
// clients that declare the extension, as it must; one to everybody, which it must not.
import { CLIENT_CAPABILITIES_META_KEY, ProtocolError, Server } from '@modelcontextprotocol/server'

const TASKS = 'io.modelcontextprotocol/tasks'
const tools = ['polite', 'rude', 'strict'].map((name) => ({
  name,
  description: `Works long, ${name}`,
  inputSchema: { type: 'object' },
}))
const task = () => {
  const now = new Date().toISOString()
  return {
    resultType: 'task',
    taskId: 'task-1',
    status: 'working',
    createdAt: now,
    lastUpdatedAt: now,
    ttlMs: null,
  }
}

export function createServer() {
  const capabilities = { tools: {}, extensions: { [TASKS]: {} } }
  const server = new Server({ name: 'tasks', version: '1.0.0' }, { capabilities })
  server.setRequestHandler('tools/list', () => ({ tools }))
  server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => {
    const declared = mcpReq.envelope?.[CLIENT_CAPABILITIES_META_KEY]?.extensions?.[TASKS] !== undefined
    if (params.name === 'strict' && !declared)
      throw new ProtocolError(-32021, 'Missing required client capability', {
        requiredCapabilities: { extensions: { [TASKS]: {} } },
      })
    if (params.name === 'rude' || declared) return task()
    return { content: [{ type: 'text', text: 'done at once' }] }
  })
  return server
}
