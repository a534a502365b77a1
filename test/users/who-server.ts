// A remote MCP server that knows its callers by their tokens: `whoami` names the caller, and each has a tool of their own.
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { onTestFinished } from 'vitest'

export type WhoServer = {
  readonly url: string
  /** Users by their tokens; a token that is not here is refused. */
  readonly users: Map<string, string>
  /** Calls so far, by token. */
  readonly calls: readonly string[]
  /** Every `Authorization` header. */
  readonly knocks: readonly (string | undefined)[]
}

export async function startWhoServer(users: { readonly [token: string]: string }): Promise<WhoServer> {
  const known = new Map(Object.entries(users))
  const calls: string[] = []
  const knocks: (string | undefined)[] = []
  const handler = createMcpHandler(({ requestInfo }) => {
    const token = tokenIn(requestInfo?.headers.get('authorization') ?? undefined)
    const name = known.get(token) ?? ''
    const server = new McpServer({ name: 'who', version: '1.0.0' })
    const say = (text: string) => async () => {
      calls.push(token)
      return { content: [{ type: 'text' as const, text }] }
    }
    server.registerTool('whoami', { description: 'Says who calls.' }, say(`you are ${name}`))
    server.registerTool(`only_${name}`, { description: `A secret tool of ${name}.` }, say(`only ${name}`))
    return server
  })
  const server = createServer(async (request, response) => {
    knocks.push(request.headers.authorization)
    if (!known.has(tokenIn(request.headers.authorization))) return response.writeHead(403).end()
    const answer = await handler.fetch(await asRequest(request))
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    if (answer.body) for await (const chunk of answer.body) response.write(chunk)
    return response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    await handler.close()
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    users: known,
    calls,
    knocks,
  }
}

const tokenIn = (authorization = '') => authorization.replace(/^Bearer /, '')

async function asRequest(request: IncomingMessage): Promise<Request> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
    name,
    String(value),
  ])
  const isEmpty = request.method === 'GET' || request.method === 'DELETE'
  return new Request(new URL(request.url ?? '/', 'http://127.0.0.1'), {
    method: request.method ?? 'GET',
    headers,
    ...(isEmpty ? {} : { body: Buffer.concat(chunks) }),
  })
}
