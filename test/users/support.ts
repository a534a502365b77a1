// A random catalogue of MCP servers that run in this process, each name in it unique, so that a leak is found by its text.
import { createServer } from 'node:http'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod/v4'
import type { Profile } from '../../packages/core/src/users.ts'
import type { ServerConfig } from '../../packages/mcp/src/types.ts'
import { answerNode, close, listen } from '../../packages/server/src/http/http.ts'
import { defaults } from '../mcp/support/servers.ts'

export type CatalogueServer = {
  readonly name: string
  readonly tools: readonly string[]
  readonly prompt: string
  readonly resource: string
  readonly isAlwaysLoaded: boolean
  /** It cannot be reached. */
  readonly isBroken: boolean
}

export type RunningCatalogue = {
  readonly configs: readonly ServerConfig[]
  /** `<server>/<tool>` of every call that reached a server. */
  readonly calls: readonly string[]
  close(): Promise<void>
}

/** Starts the servers of a catalogue on one port. */
export async function startCatalogue(catalogue: readonly CatalogueServer[]): Promise<RunningCatalogue> {
  const calls: string[] = []
  const handlers = new Map<string, ReturnType<typeof createMcpHandler>>(
    catalogue.map((one, index) => [`/${index}`, createMcpHandler(() => serverOf(one, calls))] as const),
  )
  const http = createServer(
    (incoming, outgoing) =>
      void answerNode(incoming, outgoing, async (request) => {
        const handler = handlers.get(new URL(request.url).pathname)
        return handler ? handler.fetch(request) : new Response(null, { status: 404 })
      }),
  )
  const url = await listen(http, 0, '127.0.0.1')
  return {
    calls,
    configs: catalogue.map(({ name, isAlwaysLoaded, isBroken }, index) => ({
      ...defaults(name),
      alwaysLoad: isAlwaysLoaded,
      description: `About ${name}`,
      transport: { kind: 'http', url: `${url}/${isBroken ? 'none' : index}`, headers: {} },
    })),
    async close() {
      await Promise.all([...handlers.values()].map((handler) => handler.close()))
      await close(http)
    },
  }
}

function serverOf({ name, tools, prompt, resource }: CatalogueServer, calls: string[]) {
  const server = new McpServer({ name, version: '1.0.0' }, { instructions: `Words of ${name}` })
  for (const tool of tools)
    server.registerTool(
      tool,
      {
        description: `Handles orders with ${tool} of ${name}`,
        inputSchema: z.object({}),
        annotations: { readOnlyHint: true },
      },
      async () => {
        calls.push(`${name}/${tool}`)
        return { content: [{ type: 'text', text: `done by ${tool}` }] }
      },
    )
  server.registerPrompt(prompt, { description: `Asks ${prompt}` }, () => ({
    messages: [{ role: 'user', content: { type: 'text', text: `the words of ${prompt}` } }],
  }))
  server.registerResource(resource, `book://${resource}`, { description: `Text of ${resource}` }, (uri) => ({
    contents: [{ uri: uri.href, text: `the text of ${resource}` }],
  }))
  return server
}

/** A profile that allows everything except what is given. */
export function profileOf(given: Partial<Profile> = {}): Profile {
  const all = { allow: [], deny: [] }
  return { name: 'some', servers: all, tools: all, limits: {}, ...given }
}
