// What was saved, against an upstream that counts exactly: the log, the metrics and the headers agree with its usage.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Figures } from '../../src/core/figures/index.ts'
import { readingOf } from '../../src/core/oracle/index.ts'
import type { Fields } from '../../src/lib/index.ts'
import type { UpstreamWire } from '../../src/messages/index.ts'
import { createChatUpstream, type RequestRecord } from '../../src/messages/index.ts'
import { type Count, counting as countingFor, inputOf } from '../support/exact-usage.ts'
import { runs } from '../support/runs.ts'
import { play } from './script-talk.ts'
import { ask, COUNT, hosted, kinds, post, type Reply, record, reply, start } from './support/gateways.ts'

/** A script whose usage is counted by `count`, and each usage that it reported. */
function counting(script: object, wire: UpstreamWire, count?: Count) {
  const usages: Fields[] = []
  const upstream = play({ ...script, ...(wire === 'native' ? {} : { api: 'old' }) }, { wire })
  return { usages, upstream: countingFor(upstream, usages, count) }
}

const tool = (name: string, length = 200): Fields => ({
  name,
  description: `Does what ${name.replaceAll('_', ' ')} does. ${'It is long. '.repeat(length / 12)}`,
  input_schema: { type: 'object', properties: { what: { type: 'string' } } },
})
const tools = (count: number) => Array.from({ length: count }, (_, index) => tool(`mcp__g__make_${index}`))
const script = { rules: [{ when: 'use (\\S+)', do: [{ call: '{{1}}', search: '{{1}}' }, { say: 'Done.' }] }] }
const sum = (all: readonly (Figures | undefined)[], field: 'tokensWithout' | 'tokensWith' | 'tokensSaved') =>
  all.reduce((total, figures) => total + (figures?.[field] ?? 0), 0)

/** A client that runs each call of the model, until a turn ends; `at` is asked before each request. */
async function converse(
  gateway: { readonly url: string },
  given: readonly Fields[],
  prompts: readonly string[],
  at: (body: Fields) => Promise<void> = async () => {},
): Promise<void> {
  const messages: Fields[] = []
  for (const prompt of prompts) {
    messages.push({ role: 'user', content: prompt })
    for (let round = 0; round < 5; round++) {
      const body = { ...ask(given), messages: [...messages] }
      await at(body)
      const { content } = (await reply(gateway, body)) as Reply
      messages.push({ role: 'assistant', content })
      const calls = content.filter(({ type }) => type === 'tool_use')
      if (calls.length === 0) break
      messages.push({
        role: 'user',
        content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'made' })),
      })
    }
  }
}

describe.each(kinds)('on %s, over random conversations', (wire) => {
  it('shelve: the savings of all requests are their usage without tool search minus that with it', async () => {
    const random = fc.tuple(
      fc.integer({ min: 1, max: 12 }),
      fc.array(fc.nat({ max: 11 }), { minLength: 1, maxLength: 4 }),
    )
    const run = async ([count, uses]: [number, number[]]) => {
      const done: RequestRecord[] = []
      const shelving = counting(script, wire)
      const plain = counting(script, wire)
      const gateway = await start(shelving.upstream, { mode: 'shelve', onDone: (one) => done.push(one) })
      const off = await start(plain.upstream, { mode: 'off' })
      const prompts = uses.map((use) => `use mcp__g__make_${use % count}`)
      await converse(gateway, tools(count), prompts, async (body) => void (await reply(off, body)))
      const figures = done.map(({ outcome }) => outcome?.figures())
      expect(figures.every((one) => one && !one.isEstimated)).toBe(true)
      expect(sum(figures, 'tokensWith')).toBe(inputOf(shelving.usages))
      expect(sum(figures, 'tokensWithout')).toBe(inputOf(plain.usages))
      expect(sum(figures, 'tokensSaved')).toBe(inputOf(plain.usages) - inputOf(shelving.usages))
      expect(figures.reduce((total, one) => total + (one?.extraRoundTrips ?? 0), 0)).toBe(
        shelving.usages.length - plain.usages.length,
      )
    }
    await fc.assert(fc.asyncProperty(random, run), { numRuns: runs(5) })
  })

  it('emulate: the same against a client that defers nothing', async () => {
    const done: RequestRecord[] = []
    const emulating = counting(script, wire)
    const plain = counting(script, wire)
    const gateway = await start(emulating.upstream, { mode: 'emulate', onDone: (one) => done.push(one) })
    const off = await start(plain.upstream, { mode: 'off' })
    const prompts = [3, 5, 3].map((use) => `use mcp__g__make_${use}`)
    const deferred = tools(8).map((one) => ({ ...one, defer_loading: true }))
    await converse(gateway, [hosted('bm25'), ...deferred], prompts)
    await converse(off, tools(8), prompts)
    const figures = done.map(({ outcome }) => outcome?.figures())
    expect(sum(figures, 'tokensWith')).toBe(inputOf(emulating.usages))
    expect(sum(figures, 'tokensWithout')).toBe(inputOf(plain.usages))
  })
})

