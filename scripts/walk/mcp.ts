// The MCP gateway's way: one call of a server's tool over HTTP, in bridge mode.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { serveMcpGatewayOnHttp } from '../../packages/cli/src/http/mcp/http.ts'
import { createShelf } from '../../packages/core/src/index.ts'
import { readConfig } from '../../packages/mcp/src/config/config.ts'
import { createMcpGateway, gatewayShelfOptions } from '../../packages/mcp/src/gateway/gateway.ts'
import { createMcpHost } from '../../packages/mcp/src/host/host.ts'
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
