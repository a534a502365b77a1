// The events of the agent beside those of its shelf: permissions, calls and results.
import { expect, test } from 'vitest'
import type { Trace } from '../../src/core/index.ts'
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
  const [called, result] = events.filter(({ type }) => type !== 'permission')
  expect(result).toMatchObject({ id: (called as { id: string }).id, milliseconds: expect.any(Number) })
})

test('a call that may not run', async () => {
  const { trace, lines } = listening()
  const { agent } = await talking(script, { tools: [echo('Echo')], permission: () => 'no', trace })
  await said(agent, 'go')
  expect(lines()).toEqual(['permission Echo false', 'result Echo refused'])
})

test('a search is no call, and a tool of a server names the server', async () => {
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