describe('what is counted', () => {
  const one: Fields = { ...ask(tools(3)), messages: [{ role: 'user', content: 'use mcp__g__make_1' }] }

  async function measured(count?: Count, body: Fields = one): Promise<Figures | undefined> {
    const done: RequestRecord[] = []
    const { upstream } = counting(script, 'append', count)
    await reply(await start(upstream, { mode: 'shelve', onDone: (each) => done.push(each) }), body)
    return done[0]?.outcome?.figures()
  }

  it('counts a search as an extra round trip, and its output separately', async () => {
    const figures = await measured()
    expect(figures).toMatchObject({ requests: 1, rounds: 2, extraRoundTrips: 1, searchOutputTokens: 7 })
    expect(figures?.tokensSaved).toBeLessThan(0)
  })

  it('count_tokens saves nothing', async () => {
    const done: RequestRecord[] = []
    const gateway = await start(counting(script, 'append').upstream, {
      mode: 'shelve',
      onDone: (each) => done.push(each),
    })
    const { max_tokens: _, ...body } = one
    const { status } = await post(gateway, body, { path: COUNT })
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
    expect(status).toBe(200)
    expect(done[0]?.outcome?.figures()).toBeUndefined()
    expect(metrics).not.toMatch(/^toolshelf_tokens_\w+\{/m)
  })

  it('an upstream that reports no usage is estimated, and said to be', async () => {
    const figures = await measured(() => ({}))
    expect(figures).toMatchObject({ isEstimated: true, rounds: 2 })
    const exact = await measured((request) => ({ input_tokens: readingOf(request).characters / 2.9 }))
    expect(Math.abs((figures?.tokensSaved ?? 0) - (exact?.tokensSaved ?? 0))).toBeLessThan(10)
  })

  it.each([
    ['below zero', { input_tokens: -5000, cache_read_input_tokens: 900 }],
    ['a text', { input_tokens: '1000' }],
    ['beyond all prompts', { input_tokens: 1e308, output_tokens: 1e308 }],
    ['beyond all prompts, in the cache', { input_tokens: 10, cache_creation_input_tokens: 2e9 }],
    ['a list', { input_tokens: [1000] }],
    ['an object', { input_tokens: 1000, cache_read_input_tokens: { toString: 1 } }],
  ])('usage that counts nothing is not believed: %s', async (_, usage) => {
    const figures = await measured(() => usage as Fields, { ...one, model: 'claude-sonnet-5-5' })
    const { tokensWith, tokensWithout } = (await measured(() => ({}))) ?? {}
    expect(figures).toMatchObject({ isEstimated: true, rounds: 2, tokensWith, tokensWithout })
    expect(figures).not.toHaveProperty('dollarsSaved')
  })

  it('an upstream of another language cannot read more from its cache than it was sent', async () => {
    const text = (body: object) => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const usage = { prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 900 } }
    const message = { role: 'assistant', content: 'Done.' }
    const { url } = await record(text({ choices: [{ message, finish_reason: 'stop' }], usage }))
    const done: RequestRecord[] = []
    const upstream = createChatUpstream({ url })
    await reply(await start(upstream, { mode: 'shelve', onDone: (each) => done.push(each) }), one)
    expect(done[0]?.outcome?.figures()).toMatchObject({ tokensWith: 100, isEstimated: false })
  })

  it('headers, metrics and the log hold the same figures', async () => {
    const done: RequestRecord[] = []
    const { upstream, usages } = counting(script, 'append')
    const gateway = await start(upstream, { mode: 'shelve', onDone: (each) => done.push(each) })
    const { headers } = await post(gateway, { ...one, model: 'claude-sonnet-5-5' })
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
    const figures = done[0]?.outcome?.figures()
    expect(figures?.tokensWith).toBe(inputOf(usages))
    expect(headers.get('x-toolshelf-tokens-saved')).toBe(String(figures?.tokensSaved))
    expect(headers.get('x-toolshelf-tokens-with')).toBe(String(figures?.tokensWith))
    expect(headers.get('x-toolshelf-extra-round-trips')).toBe('1')
    expect(headers.get('x-toolshelf-dollars-saved')).toBe(figures?.dollarsSaved?.toFixed(6))
    for (const [name, value] of [
      ['tokens_saved', figures?.tokensSaved],
      ['tokens_without_total', figures?.tokensWithout],
      ['tokens_with_total', figures?.tokensWith],
      ['extra_round_trips_total', 1],
      ['dollars_saved', figures?.dollarsSaved],
    ])
      expect(metrics).toContain(`toolshelf_${name}{mode="shelve"} ${value}\n`)
    expect(metrics).toContain('# TYPE toolshelf_tokens_saved gauge')
  })
})

