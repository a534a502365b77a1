// mcporter against the gateway: a command line and a library that agents use to reach MCP servers.
import { afterAll, describe, expect, it } from 'vitest'
import { gatewayCommand, makeHome, run } from './gateway.ts'
import { AGENTS, prepareClients } from './install.ts'
import { expectRecorded, recordedCommand } from './mcp-sent.ts'

const mcporter = 'mcporter/dist/cli.js'
const clients = await prepareClients([mcporter], AGENTS)
const home = makeHome()
afterAll(home.remove)

/** Each run starts the gateway and its servers anew: it has the one that is needed. */
async function port(server: 'everything' | 'files', ...words: readonly string[]) {
  const servers = home.write('one-server.json', { mcpServers: { [server]: home.servers[server] } })
  const shelf = recordedCommand(gatewayCommand(clients.node, servers), home, 'stdio')
  const config = home.write('mcporter.json', { mcpServers: { shelf } })
  const args = [clients.file(mcporter), '--config', config, ...words]
  const { out, told } = await run(clients.node, args, { cwd: home.folder, env: home.environment })
  if (!out.trim()) throw new Error(told)
  return out
}

describe.skipIf(clients.missing)('mcporter', () => {
  it('gets the bridge without being asked: it lists once a command', async () => {
    const { status, tools } = JSON.parse(await port('everything', 'list', 'shelf', '--json'))
    expect(status).toBe('ok')
    expect(tools.map(({ name }: { name: string }) => name)).toEqual(['ToolSearch', 'CallTool'])
  })

  it('searches and then calls what it found', async () => {
    const found = await port(
      'everything',
      'call',
      'shelf.ToolSearch',
      '--args',
      '{"query":"sum of two numbers"}',
    )
    expect(found).toContain('everything__get-sum')
    const sum = { name: 'everything__get-sum', arguments: { a: 3, b: 4 } }
    const answer = await port('everything', 'call', 'shelf.CallTool', '--args', JSON.stringify(sum))
    expect(answer).toContain('The sum of 3 and 4 is 7')
  })

  it('calls a tool by its own name too', async () => {
    const list = JSON.stringify({ path: home.files })
    expect(await port('files', 'call', 'shelf.files__list_directory', '--args', list)).toContain('note.txt')
  })

  it('sends the recorded messages', () => expectRecorded('mcporter', 'stdio', home))
})
