// An extension for the agent pi, which has no MCP of its own: the tools of MCP servers; with PI_SEARCH none of them is
// active, and a search activates what it finds, which pi sends to the API as tool additions.
import { readFileSync } from 'node:fs'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Server } from './gateway.ts'

/** What we need of pi. */
type Pi = {
  registerTool(tool: object): void
  getActiveTools(): string[]
  setActiveTools(names: string[]): void
  on(event: string, handler: () => void | Promise<void>): void
}

type Found = { readonly name: string; readonly text: string }

/** pi loads the default export. */
export default async function addServers(pi: Pi): Promise<void> {
  const { mcpServers } = JSON.parse(readFileSync(process.env.PI_SERVERS ?? '', 'utf8')) as {
    mcpServers: { [name: string]: Server }
  }
  const clients: Client[] = []
  const all: Found[] = []
  for (const [server, { command, args, env }] of Object.entries(mcpServers)) {
    const client = new Client({ name: 'pi', version: '0' })
    await client.connect(
      new StdioClientTransport({ command, args: [...args], env: { ...env }, stderr: 'ignore' }),
    )
    clients.push(client)
    const { tools } = await client.listTools()
    for (const { name, description = '', inputSchema } of tools) {
      const full = `${server}__${name}`
      all.push({ name: full, text: `${full} ${description}`.toLowerCase() })
      pi.registerTool({
        name: full,
        label: name,
        description,
        parameters: inputSchema,
        async execute(_id: string, input: { [key: string]: unknown }) {
          const { content } = await client.callTool({ name, arguments: input })
          return { content, details: undefined }
        },
      })
    }
  }
  pi.on('session_shutdown', async () => {
    await Promise.all(clients.map((client) => client.close()))
  })
  if (process.env.PI_SEARCH) addSearch(pi, all)
}

function addSearch(pi: Pi, all: readonly Found[]): void {
  pi.registerTool({
    name: 'ToolSearch',
    label: 'ToolSearch',
    description: 'Finds tools that are not in your list yet and loads them.',
    parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
    async execute(_id: string, { query }: { query: string }) {
      const words = query.toLowerCase().split(/\s+/)
      const score = ({ text }: Found) => words.filter((word) => text.includes(word)).length
      const best = all
        .filter((tool) => score(tool) > 0)
        .sort((a, b) => score(b) - score(a))
        .slice(0, 5)
        .map(({ name }) => name)
      pi.setActiveTools([...new Set([...pi.getActiveTools(), ...best])])
      return { content: [{ type: 'text', text: best.join('\n') || 'Nothing.' }], details: undefined }
    },
  })
  pi.on('session_start', () => {
    const ours = new Set(all.map(({ name }) => name))
    pi.setActiveTools(pi.getActiveTools().filter((name) => !ours.has(name)))
  })
}
