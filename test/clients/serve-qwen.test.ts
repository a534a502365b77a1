// Qwen Code speaks Chat Completions to `toolshelf serve`. With `alwaysLoadTools` it sends the tools of its MCP servers every
// time, and the gateway shelves them.
import { describeAgent } from './agent-suite.ts'
import { prepareClients } from './install.ts'
import { startQwen } from './qwen-agent.ts'

const cli = '@qwen-code/qwen-code/cli.js'
const clients = await prepareClients([cli], { folder: 'qwen', largeMB: 144 })

describeAgent({
  name: 'Qwen Code',
  clients,
  upstream: 'openai:',
  start: (home, url) => startQwen([clients.node, clients.file(cli)], home, url, { model: 'small-1' }),
})
