// The main thread's side of a script, with a worker that says what the test wants: endings, calls, limits and times.
import { EventEmitter, getEventListeners, getMaxListeners } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type CallForScript, createScriptRunner, type ScriptLimits } from '../../src/sandbox/index.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

type Started = EventEmitter & { input: unknown; sent: unknown[]; isEnded: boolean }

const never: CallForScript = () => new Promise(() => {})

/** A runner whose workers are in `workers`, and a way to wait for the next one. */
function workshop(limits: Partial<ScriptLimits> = {}) {
  const workers: Started[] = []
  let wake = () => {}
  const start = (input: object) => {
    const sent: unknown[] = []
    const worker = Object.assign(new EventEmitter(), {
      ...{ input, sent, isEnded: false },
      postMessage: (answer: unknown) => void sent.push(answer),
      async terminate() {
        worker.isEnded = true
        worker.emit('exit')
      },
    })
    workers.push(worker)
    wake()
    return worker
  }
  const runner = createScriptRunner({ limits, now: () => 77, startWorker: start })
  const run = async (call: CallForScript, signal?: AbortSignal) => {
    const isStarted = new Promise<void>((resolve) => {
      wake = resolve
    })
    const outcome = runner.run('return 1', call, signal ? { signal } : undefined)
    await isStarted
    const worker = workers.at(-1) as Started
    const say = (message: object) => worker.emit('message', message)
    const ask = (id: number, input: unknown = {}, path = ['a', 'b']) =>
      say({ type: 'call', id, path, input: typeof input === 'string' ? input : JSON.stringify(input) })
    return { outcome, worker, say, ask }
  }
  return { run, workers, runner }
}

