// A real agent, opencode, with the gateway as its only MCP server and a scripted model: it searches, loads and calls.
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { gatewayCommand, makeHome, run } from './gateway.ts'
import { AGENTS, prepareClients } from './install.ts'
import { expectRecorded, recordedCommand } from './mcp-sent.ts'
import { type Model, type Step, startModel, type Turn } from './model.ts'

const opencode = `opencode-${process.platform}-${process.arch}/bin/opencode`
const clients = await prepareClients([opencode], AGENTS)

const home = makeHome()
const { everything } = home.servers
const oneServer = home.write('one-server.json', { mcpServers: { everything } })
let model: Model
afterEach(() => model?.close())
afterAll(home.remove)

/** opencode puts the name of the server before the name of a tool. */
const shelf = (name: string) => `shelf_${name}`

/** Ends opencode once the model has said its last words: it takes its time over a goodbye to its servers. */
async function talk(mode: string, decide: (turn: Turn, index: number) => Step): Promise<readonly Turn[]> {
  const over = new AbortController()
  model = await startModel((turn, index) => {
    const step = decide(turn, index)
    if (step === done) over.abort()
    return step
  })
  const { command, args } = recordedCommand(
    gatewayCommand(clients.node, oneServer, '--mode', mode),
    home,
    mode,
  )
  home.write(`${mode}/opencode.json`, {
    model: 'scripted/model',
    small_model: 'scripted/model',
    autoupdate: false,
    share: 'disabled',
    permission: 'allow',
    provider: {
      scripted: {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: model.url, apiKey: 'none' },
        models: { model: { name: 'model', tool_call: true } },
      },
    },
    mcp: { shelf: { type: 'local', command: [command, ...args], environment: home.environment } },
  })
  const env = { ...home.environment, OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1' }
  const place = { cwd: join(home.folder, mode), env, signal: over.signal }
  const output = await run(clients.file(opencode), ['run', 'go'], place)
  if (!over.signal.aborted) throw new Error(`${output.out}\n${output.told}`)
  return model.turns
}

const done: Step = { say: 'done' }
const search: Step = { call: shelf('ToolSearch'), input: { query: 'select:everything__echo' } }

const MAX_SEARCHES = 10

/**
 * Searches, again while servers are still starting or opencode, on a busy machine, has not fetched the new list in time; then calls
 * what it found, once.
 */
function searchThen(call: Step, isFound: (turn: Turn) => boolean) {
  let isCalled = false
  return (turn: Turn, index: number): Step => {
    if (isCalled) return done
    if (index === 0) return search
    isCalled = isFound(turn)
    if (isCalled) return call
    return index < MAX_SEARCHES ? search : done
  }
}

describe.skipIf(clients.missing)('opencode', () => {
  // opencode is one of the clients that `auto` gives the list.
  it.each(['auto', 'list'])('mode %s: a found tool comes into its list of tools, and works', async (mode) => {
    const echo: Step = { call: shelf('everything__echo'), input: { message: 'seven' } }
    const turns = await talk(
      mode,
      searchThen(echo, ({ tools }) => tools.includes(shelf('everything__echo'))),
    )

    expect(turns[0]?.tools).toContain(shelf('ToolSearch'))
    expect(turns[0]?.tools).not.toContain(shelf('everything__echo'))
    expect(turns.at(-2)?.tools).toContain(shelf('everything__echo'))
    expect(turns.at(-1)?.last).toContain('Echo: seven')
    expectRecorded('opencode', mode, home)
  })

  it('mode bridge: the tools stay the same, and the search shows what CallTool takes', async () => {
    const input = { name: 'everything__echo', arguments: { message: 'seven' } }
    const echo: Step = { call: shelf('CallTool'), input }
    const turns = await talk(
      'bridge',
      searchThen(echo, ({ last }) => last.includes('message')),
    )

    expect(turns.at(-1)?.last).toContain('Echo: seven')
    for (const { tools } of turns) expect(tools).toEqual(turns[0]?.tools)
    expectRecorded('opencode', 'bridge', home)
  })
})
