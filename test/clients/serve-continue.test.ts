// Continue's command line speaks Chat Completions to `toolshelf serve` and sends the tools of its MCP servers every time: the
// gateway shelves them.
import { describeAgent } from './agent-suite.ts'
import { startContinue } from './continue-agent.ts'
import { prepareClients } from './install.ts'

const cli = '@continuedev/cli/dist/cn.js'
const clients = await prepareClients([cli], { folder: 'continue', largeMB: 81 })

describeAgent({
  name: 'Continue',
  isExtra: true,
  timeoutMs: 1_200_000,
  clients,
  upstream: 'openai:',
  start: (home, url) => startContinue([clients.node, clients.file(cli)], home, url, 'small-1'),
})
