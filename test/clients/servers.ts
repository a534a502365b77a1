// The tools of MCP servers as plain functions, for agent loops of SDKs, which run in the process of the test.
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Home } from './gateway.ts'

/** A tool that any SDK can wrap. */
export type PlainTool = {
  readonly name: string
  readonly description: string
  readonly schema: object
  readonly run: (input: unknown) => Promise<string>
}

export type Connected = {
  readonly tools: readonly PlainTool[]
  /** The names of all tools that ran. */
  readonly called: readonly string[]
  close(): Promise<unknown>
}

export async function connectServers({ servers }: Pick<Home, 'servers'>): Promise<Connected> {
  const called: string[] = []
  const connect = async ([server, { command, args, env = {} }]: [string, Home['servers'][string]]) => {
    const client = new Client({ name: 'test', version: '0' })
    await client.connect(
      new StdioClientTransport({ command, args: [...args], env: { ...env }, stderr: 'ignore' }),
    )
    const { tools } = await client.listTools()
    const plain = tools.map(({ name, description = '', inputSchema }): PlainTool => {
      const full = `${server}__${name}`
      const run = async (input: unknown) => {
        called.push(full)
        const { content } = await client.callTool({ name, arguments: input as { [key: string]: unknown } })
        return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n')
      }
      return { name: full, description, schema: inputSchema, run }
    })
    return { plain, close: () => client.close() }
  }
  const all = await Promise.all(Object.entries(servers).map(connect))
  return {
    tools: all.flatMap(({ plain }) => plain),
    called,
    close: () => Promise.all(all.map(({ close }) => close())),
  }
}
