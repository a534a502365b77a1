// Parts of scripts that need no worker: names of tools, values of texts, remarks, and the stopwatch.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPureShelf } from '../../src/core/index.ts'
import {
  type CallForScript,
  createScriptRunner,
  remarkAbout,
  toolAt,
  valueOfText,
} from '../../src/sandbox/index.ts'
import { createStopwatch } from '../../src/sandbox/stopwatch.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

test('a path means a tool by its full name, or by server and name', () => {
  const tools = [
    { name: 'list_issues', server: 'github' },
    { name: 'plain' },
    { name: 'own__tool' },
    { name: 'odd name!', server: 'my hub' },
  ] as never
  const { pool } = createPureShelf({ tools, environment: {}, notify: () => {} }).partition()
  const at = (...path: string[]) => toolAt(path, pool)?.original
  expect([
    at('github', 'list_issues'),
    at('mcp__github__list_issues'),
    at('plain'),
    at('own', 'tool'),
  ]).toEqual([...['list_issues', 'list_issues', 'plain', 'own__tool']])
  expect(at('my hub', 'odd name!')).toBe('odd name!')
  expect([at(), at('github'), at('other', 'list_issues'), at('github', 'other')]).toEqual(
    Array(4).fill(undefined),
  )
})

test('a text that is a JSON object or list is parsed; every other text stays', () => {
  expect(['{"a":1}', ' \n[1]', '{', '5', 'x{}', 'null', ''].map(valueOfText)).toEqual([
    { a: 1 },
    [1],
    '{',
    '5',
    'x{}',
    'null',
    '',
  ])
})

test('a remark names calls, what was cancelled, and the console', () => {
  const call = (tool: string, outcome: 'done' | 'failed' | 'unfinished' = 'done') => ({ tool, outcome })
  const remark = (
    state: 'returned' | 'failed' | 'stopped',
    calls: readonly ReturnType<typeof call>[],
    log = '',
  ) => remarkAbout({ state, text: '', log, calls })
  const many = Array.from({ length: 21 }, (_, index) => call(`t${index}`))
  expect(remark('returned', [call('a')])).toBe('')
  expect(remark('failed', [])).toBe('')
  expect(
    remark('failed', [call('a'), call('a'), call('b', 'failed'), call('c', 'unfinished')], 'said\n'),
  ).toBe('Calls that it made: 2 × a done, b failed, c unfinished.\nConsole:\nsaid')
  expect(remark('returned', [call('a', 'unfinished'), call('b')])).toBe(
    '1 calls that it did not await were cancelled; whether they took effect is not known.',
  )
  expect(remark('stopped', [call('a', 'unfinished')])).toBe('')
  expect(remark('failed', many.slice(1))).not.toContain('other kinds')
  expect(remark('failed', many)).toMatch(/ t19 done and 1 other kinds\.$/)
  expect(remark('failed', [call('x'.repeat(201))])).toBe(`Calls that it made: ${'x'.repeat(200)} done.`)
})

test('a script that is none, or too long, is refused before it runs', async () => {
  const runner = createScriptRunner({ limits: { sourceCharacters: 10 } })
  const texts = []
  for (const source of ['', ' \n', 5, 'return 12345'])
    texts.push((await runner.run(source as string, async () => 1)).text.slice(0, 30))
  expect(texts).toEqual([
    ...Array(3).fill('Give the program as text in "s'),
    'The script has 12 characters; ',
  ])
})

test('a result that is too long, or a call that fails, is an error in the script', async () => {
  vi.useRealTimers()
  const runner = createScriptRunner({ limits: { resultCharacters: 20 } })
  const call: CallForScript = async ({ path }) => {
    if (path[1] === 'fail') throw new Error('refused')
    return path[1] === 'long' ? 'x'.repeat(30) : undefined
  }
  const script = `const texts = []
    for (const name of ['fail', 'long', 'other'])
      texts.push(await tools.a[name]({}).catch((error) => error.message.slice(0, 30)))
    return texts`
  const { text, calls } = await runner.run(script, call)
  expect(JSON.parse(text)).toEqual(['refused', 'the result has 32 characters; ', null])
  expect(calls.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'done'])
})

test('a stopwatch counts only while it runs', () => {
  const paused = vi.fn()
  const other = createStopwatch(100, paused)
  other.start()
  vi.advanceTimersByTime(60)
  other.pause()
  other.start()
  vi.advanceTimersByTime(39)
  expect(paused).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(paused).toHaveBeenCalledTimes(1)
  const ended = vi.fn()
  const watch = createStopwatch(100, ended)
  const expectAfter = (ms: number, times: number) => {
    vi.advanceTimersByTime(ms)
    expect(ended).toHaveBeenCalledTimes(times)
  }
  watch.start()
  expectAfter(60, 0)
  watch.start()
  watch.pause()
  watch.pause()
  expectAfter(500, 0)
  watch.start()
  expectAfter(500, 0)
  watch.start()
  expectAfter(39, 0)
  watch.reset()
  expectAfter(500, 0)
  watch.start()
  expectAfter(99, 0)
  expectAfter(1, 1)
  watch.reset()
  watch.start()
  watch.stop()
  watch.start()
  expectAfter(500, 1)
})
