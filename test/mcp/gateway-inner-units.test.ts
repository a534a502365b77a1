// Calls within calls and questions within calls, without servers and without the sandbox: what scripts may call, what a
// person is asked, and how a call continues when its client has answered.
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Caller, createExchanges, type Round, type Work } from '../../src/mcp/gateway/exchanges.ts'
import { progressOf } from '../../src/mcp/gateway/inner-calls.ts'
import { RemoteRounds } from '../../src/mcp/gateway/remote-rounds.ts'
import { createScripts, runScriptFor } from '../../src/mcp/gateway/scripts.ts'
import { createMemoryStore, type StateStore, StoreError } from '../../src/store/index.ts'
import { createClientWork } from '../../src/users/index.ts'
import type { Loose } from '../support/talk.ts'

const outcomeOf = (work: Promise<unknown>) =>
  work.then(
    (value) => value,
    (error: Loose) => `! ${error.code === undefined ? '' : `${error.code} `}${error.message}`,
  )

describe('a script', () => {
  const tools = ['read', 'write', 'mcp__far__x'].map((name) => ({
    ...{ name: name.startsWith('mcp') ? name : `a__${name}`, server: name.startsWith('mcp') ? 'far' : 'a' },
    original: name.split('__').at(-1),
  }))
  type Step = (call: (path: string[], input?: object) => Promise<unknown>) => Promise<unknown>

  /** Runs the steps in place of a script's source; returns what came of it and what was noted meanwhile. */
  async function run(steps: Step, more: Loose = {}) {
    const { source = 'the source', answer, outputs = {}, outcome = {}, options = {} } = more
    const notes: Loose[] = []
    const byName = new Map(tools.map((one) => [one.name, one]))
    const inner: Loose = {
      shelf: { partition: () => ({ pool: { byName, tools } }) },
      host: { isReadOnly: ({ name }: Loose) => name.endsWith('read') },
      async call(name: string, input: object, { questionHandler, onProgress, signal }: Loose, way: Loose) {
        notes.push(['call', name, input, way.isWhole, signal.aborted])
        await way.permit?.(byName.get(name))
        onProgress?.({ progress: 1, total: 2, message: 'half' })
        if (more.asks) notes.push(['answered', await questionHandler.ask('roots/list', { x: 1 })])
        return outputs[name] ?? { content: [{ type: 'text', text: 'ok' }] }
      },
      trace: () => (event: Loose) => notes.push(['event', event]),
    }
    const scripts: Loose = {
      async run(given: string, call: Loose, limits: Loose) {
        notes.push(['run', given, limits.signal !== undefined])
        const context = {
          signal: new AbortController().signal,
          askPerson: (work: () => unknown) => {
            notes.push('a person is asked')
            return work()
          },
        }
        const value = await outcomeOf(steps((path, input = {}) => call({ path, input }, context)))
        return { state: 'returned', text: JSON.stringify(value), log: '', calls: [], ...outcome }
      },
    }
    const questionHandler = answer && {
      ask: async (...question: Loose[]) => {
        notes.push(['ask', question[0], question[1]])
        if (answer instanceof Error) throw answer
        return answer
      },
    }
    const work = createClientWork({ client: 'me' })
    const given = { work, ...(questionHandler ? { questionHandler } : {}), ...options }
    return { output: await outcomeOf(runScriptFor(scripts, { script: source }, given, inner)), notes }
  }
  const allow = { action: 'accept', content: { allow: true } }
  const textOf = ({ output }: Loose) => output.content[0].text
  const kinds = ({ notes }: Loose) => notes.map((one: Loose) => (Array.isArray(one) ? one[0] : one))

  it('calls tools that only read, by each of their names', async () => {
    const progress: unknown[] = []
    const ran = await run(
      async (call) => [
        await call(['a', 'read'], { x: 1 }),
        await call(['a__read']),
        await outcomeOf(call(['nobody', 'read'])),
        await outcomeOf(call(['ToolSearch'])),
      ],
      { options: { onProgress: (one: object) => progress.push(one) } },
    )
    expect(ran).toEqual({
      output: {
        content: [
          {
            type: 'text',
            text: JSON.stringify([
              ...['ok', 'ok', 'ok', '! ToolSearch cannot be called in a script; call it by itself.'],
            ]),
          },
        ],
        remark: [],
      },
      notes: [
        ['run', 'the source', false],
        ['call', 'a__read', { x: 1 }, true, false],
        ['call', 'a__read', {}, true, false],
        ['call', 'nobody__read', {}, true, false],
      ],
    })
    expect(progress).toStrictEqual([
      { progress: 0.5, message: 'half' },
      { progress: 1 },
      { progress: 1.5, message: 'half' },
      { progress: 2 },
      { progress: 2.5, message: 'half' },
      { progress: 3 },
    ])
  })

  it('asks once for each tool that may write, with the whole script and the first input', async () => {
    const twice: Step = async (call) => [
      await call(['a', 'write'], { text: 'x'.repeat(1100) }),
      await call(['a', 'write'], { text: 'y' }),
      await call(['far', 'x'], { text: 'z'.repeat(989) }),
    ]
    const ran = await run(twice, { answer: allow })
    expect(textOf(ran)).toBe('["ok","ok","ok"]')
    const asked = ran.notes.filter(([kind]) => kind === 'ask')
    const shown = `${JSON.stringify({ text: 'x'.repeat(1100) }).slice(0, 1000)}… (cut)`
    expect(asked[0]).toEqual([
      'ask',
      'elicitation/create',
      {
        message: `A script of the model wants to call a__write, which may change something. If you allow it, the script may call this tool as often as it likes, with any input.\n\nThe first call: a__write(${shown})\n\nThe script:\nthe source`,
        requestedSchema: {
          type: 'object',
          properties: { allow: { type: 'boolean', title: 'Let this script call a__write', default: false } },
          required: ['allow'],
        },
      },
    ])
    expect(asked[1][2].message).toContain(`mcp__far__x({"text":"${'z'.repeat(989)}"})\n`)
    expect(kinds(ran).filter((kind: string) => kind !== 'call')).toEqual([
      'run',
      ...['a person is asked', 'ask', 'event', 'a person is asked', 'ask', 'event'],
    ])
    expect(ran.notes.filter(([kind]) => kind === 'event').map(([, event]) => event)).toEqual([
      { type: 'permission', id: 'a__write', name: 'a__write', server: 'a', isAllowed: true },
      { type: 'permission', id: 'mcp__far__x', name: 'mcp__far__x', server: 'far', isAllowed: true },
    ])
  })

  const refused = '! The user does not let this script call a__write.'
  it.each<[string, Loose, string]>([
    ['accepts without allowing', { answer: { action: 'accept', content: { allow: 'yes' } } }, refused],
    ['accepts without content', { answer: { action: 'accept' } }, refused],
    ['declines', { answer: { action: 'decline', content: { allow: true } } }, refused],
    [
      'cannot answer',
      { answer: new Error('no forms') },
      'The user could not be asked: no forms. Call a__write itself',
    ],
    ['is not there', {}, 'The user could not be asked: nobody can be asked. Call a__write itself'],
    [
      'would read too much',
      { answer: allow, source: 'x'.repeat(6001) },
      '(6001 of 6000 characters). Call a__write',
    ],
    ['can read it all', { answer: allow, source: 'x'.repeat(6000) }, 'ok'],
  ])('does not write if the person %s', async (_, more, told) => {
    const ran = await run((call) => call(['a', 'write']), more)
    expect(textOf(ran)).toContain(told)
    const [, event] = ran.notes.find(([kind]) => kind === 'event') ?? []
    expect(event).toMatchObject({ isAllowed: told === 'ok' })
  })

  it('passes on what a server asks, without counting the time', async () => {
    const ran = await run((call) => call(['a', 'read']), { asks: true, answer: { roots: [] } })
    expect(kinds(ran)).toEqual(['run', 'call', 'a person is asked', 'ask', 'answered'])
    expect(ran.notes.at(-1)).toEqual(['answered', { roots: [] }])
  })

  const block = (type: string, more = {}) => ({ type, ...more })
  it.each<[Loose, unknown]>([
    [{ content: [block('text', { text: '{"a":1}' })] }, { a: 1 }],
    [{ content: [block('text', { text: 'a' }), block('text', { text: 'b' })] }, 'a\nb'],
    [
      {
        content: [
          block('resource', { resource: { text: 'r' } }),
          block('image', { mimeType: 'image/png' }),
          block('audio'),
        ],
      },
      'r\n[image of type "image/png"]\n[audio]',
    ],
    [
      { content: [block('text', { text: 'a' })], structuredContent: { a: 1, b: 2 } },
      { a: 1, b: 2 },
    ],
    [{ content: [block('text', { text: 'a' })], structuredContent: { only: 'a' } }, 'a'],
    [{ content: [block('text', { text: 'a' })], structuredContent: { only: 'b' } }, { only: 'b' }],
    [
      { content: [block('text', { text: 'a' })], structuredContent: { one: 'a', two: 'b' } },
      { one: 'a', two: 'b' },
    ],
    [{ content: [block('text', { text: 'why' })], isError: true }, '! why'],
    [{ content: [], isError: true }, '! the tool failed without saying why'],
  ])('gets %j as %j', async (output, value) => {
    const ran = await run((call) => call(['a', 'read']), { outputs: { a__read: output } })
    expect(JSON.parse(textOf(ran))).toEqual(value)
  })

  it('that fails is an error with a remark, and one that is cancelled rejects', async () => {
    const failed = await run(async () => 1, { outcome: { state: 'failed', text: 'thrown', log: 'said' } })
    expect(failed.output).toEqual({
      content: [{ type: 'text', text: 'thrown' }],
      isError: true,
      remark: [{ type: 'text', text: 'Console:\nsaid' }],
    })
    const options = { signal: AbortSignal.abort(new Error('enough')) }
    const stopped = await run(async () => 1, { options })
    expect(stopped).toEqual({ output: '! enough', notes: [['run', 'the source', true]] })
    expect([createScripts(false), typeof createScripts(true)?.run, typeof createScripts({})?.run]).toEqual([
      ...[undefined, 'function', 'function'],
    ])
  })
})

