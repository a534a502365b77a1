// The loop: what it requests, runs, reports and keeps, with the official client and the offline model behind a server.
import { expect, test } from 'vitest'
import type { AgentTool, PermissionCheck } from '../../packages/agent/src/types.ts'
import {
  echo,
  endOf,
  lines,
  over,
  refusals,
  runnerOn,
  said,
  scripted,
  searchesIn,
  serverTools,
  shelfWith,
  talking,
  whole,
} from './support.ts'

const NOTE = "\n(Toolshelf's offline script, not a model)"

test('text comes piece by piece, and the reply is kept', async () => {
  const { agent } = await talking(scripted({ when: 'hello', do: [{ say: 'Good morning to you.' }] }))
  const events = await said(agent, 'hello')
  expect(lines(events)).toEqual(['request', `text Good morning to you.${NOTE}`, 'reply', 'end done'])
  expect(events.filter(({ type }) => type === 'text').length).toBeGreaterThan(1)
  expect(agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  expect(agent.used).toBeGreaterThan(0)
})

test('its methods work destructured', async () => {
  const { agent } = await talking(scripted({ do: [{ say: 'Yes.' }] }))
  const { send } = agent
  for await (const _ of send('hello'));
  expect(agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
})

function deferred() {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

test('calls of one reply run at once, and their results come back in order', async () => {
  const both = deferred()
  let waiting = 0
  const meeting = async () => {
    if (++waiting === 2) both.resolve()
    await both.promise
    return 'met'
  }
  const tools = [echo('One', { run: meeting }), echo('Two', { run: meeting })]
  const script = scripted({ do: [{ calls: [{ call: 'One' }, { call: 'Two' }] }, { say: '{{result}}' }] })
  const { agent } = await talking(script, { tools })
  const events = await said(agent, 'go')
  expect(lines(events)).toContain(`text met\nmet${NOTE}`)
  expect(endOf(events).reason).toBe('done')
})

const weather = () => shelfWith(serverTools('weather', 'forecast', 'alerts'))
const forecast = (...more: object[]) =>
  scripted({ do: [{ call: '/forecast$/', input: { city: 'Oslo' } }, ...more, { say: '{{result}}' }] })

test('input that does not fit is explained and not run', async () => {
  const shelf = weather()
  const runner = runnerOn(shelf)
  const script = scripted({ do: [{ call: '/forecast$/', input: { city: 5 } }, { say: '{{result}}' }] })
  const { agent } = await talking(script, { shelf, runner })
  const told = lines(await said(agent, 'go')).join('\n')
  expect(told).toMatch(/The input of "mcp__weather__forecast" does not fit its schema:\n- city/)
  expect(runner.ran).toEqual([])
})

test('every call is decided about, and a refusal is the result', async () => {
  const asked: string[] = []
  const permission: PermissionCheck = ({ call, isHarmless }) => {
    if (isHarmless) return true
    asked.push(call.name)
    return call.name === 'Good' ? true : 'Not on a Friday.'
  }
  const tools = [echo('Look', { isReadOnly: true }), echo('Good'), echo('Bad')]
  const calls = tools.map(({ name }) => ({ call: name }))
  const { agent } = await talking(scripted({ do: [{ calls }, { say: 'ok' }] }), { tools, permission })
  const told = lines(await said(agent, 'go'))
  expect(asked).toEqual(['Good', 'Bad'])
  expect(told).toContain('result Look: Look ran')
  expect(told).toContain('result Good: Good ran')
  expect(told).toContain('result Bad: Not on a Friday.')
})

test('a tool that throws, or that nobody can run, is a result that says so', async () => {
  const run = () => {
    throw new Error('no paper left')
  }
  const shelf = shelfWith([{ name: 'Nobody', description: 'A tool without a runner.' }])
  const script = scripted({ do: [{ calls: [{ call: 'Broken' }, { call: 'Nobody' }] }, { say: 'ok' }] })
  const { agent } = await talking(script, { shelf, tools: [echo('Broken', { run })] })
  const told = lines(await said(agent, 'go'))
  expect(told).toContain('result Broken: The tool failed: no paper left')
  expect(told).toContain('result Nobody: "Nobody" cannot be run here. Use another tool.')
  expect(told.at(-1)).toBe('end done')
})

test('nothing is loaded beforehand where tool search is off', async () => {
  const shelf = shelfWith(serverTools('weather', 'forecast'), { toolSearch: false })
  const talk = await talking(forecast(), {
    shelf,
    runner: runnerOn(shelf),
    preload: () => ['mcp__weather__forecast'],
  })
  expect(lines(await said(talk.agent, 'go'))[0]).toBe('request')
  expect(searchesIn(talk.agent.messages)).toBe(0)
  expect(refusals(talk)).toEqual([])
})

test('enriches a message before it is sent; ignores enrichments that fail or are blank', async () => {
  const script = scripted({ do: [{ say: 'I heard {{user}}' }] })
  const enrich = async (text: string) => {
    if (text === 'fail') throw new Error('no skills today')
    return [' ', `hint for ${text}`]
  }
  const talk = await talking(script, { enrich })
  expect(lines(await said(talk.agent, 'go'))).toContain(`text I heard hint for go\ngo${NOTE}`)
  const failed = lines(await said(talk.agent, 'fail'))
  expect(failed[0]).toBe('notice Sending the message as it is: no skills today')
  expect(failed.at(-1)).toBe('end done')
  expect(refusals(talk)).toEqual([])
})

test('an empty message is not sent and spoils nothing', async () => {
  const talk = await talking(scripted({ do: [{ say: 'ok' }] }))
  expect(endOf(await said(talk.agent, ' \n'))).toMatchObject({ reason: 'failed' })
  expect(talk.agent.messages).toEqual([])
})

test('a model that never stops is stopped', async () => {
  const tools = [echo('Again')]
  const steps = Array.from({ length: 9 }, () => ({ call: 'Again' }))
  const { agent } = await talking(scripted({ do: steps }), { tools, maxSteps: 3 })
  const end = endOf(await said(agent, 'go'))
  expect(end).toMatchObject({ reason: 'limit', error: expect.stringContaining('3 times') })
})

test.each([
  ['refusal', 'refused'],
  ['max_tokens', 'limit'],
  ['end_turn', 'done'],
])('a reply that stops with %s ends the turn: %s', async (stop, reason) => {
  const { agent } = await talking(scripted({ do: [{ say: 'well' }, { stop }] }))
  expect(endOf(await said(agent, 'go')).reason).toBe(reason)
})

test('a listener who leaves stops the calls that still run', async () => {
  const stopped = deferred()
  const run: AgentTool['run'] = (_, { signal }) => {
    signal.addEventListener('abort', stopped.resolve)
    return new Promise<never>(() => {})
  }
  const { agent } = over(whole(scripted({ do: [{ call: 'Hang' }] })), { tools: [echo('Hang', { run })] })
  for await (const event of agent.send('go')) if (event.type === 'call') break
  await stopped.promise
  expect(endOf(await said(agent, 'next', AbortSignal.abort())).reason).toBe('stopped')
})
