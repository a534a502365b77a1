// RunScript and CallTools in the agent: inner calls are permitted, reported and shown under their own names.
import { expect, test } from 'vitest'
import {
  createPermissions,
  type PermissionAnswer,
  type PermissionQuestion,
  type PermissionRule,
} from '../../packages/agent/src/permissions/permissions.ts'
import { createBatchTool, createScriptTool } from '../../packages/agent/src/tools/programs.ts'
import type { AgentEvent, AgentTool, ToolRunner } from '../../packages/agent/src/types.ts'
import type { Trace } from '../../packages/core/src/events.ts'
import { endOf, over, said, saying, shelfWith } from './support.ts'

const note: AgentTool = {
  name: 'Note',
  description: 'notes',
  input_schema: { type: 'object' },
  run: ({ text }) => `noted ${text}`,
}
const read: AgentTool = { ...note, name: 'Look', isReadOnly: true, run: () => '[{"id": 1}, {"id": 2}]' }
const calling = (name: string, input: object) => ({
  content: [{ type: 'tool_use', id: 'toolu_1', name, input }],
  stop_reason: 'tool_use',
})
const tracker = ['list', 'create'].map((name) => ({
  ...{ server: 'issues', name, description: name, input_schema: { type: 'object' as const } },
}))

function opened(
  first: object,
  { rules = [], answer = 'once' }: { rules?: readonly PermissionRule[]; answer?: PermissionAnswer } = {},
) {
  const asked: PermissionQuestion[] = []
  const ran: string[] = []
  const events: Trace[] = []
  const trace = (event: Trace) => void events.push(event)
  const shelf = shelfWith(tracker, { results: { budget: 1000 }, trace })
  const runner: ToolRunner = {
    isReadOnly: ({ name }) => name.endsWith('list'),
    async run(call) {
      ran.push(`${call.name} ${JSON.stringify(call.input)}`)
      return shelf.result(call, 'x'.repeat(5000))
    },
  }
  const { permission } = createPermissions({
    directory: process.cwd(),
    rules,
    ask: async (question) => {
      asked.push(question)
      return answer
    },
  })
  const tools = [note, read, createBatchTool(), createScriptTool({ shelf })]
  const { agent } = over(saying(first), { shelf, tools, runner, permission, trace })
  return { agent, asked, ran, events }
}

const resultIn = (events: readonly AgentEvent[]) => {
  const result = events.find((event) => event.type === 'result')
  return JSON.stringify(result?.type === 'result' ? result.result.content : undefined)
}
const inside = (events: readonly AgentEvent[]) =>
  events.flatMap((event) =>
    event.type === 'inside' && event.event.type === 'call' ? [event.event.call.name] : [],
  )

test('a script reads without asking; its calls are shown and reported, their results are not in the history', async () => {
  const script = 'const all = await tools.Look({}); return [all.length, (await tools.issues.list({})).length]'
  const { agent, asked, ran, events } = opened(calling('RunScript', { script }))
  const told = await said(agent, 'count')
  expect(endOf(told)).toMatchObject({ reason: 'done' })
  expect(resultIn(told)).toContain('[2,5000]')
  expect(inside(told)).toEqual(['Look', 'mcp__issues__list'])
  expect(asked).toEqual([])
  expect(ran).toEqual(['mcp__issues__list {}'])
  expect(events.filter(({ type }) => type === 'call')).toMatchObject([
    ...[{ name: 'RunScript' }, { name: 'Look' }, { name: 'mcp__issues__list' }],
  ])
})

const loop = 'for (let id = 0; id < 3; id++) await tools.issues.create({ id }); return "made"'

test('writes in a loop ask once, with the script and its calls', async () => {
  const { agent, asked, ran } = opened(calling('RunScript', { script: loop }))
  expect(resultIn(await said(agent, 'write'))).toContain('made')
  expect(asked).toHaveLength(1)
  expect(asked[0]).toMatchObject({ call: { name: 'mcp__issues__create' }, script: { source: loop } })
  expect(ran).toHaveLength(3)
})

test('a refusal is thrown in the script, and nothing is written', async () => {
  const { agent, ran } = opened(calling('RunScript', { script: loop }), { answer: 'no' })
  expect(resultIn(await said(agent, 'write'))).toContain('The user does not allow this call')
  expect(ran).toEqual([])
})

test('deny rules hold for every call, and ask rules ask every time', async () => {
  const rule = (effect: 'deny' | 'ask') =>
    ({ effect, rule: 'mcp__issues__create', scope: 'session' }) as const
  const denied = opened(calling('RunScript', { script: loop }), { rules: [rule('deny')] })
  expect(resultIn(await said(denied.agent, 'write'))).toContain('Refused by the permission rule')
  expect(denied.ran).toEqual([])
  const asking = opened(calling('RunScript', { script: loop }), { rules: [rule('ask')] })
  await said(asking.agent, 'write')
  expect(asking.asked).toHaveLength(3)
})

test('tools of the agent that write ask each time', async () => {
  const script = 'await tools.Note({ text: 1 }); await tools.Note({ text: 2 }); return 1'
  const { agent, asked } = opened(calling('RunScript', { script }))
  await said(agent, 'write')
  expect(asked.map(({ script: plan }) => plan)).toEqual([undefined, undefined])
})

test.each(['ToolSearch', 'RunScript', 'CallTools', 'Agent'])('a script cannot call %s', async (name) => {
  const { agent } = opened(calling('RunScript', { script: `return await tools.${name}({})` }))
  expect(resultIn(await said(agent, 'go'))).toContain(`${name} cannot be called in a script`)
})

test('stopping the turn stops the script', async () => {
  const { agent } = opened(calling('RunScript', { script: 'for (;;) await tools.Look({})' }))
  const stop = new AbortController()
  const events: AgentEvent[] = []
  for await (const event of agent.send('go', { signal: stop.signal })) {
    events.push(event)
    if (event.type === 'inside') stop.abort()
  }
  expect(endOf(events)).toMatchObject({ reason: 'stopped' })
})

test('a batch: each call with its own result, error and budget', async () => {
  const calls = [
    { name: 'Look', arguments: {} },
    { name: 'mcp__issues__list', arguments: {} },
    { name: 'nothing', arguments: {} },
    { name: 'ToolSearch', arguments: { query: 'x' } },
  ]
  const { agent } = opened(calling('CallTools', { calls }))
  const told = await said(agent, 'all')
  const text = resultIn(told)
  for (const part of ['1,"name":"Look"', '2,"name":"mcp__issues__list"', '3,"name":"nothing","failed":true'])
    expect(text.replaceAll('\\', '')).toContain(part)
  expect(text).toContain('result_')
  expect(inside(told)).toEqual(['Look', 'mcp__issues__list', 'nothing'])
})
