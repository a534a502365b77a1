// Codex speaks Responses to `toolshelf serve` and sends the tools of its MCP servers as namespaces, all of them every time:
// the gateway shelves them.
import { describeAgent } from './agent-suite.ts'
import { startCodex } from './codex-agent.ts'
import { prepareClients } from './install.ts'

const folders: { readonly [platform: string]: string } = {
  'linux-x64': 'x86_64-unknown-linux-musl',
  'linux-arm64': 'aarch64-unknown-linux-musl',
  'darwin-arm64': 'aarch64-apple-darwin',
}
const platform = `${process.platform}-${process.arch}`
const codex = `@openai/codex-${platform}/vendor/${folders[platform]}/bin/codex`
const clients = await prepareClients([codex], { folder: 'codex', largeMB: 436 })

describeAgent({
  name: 'Codex',
  clients,
  upstream: 'responses:',
  start: (home, url) => startCodex(clients.file(codex), home, url, 'gpt-5.2'),
})
