// Long results in the agent: previews in the history, reading on, compaction, sub-agents, and what /context counts.
import { expect, test } from 'vitest'
import { createAgentTool } from '../../packages/agent/src/sub-agent.ts'
import type { AgentTool } from '../../packages/agent/src/types.ts'
import type { Trace } from '../../packages/core/src/events.ts'
import type { Message } from '../../packages/core/src/types.ts'
import { endOf, lines, over, said, saying, shelfWith } from './support.ts'

const long = JSON.stringify(Array.from({ length: 400 }, (_, id) => ({ id, title: `Issue ${id}` })))
const list: AgentTool = {
  name: 'List',
  description: 'lists',
  input_schema: { type: 'object' },
  run: () => long,
}
const calling = (id: string, name: string, input: object = {}) => ({
  content: [{ type: 'tool_use', id, name, input }],
  stop_reason: 'tool_use',
})
const textsIn = (messages: readonly Message[]) => JSON.stringify(messages)
const handleIn = (messages: readonly Message[]) => /result_[a-z0-9]{16}/.exec(textsIn(messages))?.[0] ?? ''

/** A model that reads the item of the first handle it sees. */
function reading(...before: object[]) {
  const model = saying(...before)
  const { create } = model.client.messages
  const asked = async (request: never) => {
    const { messages } = request as { messages: readonly Message[] }
    const handle = handleIn(messages)
    const isRead = textsIn(messages).includes('"ReadResult"')
    if (handle === '' || isRead) return create(request)
    return { ...calling('toolu_r', 'ReadResult', { handle, path: '[7].title' }), usage: {} }
  }
  return { ...model, client: { messages: { create: asked as typeof create } } }
}

test('a long result is a preview in the history, and the model reads what it needs', async () => {
  const events: Trace[] = []
  const trace = (event: Trace) => void events.push(event)
  const shelf = shelfWith([], { results: { budget: 1000 }, trace })
  const { agent } = over(reading(calling('toolu_1', 'List')), { shelf, tools: [list], trace })
  const told = await said(agent, 'list')
  expect(endOf(told)).toMatchObject({ reason: 'done' })
  expect(textsIn(agent.messages)).not.toContain('Issue 399')
  expect(lines(told).join('\n')).toContain('Issue 7')
  expect(shelf.results()).toMatchObject([{ tool: 'List', kind: 'JSON', size: long.length }])
  const results = events.filter((event) => event.type === 'result')
  expect(results).toMatchObject([
    { name: 'List', outcome: 'done' },
    { name: 'ReadResult', outcome: 'done' },
  ])
  expect(results[0]?.size).toBeGreaterThan(long.length)
  expect(events.filter(({ type }) => type === 'shelved')).toHaveLength(1)
})

test('after a compaction the history still names it, and it can still be read', async () => {
  const shelf = shelfWith([], { results: { budget: 1000 } })
  const { agent } = over(
    saying(calling('toolu_1', 'List'), { content: [{ type: 'text', text: 'listed' }] }),
    {
      shelf,
      tools: [list],
    },
  )
  await said(agent, 'list')
  const handle = handleIn(agent.messages)
  for await (const _ of agent.compact());
  expect(handleIn(agent.messages)).toBe(handle)
  const read = await shelf.answer({ id: 'toolu_2', name: 'ReadResult', input: { handle, path: '[0].title' } })
  expect(read?.content[1]).toMatchObject({ text: 'Issue 0' })
})

test('a sub-agent’s results are its own', async () => {
  const shelf = shelfWith([], { results: { budget: 1000 } })
  const model = saying(
    calling('toolu_1', 'Agent', { description: 'x', prompt: 'list them' }),
    calling('toolu_2', 'List'),
    { content: [{ type: 'text', text: 'the sub-agent has listed them' }] },
  )
  const tools: AgentTool[] = [
    list,
    createAgentTool(() => ({ client: model.client, model: 'claude-opus-4-5', shelf, tools })),
  ]
  const { agent } = over(model, { shelf, tools })
  await said(agent, 'delegate')
  const handle = handleIn(model.requests[2]?.messages ?? [])
  expect(handle).not.toBe('')
  expect(shelf.results()).toEqual([])
  const read = await shelf.answer({ id: 'toolu_3', name: 'ReadResult', input: { handle } })
  expect(read?.is_error).toBe(true)
})

test('a tool with pages of its own may send everything whole', async () => {
  const shelf = shelfWith([], { results: { budget: 1000 } })
  const { agent } = over(saying(calling('toolu_1', 'List')), { shelf, tools: [{ ...list, resultBudget: 0 }] })
  await said(agent, 'list')
  expect(textsIn(agent.messages)).toContain('Issue 399')
})