it('progress of many calls never falls, and each counts one in the end', () => {
  const seen: unknown[] = []
  const { report, end } = progressOf((one) => seen.push(one), 3)
  const [first, second] = [report(0), report(1)]
  first({ progress: 1 })
  first({ progress: 3 })
  second({ progress: 5, total: 4, message: 'over' })
  second({ progress: 1, total: 4 })
  first({ progress: -5 })
  end(0)
  end(0)
  expect(seen).toEqual([
    { progress: 0.5, total: 3 },
    { progress: 0.75, total: 3 },
    { progress: 1.74, total: 3, message: 'over' },
    { progress: 1.98, total: 3 },
    { progress: 1.99, total: 3 },
  ])
  expect(() => progressOf(undefined, undefined).end(0)).not.toThrow()
})

describe('a call that asks its client', () => {
  const round = (more: Partial<Round> & { state?: unknown } = {}): Round => ({
    ...{ signal: new AbortController().signal, requestState: () => more.state },
    ...more,
  })
  const caller = (more: Partial<Caller> = {}): Caller => ({
    ...{ client: { id: 1 }, owner: 'me', isStateless: true, capabilities: { roots: {} } },
    ...{ canAnswer: (method) => method !== 'forbidden', onProgress: () => {} },
    ...more,
  })
  const run = (exchanges: Loose, given: Round, work: Work<unknown>, who = caller()): Promise<Loose> =>
    outcomeOf(exchanges.run(given, who, work))
  const expired = '! -32602 Invalid or expired requestState'

  it('continues with the answers, in as many rounds as it takes, and reports to the newest', async () => {
    const exchanges = createExchanges()
    const seen: string[] = []
    const tell = (name: string) => caller({ onProgress: ({ progress }) => seen.push(`${name} ${progress}`) })
    let report: Loose
    const work: Work<unknown> = async (questionHandler, _, onProgress) => {
      report = onProgress
      onProgress({ progress: 1 })
      const [one, two] = await Promise.all([
        questionHandler.ask('roots/list', { a: 1 }),
        questionHandler.ask('roots/list', { b: 2 }),
      ])
      onProgress({ progress: 2 })
      const three = await questionHandler.ask('sampling/createMessage', {}, undefined, 'named')
      return { one, two, three, client: questionHandler.client, capabilities: questionHandler.capabilities }
    }
    const first = await run(exchanges, round(), work, tell('first'))
    expect(first).toMatchObject({
      resultType: 'input_required',
      inputRequests: {
        'ask-1': { method: 'roots/list', params: { a: 1 } },
        'ask-2': { method: 'roots/list', params: { b: 2 } },
      },
    })
    report({ progress: 9 })
    const state = first.requestState
    expect(await run(exchanges, round({ state }), work, caller({ owner: 'other' }))).toBe(expired)
    expect(await run(exchanges, round({ state: 'x' }), work)).toBe(expired)
    const half = { state, inputResponses: { 'ask-2': { got: 2 }, toString: { got: 0 } } }
    const second = await run(exchanges, round(half), work, tell('second'))
    expect(second.inputRequests).toEqual({ 'ask-1': { method: 'roots/list', params: { a: 1 } } })
    expect(second.requestState).not.toBe(state)
    expect(await run(exchanges, round({ state }), work)).toBe(expired)
    const rest = { state: second.requestState, inputResponses: { 'ask-1': { got: 1 } } }
    const third = await run(exchanges, round(rest), work, tell('third'))
    expect(third.inputRequests).toEqual({ named: { method: 'sampling/createMessage', params: {} } })
    const last = { state: third.requestState, inputResponses: { named: { got: 3 } } }
    expect(await run(exchanges, round(last), work)).toEqual({
      ...{ one: { got: 1 }, two: { got: 2 }, three: { got: 3 } },
      ...{ client: { id: 1 }, capabilities: { roots: {} } },
    })
    expect(await run(exchanges, round(last), work)).toBe(expired)
    expect(seen).toEqual(['first 1', 'third 2'])
  })

  it('takes answers that came early, and refuses what the client cannot answer', async () => {
    const exchanges = createExchanges()
    const early = round({ inputResponses: { known: { got: 1 } } })
    expect(
      await run(exchanges, early, (questionHandler) =>
        questionHandler.ask('roots/list', {}, undefined, 'known'),
      ),
    ).toEqual({
      got: 1,
    })
    expect(await run(exchanges, early, (questionHandler) => questionHandler.ask('forbidden', {}))).toBe(
      '! the client does not support forbidden',
    )
    const twice = await run(exchanges, round(), (questionHandler) =>
      Promise.all(['same', 'same'].map((name) => questionHandler.ask('roots/list', {}, undefined, name))),
    )
    expect(Object.keys(twice.inputRequests)).toEqual(['same', 'ask-1'])
  })

  it('ends with its client, unless the client’s request ended with a question', async () => {
    const exchanges = createExchanges()
    const open = async (isStateless: boolean) => {
      const client = new AbortController()
      let given: AbortSignal | undefined
      const { requestState } = await run(
        exchanges,
        round({ signal: client.signal }),
        (questionHandler, signal) => {
          given = signal
          return questionHandler.ask('roots/list', {})
        },
        caller({ isStateless }),
      )
      client.abort(new Error('gone'))
      return [
        given?.aborted,
        await run(
          exchanges,
          round({ state: requestState, inputResponses: { 'ask-1': { a: 1 } } }),
          async () => 0,
        ),
      ]
    }
    expect(await open(true)).toEqual([false, { a: 1 }])
    expect(await open(false)).toEqual([true, expired])
    let reason: unknown
    await run(exchanges, round({ signal: AbortSignal.abort('at once') }), async (_, signal) => {
      reason = signal.reason
    })
    expect(reason).toBe('at once')
  })

  it('refuses questions of a call that has ended, and all of them after ten minutes', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const exchanges = createExchanges()
    const late: Promise<unknown>[] = []
    const client = new AbortController()
    const work: Work<unknown> = async (questionHandler, given) => {
      late.push(outcomeOf(questionHandler.ask('roots/list', {})))
      await new Promise((resolve) => given.addEventListener('abort', resolve))
    }
    await run(exchanges, round({ signal: client.signal }), work, caller({ isStateless: false }))
    client.abort()
    expect(await Promise.all(late)).toEqual(['! the call has ended'])
    const done: Promise<unknown>[] = []
    const ended = await run(exchanges, round(), async (questionHandler) => {
      done.push(questionHandler.ask('roots/list', {}))
      return 'done'
    })
    const answers = { state: ended.requestState, inputResponses: { 'ask-1': { a: 1 } } }
    expect([await run(exchanges, round(answers), work), await done[0]]).toEqual(['done', { a: 1 }])
    const left: Promise<unknown>[] = []
    let signal: AbortSignal | undefined
    const { requestState } = await run(exchanges, round(), async (questionHandler, given) => {
      signal = given
      const answer = questionHandler.ask('roots/list', {})
      left.push(outcomeOf(answer))
      return answer
    })
    await vi.advanceTimersByTimeAsync(599_999)
    expect(signal?.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect([await Promise.all(left), signal?.reason?.message]).toEqual([
      ['! the client never answered'],
      'the client never answered',
    ])
    expect(await run(exchanges, round({ state: requestState }), async () => 0)).toBe(expired)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('that another replica runs continues there', async () => {
    const store = createMemoryStore()
    const [here, there] = [createExchanges(store), createExchanges(store)]
    onTestFinished(() => Promise.all([here.close(), there.close(), store.close()]).then(() => {}))
    const steps: unknown[] = []
    const work: Work<unknown> = async (questionHandler, _, onProgress) => {
      const answer: Loose = await questionHandler.ask('roots/list', {})
      onProgress({ progress: 1 })
      if (answer.code !== undefined) throw Object.assign(new Error('thrown there'), answer)
      return answer
    }
    const answer = async (value: object, more: Partial<Caller> = {}) => {
      const { requestState } = await run(here, round(), work)
      const answers = round({ state: requestState, inputResponses: { 'ask-1': value } })
      return run(there, answers, work, caller({ onProgress: (one) => steps.push(one), ...more }))
    }
    expect([await answer({ a: 1 }), steps]).toEqual([{ a: 1 }, [{ progress: 1 }]])
    expect(await answer({ code: -32_602, data: { x: 1 } })).toBe('! -32602 thrown there')
    expect(await answer({ a: 1 }, { owner: 'x' })).toBe(expired)
    for (const state of [`${'A'.repeat(24)}.x`, 'nobody.x', '.', ''])
      expect(await run(there, round({ state }), work)).toBe(expired)
  })
})

describe('a round that another replica runs', () => {
  const answers = { state: 's', responses: {}, owner: 'me' }
  const times = { beatMs: 5, silenceMs: 200 }
  const request = () => ({ signal: new AbortController().signal, onProgress: () => {} })

  function open(
    answer: ConstructorParameters<typeof RemoteRounds>[1],
    store: StateStore = createMemoryStore(),
  ): { readonly rounds: RemoteRounds; readonly id: string } {
    const rounds = new RemoteRounds(store, answer, times)
    onTestFinished(() => rounds.close())
    return { rounds, id: rounds.newState().split('.')[0] ?? '' }
  }
  const never = () => new Promise(() => {})

  it('is waited for as long as it gives a sign of life, and no longer', async () => {
    const store = createMemoryStore()
    const slow = () => new Promise((resolve) => setTimeout(resolve, 3 * times.silenceMs, 'late'))
    const [one, two] = [open(slow, store), open(never, store)]
    expect(await two.rounds.run(one.id, answers, request())).toBe('late')
    const gone = two.rounds.run('f'.repeat(24), answers, request())
    expect(await outcomeOf(gone)).toBe('! -32603 the replica that runs the call has ended; call again')
  })

  it('ends when its client leaves, or either replica closes', async () => {
    const store = createMemoryStore()
    const aborted: boolean[] = []
    const untilAborted: Parameters<typeof open>[0] = (_, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          aborted.push(true)
          reject(new Error('aborted there'))
        })
      })
    const [one, two] = [open(untilAborted, store), open(never, store)]
    const client = new AbortController()
    const left = two.rounds.run(one.id, answers, { ...request(), signal: client.signal })
    await new Promise((resolve) => setTimeout(resolve, times.beatMs))
    client.abort(new Error('the client left'))
    expect(await outcomeOf(left)).toBe('! the client left')
    await one.rounds.drain(10_000)
    expect(aborted).toEqual([true])
    const cut = outcomeOf(two.rounds.run(one.id, answers, request()))
    await new Promise((resolve) => setTimeout(resolve, times.beatMs))
    await two.rounds.close()
    expect(await cut).toBe('! -32603 this replica is closing; call again')
  })

  it('listens once the store answers, and ignores what is no message', async () => {
    const store = createMemoryStore()
    let attempts = 0
    const late: StateStore = {
      ...store,
      subscribe(...given) {
        if (attempts++ === 0) return Promise.reject(new StoreError('the store is unreachable'))
        return store.subscribe(...given)
      },
    }
    const [one, two] = [open(async () => 'from there', late), open(never, store)]
    await vi.waitFor(() => expect(attempts).toBe(2), 10_000)
    for (const text of ['', '5', '{}', '{"type":"outcome","id":"x","from":"y"}'])
      await store.publish(`replica/${one.id}`, text)
    expect(await two.rounds.run(one.id, answers, request())).toBe('from there')
  })

  it('is refused while the store is unreachable', async () => {
    const store = createMemoryStore()
    const down: StateStore = { ...store, publish: () => Promise.reject(new StoreError('down')) }
    const { rounds } = open(never, down)
    const refused = rounds.run('f'.repeat(24), answers, request())
    expect(await outcomeOf(refused)).toBe(
      '! -32603 the store that replicas share does not answer; try again in a moment',
    )
  })
})
