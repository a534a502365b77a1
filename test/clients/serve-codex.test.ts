// Codex speaks Responses to `toolshelf serve` and sends the tools of its MCP servers as namespaces, all of them every time:
// the gateway shelves them.
import { describeAgent } from './agent-suite.ts'
import { codex, prepareCodex, startCodex } from './codex-agent.ts'

const clients = await prepareCodex()

describeAgent({
  name: 'Codex',
  clients,
  upstream: 'responses:',
  start: (home, url) => startCodex(clients.file(codex), home, url, 'gpt-5.2'),
})
