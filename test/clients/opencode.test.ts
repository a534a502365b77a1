// A real agent, opencode, with the gateway as its only MCP server and a scripted model: it searches, loads and calls.
import { AGENTS, prepareClients } from './install.ts'
import { describeMcpAgent } from './mcp-agent.ts'
import { runFork } from './opencode-run.ts'

const opencode = `opencode-${process.platform}-${process.arch}/bin/opencode`
const clients = await prepareClients([opencode], AGENTS)

describeMcpAgent({
  name: 'opencode',
  clients,
  prefix: 'shelf_',
  listModes: ['auto', 'list'],
  bridgeModes: ['bridge'],
  run: (one) => runFork({ binary: clients.file(opencode), name: 'opencode' }, one),
})