/** Lets everything run that waits for nothing but promises. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('says how a script ended, and what to do', async () => {
  const { run } = workshop({ computeMs: 11, outputCharacters: 12, memoryBytes: 3.4 * 1024 * 1024 })
  const lines: string[] = []
  for (const ending of [
    { kind: 'value', text: 'so' },
    { kind: 'nothing' },
    { kind: 'too-long', length: 99 },
    { kind: 'error', message: 'Error: no' },
    { kind: 'error', message: 'InternalError: out of memory' },
    { kind: 'error', message: 'InternalError: stack overflow' },
    { kind: 'computed-too-long' },
    { kind: 'never-settles' },
    { kind: 'crash', message: 'it broke' },
  ]) {
    const { outcome, say, worker } = await run(never)
    say({ type: 'end', ending, log: 'said' })
    say({ type: 'end', ending: { kind: 'value', text: 'late' }, log: '' })
    const { state, text, log, calls } = await outcome
    lines.push(`${state} ${log} ${calls.length} ${worker.isEnded}: ${text}`)
  }
  expect(lines).toMatchInlineSnapshot(`
    [
      "returned said 0 true: so",
      "returned said 0 true: The script returned nothing. Give its answer with "return".",
      "failed said 0 true: The script returned 99 characters; 12 are allowed. Return less: filter, count, or only the fields that you need.",
      "failed said 0 true: The script failed. Error: no",
      "failed said 0 true: The script failed. InternalError: out of memory A script has 3 MB: keep less of the results.",
      "failed said 0 true: The script failed. InternalError: stack overflow Its calls of functions are nested too deeply.",
      "failed said 0 true: The script was stopped, because it computed for more than 11 ms. Look for an endless loop, or do less in one script.",
      "failed said 0 true: The script waits for a promise that nothing will settle: await only calls of tools. There are no timers.",
      "failed said 0 true: The script ended its sandbox: it broke. Use less memory and simpler code.",
    ]
  `)
})

test('gives the worker the script, the time and every limit', async () => {
  const { run, workers } = workshop({ calls: 3 })
  const { outcome, worker } = await run(never)
  const { wasm, ...input } = worker.input as { wasm: unknown }
  expect(wasm).toBeInstanceOf(Object)
  expect(input).toMatchInlineSnapshot(`
    {
      "limits": {
        "calls": 3,
        "computeMs": 5000,
        "concurrentCalls": 8,
        "inputCharacters": 200000,
        "logCharacters": 4000,
        "memoryBytes": 67108864,
        "outputCharacters": 200000,
        "resultCharacters": 5000000,
        "sourceCharacters": 50000,
        "stackBytes": 262144,
        "totalMs": 120000,
      },
      "now": 77,
      "source": "return 1",
    }
  `)
  worker.emit('error', new Error('memory'))
  expect(await outcome).toMatchObject({ state: 'failed', text: expect.stringContaining('sandbox: memory.') })
  const other = await run(never)
  other.worker.emit('exit')
  expect((await other.outcome).text).toContain('its thread ended')
  expect(workers.map(({ isEnded }) => isEnded)).toEqual([true, true])
})

test('answers calls with their results, or with why they failed', async () => {
  const { run } = workshop({ resultCharacters: 6 })
  const asked: unknown[] = []
  const call: CallForScript = async ({ path, input }, { signal }) => {
    asked.push([path, input, getMaxListeners(signal), signal.aborted])
    if (input.fail) throw input.fail === 'text' ? 'no' : new Error('no')
    return input.give
  }
  const { outcome, worker, say, ask } = await run(call)
  const inputs = [
    ...[{ give: 1 }, { give: 'four' }, { give: 'fives' }, {}, { fail: true }, { fail: 'text' }],
    ...['[]', 'null', '5', '{'],
  ]
  for (const [id, input] of inputs.entries()) ask(id, input, ['s', `t${id}`])
  await settled()
  say({ type: 'end', ending: { kind: 'nothing' }, log: '' })
  const { calls } = await outcome
  const byId = worker.sent.toSorted((one, other) => (one as { id: number }).id - (other as { id: number }).id)
  expect({ asked: asked.slice(0, 2), answers: byId, calls }).toMatchInlineSnapshot(`
    {
      "answers": [
        {
          "error": "The "emitter" argument must be an instance of EventEmitter or EventTarget. Received an instance of AbortSignal",
          "id": 0,
        },
        {
          "error": "The "emitter" argument must be an instance of EventEmitter or EventTarget. Received an instance of AbortSignal",
          "id": 1,
        },
        {
          "error": "The "emitter" argument must be an instance of EventEmitter or EventTarget. Received an instance of AbortSignal",
          "id": 2,
        },
        {
          "error": "The "emitter" argument must be an instance of EventEmitter or EventTarget. Received an instance of AbortSignal",
          "id": 3,
        },
        {
          "error": "The "emitter" argument must be an instance of EventEmitter or EventTarget. Received an instance of AbortSignal",
          "id": 4,
        },
        {
          "error": "The "emitter" argument must be an instance of EventEmitter or EventTarget. Received an instance of AbortSignal",
          "id": 5,
        },
        {
          "error": "a tool takes one object",
          "id": 6,
        },
        {
          "error": "a tool takes one object",
          "id": 7,
        },
        {
          "error": "a tool takes one object",
          "id": 8,
        },
        {
          "error": "Expected property name or '}' in JSON at position 1",
          "id": 9,
        },
      ],
      "asked": [],
      "calls": [
        {
          "outcome": "failed",
          "tool": "s.t0",
        },
        {
          "outcome": "failed",
          "tool": "s.t1",
        },
        {
          "outcome": "failed",
          "tool": "s.t2",
        },
        {
          "outcome": "failed",
          "tool": "s.t3",
        },
        {
          "outcome": "failed",
          "tool": "s.t4",
        },
        {
          "outcome": "failed",
          "tool": "s.t5",
        },
        {
          "outcome": "failed",
          "tool": "s.t6",
        },
        {
          "outcome": "failed",
          "tool": "s.t7",
        },
        {
          "outcome": "failed",
          "tool": "s.t8",
        },
        {
          "outcome": "failed",
          "tool": "s.t9",
        },
      ],
    }
  `)
})

test('runs a few calls at a time, and none after the script has ended', async () => {
  const { run } = workshop({ concurrentCalls: 2 })
  const waiting: { path: string; signal: AbortSignal; resolve: (value: unknown) => void }[] = []
  const call: CallForScript = ({ path }, { signal }) =>
    new Promise((resolve) => waiting.push({ path: path.join('.'), signal, resolve }))
  const { outcome, worker, say, ask } = await run(call)
  for (const id of [1, 2, 3, 4]) ask(id, {}, [`t${id}`])
  await settled()
  expect(waiting.map(({ path }) => path)).toEqual(['t1', 't2'])
  waiting[1]?.resolve('second')
  await settled()
  expect(waiting.map(({ path }) => path)).toEqual(['t1', 't2', 't3'])
  say({ type: 'end', ending: { kind: 'nothing' }, log: '' })
  const { calls } = await outcome
  waiting[0]?.resolve('late')
  await settled()
  expect(waiting).toHaveLength(3)
  expect(waiting.map(({ signal }) => String(signal.reason))).toEqual(
    Array(3).fill('Error: the script has ended'),
  )
  expect(worker.sent).toEqual([{ id: 2, json: '"second"' }])
  expect(calls.map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual([
    ...['t1 unfinished', 't2 done', 't3 unfinished', 't4 unfinished'],
  ])
  expect(vi.getTimerCount()).toBe(0)
})

test('ends a worker that computes too long, but not while the script waits for a call', async () => {
  const { run } = workshop({ computeMs: 100, totalMs: 100_000 })
  let answer = (_: unknown) => {}
  const call: CallForScript = () =>
    new Promise((resolve) => {
      answer = resolve
    })
  const { outcome, worker, say, ask } = await run(call)
  let isOver = false
  void outcome.then(() => {
    isOver = true
  })
  const after = async (ms: number) => {
    vi.advanceTimersByTime(ms)
    await settled()
    return isOver
  }
  expect(await after(5000)).toBe(false)
  worker.emit('online')
  expect(await after(1599)).toBe(false)
  ask(1)
  say({ type: 'idle' })
  expect(await after(5000)).toBe(false)
  answer('x')
  await settled()
  expect(await after(1599)).toBe(false)
  expect(await after(1)).toBe(true)
  expect((await outcome).text).toContain('computed for more than 100 ms')
})

test('ends a script after its whole time, without the time in which people are asked', async () => {
  const { run } = workshop({ totalMs: 1000 })
  const answers: (() => void)[] = []
  const call: CallForScript = (_, { askPerson }) =>
    askPerson(() => new Promise((resolve) => answers.push(() => resolve('yes'))))
  const { outcome, worker, ask } = await run(call)
  let isOver = false
  void outcome.then(() => {
    isOver = true
  })
  const after = async (ms: number) => {
    vi.advanceTimersByTime(ms)
    await settled()
    return isOver
  }
  expect(await after(600)).toBe(false)
  ask(1)
  ask(2)
  expect(await after(5000)).toBe(false)
  answers[0]?.()
  await settled()
  expect(await after(5000)).toBe(false)
  answers[1]?.()
  await settled()
  expect(worker.sent).toEqual([
    { id: 1, json: '"yes"' },
    { id: 2, json: '"yes"' },
  ])
  expect(await after(399)).toBe(false)
  expect(await after(1)).toBe(true)
  expect(await outcome).toMatchObject({ state: 'failed', text: expect.stringContaining('more than 1000 ms') })
})

test('stops at the signal, and leaves no listener at it', async () => {
  const { run, runner, workers } = workshop()
  const stop = new AbortController()
  const listeners = () => getEventListeners(stop.signal, 'abort').length
  const first = await run(never, stop.signal)
  first.say({ type: 'end', ending: { kind: 'nothing' }, log: '' })
  await first.outcome
  expect(listeners()).toBe(0)
  const second = await run(never, stop.signal)
  second.ask(1)
  stop.abort()
  const stopped = { state: 'stopped', text: 'The script was stopped.', log: '' }
  expect(await second.outcome).toEqual({ ...stopped, calls: [{ tool: 'a.b', outcome: 'unfinished' }] })
  expect(second.worker.isEnded).toBe(true)
  expect(await runner.run('return 1', never, { signal: stop.signal })).toEqual({ ...stopped, calls: [] })
  expect(workers).toHaveLength(2)
  expect(listeners()).toBe(0)
})

test('runs four scripts at a time', async () => {
  const { runner, workers, run } = workshop()
  const outcomes = [await run(never), await run(never), await run(never), await run(never)].map(
    ({ outcome }) => outcome,
  )
  outcomes.push(runner.run('return 5', never))
  await settled()
  expect(workers).toHaveLength(4)
  workers[2]?.emit('exit')
  await outcomes[2]
  await settled()
  expect(workers.map(({ input }) => (input as { source: string }).source)).toEqual([
    ...Array(4).fill('return 1'),
    'return 5',
  ])
  for (const worker of workers) worker.emit('exit')
  await Promise.all(outcomes)
})

test('takes a script of just the longest length, with the clock of the machine', async () => {
  const seen: object[] = []
  const start = (input: object) => {
    seen.push(input)
    const worker = Object.assign(new EventEmitter(), { postMessage: () => {}, terminate: async () => {} })
    setImmediate(() => worker.emit('exit'))
    return worker
  }
  const runner = createScriptRunner({ limits: { sourceCharacters: 8 }, startWorker: start })
  const before = Date.now()
  await runner.run('return 1', never)
  expect((await runner.run('return 12', never)).text).toContain('9 characters; 8 are allowed')
  expect(seen).toHaveLength(1)
  expect(seen[0]).toMatchObject({ source: 'return 1', limits: { sourceCharacters: 8, calls: 100 } })
  expect((seen[0] as { now: number }).now).toBeGreaterThanOrEqual(before)
})
