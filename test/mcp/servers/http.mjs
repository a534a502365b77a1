// A server over HTTP at /mcp on loopback; prints its address. Its argument, or the query of an address, says how it behaves.
// Right: healthy | events (answers as event streams).
// Wrong: hang | hang-body | hang-call | html | error | missing | unauthorized | redirects | broken | drop | drop-call |
// forgets (its session, after each call) | endless (a body without end) | endless-events | endless-event (of many lines)
// | behind-events (answers calls after 20,000 notifications) | scope (wants the right that it is called with).
import { createServer } from 'node:http'
import { initialized, text, tool, behaviour as usual } from './wire.mjs'

let session = 0

const results = {
  initialize: initialized,
  'tools/list': () => ({ tools: [tool('fetch_page'), tool('post_form')] }),
  'tools/call': ({ arguments: input }) => text(input?.text ?? 'done'),
  ping: () => ({}),
}

const replies = {
  hang: () => {},
  'hang-body': (_, response) => response.writeHead(200, json).write('{"jsonrpc":'),
  html: (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome!</h1>'),
  error: (_, response) => response.writeHead(500).end('the database is down'),
  missing: (_, response) => response.writeHead(404).end('nothing here'),
  unauthorized: (_, response) => response.writeHead(401, { 'www-authenticate': 'Basic' }).end('who are you?'),
  redirects: ({ url }, response) => response.writeHead(307, { location: url }).end(),
  broken: (_, response) => response.writeHead(200, json).end('{"jsonrpc":"2.0","id":'),
  drop: (_, response) => response.socket.destroy(),
  endless: (_, response) => pour(response.writeHead(200, json), 'x'.repeat(2 ** 16)),
  'endless-events': (_, response) => pour(response.writeHead(200, events), endlessEvent.repeat(500)),
  'endless-event': (_, response) => pour(response.writeHead(200, events), 'data: more\n'.repeat(5000)),
}

const json = { 'content-type': 'application/json' }
const events = { 'content-type': 'text/event-stream' }
const event = (message) => `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
const endlessEvent = event({ method: 'notifications/message', params: { level: 'info', data: 'again' } })

const wanting = (scope) => `Bearer error="insufficient_scope", scope="${scope}"`

function pour(response, chunk) {
  while (!response.destroyed && response.write(chunk)) {}
  if (!response.destroyed) response.once('drain', () => setImmediate(pour, response, chunk))
}

function reply({ id, method, params = {} }, behaviour, request, response) {
  const isCall = method === 'tools/call'
  if (behaviour === 'hang-call' && isCall) return
  if (behaviour === 'drop-call' && isCall) return response.socket.destroy()
  if (behaviour === 'scope' && isCall)
    return response.writeHead(403, { 'www-authenticate': wanting(params.arguments.text) }).end()
  const given = request.headers['mcp-session-id']
  if (behaviour === 'forgets' && method === 'initialize') session += 1
  if (behaviour === 'forgets' && given && given !== String(session)) return replies.missing(request, response)
  const result = results[method]?.(params)
  const message = result ? { id, result } : { id, error: { code: -32601, message: `no method ${method}` } }
  const headers = behaviour === 'forgets' ? { 'mcp-session-id': String(session) } : {}
  if (behaviour === 'behind-events' && isCall)
    return response.writeHead(200, events).end(endlessEvent.repeat(20_000) + event(message))
  if (behaviour === 'events') response.writeHead(200, events).end(event(message))
  else response.writeHead(200, { ...json, ...headers }).end(JSON.stringify({ jsonrpc: '2.0', ...message }))
  if (behaviour === 'forgets' && isCall) session += 1
}

const server = createServer(async (request, response) => {
  response.on('error', () => {})
  if (request.method !== 'POST') return response.writeHead(405).end()
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const message = JSON.parse(Buffer.concat(chunks).toString())
  const behaviour = new URL(request.url, 'http://localhost').search.slice(1) || usual
  if (replies[behaviour]) return replies[behaviour](request, response)
  if (message.id === undefined) return response.writeHead(202).end()
  reply(message, behaviour, request, response)
})

// A busy test would otherwise send on a connection that this end is just closing.
server.keepAliveTimeout = 600_000
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`))
// Whoever started it holds its input: it ends with its starter, however that one ends.
process.stdin.on('end', () => process.exit(0)).resume()
