// Kilo's command line with the gateway as its only MCP server and a scripted model.
import { prepareClients } from './install.ts'
import { describeMcpAgent } from './mcp-agent.ts'
import { runFork } from './opencode-run.ts'

const kilo = `@kilocode/cli-${process.platform}-${process.arch}/bin/kilo`
const clients = await prepareClients([kilo], { folder: 'kilo', largeMB: 228 })

describeMcpAgent({
  name: 'Kilo',
  clients,
  prefix: 'shelf_',
  listModes: ['auto', 'list'],
  bridgeModes: ['bridge'],
  run: (one) => runFork({ binary: clients.file(kilo), name: 'kilo' }, one),
})
