// Cline's command line speaks Chat Completions to `toolshelf serve` and sends the tools of its MCP servers every time: the
// gateway shelves them. Without a terminal Cline cannot resume a session, so each task is a conversation of its own.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { isThorough } from '../../packages/testkit/src/runs.ts'
import { startCline } from './cline-agent.ts'
import { type Home, makeHome, manyTools } from './gateway.ts'
import { prepareClients } from './install.ts'
import { type Recorder, startRecordedScript } from './recorder.ts'
import { expectSent } from './sent.ts'
import { type Serving, startServing } from './serving.ts'

const cli = `@cline/cli-${process.platform}-${process.arch}/bin/cline`
const clients = await prepareClients([cli], { folder: 'cline', largeMB: 150 })

const tasks: readonly (readonly [task: string, answer: string | RegExp])[] = [
  ['echo seven', 'Echo: seven'],
  ['remember ada', 'wrote the first program'],
  ['search twice', /\\?"conditions\\?"/],
  ['who is ada', 'wrote the first program'],
]

/** Cline shows no tools on its command line: only what it sends says whether its servers were there. */
describe.skipIf(clients.missing || !isThorough)('Cline, shelved', { timeout: 600_000 }, () => {
  const closing: (() => Promise<unknown>)[] = []
  let home: Home
  let gateway: Serving
  let recorder: Recorder
  beforeAll(async () => {
    home = makeHome(manyTools)
    recorder = await startRecordedScript()
    closing.unshift(recorder.stop)
    const upstream = `openai:${recorder.url}/v1`
    gateway = await startServing(clients.node, home, '--upstream', upstream, '--mode', 'shelve')
    closing.unshift(gateway.stop)
  })
  afterAll(async () => {
    for (const close of closing) await close()
    home?.remove()
  })

  async function carryOut(
    place: Home,
    url: string,
    restart?: () => Promise<void>,
  ): Promise<readonly string[]> {
    const { ask, called } = await startCline(clients.file(cli), place, url)
    for (const [index, [task, answer]] of tasks.entries()) {
      if (index === 2) await restart?.()
      const said = await ask(task)
      expect(said, task).toContain('offline script')
      expect(said, task).toMatch(answer)
    }
    return called
  }

  it('does tasks for which the model searches its tools, and costs less than without the gateway', async () => {
    const called = await carryOut(home, gateway.url, gateway.restart)
    expect(called).toEqual(expect.arrayContaining(['everything__echo', 'memory__create_entities']))
    expect(called, 'searches stay hidden').not.toContain('ToolSearch')
    const rounds = () => gateway.log.reduce((sum, entry) => sum + entry.rounds, 0)
    await vi.waitFor(() => expect(rounds()).toBe(recorder.sent.length), 60_000)
    for (const entry of gateway.log) expect(entry).toMatchObject({ status: 200, mode: 'shelve' })
    const first = gateway.log[0]
    expect(first?.toolsGiven).toBeGreaterThan(100)
    expect(first?.toolsVisible).toBeLessThan(20)
    const having = [...recorder.sent]
    expectSent('Cline, shelve', having)
    // Ada must be new to the memory server again.
    const other = makeHome(manyTools)
    closing.push(async () => other.remove())
    await carryOut(other, recorder.url)
    const total = (sent: Recorder['sent']) => sent.reduce((sum, { inputTokens }) => sum + inputTokens, 0)
    const [shelved, without] = [total(having), total(recorder.sent.slice(having.length))]
    expect(shelved).toBeLessThan(without)
    if (process.env.SHOW_FIGURES)
      process.stderr.write(
        `Cline: ${first?.toolsGiven} tools given, ${first?.toolsVisible} visible at first, ${shelved} input tokens with, ${without} without\n`,
      )
  })
})
