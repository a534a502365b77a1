// What an agent's meter says, against an upstream that counts exactly and against the same agent without tool search.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAgentMeter } from '../../packages/agent/src/meter.ts'
import { createAgentTool } from '../../packages/agent/src/sub-agent.ts'
import type { Fields } from '../../packages/core/src/lib/json.ts'
import { counting, inputOf, OUTPUT } from '../../packages/testkit/src/exact-usage.ts'
import { runs } from '../../packages/testkit/src/runs.ts'
import {
  type Bill,
  type Fate,
  fates,
  unreliable,
  WHOLE,
} from '../../packages/testkit/src/unreliable-upstream.ts'
import { over, runnerOn, saying, scripted, served, serverTools, shelfWith } from './support.ts'

const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)

const names = ['forecast', 'alerts', 'radar', 'tides', 'moon', 'pollen']
const script = scripted(
  { when: 'use (\\w+) and (\\w+)', do: [{ calls: [call('{{1}}'), call('{{2}}')] }, { say: 'Both.' }] },
  { when: 'use (\\w+)', do: [call('{{1}}'), { say: 'Done.' }] },
  {
    when: 'delegate (\\w+)',
    do: [{ call: 'Agent', input: { description: 'x', prompt: 'use {{1}}' } }, { say: 'ok' }],
  },
  { when: '.', do: [{ say: 'Fine.' }] },
)

function call(name: string) {
  return { call: `mcp__weather__${name}`, input: { city: 'Oslo' }, search: name }
}

const prompts = (count: number) => {
  const use = fc.nat({ max: 5 }).map((one) => names[one % count])
  const one = fc.oneof(
    use.map((name) => `use ${name}`),
    fc.tuple(use, use).map(([first, second]) => `use ${first} and ${second}`),
    fc.constant('hello'),
  )
  return fc.array(one, { minLength: 1, maxLength: 4 })
}

/** This many tools, and the prompts for the agent. */
const talks = fc.integer({ min: 1, max: 6 }).chain((count) => fc.tuple(fc.constant(count), prompts(count)))

/** An agent with so many tools, what its meter says, and what the upstream counted. */
async function measured(count: number, prompts: readonly string[], toolSearch: boolean) {
  const usages: Fields[] = []
  const model = await served(script, (upstream) => counting(upstream, usages))
  const shelf = shelfWith(serverTools('weather', ...names.slice(0, count)), {
    toolSearch,
    baseURL: undefined,
  })
  const shared = { client: model.client, model: 'claude-opus-4-5', shelf, runner: runnerOn(shelf) }
  const { agent } = over(model, { ...shared, tools: [createAgentTool(() => ({ ...shared, tools: [] }))] })
  const meter = createAgentMeter({ shelf })
  for (const prompt of prompts) for await (const event of agent.send(prompt)) meter.follow(event)
  return { figures: meter.figures(), usages }
}

describe('an agent with tool search', () => {
  it('saves what the same agent without it spends more, to the token', async () => {
    const run = async ([count, prompts]: [number, string[]]) => {
      const searching = await measured(count, prompts, true)
      const plain = await measured(count, prompts, false)
      expect(searching.figures.tokensWith).toBe(inputOf(searching.usages))
      expect(searching.figures.tokensWithout).toBe(inputOf(plain.usages))
      expect(searching.figures).toMatchObject({
        tokensSaved: inputOf(plain.usages) - inputOf(searching.usages),
        requests: plain.usages.length,
        rounds: searching.usages.length,
        extraRoundTrips: searching.usages.length - plain.usages.length,
        searchOutputTokens: OUTPUT * (searching.usages.length - plain.usages.length),
        isEstimated: false,
      })
      expect(plain.figures).toMatchObject({ tokensSaved: 0, extraRoundTrips: 0 })
    }
    await fc.assert(fc.asyncProperty(talks, run), { numRuns: runs(6) })
  })

  it('counts its sub-agents too', async () => {
    const searching = await measured(6, ['delegate tides'], true)
    const plain = await measured(6, ['delegate tides'], false)
    expect(searching.figures.tokensWith).toBe(inputOf(searching.usages))
    expect(searching.figures.tokensWithout).toBe(inputOf(plain.usages))
    expect(searching.figures.extraRoundTrips).toBe(1)
  })

  it('has a price where its model has', async () => {
    const { figures } = await measured(2, ['hello'], true)
    expect(figures.dollarsWith).toBeCloseTo((figures.tokensWith * 5 + OUTPUT * 25) / 1_000_000, 10)
  })
})

