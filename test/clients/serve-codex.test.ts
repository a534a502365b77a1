// Codex speaks Responses to `toolshelf serve` and sends the tools of its MCP servers as namespaces, all of them every time:
// the gateway shelves them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Codex, startCodex } from './codex-agent.ts'
import { checkLoaded, checkLog, converse } from './conversation.ts'
import { type Home, makeHome, manyTools } from './gateway.ts'
import { prepareClients } from './install.ts'
import { type Chain, startChain, tokensOf } from './upstream-model.ts'

const folders: { readonly [platform: string]: string } = {
  'linux-x64': 'x86_64-unknown-linux-musl',
  'linux-arm64': 'aarch64-unknown-linux-musl',
  'darwin-arm64': 'aarch64-apple-darwin',
}
const platform = `${process.platform}-${process.arch}`
const codex = `@openai/codex-${platform}/vendor/${folders[platform]}/bin/codex`
const clients = await prepareClients([codex], { folder: 'codex', largeMB: 436 })

describe.skipIf(clients.missing)('Codex, shelved', { timeout: 240_000 }, () => {
  let home: Home
  let chain: Chain
  let agent: Codex
  beforeAll(async () => {
    home = makeHome(manyTools)
    chain = await startChain(clients.node, home, 'responses:')
    agent = await startCodex(clients.file(codex), home, chain.gateway.url, 'gpt-5.2')
  }, 60_000)
  afterAll(async () => {
    await agent?.stop()
    await chain?.stop()
    home?.remove()
  })

  it('holds a long conversation in which the model sees a tool only after it searched', async () => {
    await converse(agent.ask, chain.gateway, home.files)
    console.log(JSON.stringify(chain.gateway.log), tokensOf(chain.model.log))
    console.log(JSON.stringify(chain.model.log))
    checkLog(chain.gateway.log, { mode: 'shelve', wire: 'append' })
    checkLoaded(chain.gateway.log)
    expect(agent.items.length).toBeGreaterThan(10)
  })
})
