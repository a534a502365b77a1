// mcp-cli against the gateway: a command line that connects, does one thing and prints the answer.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gatewayCommand, type Home, makeHome, run } from './gateway.ts'
import { AGENTS, prepareClients } from './install.ts'
import { expectRecorded, recordedCommand } from './mcp-sent.ts'

const cli = '@wong2/mcp-cli/src/cli.js'
const clients = await prepareClients([cli], AGENTS)
let home: Home

/** Each run starts the gateway and its server anew. */
async function carryOut(command: string, target: string, input: object): Promise<string> {
  const { everything } = home.servers
  const servers = home.write('one-server.json', { mcpServers: { everything } })
  const shelf = recordedCommand(gatewayCommand(clients.node, servers), home, 'stdio')
  const config = home.write('mcp-cli.json', { mcpServers: { shelf } })
  const words = ['--config', config, command, `shelf:${target}`, '--args', JSON.stringify(input)]
  const place = { cwd: home.folder, env: home.environment }
  const { code, out, told } = await run(clients.node, [clients.file(cli), ...words], place)
  if (code !== 0) throw new Error(told)
  return out
}

describe.skipIf(clients.missing)('mcp-cli', () => {
  beforeAll(() => {
    home = makeHome()
  })
  afterAll(() => home?.remove())

  it('searches, and calls what it found through the bridge or by its own name', async () => {
    const found = await carryOut('call-tool', 'ToolSearch', { query: 'sum of two numbers' })
    expect(found).toContain('everything__get-sum')
    const sum = { name: 'everything__get-sum', arguments: { a: 3, b: 4 } }
    expect(await carryOut('call-tool', 'CallTool', sum)).toContain('The sum of 3 and 4 is 7')
    expect(await carryOut('call-tool', 'everything__echo', { message: 'seven' })).toContain('Echo: seven')
  })

  it('gets a prompt of a server', async () => {
    const input = { city: 'Chicago' }
    expect(await carryOut('get-prompt', 'everything__args-prompt', input)).toContain('Chicago')
  })

  it('sends the recorded messages', () => expectRecorded('mcp-cli', 'stdio', home))
})
