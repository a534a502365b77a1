// Claude Code speaks the Messages API to `toolshelf serve`. It defers the tools of its MCP servers and searches them itself, and the
// gateway shows a model of another API those that it found. Told not to, it sends all of them every time, and the gateway shelves them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Agent } from './agent-suite.ts'
import { checkLoaded, checkLog, converse } from './conversation.ts'
import { type Home, makeHome } from './gateway.ts'
import { prepareClients } from './install.ts'
import { type Recorder, startRecordedScript } from './recorder.ts'
import { expectSent } from './sent.ts'
import { type Serving, startServing } from './serving.ts'
import { startStreamJson, streamJson } from './stream-json.ts'

const claude = `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`
const clients = await prepareClients([claude], { folder: 'claude-code', largeMB: 349 })

function startClaude(home: Home, url: string, isDeferring: boolean): Agent {
  const config = home.write('mcp.json', { mcpServers: home.servers })
  const env = {
    ...home.environment,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    ENABLE_TOOL_SEARCH: String(isDeferring),
  }
  const names = Object.keys(home.servers).map((name) => `mcp__${name}`)
  const servers = ['--mcp-config', config, '--strict-mcp-config', '--allowedTools', names.join(',')]
  const words = ['-p', '--verbose', ...streamJson, ...servers]
  return startStreamJson('Claude Code', clients.file(claude), words, { cwd: home.files, env })
}

describe.skipIf(clients.missing).each([
  { mode: 'shelve', wire: 'native', overloaded: 529 },
  { mode: 'emulate', wire: 'append', overloaded: 503 },
] as const)('Claude Code, mode $mode', ({ mode, wire, overloaded }) => {
  const isNative = wire === 'native'
  let home: Home
  let recorder: Recorder
  let serving: Serving
  let agent: Agent
  beforeAll(async () => {
    home = makeHome()
    recorder = isNative
      ? await startRecordedScript({ boundThinking: true }, 'emulate')
      : await startRecordedScript()
    const upstream = isNative ? recorder.url : `responses:${recorder.url}/v1`
    const words = ['--upstream', upstream, '--mode', mode, '--wire', wire]
    serving = await startServing(clients.node, home, ...words)
    agent = startClaude(home, serving.url, mode === 'emulate')
  })
  afterAll(async () => {
    await agent?.stop()
    await serving?.stop()
    await recorder?.stop()
    home?.remove()
  })

  it('holds a long conversation in which the model sees a tool only after it searched', async () => {
    await converse(agent.ask, serving, home.files)
    checkLog(serving.log, { mode, wire }, overloaded)
    const loaded = serving.log.flatMap((entry) => entry.loaded)
    expect(loaded, 'nothing is loaded twice').toEqual([...new Set(loaded)])
    if (mode === 'shelve') checkLoaded(serving.log)
    const searches = agent.called.filter((name) => name === 'ToolSearch')
    expect(searches.length > 0, 'it searches itself').toBe(mode === 'emulate')
    expect(agent.called).toContain('mcp__everything__echo')
    expectSent(`Claude Code, ${mode}, ${wire}`, recorder.sent)
  })
})
