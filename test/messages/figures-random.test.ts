// What was saved, over random conversations at once with an upstream that caches, refuses and breaks off: nothing that was
// billed is left out, nothing is counted twice, and nothing of one request reaches another.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Figures, PriceTable } from '../../src/core/figures/figures.ts'
import { readingOf } from '../../src/core/oracle/size.ts'
import type { Fields } from '../../src/lib/json.ts'
import type { RequestRecord } from '../../src/messages/server/server.ts'
import { withoutCarriedIds } from '../../src/messages/shelve/traces.ts'
import type { MessagesRequest } from '../../src/messages/types.ts'
import { runs } from '../support/runs.ts'
import { type Bill, type Fate, fates, unreliable, WHOLE } from '../support/unreliable-upstream.ts'
import { play } from './script-talk.ts'
import { ask, COUNT, type Kind, kinds, post, type Started, start } from './support/gateways.ts'

const MODELS = 4
/** Each model has prices of its own: money of one conversation would show in another. */
const price = (at: number) => ({
  input: at + 2,
  cacheRead: 0.1,
  cacheWrite: at + 2.5,
  cacheWrite1h: 2 * at + 4,
  output: 10,
})
const prices: PriceTable = {
  ...{ date: '2026-11-06', source: '' },
  models: Array.from({ length: MODELS }, (_, at) => ({ match: `m${at}`, ...price(at) })),
}

const tools = Array.from({ length: 9 }, (_, index) => ({
  name: `mcp__g__make_${index}`,
  description: `Does what make ${index} does. ${'It is long. '.repeat(5 * index)}`,
  input_schema: { type: 'object', properties: { what: { type: 'string' } } },
}))
const script = { rules: [{ when: 'use (\\S+)', do: [{ call: '{{1}}', search: '{{1}}' }, { say: 'Done.' }] }] }

type Turn = { readonly use: number; readonly isCounted: boolean }
type Talk = { readonly turns: readonly Turn[]; readonly fates: readonly Fate[] }

const talk = fc.record<Talk>({
  turns: fc.array(fc.record({ use: fc.nat({ max: 8 }), isCounted: fc.boolean() }), {
    minLength: 1,
    maxLength: 3,
  }),
  fates: fc.array(fates, { maxLength: 8 }),
})

/** One request, streamed; what came of it as far as it came. A client leaves where the model begins and says no more. */
async function stream(gateway: Started, body: Fields): Promise<Fields[] | undefined> {
  const leave = new AbortController()
  try {
    const events = await gateway.client.messages.create({ ...body, stream: true } as never, {
      signal: leave.signal,
    })
    const content: Fields[] = []
    let json = ''
    for await (const event of events as unknown as AsyncIterable<Fields>) {
      const delta = event.delta as Fields | undefined
      if (event.type === 'content_block_start') content.push({ ...(event.content_block as Fields) })
      if (delta?.text === 'Well') leave.abort()
      if (delta?.type === 'text_delta') (content.at(-1) as Fields & { text: unknown }).text = delta.text
      if (delta?.type === 'input_json_delta') json += delta.partial_json
    }
    if (leave.signal.aborted) return undefined
    return content.map((block) =>
      block.type === 'tool_use' ? { ...block, input: JSON.parse(json || '{}') } : block,
    )
  } catch {
    return undefined
  }
}

/** A client that gives a turn up as soon as a reply fails; `isOver` waits until so many of its requests are. */
async function converse(
  gateway: Started,
  model: string,
  turns: readonly Turn[],
  asked: Fields[],
  isOver: (count: number) => Promise<void>,
): Promise<void> {
  let messages: Fields[] = []
  for (const { use, isCounted } of turns) {
    const before = messages
    messages = [...messages, { role: 'user', content: `use mcp__g__make_${use}` }]
    for (let step = 0; step < MAX_STEPS; step++) {
      const body: Fields = { ...ask(tools), model, messages }
      const { max_tokens: _, ...counted } = body
      if (isCounted) await post(gateway, counted, { path: COUNT })
      asked.push(body)
      const content = await stream(gateway, body)
      await isOver(asked.length)
      if (!content) {
        messages = before
        break
      }
      const calls = content.filter(({ type }) => type === 'tool_use')
      const results = calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'made' }))
      messages = [...messages, { role: 'assistant', content }]
      if (calls.length === 0) break
      messages.push({ role: 'user', content: results })
    }
  }
}

const MAX_STEPS = 5
const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)

