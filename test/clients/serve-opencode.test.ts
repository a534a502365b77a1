// opencode speaks to `toolshelf serve` as it would to Anthropic, and sends the tools of all its servers every time: the
// gateway shelves them. It takes 22 seconds of CPU time, so it runs with TEST_EFFORT above 1; opencode.test.ts always tests it as an
// MCP client, and serve-openai.test.ts an agent that is shelved.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Ask, checkLoaded, checkLog, converse } from './conversation.ts'
import { type Home, makeHome } from './gateway.ts'
import { AGENTS, prepareClients } from './install.ts'
import { startProcess } from './process.ts'
import { type Recorder, startRecordedScript } from './recorder.ts'
import { expectSent } from './sent.ts'
import { type Serving, startServing } from './serving.ts'

const opencode = `opencode-${process.platform}-${process.arch}/bin/opencode`
const clients = await prepareClients([opencode], AGENTS)

type Part = { readonly type: string; readonly text?: string }
type Answer = { readonly info: { readonly error?: object }; readonly parts: readonly Part[] }

const model = 'claude-opus-5-5'

function configure(home: Home, url: string) {
  const toLocal = ([name, { command, args, env }]: (typeof servers)[number]) => [
    name,
    { type: 'local', command: [command, ...args], environment: { ...home.environment, ...env } },
  ]
  const servers = Object.entries(home.servers)
  home.write('files/opencode.json', {
    model: `shelf/${model}`,
    small_model: `shelf/${model}`,
    autoupdate: false,
    share: 'disabled',
    snapshot: false,
    lsp: false,
    formatter: false,
    permission: 'allow',
    provider: {
      shelf: {
        npm: '@ai-sdk/anthropic',
        options: { baseURL: `${url}/v1`, apiKey: 'none' },
        models: { [model]: { name: model, tool_call: true, reasoning: true } },
      },
    },
    mcp: Object.fromEntries(servers.map(toLocal)),
  })
}

/** opencode's own server: one process, one session. */
async function startAgent(home: Home) {
  const env = { ...home.environment, OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1' }
  const words = ['serve', '--port', String(await freePort())]
  const place = { cwd: home.files, env }
  const { url, stop } = await startProcess(clients.file(opencode), words, place, /listening on (\S+)/)
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return answer.json()
  }
  const { id } = (await post('/session', {})) as { id: string }
  const ask: Ask = async (text) => {
    const answer = await post(`/session/${id}/message`, { parts: [{ type: 'text', text }] })
    const { info, parts } = answer as Answer
    if (info.error) throw new Error(JSON.stringify(info.error))
    return parts.map((part) => part.text ?? '').join('\n')
  }
  const history = async () => {
    const answer = await fetch(`${url}/session/${id}/message`)
    return ((await answer.json()) as Answer[]).flatMap(({ parts }) => parts)
  }
  return { ask, history, stop: () => stop('SIGKILL') }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address ? address.port : 0
}

describe.skipIf(clients.missing)('opencode, shelved', () => {
  let home: Home
  let recorder: Recorder
  let serving: Serving
  let agent: Awaited<ReturnType<typeof startAgent>>
  beforeAll(async () => {
    home = makeHome()
    recorder = await startRecordedScript({ boundThinking: true }, 'emulate')
    const words = ['--upstream', recorder.url, '--mode', 'shelve', '--wire', 'native']
    serving = await startServing(clients.node, home, ...words)
    configure(home, serving.url)
    agent = await startAgent(home)
  })
  afterAll(async () => {
    await agent?.stop()
    await serving?.stop()
    await recorder?.stop()
    home?.remove()
  })

  it('holds a long conversation in which the model sees a tool only after it searched', async () => {
    await converse(agent.ask, serving, home.files)
    checkLog(serving.log, { mode: 'shelve', wire: 'native' })
    const loaded = checkLoaded(serving.log)
    expect(loaded, 'nothing is loaded twice').toEqual([...new Set(loaded)])
    expectSent('opencode, shelve, native', recorder.sent)
  })

  it('never shows a search to the agent', async () => {
    const parts = await agent.history()
    expect(JSON.stringify(parts)).not.toContain('ToolSearch')
    expect(parts.filter(({ type }) => type === 'tool').length).toBeGreaterThan(10)
  })
})
