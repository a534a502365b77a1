// The ranker `model` with an encoder that a test plays: what it is given, when it is asked, and what is made of its vectors.
import { describe, expect, test } from 'vitest'
import type { PoolTool, Rank } from '../../src/core/index.ts'
import { createModelRank } from '../../src/rankers/model-rank.ts'
import { toolsOf } from './tools.ts'

type Vector = { readonly codes: Int8Array; readonly scale: number }

/** An encoder whose state a test sets, and everything that it was asked for. */
function play() {
  const log: string[] = []
  const vectors = new Map<string, Vector>()
  const state = {
    status: 'idle' as string,
    version: 1,
    isLoaded: true,
    query: async (): Promise<number[] | undefined> => [1, 2],
    onReady: () => {},
  }
  const embedder = {
    get state() {
      return { status: state.status }
    },
    get version() {
      return state.version
    },
    get isLoaded() {
      return state.isLoaded
    },
    wake: () => void log.push('wake'),
    prepare: (texts: readonly string[]) => void log.push(`prepare ${texts.join(' | ')}`),
    vectors: (texts: readonly string[]) => texts.map((text) => vectors.get(text)),
    async ready() {
      log.push('ready')
      state.onReady()
    },
    embedQuery: async (text: string) => {
      log.push(`query ${text}`)
      return state.query()
    },
  }
  /** Finds all tools in their order, or by their cosines if there are some. */
  const createHybrid =
    (cosines: (tools: readonly PoolTool[], query: string) => Promise<ArrayLike<number> | undefined>): Rank =>
    async (tools, query, limit) => {
      const scores = await cosines(tools, query)
      log.push(`hybrid ${limit}${scores ? ` ${Array.from(scores).join(' ')}` : ''}`)
      const hits = tools.map((tool, index) => ({ tool, score: scores?.[index] ?? 0 }))
      return { hits: hits.sort((a, b) => b.score - a.score).slice(0, limit), matched: tools.length }
    }
  const created = createModelRank({
    embedder: embedder as never,
    createHybrid: createHybrid as never,
    timeoutMs: 20,
  })
  const rank = async (tools: readonly PoolTool[], query = 'a query', limit = 5) => {
    const { hits, matched } = await created.rank(tools, query, limit)
    return [hits.map(({ tool }) => tool.name).join(' '), matched]
  }
  const learn = (...texts: string[]) => {
    for (const [index, text] of texts.entries())
      vectors.set(text, { codes: Int8Array.from([index, 1]), scale: 0.5 })
  }
  return { ...created, log, state, learn, run: rank }
}

const numbered = (count: number) =>
  toolsOf(
    ...Array.from({ length: count }, (_, index) => ({ name: `tool${String.fromCharCode(97 + index)}` })),
  )
const pair = toolsOf({ name: 'alpha' }, { name: 'beta' })

