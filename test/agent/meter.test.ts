// What an agent's meter says, against an upstream that counts exactly and against the same agent without tool search.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { agentTool, createAgentMeter } from '../../src/agent/index.ts'
import type { Fields } from '../../src/messages/types.ts'
import { counting, inputOf, OUTPUT } from '../support/exact-usage.ts'
import { over, runnerOn, scripted, served, serverTools, shelfWith } from './support.ts'

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

/** An agent with so many tools, what its meter says, and what the upstream counted. */
async function measured(count: number, prompts: readonly string[], toolSearch: boolean) {
  const usages: Fields[] = []
  const model = await served(script, (upstream) => counting(upstream, usages))
  const shelf = shelfWith(serverTools('weather', ...names.slice(0, count)), {
    toolSearch,
    baseURL: undefined,
  })
  const shared = { client: model.client, model: 'claude-opus-4-5', shelf, runner: runnerOn(shelf) }
  const { agent } = over(model, { ...shared, tools: [agentTool(() => ({ ...shared, tools: [] }))] })
  const meter = createAgentMeter({ shelf })
  for (const prompt of prompts) for await (const event of agent.send(prompt)) meter.follow(event)
  return { figures: meter.figures(), usages }
}

describe('an agent with tool search', () => {
  it('saves what the same agent without it spends more, to the token', async () => {
    const use = fc.nat({ max: 5 })
    const prompt = fc.oneof(
      use.map((one) => [one]),
      fc.tuple(use, use),
      fc.constant<number[]>([]),
    )
    const run = async ([count, asked]: [number, (number[] | [number, number])[]]) => {
      const name = (one: number) => names[one % count]
      const prompts = asked.map((uses) =>
        uses.length === 0 ? 'hello' : `use ${uses.map(name).join(' and ')}`,
      )
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
    const random = fc.tuple(fc.integer({ min: 1, max: 6 }), fc.array(prompt, { minLength: 1, maxLength: 4 }))
    await fc.assert(fc.asyncProperty(random, run), { numRuns: 15 })
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
