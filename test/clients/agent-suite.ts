// The suite that agents of every kind pass in front of `toolshelf serve`: the long conversation with more than a hundred
// tools, shelved, with a restart; with TEST_EFFORT above 1 also the same without the gateway. SHOW_FIGURES=1 prints what
// both cost.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { isThorough } from '../../packages/testkit/src/runs.ts'
import { type Ask, checkLoaded, checkLog, converse } from './conversation.ts'
import { type Home, makeHome, manyTools } from './gateway.ts'
import type { Clients } from './install.ts'
import { type Recorder, type Sent, startRecordedScript } from './recorder.ts'
import { expectSent } from './sent.ts'
import { type Serving, serveHere, startServing } from './serving.ts'

export type Agent = {
  readonly ask: Ask
  /** The names of all tools that it ran. */
  readonly called: readonly string[]
  stop(): Promise<void>
}

export type AgentCase = {
  readonly name: string
  readonly clients: Clients
  /** The API between the gateway and the model, as `--upstream` spells it; '' for the Messages API. */
  readonly upstream: '' | 'openai:' | 'responses:'
  /** Further options of `toolshelf serve`. */
  readonly options?: readonly string[]
  /** Whether the gateway runs in the test's process: for the second case of an agent, without further options. */
  readonly isServedHere?: boolean
  /** Whether it runs only if TEST_EFFORT is above 1: another API of an agent that runs anyway. */
  readonly isExtra?: boolean
  /** The status of an overloaded model; that of OpenAI's APIs if left out, which most cases speak on a side. */
  readonly overloaded?: number
  /** The time for one conversation; agents that start a process for each turn need more. */
  readonly timeoutMs?: number
  /** A home whose servers run already, for several cases; each begins with an empty memory. One of its own if left out. */
  readonly home?: Home
  readonly start: (home: Home, url: string) => Promise<Agent>
}

/** As OpenAI's APIs report an overloaded model; the Messages API does with 529. */
const OVERLOADED = 503

function total(sent: readonly Sent[]): number {
  return sent.reduce((sum, { inputTokens }) => sum + inputTokens, 0)
}

/** How often the gateway asked the model and was answered. */
function roundsOf({ log }: Serving): number {
  return log.filter(({ status }) => status === 200).reduce((sum, { rounds }) => sum + rounds, 0)
}

export function describeAgent({
  name,
  clients,
  upstream,
  options = [],
  isServedHere = false,
  isExtra = false,
  overloaded = OVERLOADED,
  timeoutMs = 400_000,
  home: shared,
  start,
}: AgentCase): void {
  const enterHome = () => {
    const home = shared ?? makeHome(manyTools)
    home.forget()
    return { ...home, remove: () => (shared ? undefined : home.remove()) }
  }
  describe.skipIf(clients.missing || (isExtra && !isThorough))(
    `${name}, shelved`,
    { timeout: timeoutMs },
    () => {
      const closing: (() => Promise<unknown>)[] = []
      let home: Home
      let recorder: Recorder
      let gateway: Serving
      let agent: Agent
      beforeAll(async () => {
        home = enterHome()
        recorder = await startRecordedScript()
        closing.unshift(recorder.stop)
        const address = upstream === '' ? recorder.url : `${upstream}${recorder.url}/v1`
        const words = ['--upstream', address, '--mode', 'shelve', ...options]
        gateway = isServedHere
          ? await serveHere({ upstream: address, mode: 'shelve' })
          : await startServing(clients.node, home, ...words)
        closing.unshift(gateway.stop)
        agent = await start(home, gateway.url)
        closing.unshift(agent.stop)
      })
      afterAll(async () => {
        for (const close of closing) await close()
        home?.remove()
      })

      it('holds a long conversation in which the model sees a tool only after it searched', async () => {
        await converse(agent.ask, gateway, home.files)
        // The log's last line may come after the reply.
        await vi.waitFor(() => expect(roundsOf(gateway)).toBe(recorder.sent.length), 60_000)
        checkLog(gateway.log, { mode: 'shelve' }, overloaded)
        checkLoaded(gateway.log, recorder.sent[0]?.tools)
        for (const { toolsGiven } of gateway.log) expect(toolsGiven).toBeGreaterThan(100)
        const saved = gateway.log.reduce((sum, { tokensSaved = 0 }) => sum + tokensSaved, 0)
        expect(saved, 'tokens saved, searches included').toBeGreaterThan(0)
        expect(agent.called.length).toBeGreaterThan(9)
        expect(agent.called, 'searches stay hidden').not.toContain('ToolSearch')
      })

      it('sends upstream only what was loaded, under the names of the agent', () => {
        const [first] = recorder.sent
        expect(first?.tools).toContain('ToolSearch')
        expect(first?.tools.filter((tool) => /echo|create_entities|read_text_file/.test(tool))).toEqual([])
        expect(recorder.sent).toHaveLength(roundsOf(gateway))
        const last = recorder.sent.at(-1)?.tools ?? []
        const loaded = gateway.log.flatMap((entry) => entry.loaded)
        expect(last.length).toBeLessThan(70)
        expect(last).toEqual(expect.arrayContaining(loaded))
      })

      it('sends the recorded requests', () => expectSent(`${name}, shelve`, recorder.sent))

      // As long again, and nothing of ours runs in it but the scripted model.
      it.runIf(isThorough)('costs less than the same conversation without the gateway', async () => {
        const other = enterHome()
        const model = await startRecordedScript()
        const direct = await start(other, model.url)
        try {
          await converse(direct.ask, undefined, other.files)
          const [without, having] = [model.sent, recorder.sent]
          for (const { tools } of without) expect(tools.length).toBeGreaterThan(100)
          expect(total(having)).toBeLessThan(total(without))
          // Where nothing is shelved, the model searches with what the agent itself has for it.
          const called = direct.called.filter((tool) => tool !== 'tool_search')
          expect([...agent.called].sort()).toEqual([...called].sort())
          if (process.env.SHOW_FIGURES) process.stderr.write(`${figures(gateway, having, without)}\n`)
        } finally {
          await direct.stop()
          await model.stop()
          other.remove()
        }
      })

      function figures({ log }: Serving, having: readonly Sent[], without: readonly Sent[]): string {
        const searches = log.reduce((sum, entry) => sum + entry.searches, 0)
        const { toolsGiven } = log[0] ?? { toolsGiven: 0 }
        const shown = `${having[0]?.tools.length}–${having.at(-1)?.tools.length}`
        const tokens = `${total(having)} input tokens with, ${total(without)} without`
        return `${name}: ${log[0]?.wire}, ${toolsGiven} tools given, ${shown} visible, ${searches} searches, ${tokens}`
      }
    },
  )
}
