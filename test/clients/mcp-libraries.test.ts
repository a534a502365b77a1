// The MCP clients of agent libraries against the gateway, on stdio and over HTTP: LangChain's and Mastra's.
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { serveScript } from '../mcp/support/server-here.ts'
import { gatewayCommand, type Home, type HttpGateway, makeHome, startHttpGateway } from './gateway.ts'
import { prepareClients } from './install.ts'
import { expectRecorded, recordedCommand, recordHttp } from './mcp-sent.ts'

const modules = {
  langchain: '@langchain/mcp-adapters/dist/index.js',
  mastra: '@mastra/mcp/dist/index.js',
}
const clients = await prepareClients(Object.values(modules), { folder: 'sdks', largeMB: 390 })
const load = (module: keyof typeof modules) => import(pathToFileURL(clients.file(modules[module])).href)

/** A library's tools, ready to run; each answers with what the model would get. */
type Opened = {
  readonly tools: { readonly [name: string]: (input: object) => Promise<unknown> }
  close(): Promise<unknown>
}

type Tool = {
  readonly name: string
  invoke(input: object): Promise<unknown>
  execute(input: object, context: object): Promise<unknown>
}

type Server = { readonly url: string } | { readonly command: string; readonly args: readonly string[] }

async function openLangChain(shelf: Server): Promise<Opened> {
  const { MultiServerMCPClient } = await load('langchain')
  const client = new MultiServerMCPClient({ mcpServers: { shelf } })
  const tools: readonly Tool[] = await client.getTools()
  return {
    tools: Object.fromEntries(tools.map((tool) => [tool.name, (input: object) => tool.invoke(input)])),
    close: () => client.close(),
  }
}

async function openMastra(server: Server): Promise<Opened> {
  const { MCPClient } = await load('mastra')
  const shelf = 'url' in server ? { url: new URL(server.url) } : server
  const client = new MCPClient({ servers: { shelf } })
  const tools = Object.entries<Tool>(await client.listTools())
  return {
    tools: Object.fromEntries(
      tools.map(([name, tool]) => [name.replace(/^shelf_/, ''), (input: object) => tool.execute(input, {})]),
    ),
    close: () => client.disconnect(),
  }
}

describe.skipIf(clients.missing).each([
  { name: 'LangChain', open: openLangChain },
  { name: 'Mastra', open: openMastra },
])('the MCP client of $name', ({ name, open }) => {
  let home: Home
  let command: ReturnType<typeof recordedCommand>
  let http: HttpGateway
  let recorder: Awaited<ReturnType<typeof recordHttp>>
  beforeAll(async () => {
    home = makeHome()
    const calculator = { url: serveScript('healthy') }
    const config = home.write('one.json', { mcpServers: { calculator } })
    command = recordedCommand(gatewayCommand(clients.node, config), home, 'stdio')
    http = await startHttpGateway(clients.node, { ...home, config })
    recorder = await recordHttp(http.url)
  })
  afterAll(async () => {
    await recorder?.stop()
    await http?.stop()
    home?.remove()
  })

  it.each([
    { way: 'on stdio', server: () => ({ ...command, env: home.environment }) },
    { way: 'over HTTP', server: () => ({ url: recorder.url }) },
  ])('sees two tools, searches, and calls what it found, $way', async ({ server }) => {
    const { tools, close } = await open(server())
    try {
      expect(Object.keys(tools)).toEqual(['ToolSearch', 'CallTool'])
      const use = async (tool: string, input: object) => JSON.stringify(await tools[tool]?.(input))
      // A busy machine takes longer to connect to a server than a search waits for it.
      let found = 'still connecting'
      while (found.includes('still connecting'))
        found = await use('ToolSearch', { query: 'sum of two numbers' })
      expect(found).toContain('calculator__add')
      const sum = { name: 'calculator__add', arguments: { a: 3, b: 4 } }
      expect(await use('CallTool', sum)).toContain('7')
    } finally {
      await close()
    }
  })

  it('sends the recorded messages', () => {
    expectRecorded(name, 'stdio', home)
    recorder.expect(name)
  })
})
