// Scripts and their limits: calls in parallel, cancelling, time, and reports about calls that did not end.
import { expect, test } from 'vitest'
import { createScriptRunner } from '../../packages/scripts/src/runner.ts'
import { remarkAbout } from '../../packages/scripts/src/script-tool.ts'
import type { CallForScript } from '../../packages/scripts/src/types.ts'

const echo: CallForScript = async ({ path, input }) => ({ path, input })

test('tools are called by server and name, or by their full name', async () => {
  const script = 'return [await tools.github.list_issues({ a: 1 }), await tools["mcp__x__y"]()]'
  const { text, calls } = await createScriptRunner().run(script, echo)
  expect(JSON.parse(text)).toEqual([
    { path: ['github', 'list_issues'], input: { a: 1 } },
    { path: ['mcp__x__y'], input: {} },
  ])
  expect(calls).toEqual([
    { tool: 'github.list_issues', outcome: 'done' },
    { tool: 'mcp__x__y', outcome: 'done' },
  ])
})

test('calls run at the same time, as many as the limit allows', async () => {
  let [running, most] = [0, 0]
  const call: CallForScript = async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setTimeout(resolve, 20))
    running--
    return 1
  }
  const runner = createScriptRunner({ limits: { concurrentCalls: 3 } })
  const script = 'return (await Promise.all(Array.from({ length: 9 }, () => tools.a.b({})))).length'
  expect(await runner.run(script, call)).toMatchObject({ state: 'returned', text: '9' })
  expect(most).toBe(3)
})

test('cancelling in the middle of a call stops the script and the call', async () => {
  const stop = new AbortController()
  let isCancelled = false
  const call: CallForScript = (_, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        isCancelled = true
        reject(signal.reason)
      })
      stop.abort()
    })
  const outcome = await createScriptRunner().run('return await tools.a.b({})', call, { signal: stop.signal })
  expect(outcome).toMatchObject({ state: 'stopped', calls: [{ tool: 'a.b', outcome: 'unfinished' }] })
  expect(isCancelled).toBe(true)
})

test('a script that was stopped leaves no timer behind, even if its call never ends', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const runner = createScriptRunner()
  await runner.run('return 1', echo)
  const before = timers()
  const stop = new AbortController()
  const answers: ((value: string) => void)[] = []
  const call: CallForScript = (_, { askPerson }) =>
    askPerson(() => {
      if (answers.length === 1) setImmediate(() => stop.abort())
      return new Promise((resolve) => answers.push(resolve))
    })
  const script = 'await Promise.all([tools.a.b({}), tools.a.b({})])'
  const outcome = await runner.run(script, call, { signal: stop.signal })
  expect(outcome).toMatchObject({ state: 'stopped', calls: [{}, {}] })
  answers[0]?.('late')
  await new Promise((resolve) => setImmediate(resolve))
  expect(timers()).toBeLessThanOrEqual(before)
})

test('a script that takes too long is ended with its calls, but a person may take their time', async () => {
  const runner = createScriptRunner({ limits: { totalMs: 3000 } })
  const never: CallForScript = () => new Promise(() => {})
  const late = await runner.run('return await tools.a.b({})', never)
  expect(late.text).toContain('it ran for more than 3000 ms. Make fewer calls')
  expect(remarkAbout(late)).toBe('Calls that it made: a.b unfinished.')
  const asked: CallForScript = (_, { askPerson }) =>
    askPerson(() => new Promise((resolve) => setTimeout(() => resolve('yes'), 3500)))
  expect(await runner.run('return await tools.a.b({})', asked)).toMatchObject({
    state: 'returned',
    text: 'yes',
  })
})

test('cancels calls that a script does not await, and reports it', async () => {
  const never: CallForScript = () => new Promise(() => {})
  const outcome = await createScriptRunner().run('tools.a.b({}); return 1', never)
  expect(outcome).toMatchObject({ state: 'returned', text: '1' })
  expect(remarkAbout(outcome)).toContain('1 calls that it did not await were cancelled')
})

test('the console is shown beside the result, cut', async () => {
  const runner = createScriptRunner({ limits: { logCharacters: 20 } })
  const outcome = await runner.run('console.log("a", { b: 1 }); console.log("x".repeat(99)); return 2', echo)
  expect(remarkAbout(outcome)).toBe(`Console:\na {"b":1}\n${'x'.repeat(10)}\n(cut)`)
})

test('refuses a script that is not text, empty or too long', async () => {
  const runner = createScriptRunner({ limits: { sourceCharacters: 10 } })
  expect((await runner.run(' ', echo)).text).toContain('Give the program as text in "script"')
  expect((await runner.run('return 123456', echo)).text).toContain('13 characters; 10 are allowed')
})

test('four scripts run at a time, the others wait', async () => {
  let [running, most] = [0, 0]
  const call: CallForScript = async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setTimeout(resolve, 50))
    running--
    return 1
  }
  const runner = createScriptRunner()
  const outcomes = Array.from({ length: 6 }, () => runner.run('return await tools.a.b({})', call))
  expect((await Promise.all(outcomes)).map(({ text }) => text)).toEqual(Array(6).fill('1'))
  expect(most).toBeLessThanOrEqual(4)
})

test('a script whose signal has fired does not start, and a tool takes one object', async () => {
  const runner = createScriptRunner()
  expect(await runner.run('return 1', echo, { signal: AbortSignal.abort() })).toMatchObject({
    state: 'stopped',
    calls: [],
  })
  expect((await runner.run('return await tools.a.b(5)', echo)).text).toContain('a tool takes one object')
})
