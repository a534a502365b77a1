// With models of which Codex knows that they search tools, it defers its MCP tools and runs the searches itself
// (`tool_search` with `execution: client`). The gateway makes this work in front of a model that knows nothing of it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Agent } from './agent-suite.ts'
import { codex, prepareCodex, startCodex } from './codex-agent.ts'
import { type Home, makeHome, manyTools } from './gateway.ts'
import { type Model, startModel } from './model.ts'
import { checkEmulated, obedient, useTools } from './obedient.ts'
import { type Recorder, startRecorder } from './recorder.ts'
import { expectSent } from './sent.ts'
import { type Serving, startServing } from './serving.ts'

const clients = await prepareCodex()

describe.skipIf(clients.missing)('Codex, emulated, chat completions', () => {
  let home: Home
  let model: Model
  let recorder: Recorder
  let serving: Serving
  let agent: Agent
  beforeAll(async () => {
    home = makeHome(manyTools)
    model = await startModel(obedient('tool_search'))
    recorder = await startRecorder(new URL(model.url).origin)
    serving = await startServing(clients.node, home, '--upstream', `openai:${recorder.url}/v1`)
    agent = await startCodex(clients.file(codex), home, serving.url, 'gpt-5.5')
  })
  afterAll(async () => {
    await agent?.stop()
    await serving?.stop()
    await recorder?.stop()
    await model?.close()
    home?.remove()
  })

  it('searches itself, and the model sees what it found, before and after a restart', async () => {
    await useTools(agent.ask, serving, home.files)
    checkEmulated(serving.log)
    expectSent('Codex, emulate', recorder.sent, { anyOrder: true })
    const [first, last] = [model.turns[0]?.tools ?? [], model.turns.at(-1)?.tools ?? []]
    if (process.env.SHOW_FIGURES)
      process.stderr.write(
        `Codex, emulate: ${first.length}–${last.length} tools visible, ${serving.log.length} requests\n`,
      )
    expect(first).toContain('tool_search')
    expect(first.filter((name) => name.startsWith('mcp__'))).toEqual([])
    expect(last).toContain('mcp__everything__echo')
    expect(last).toContain('mcp__memory__read_graph')
    expect(last.length).toBeLessThan(first.length + 60)
    expect(agent.called.filter((name) => name === 'echo')).toHaveLength(3)
  })
})
