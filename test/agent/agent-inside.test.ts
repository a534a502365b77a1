// Sub-agents: they have the same tools and conversations of their own, and report what they do.
import { expect, test } from 'vitest'
import { createAgent } from '../../src/agent/agent.ts'
import { createAgentTool } from '../../src/agent/sub-agent.ts'
import type { AgentTool } from '../../src/agent/types.ts'
import type { Trace } from '../../src/core/trace.ts'
import {
  echo,
  endOf,
  heard,
  lines,
  refusals,
  runnerOn,
  said,
  scripted,
  serverTools,
  shelfWith,
  talking,
} from './support.ts'

const inParent = { when: 'delegate', do: [{ calls: ['a', 'b'].map(subTask) }, { say: '{{result}}' }] }
function subTask(name: string) {
  return { call: 'Agent', input: { description: name, prompt: `find the forecast ${name}` } }
}

test('two sub-agents at once have conversations of their own', async () => {
  const origins: string[] = []
  const trace = (event: Trace) => void (event.type === 'announced' && origins.push(event.origin))
  const shelf = shelfWith(serverTools('weather', 'forecast', 'alerts'), { trace })
  const runner = runnerOn(shelf)
  const script = scripted(inParent, {
    when: 'find the forecast (.)',
    do: [{ call: '/forecast$/', input: { city: '{{1}}' } }, { say: 'sub {{1}}: {{result}}' }],
  })
  const talk = await talking(script, { shelf })
  const tools: AgentTool[] = [
    createAgentTool(() => ({ client: talk.client, model: 'claude-haiku-4-5', shelf, runner, tools })),
  ]
  const agent = createAgent({ client: talk.client, model: 'claude-opus-4-5', shelf, runner, tools })
  const events = await heard(agent.send('delegate'))
  const told = lines(events)
  expect(told.at(-1)).toBe('end done')
  expect(told.find((line) => line.startsWith('text sub a:'))).toMatch(
    /sub a: forecast of weather ran[\s\S]*sub b:/,
  )
  expect(told.filter((line) => line.startsWith('inside result ToolSearch: loaded'))).toHaveLength(2)
  const parents = events.flatMap((event) => (event.type === 'request' ? [event.sent] : []))
  expect(parents.map(({ loaded }) => loaded)).toEqual([[], []])
  const announced = talk.seen.filter(({ request }) => request.model === 'claude-haiku-4-5')
  expect(JSON.stringify(announced[0]!.request.messages)).toContain('mcp__weather__forecast')
  expect(origins).toEqual(['main', 'sub-agent', 'sub-agent'])
  expect(JSON.stringify(agent.messages)).not.toContain('tool_reference')
  expect(shelf.state().kept).toEqual([])
  expect(refusals(talk)).toEqual([])
})

test('a sub-agent that fails is a failed call, and it cannot start others', async () => {
  const script = scripted(
    {
      when: 'delegate',
      do: [{ call: 'Agent', input: { description: 'x', prompt: 'break down' } }, { say: '{{result}}' }],
    },
    {
      when: 'break down',
      do: [{ call: 'Agent', input: { description: 'y', prompt: 'z' } }, { fail: { status: 400 } }],
    },
  )
  const talk = await talking(script)
  const { client, shelf } = talk
  const tools: AgentTool[] = [createAgentTool(() => ({ client, model: 'claude-haiku-4-5', shelf, tools }))]
  const agent = createAgent({ client, model: 'claude-opus-4-5', shelf, tools })
  const told = lines(await heard(agent.send('delegate')))
  expect(told).toContain('inside result Agent: "Agent" cannot be run here. Use another tool.')
  expect(
    told.find((line) => line.startsWith('result Agent: The tool failed: the sub-agent ended (failed)')),
  ).toBeDefined()
  expect(told.at(-1)).toBe('end done')
})

test('stopping stops what happens inside, and the next message works', async () => {
  const stop = new AbortController()
  const hang = () => {
    stop.abort()
    return new Promise<never>(() => {})
  }
  const script = scripted(
    { when: 'delegate', do: [{ call: 'Agent', input: { description: 'x', prompt: 'hang on' } }] },
    { when: 'hang on', do: [{ call: 'Hang' }] },
    { do: [{ say: 'ok' }] },
  )
  const talk = await talking(script)
  const { client, shelf } = talk
  const tools: AgentTool[] = [
    echo('Hang', { run: hang }),
    createAgentTool(() => ({ client, model: 'claude-haiku-4-5', shelf, tools })),
  ]
  const agent = createAgent({ client, model: 'claude-opus-4-5', shelf, tools })
  expect(endOf(await said(agent, 'delegate', stop.signal)).reason).toBe('stopped')
  expect(endOf(await said(agent, 'next')).reason).toBe('done')
  expect(refusals(talk)).toEqual([])
})