/** What the upstream billed, as figures. */
function expected(bills: readonly Bill[], asked: Fields, at: number): Partial<Figures> | undefined {
  if (bills.length === 0) return undefined
  const { input, cacheRead, cacheWrite, cacheWrite1h, output } = price(at)
  const rates = [input, cacheRead, cacheWrite, cacheWrite1h]
  const dollars = bills.map(
    (bill) => total(bill.kinds.map((tokens, kind) => tokens * (rates[kind] ?? 0))) + bill.output * output,
  )
  // The ids of calls are longer through the gateway: they carry the searches that the client does not see.
  const tokensWithout = 3 * readingOf(withoutCarriedIds(asked as MessagesRequest)).characters
  const tokensWith = total(bills.map(({ tokens }) => tokens))
  return {
    ...{ requests: 1, rounds: bills.length, extraRoundTrips: bills.length - 1, isEstimated: false },
    ...{ tokensWithout, tokensWith, tokensSaved: tokensWithout - tokensWith },
    searchOutputTokens: total(bills.slice(0, -1).map((bill) => bill.output)),
    dollarsWith: expect.closeTo(total(dollars) / 1_000_000, 10) as unknown as number,
  }
}

/** Each request takes the bills that follow those of the request before it. */
function check(
  done: readonly RequestRecord[],
  bills: readonly Bill[],
  asked: readonly Fields[],
  at: number,
): void {
  let from = 0
  expect(done).toHaveLength(asked.length)
  for (const [index, { outcome }] of done.entries()) {
    const figures = outcome?.figures()
    const own = bills.slice(from, from + (figures?.rounds ?? 0))
    from += own.length
    expect(figures).toEqual(
      own.length > 0 ? expect.objectContaining(expected(own, asked[index] ?? {}, at) ?? {}) : undefined,
    )
  }
  expect(from).toBe(bills.length)
}

function valueIn(metrics: string, name: string): number {
  return Number(new RegExp(`^toolshelf_${name}\\{mode="shelve"\\} (\\S+)$`, 'm').exec(metrics)?.[1] ?? 0)
}

async function playAll(wire: Kind, talks: readonly Talk[]): Promise<void> {
  const done: RequestRecord[] = []
  const bills: Bill[] = []
  const left = talks.map((one) => [...one.fates])
  const nextFate = (model: string) => left[Number(model.slice(1))]?.shift() ?? WHOLE
  const upstream = play({ ...script, ...(wire === 'native' ? {} : { api: 'old' }) }, { wire })
  const gateway = await start(unreliable(upstream, nextFate, bills), {
    ...{ mode: 'shelve', prices, wait: async () => {} },
    onDone: (one) => done.push(one),
  })
  const replies = (at: number) =>
    done.filter(({ path, model }) => model === `m${at}` && !path.endsWith('count_tokens'))
  const asked: Fields[][] = talks.map(() => [])
  await Promise.all(
    talks.map(({ turns }, at) =>
      converse(gateway, `m${at}`, turns, asked[at] ?? [], (count) =>
        expect.poll(() => replies(at).length, { interval: 2, timeout: 60_000 }).toBe(count),
      ),
    ),
  )
  const counted = done.filter(({ path }) => path.endsWith('count_tokens'))
  expect(counted.every(({ outcome }) => outcome?.figures() === undefined)).toBe(true)
  for (const [at] of talks.entries())
    check(
      replies(at),
      bills.filter(({ model }) => model === `m${at}`),
      asked[at] ?? [],
      at,
    )
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
  const figures = done.flatMap(({ outcome }) => outcome?.figures() ?? [])
  const sum = (field: 'tokensWithout' | 'tokensSaved' | 'dollarsSaved') =>
    total(figures.map((one) => one[field] ?? 0))
  expect(valueIn(metrics, 'tokens_with_total')).toBe(total(bills.map(({ tokens }) => tokens)))
  expect(valueIn(metrics, 'tokens_without_total')).toBe(sum('tokensWithout'))
  expect(valueIn(metrics, 'tokens_saved')).toBe(sum('tokensSaved'))
  expect(valueIn(metrics, 'dollars_saved')).toBeCloseTo(sum('dollarsSaved'), 8)
  expect(valueIn(metrics, 'rounds_total')).toBe(bills.length)
}

describe.each(kinds)('on %s, conversations at once with an upstream that fails', (wire) => {
  it('are counted as they were billed, each by itself', async () => {
    const talks = fc.array(talk, { minLength: MODELS, maxLength: MODELS })
    await fc.assert(
      fc.asyncProperty(talks, (all) => playAll(wire, all)),
      { numRuns: runs(3) },
    )
  })
})