describe('S18 the ranker model', () => {
  test('ranks by the cosines of its candidates with the query, once all have vectors', async () => {
    const { run, log, learn } = play()
    learn('alpha')
    expect(await run(pair)).toEqual(['alpha beta', 2])
    expect(log).toEqual(['hybrid 20', 'prepare alpha | beta', 'prepare beta'])
    log.length = 0
    learn('alpha', 'beta')
    expect(await run(pair)).toEqual(['beta alpha', 2])
    // (0 · 1 + 1 · 2) · 0.5 and (1 · 1 + 1 · 2) · 0.5
    expect(log).toEqual(['hybrid 20', 'query a query', 'hybrid 20 1 1.5'])
  })

  test('has 20 candidates, and as many hits as are wanted', async () => {
    const tools = numbered(25)
    const { run, log, learn } = play()
    learn(...tools.slice(0, 20).map(({ name }) => name))
    const [names] = await run(tools, 'a query', 22)
    expect(String(names).split(' ')).toHaveLength(22)
    expect(String(names)).toMatch(/^toolt tools /)
    expect(log.at(-1)).toMatch(/^hybrid 22 1 1\.5 .* 10\.5 0 0 0 0 0$/)
    expect(await run(tools, 'a query', 2)).toEqual(['toolt tools', 25])
  })

  test('wakes an encoder that sleeps, and asks it nothing before', async () => {
    const { run, log, learn, state } = play()
    learn('alpha', 'beta')
    state.isLoaded = false
    expect(await run(pair)).toEqual(['alpha beta', 2])
    expect(log).toEqual(['hybrid 20', 'prepare alpha | beta', 'wake'])
  })

  test('leaves an encoder alone that is unavailable, has nothing to read, or would read no Latin', async () => {
    const { run, log, learn, state } = play()
    learn('alpha', 'beta')
    await run(pair, 'поиск')
    await run([], 'a query')
    state.status = 'unavailable'
    state.isLoaded = false
    await run(pair)
    expect(log.filter((line) => !/^(?:hybrid|prepare)/.test(line))).toEqual([])
    expect(log.filter((line) => line.startsWith('prepare alpha'))).toHaveLength(1)
  })

  test('gets only the Latin words of a query', async () => {
    const { run, log, learn } = play()
    learn('alpha', 'beta')
    for (const query of ['find поиск 7', '42', '  née ']) await run(pair, query)
    expect(log.filter((line) => line.startsWith('query'))).toEqual([
      'query find   7',
      'query 42',
      'query née',
    ])
  })

  test('continues without a vector of its query that is missing, late or fails', async () => {
    for (const query of [
      async () => undefined,
      () => new Promise<undefined>(() => {}),
      () => Promise.reject(new Error('no')),
    ]) {
      const { run, log, learn, state } = play()
      learn('alpha', 'beta')
      state.query = query
      expect(await run(pair)).toEqual(['alpha beta', 2])
      expect(log.at(-1)).toBe('query a query')
    }
  })

  test('has a list read once for each version of the encoder, and not while it works', async () => {
    const { run, log, learn, state } = play()
    const lists = () => log.splice(0).filter((line) => line === 'prepare alpha | beta').length
    state.status = 'working'
    learn('alpha', 'beta')
    await run(pair)
    expect(lists()).toBe(0)
    state.status = 'idle'
    await run(pair)
    await run(pair)
    expect(lists()).toBe(1)
    state.version++
    await run(pair)
    expect(lists()).toBe(1)
  })

  test('has the newest candidates read first', async () => {
    const { run, log } = play()
    await run(toolsOf({ name: 'old' }, { name: 'both' }))
    log.length = 0
    await run(toolsOf({ name: 'both' }, { name: 'new' }))
    expect(log.filter((line) => line.startsWith('prepare'))).toEqual([
      'prepare both | new',
      'prepare both | new | old',
    ])
  })

  test('reads of a tool its name, description and arguments, up to 270 characters, in Latin', async () => {
    const { log, run } = play()
    const entry = (name: string, tool: object) => ({ ...pair[0], name, tool }) as PoolTool
    await run([
      entry('sendMail', {
        description: 'Sends почту mail',
        input_schema: { properties: { toWhom: {}, body: {} } },
      }),
      entry('b', { inputSchema: { properties: { one: {} } } }),
      entry('c', { description: 'x'.repeat(600), input_schema: null }),
      entry('письмо', { description: 'почта' }),
    ])
    expect(log[1]).toBe(
      `prepare send mail. Sends   mail. to whom, body | b. one | ${`c. ${'x'.repeat(600)}`.slice(0, 270)}`,
    )
  })

  test('is ready when every tool has a vector and a query gets one', async () => {
    const { ready, learn, log, state } = play()
    state.onReady = () => learn('alpha')
    expect(await ready(pair)).toBe(false)
    expect(log).toEqual(['prepare alpha | beta', 'ready'])
    state.onReady = () => learn('alpha', 'beta')
    expect(await ready(pair)).toBe(true)
    expect(log.at(-1)).toBe('query ready')
    state.query = async () => undefined
    expect(await ready(pair)).toBe(false)
  })

  test('that is patient waits for its candidates, and for the vector of its query', async () => {
    const { patient, learn, log, state } = play()
    state.onReady = () => learn('alpha', 'beta')
    state.query = () => new Promise((resolve) => setTimeout(() => resolve([1, 2]), 40))
    const { hits } = await patient()(pair, 'a query', 5)
    expect(hits.map(({ tool }) => tool.name)).toEqual(['beta', 'alpha'])
    expect(log).toEqual([
      'hybrid 20',
      'prepare alpha | beta',
      'ready',
      'query ready',
      'query a query',
      'hybrid 20 1 1.5',
    ])
  })
})
