// pi, an agent that defers tools itself and loads them by tool additions, which the gateway emulates for models that
// know nothing of them; with models of which pi knows that they do not, it sends all tools, which the gateway shelves.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Ask, checkLoaded, checkLog, converse } from './conversation.ts'
import { type Home, makeHome } from './gateway.ts'
import { AGENTS, prepareClients } from './install.ts'
import { type Recorder, startRecordedScript } from './recorder.ts'
import { expectSent } from './sent.ts'
import { type Serving, startServing } from './serving.ts'

const pi = '@earendil-works/pi-coding-agent/dist/cli.js'
const extension = fileURLToPath(new URL('./pi-servers.ts', import.meta.url))
const clients = await prepareClients([pi], AGENTS)

type Message = {
  readonly role: string
  readonly content: readonly { readonly text?: string }[]
  readonly errorMessage?: string
}
type Event = { readonly type: string; readonly message?: Message; readonly toolName?: string }

/** One process, one session, a line of JSON for everything that happens. */
function startAgent(home: Home, url: string, model: string, isSearching: boolean) {
  home.write('pi/models.json', { providers: { anthropic: { baseUrl: url, apiKey: 'none' } } })
  const env = {
    ...home.environment,
    PI_CODING_AGENT_DIR: `${home.folder}/pi`,
    PI_OFFLINE: '1',
    PI_TELEMETRY: '0',
    PI_SERVERS: home.config,
    ...(isSearching ? { PI_SEARCH: '1' } : {}),
  }
  const words = ['--mode', 'rpc', '--no-session', '--provider', 'anthropic', '--model', model]
  const command = [clients.file(pi), ...words, '--extension', extension]
  const child = spawn(clients.node, command, { cwd: home.files, env, stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const failed = ended.then(() => ({ content: [], errorMessage: 'pi ended' }))
  const called: string[] = []
  let settle: (answer: Message) => void = () => {}
  let last: Message = { role: '', content: [] }
  let rest = ''
  child.stdout.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const { type, message, toolName } of lines.map((line) => JSON.parse(line) as Event)) {
      if (type === 'tool_execution_start') called.push(toolName ?? '')
      if (type === 'message_end' && message?.role === 'assistant') last = message
      if (type === 'agent_settled') settle(last)
    }
  })
  const ask: Ask = async (text) => {
    const answer = new Promise<Message>((resolve) => {
      settle = resolve
    })
    child.stdin.write(`${JSON.stringify({ type: 'prompt', message: text })}\n`)
    const { content, errorMessage } = await Promise.race([answer, failed])
    if (errorMessage) throw new Error(errorMessage)
    return content.map((block) => block.text ?? '').join('\n')
  }
  const stop = async () => {
    child.stdin.end()
    await ended
  }
  return { ask, called, stop }
}

/** test/messages has every mode and wire without an agent. */
const ways = [
  { mode: 'emulate', wire: 'append', model: 'claude-opus-4-8' },
  { mode: 'emulate', wire: 'bridge', model: 'claude-opus-4-8' },
  { mode: 'shelve', wire: 'bridge', model: 'claude-sonnet-4-5' },
]

describe.skipIf(clients.missing).each(ways)('pi, $mode, wire $wire', ({ mode, wire, model }) => {
  let home: Home
  let recorder: Recorder
  let serving: Serving
  let agent: ReturnType<typeof startAgent>
  beforeAll(async () => {
    home = makeHome()
    recorder = await startRecordedScript({ api: 'old' })
    const words = ['--upstream', recorder.url, '--mode', mode === 'emulate' ? 'auto' : mode, '--wire', wire]
    serving = await startServing(clients.node, home, ...words)
    agent = startAgent(home, serving.url, model, mode === 'emulate')
  })
  afterAll(async () => {
    await agent?.stop()
    await serving?.stop()
    await recorder?.stop()
    home?.remove()
  })

  it('holds a long conversation in which the model sees a tool only after it searched', async () => {
    await converse(agent.ask, serving, home.files)
    checkLog(serving.log, { mode, wire })
    if (mode === 'shelve') checkLoaded(serving.log)
    expect(agent.called.includes('ToolSearch')).toBe(mode === 'emulate')
    expect(agent.called).toContain('memory__search_nodes')
    expectSent(`pi, ${mode}, ${wire}`, recorder.sent)
  })
})
