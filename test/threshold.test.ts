// T: the automatic threshold.
import { describe, expect, it } from 'vitest'
import { reachesShare } from '../packages/core/src/gate.ts'
import type { ShelfOptions } from '../packages/core/src/index.ts'
import { builtIn, type Loose, MODEL, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'

const tools = [builtIn('Read'), mcp('slack', 'send'), mcp('mail', 'post')]

function autoTalk(options: ShelfOptions, model = MODEL): Talk {
  return new Talk(quietShelf({ tools, toolSearch: 'auto', ...options }), model).user()
}

async function decisionOf(options: ShelfOptions, model = MODEL): Promise<Loose> {
  return (await autoTalk(options, model).prepare()).decision
}

/** A counter that answers so many tokens and keeps what it was asked. */
function counter(tokens: () => Loose) {
  const asked: Loose[] = []
  const countTokens = (definitions: Loose, model: string) => {
    asked.push({ definitions, model })
    return tokens()
  }
  return { asked, countTokens }
}

describe('T1 the threshold', () => {
  it('T1 a share of the window is reached by the same estimate, to the character', async () => {
    const shelf = quietShelf({ tools, toolSearch: 'auto' })
    const { thresholdCheck } = await decisionOf({})
    const shelving = shelf.partition()
    // 2.5 characters a token: the largest window that the tools still fill, and one token more.
    const window = Math.ceil((thresholdCheck.count + 1) / 2.5) - 1
    expect(Math.floor(window * 2.5)).toBeLessThanOrEqual(thresholdCheck.count)
    expect([window, window + 1].map((tokens) => reachesShare(shelving, tokens, 100))).toEqual([true, false])
    expect([window * 10, (window + 1) * 10].map((tokens) => reachesShare(shelving, tokens, 10))).toEqual([
      true,
      false,
    ])
    expect(reachesShare({ ...shelving, deferred: [] }, 1000, 10)).toBe(false)
  })

  it('T1 200,000 and 10 % are 20,000, and the count that reaches it opens', async () => {
    const reached = await decisionOf({ countTokens: () => 20_500 })
    expect(reached).toMatchObject({ open: true, reason: 'open', mode: 'tst-auto' })
    expect(reached.thresholdCheck).toEqual({
      count: 20_000,
      method: 'counter',
      threshold: 20_000,
      reached: true,
    })
    const below = await decisionOf({ countTokens: () => 20_499 })
    expect(below).toMatchObject({ open: false, reason: 'below-threshold' })
    expect(below.thresholdCheck).toMatchObject({ count: 19_999, reached: false })
  })

  it.each([
    ['auto:7', 99_999, 6_999],
    ['auto:33', 1_000, 330],
    ['auto:1', 199, 1],
    ['auto:99', 101, 99],
  ])('T1 %s of %d is cut to %d', async (toolSearch, contextWindow, threshold) => {
    const { thresholdCheck } = await decisionOf({ toolSearch, contextWindow, countTokens: () => 0 })
    expect(thresholdCheck.threshold).toBe(threshold)
  })

  it('T1 the window is the model’s', async () => {
    const { thresholdCheck } = await decisionOf({ countTokens: () => 0 }, `${MODEL}[1m]`)
    expect(thresholdCheck.threshold).toBe(100_000)
    const capabilities = { models: [{ match: 'opus', contextWindow: 50_000 }] }
    expect((await decisionOf({ capabilities, countTokens: () => 0 })).thresholdCheck.threshold).toBe(5_000)
  })
})

describe('T2 counted definitions', () => {
  it('T2 all deferrable tools together in one question, as they would be sent, and no other tool', async () => {
    const { asked, countTokens } = counter(() => 50_000)
    const schema = { type: 'object', properties: { to: { type: 'string' } } }
    const pool = [
      builtIn('Read'),
      builtIn('Cron', { shouldDefer: true, searchHint: 'later' }),
      mcp('slack', 'send', { inputSchema: schema, input_schema: undefined, searchHint: 'chat' }),
      mcp('slack', 'core', { alwaysLoad: true }),
    ]
    await decisionOf({ tools: pool, countTokens })
    expect(asked).toHaveLength(1)
    expect(asked[0].model).toBe(MODEL)
    expect(asked[0].definitions).toEqual([
      { name: 'Cron', description: 'Cron does its work', input_schema: { type: 'object', properties: {} } },
      { name: 'mcp__slack__send', description: 'send of slack', input_schema: schema },
    ])
  })
})

describe('T3 a counter given by the host', () => {
  it('T3 is asked first, and its answer is less 500 once, not per tool', async () => {
    const { thresholdCheck } = await decisionOf({ countTokens: async () => 3_000 })
    expect(thresholdCheck).toMatchObject({ count: 2_500, method: 'counter' })
  })

  it.each([0, 1, 499, 500])('T3 an answer of %d is never below 0', async (tokens) => {
    expect((await decisionOf({ countTokens: () => tokens })).thresholdCheck).toMatchObject({
      count: 0,
      method: 'counter',
    })
  })
})

describe('T4 the estimate', () => {
  // Name 9, description 10, schema 33 characters: 52 together, and floor(21 × 2.5) is 52.
  const exact = {
    name: 'b',
    server: 'a',
    description: '0123456789',
    input_schema: { type: 'object', properties: {} },
  }
  const shorter = { ...exact, description: '012345678' }

  it('T4 characters of name, description and schema, on when they reach floor(threshold × 2.5)', async () => {
    const reached = await decisionOf({ tools: [exact], contextWindow: 210 })
    expect(reached.thresholdCheck).toEqual({ count: 52, method: 'estimate', threshold: 52, reached: true })
    expect(reached.open).toBe(true)
    const below = await decisionOf({ tools: [shorter], contextWindow: 210 })
    expect(below.thresholdCheck).toEqual({ count: 51, method: 'estimate', threshold: 52, reached: false })
    expect(below).toMatchObject({ open: false, reason: 'below-threshold' })
  })

  const failures: [string, () => Loose][] = [
    ['throws', () => expect.fail('no network')],
    ['rejects', () => Promise.reject(new Error('no network'))],
    ['answers NaN', () => Number.NaN],
    ['answers Infinity', () => Number.POSITIVE_INFINITY],
    ['answers a negative number', () => -1],
    ['answers text', () => '20500'],
    ['answers nothing', () => undefined],
    ['answers null', async () => null],
    ['answers an object', async () => ({ input_tokens: 20_500 })],
  ]
  it.each(failures)('T4 takes over when the counter %s', async (_, countTokens) => {
    const { thresholdCheck, open } = await decisionOf({ tools: [exact], contextWindow: 210, countTokens })
    expect(thresholdCheck).toMatchObject({ count: 52, method: 'estimate', threshold: 52 })
    expect(open).toBe(true)
  })

  it.each([
    [undefined, 3_000],
    [70, 70],
  ])('T4 takes over when the limit of %s ms is over', async (countTimeoutMs, milliseconds) => {
    const limits: number[] = []
    const timer = (limit: number) => {
      limits.push(limit)
      return { over: Promise.resolve(), cancel: () => {} }
    }
    const options = {
      tools: [exact],
      contextWindow: 210,
      timer,
      countTokens: () => new Promise<number>(() => {}),
    }
    const { thresholdCheck } = await decisionOf({ ...options, ...(countTimeoutMs && { countTimeoutMs }) })
    expect(thresholdCheck.method).toBe('estimate')
    expect(limits).toEqual([milliseconds])
  })

  it('T4 a counter that answers in time is believed, and its limit is taken back', async () => {
    let cancelled = 0
    const timer = () => ({ over: new Promise<void>(() => {}), cancel: () => void cancelled++ })
    const { thresholdCheck } = await decisionOf({ timer, countTokens: async () => 700 })
    expect(thresholdCheck).toMatchObject({ count: 200, method: 'counter' })
    expect(cancelled).toBe(1)
  })

  it('T4 a counter that fails after its limit disturbs nobody', async () => {
    let fail = () => {}
    const late = new Promise<number>((_, reject) => {
      fail = () => reject(new Error('late'))
    })
    const timer = () => ({ over: Promise.resolve(), cancel: () => {} })
    const { thresholdCheck } = await decisionOf({ timer, countTokens: () => late })
    fail()
    await new Promise((resolve) => setImmediate(resolve))
    expect(thresholdCheck.method).toBe('estimate')
  })
})

describe('T5 the count is remembered', () => {
  const low = () => 600

  it.each([
    ['a new tool', mcp('new', 'tool')],
    ['a description under an unchanged name', mcp('slack', 'send', { description: 'other words' })],
    [
      'a schema under an unchanged name',
      mcp('slack', 'send', { input_schema: { type: 'object', required: ['a'] } }),
    ],
  ])('T5 %s is noticed, and counted once', async (_, changed) => {
    const { asked, countTokens } = counter(low)
    const talk = autoTalk({ countTokens })
    await talk.prepare()
    talk.shelf.add(changed)
    for (let turn = 0; turn < 3; turn++) await talk.prepare()
    expect(asked).toHaveLength(2)
  })

  it('T5 tools outside of the count do not change it', async () => {
    const { asked, countTokens } = counter(low)
    const talk = autoTalk({ countTokens })
    await talk.prepare()
    talk.shelf.add(builtIn('Write'))
    talk.shelf.add(mcp('slack', 'send'))
    talk.shelf.pending('later')
    await talk.prepare()
    expect(asked).toHaveLength(1)
  })

  it('T5 a changed pool decides anew, an unchanged one does not', async () => {
    let tokens = 600
    const talk = autoTalk({ countTokens: () => tokens })
    expect((await talk.prepare()).decision.open).toBe(false)
    tokens = 90_000
    expect((await talk.prepare()).decision.open).toBe(false)
    talk.shelf.add(mcp('big', 'one'))
    expect((await talk.prepare()).decision.open).toBe(true)
  })
})

describe('T6 once open, auto stays open', () => {
  it('T6 though the tools that opened it are gone, and without counting again', async () => {
    let asked = 0
    const talk = autoTalk({ countTokens: () => (asked++ === 0 ? 50_000 : 0) })
    expect((await talk.prepare()).decision.open).toBe(true)
    talk.shelf.remove('mcp__mail__post')
    expect((await talk.prepare()).decision).toMatchObject({ open: true, reason: 'open' })
    talk.assistant().user()
    expect((await talk.prepare()).decision.open).toBe(true)
    expect(asked).toBe(1)
  })

  it('T6 in a conversation that was saved and taken up again', async () => {
    const first = autoTalk({ countTokens: () => 50_000 })
    const { state } = await first.prepare()
    const saved = JSON.parse(JSON.stringify({ state, messages: first.messages }))
    const second = autoTalk({ countTokens: () => 0, state: saved.state })
    second.messages = saved.messages
    expect((await second.prepare()).decision.open).toBe(true)
  })

  it('T6 in a conversation of which only the messages were kept', async () => {
    const first = autoTalk({ countTokens: () => 50_000 })
    const { history: messages } = await first.prepare()
    const second = autoTalk({ countTokens: () => 0 })
    second.messages = JSON.parse(JSON.stringify(messages))
    expect((await second.prepare()).decision.open).toBe(true)
  })

  it('T6 but a conversation that never opened, and a sub-agent of one that did, decide for themselves', async () => {
    let tokens = 50_000
    const talk = autoTalk({ countTokens: () => tokens })
    await talk.prepare()
    tokens = 0
    talk.shelf.remove('mcp__mail__post')
    const request = { model: MODEL, messages: [{ role: 'user', content: 'hi' }] }
    expect((await talk.shelf.fork().prepare(request)).decision.reason).toBe('below-threshold')
    expect((await talk.prepare()).decision.open).toBe(true)
  })
})
