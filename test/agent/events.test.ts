// The events of the agent beside those of its shelf: permissions, calls and results.
import { expect, test } from 'vitest'
import { createAgent } from '../../packages/agent/src/agent.ts'
import { createAgentTool } from '../../packages/agent/src/sub-agent.ts'
import type { AgentTool, ToolRunner } from '../../packages/agent/src/types.ts'
import type { Trace } from '../../packages/core/src/events.ts'
import { echo, runnerOn, said, scripted, serverTools, shelfWith, talking } from './support.ts'

function listening() {
  const events: Trace[] = []
  const trace = (event: Trace) => void events.push(event)
  const lines = () =>
    events
      .filter(({ type }) => type === 'permission' || type === 'call' || type === 'result')
      .map((event) =>
        `${event.type} ${'name' in event ? event.name : ''} ${'outcome' in event ? event.outcome : 'isAllowed' in event ? event.isAllowed : ''}`.trim(),
      )
  return { events, trace, lines }
}

const script = scripted({
  when: 'go',
  do: [{ call: 'Echo', input: { text: 'a' } }, { say: 'Done.' }],
})

test('a call that may run', async () => {
  const { events, trace, lines } = listening()
  const { agent } = await talking(script, { tools: [echo('Echo')], permission: () => true, trace })
  await said(agent, 'go')
  expect(lines()).toEqual(['permission Echo true', 'call Echo', 'result Echo done'])
  const [called, result] = events.filter(({ type }) => type === 'call' || type === 'result')
  expect(result).toMatchObject({ id: (called as { id: string }).id, milliseconds: expect.any(Number) })
})

test('a call that may not run', async () => {
  const { trace, lines } = listening()
  const { agent } = await talking(script, { tools: [echo('Echo')], permission: () => 'no', trace })
  await said(agent, 'go')
  expect(lines()).toEqual(['permission Echo false', 'result Echo refused'])
})

test('a search is not a call, and a tool of a server names the server', async () => {
  const { events, trace, lines } = listening()
  const tools = serverTools('weather', 'forecast')
  const shelf = shelfWith(tools, { trace })
  const search = { call: 'mcp__weather__forecast', input: { city: 'Oslo' }, search: 'forecast' }
  const { agent } = await talking(scripted({ when: 'go', do: [search, { say: 'Done.' }] }), {
    ...{ shelf, trace, runner: runnerOn(shelf) },
  })
  await said(agent, 'go')
  expect(lines()).toEqual(['call mcp__weather__forecast', 'result mcp__weather__forecast done'])
  expect(events.filter(({ type }) => type === 'call')).toMatchObject([{ server: 'weather' }])
  const types = events.map(({ type }) => type)
  for (const type of ['decision', 'searched', 'loaded', 'prefix'] as const) expect(types).toContain(type)
})

test('a turn is reported at its end, and with spans its servers get the call as parent', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const { events, trace } = listening()
  const shelf = shelfWith(serverTools('weather', 'forecast'))
  const metas: unknown[] = []
  const runner: ToolRunner = {
    async run(call, options) {
      metas.push(options?.meta)
      return shelf.result(call, 'sunny')
    },
  }
  const search = { call: 'mcp__weather__forecast', input: { city: 'Oslo' }, search: 'forecast' }
  const { agent } = await talking(scripted({ when: 'go', do: [search, { say: 'Done.' }] }), {
    ...{ shelf, runner, trace: Object.assign(trace, { traceId }) },
  })
  await said(agent, 'go')
  expect(events.at(-1)).toMatchObject({ type: 'turn', reason: 'done', milliseconds: expect.any(Number) })
  const { spanId } = events.find(({ type }) => type === 'call') as { spanId?: string }
  expect(metas).toEqual([{ traceparent: `00-${traceId}-${spanId}-01` }])
})

test('the turn of a sub-agent is part of a call', async () => {
  const { events, trace } = listening()
  const shelf = shelfWith([])
  const task = { call: 'Agent', input: { description: 'x', prompt: 'inner' } }
  const inner = { when: 'inner', do: [{ say: 'Inside.' }] }
  const talk = await talking(scripted(inner, { when: 'go', do: [task, { say: 'Outside.' }] }), { shelf })
  const tools: AgentTool[] = [
    createAgentTool(() => ({ client: talk.client, model: 'claude-haiku-4-5', shelf, tools, trace })),
  ]
  const agent = createAgent({ client: talk.client, model: 'claude-haiku-4-5', shelf, tools, trace })
  await said(agent, 'go')
  expect(events.filter(({ type }) => type === 'sampled')).toHaveLength(3)
  expect(events.filter(({ type }) => type === 'turn')).toHaveLength(1)
})
