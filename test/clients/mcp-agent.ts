// The suite for agents that have the gateway as their only MCP server and a scripted model: the model searches, and calls what it
// found.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { gatewayCommand, type Home, makeHome, type Output } from './gateway.ts'
import type { Clients } from './install.ts'
import { expectRecorded, recordedCommand } from './mcp-sent.ts'
import { type Model, type Step, startModel, type Turn } from './model.ts'

/** One run of an agent: it says `go` to the model, and ends. */
export type AgentRun = {
  readonly home: Home
  /** Of the gateway, and of the files of this run in the home. */
  readonly mode: string
  readonly command: string
  readonly args: readonly string[]
  readonly modelUrl: string
  /** Aborted once the model has said its last words, for agents that take their time over a goodbye to their servers. */
  readonly signal: AbortSignal
}

export type McpAgentCase = {
  readonly name: string
  readonly clients: Clients
  /** What the agent puts before the names of this server's tools. */
  readonly prefix: string
  /** The modes in which it sees a list of tools that grows; the others are a bridge for it. */
  readonly listModes: readonly string[]
  readonly bridgeModes: readonly string[]
  /** Methods that it calls while servers are still starting. */
  readonly early?: readonly string[]
  readonly start?: typeof startModel
  readonly run: (run: AgentRun) => Promise<Output>
}

const done: Step = { say: 'done' }
const MAX_SEARCHES = 10

export function describeMcpAgent({
  name,
  clients,
  prefix,
  listModes,
  bridgeModes,
  early = [],
  start = startModel,
  run,
}: McpAgentCase): void {
  let home: Home
  let model: Model | undefined

  const echo: Step = { call: `${prefix}everything__echo`, input: { message: 'seven' } }
  const input = { name: 'everything__echo', arguments: { message: 'seven' } }
  const bridged: Step = { call: `${prefix}CallTool`, input }
  const search: Step = { call: `${prefix}ToolSearch`, input: { query: 'select:everything__echo' } }

  /**
   * Searches, again while servers are still starting or the agent, on a busy machine, has not fetched the new list in time; then
   * calls what it found, once.
   */
  async function talk(mode: string, call: Step, isFound: (turn: Turn) => boolean): Promise<readonly Turn[]> {
    const over = new AbortController()
    let isCalled = false
    const decide = (turn: Turn, index: number): Step => {
      const isOver = isCalled || index > MAX_SEARCHES
      if (isOver) over.abort()
      if (isOver) return done
      isCalled = index > 0 && isFound(turn)
      return isCalled ? call : search
    }
    model = await start(decide)
    const { everything } = home.servers
    const oneServer = home.write('one-server.json', { mcpServers: { everything } })
    const gateway = gatewayCommand(clients.node, oneServer, '--mode', mode)
    const command = recordedCommand(gateway, home, mode)
    const { signal } = over
    const output = await run({ home, mode, ...command, modelUrl: model.url, signal })
    if (!signal.aborted) throw new Error(`${output.out}\n${output.told}`)
    return model.turns
  }

  describe.skipIf(clients.missing)(name, () => {
    beforeAll(() => {
      home = makeHome()
    })
    afterEach(() => model?.close())
    afterAll(() => home?.remove())

    it.each(listModes)('mode %s: a found tool comes into its list of tools, and works', async (mode) => {
      const found = `${prefix}everything__echo`
      const turns = await talk(mode, echo, ({ tools }) => tools.includes(found))
      expect(turns[0]?.tools).toContain(`${prefix}ToolSearch`)
      expect(turns[0]?.tools).not.toContain(found)
      expect(turns.at(-2)?.tools).toContain(found)
      expect(turns.at(-1)?.last).toContain('Echo: seven')
      expectRecorded(name, mode, home, early)
    })

    it.each(bridgeModes)(
      'mode %s: the tools stay the same, and the search shows what CallTool takes',
      async (mode) => {
        const turns = await talk(mode, bridged, ({ last }) => last.includes('message'))
        expect(turns.at(-1)?.last).toContain('Echo: seven')
        for (const { tools } of turns) expect(tools).toEqual(turns[0]?.tools)
        expectRecorded(name, mode, home, early)
      },
    )
  })
}
