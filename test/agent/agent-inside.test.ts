// Sub-agents: they have the same tools and conversations of their own, and report what they do.
import { expect, test } from 'vitest'
import { createAgent } from '../../packages/agent/src/agent.ts'
import { createAgentTool } from '../../packages/agent/src/sub-agent.ts'
import type { AgentTool } from '../../packages/agent/src/types.ts'
import { echo, endOf, heard, lines, refusals, said, scripted, talking } from './support.ts'

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
