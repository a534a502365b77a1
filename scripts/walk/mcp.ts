// The MCP gateway's way: one call of a server's tool over HTTP, in bridge mode.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createShelf } from '../../src/index.ts'
import { readConfig } from '../../src/mcp/config/config.ts'
import { createMcpGateway } from '../../src/mcp/gateway/gateway.ts'
import { gatewayShelfOptions } from '../../src/mcp/gateway/shelf-options.ts'
import { createMcpHost } from '../../src/mcp/host/host.ts'
import { serveMcpGatewayOnHttp } from '../../src/mcp/http/http.ts'
import { walk } from './coverage.ts'

const folder = mkdtempSync(join(tmpdir(), 'toolshelf-walk-'))
const server = { command: process.execPath, args: [fileURLToPath(new URL('echo.mjs', import.meta.url))] }
const file = join(folder, 'mcp.json')
writeFileSync(file, JSON.stringify({ mcpServers: { a: server, b: server } }))
const shelf = createShelf(gatewayShelfOptions)
const { servers } = await readConfig([file])
rmSync(folder, { recursive: true })
const gateway = createMcpGateway({
  shelf,
  mode: 'bridge',
  makeHost: (questionHandler) => createMcpHost({ shelf, servers, questionHandler, cacheFolder: false }),
})
const { url } = await serveMcpGatewayOnHttp(gateway, { port: 0 })
gateway.host.start()
await gateway.host.settled({ timeoutMs: 30_000 })
const client = new Client({ name: 'walker', version: '1' }, { capabilities: {} })
await client.connect(new StreamableHTTPClientTransport(new URL(url)))
const call = (name: string, input: object) => client.callTool({ name, arguments: { ...input } })
const callEcho = () => call('CallTool', { name: 'a__echo', arguments: { message: 'hi' } })
await call('ToolSearch', { query: 'echo' })
await callEcho()
await callEcho()
await walk('mcp call', callEcho)
await client.close()
await gateway.host.close()
process.exit(0)