const PRICES = { input: 5, cacheRead: 0.5, cacheWrite: 6.25, cacheWrite1h: 10, output: 25 }

/** An agent whose API refuses, breaks off, caches and is stopped as the test says. */
async function measuredWith(
  given: readonly Fate[],
  count: number,
  prompts: readonly string[],
  toolSearch: boolean,
) {
  const bills: Bill[] = []
  const left = [...given]
  const model = await served(script, (upstream) => unreliable(upstream, () => left.shift() ?? WHOLE, bills))
  const shelf = shelfWith(serverTools('weather', ...names.slice(0, count)), {
    toolSearch,
    baseURL: undefined,
  })
  const { agent } = over(model, { model: 'claude-opus-4-5', shelf, runner: runnerOn(shelf), retries: 50 })
  const meter = createAgentMeter({ shelf })
  for (const prompt of prompts) {
    const stop = new AbortController()
    for await (const event of agent.send(prompt, { signal: stop.signal })) {
      meter.follow(event)
      if (event.type === 'text' && event.text === 'Well') stop.abort()
    }
  }
  return { figures: meter.figures(), bills }
}

describe('an agent whose API fails', () => {
  it('counts every reply that began, whether it broke off or was stopped, and no refusal', async () => {
    const run = async ([count, prompts]: [number, string[]], given: Fate[]) => {
      const { figures, bills } = await measuredWith(given, count, prompts, true)
      // Without tool search the same replies break off, and those that search are not made.
      const same = bills.filter(({ hasSearched }) => !hasSearched)
      const plain = await measuredWith(
        same.map(({ fate }) => fate),
        count,
        prompts,
        false,
      )
      const rates = [PRICES.input, PRICES.cacheRead, PRICES.cacheWrite, PRICES.cacheWrite1h]
      const paid = bills.map(
        ({ kinds, output }) =>
          total(kinds.map((tokens, at) => tokens * (rates[at] ?? 0))) + output * PRICES.output,
      )
      expect(figures).toMatchObject({
        tokensWith: total(bills.map(({ tokens }) => tokens)),
        tokensWithout: total(plain.bills.map(({ tokens }) => tokens)),
        requests: plain.bills.length,
        rounds: bills.length,
        extraRoundTrips: bills.length - plain.bills.length,
        dollarsWith: expect.closeTo(total(paid) / 1_000_000, 8),
        isEstimated: false,
      })
    }
    await fc.assert(fc.asyncProperty(talks, fc.array(fates, { maxLength: 8 }), run), { numRuns: runs(6) })
  })

  it.each([
    { input_tokens: -5000 },
    { input_tokens: '1000', output_tokens: '7' },
    { input_tokens: 1e308, output_tokens: 1e308 },
    { input_tokens: 10, cache_creation_input_tokens: Number.POSITIVE_INFINITY },
  ])('does not believe usage that counts nothing: %j', async (usage) => {
    const { agent, shelf } = over(saying({ content: [{ type: 'text', text: 'hi' }], usage }))
    const meter = createAgentMeter({ shelf })
    for await (const event of agent.send('hello')) meter.follow(event)
    expect(meter.figures()).toMatchObject({ isEstimated: true, rounds: 1, tokensSaved: 0 })
    expect(agent.used).toBe(0)
  })
})