describe('money', () => {
  const many = { ...ask(tools(60)), model: 'claude-sonnet-5-5' }
  const marked = { ...many, cache_control: { type: 'ephemeral' } }
  const said = [{ role: 'user', content: 'hello' }]
  const later = [...said, { role: 'assistant', content: 'hi' }, { role: 'user', content: 'hello again' }]

  async function dollarsOf(body: Fields, count: Count): Promise<Figures> {
    const done: RequestRecord[] = []
    const { upstream } = counting(script, 'append', count)
    await reply(await start(upstream, { mode: 'shelve', onDone: (each) => done.push(each) }), body)
    return done[0]?.outcome?.figures() as Figures
  }
  /** Input of Sonnet 5.5 costs 2 dollars a million, a cache write 2.5, a cache read 0.1, and output 10. */
  const paid = (tokens: number, price: number) => (tokens * price) / 1_000_000

  it('is what the upstream billed, at list prices', async () => {
    const figures = await dollarsOf({ ...many, messages: said }, () => ({ input_tokens: 1000 }))
    expect(figures.dollarsWith).toBeCloseTo(paid(1000, 2) + paid(7, 10), 10)
    expect(figures.dollarsWithout).toBeCloseTo(paid(figures.tokensWithout, 2) + paid(7, 10), 10)
    expect(figures.dollarsSaved).toBeCloseTo(paid(figures.tokensSaved, 2), 10)
  })

  it.each([
    ['read', later, { input_tokens: 100, cache_read_input_tokens: 900 }, 0.1],
    ['written', said, { input_tokens: 100, cache_creation_input_tokens: 900 }, 2.5],
    [
      'written for an hour',
      said,
      {
        input_tokens: 100,
        cache_creation_input_tokens: 900,
        cache_creation: { ephemeral_1h_input_tokens: 900 },
      },
      4,
    ],
    ['too short for the cache, new', said, { input_tokens: 1000 }, 2.5],
    ['too short for the cache, sent before', later, { input_tokens: 1000 }, 0.1],
  ])('definitions cost what the front of the prompt cost: %s', async (_, messages, usage, price) => {
    const figures = await dollarsOf({ ...marked, messages }, () => usage)
    expect(figures.tokensWith).toBe(1000)
    expect(figures.dollarsSaved).toBeCloseTo(paid(figures.tokensSaved, price), 10)
  })

  it('of a model whose price is not known is not shown', async () => {
    const figures = await dollarsOf({ ...many, model: 'gpt-7', messages: said }, () => ({
      input_tokens: 1000,
    }))
    expect(figures).not.toHaveProperty('dollarsSaved')
    expect(figures.tokensSaved).toBeGreaterThan(0)
  })
})
