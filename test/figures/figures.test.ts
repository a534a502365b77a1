// Every figure about savings, computed by hand: tokens with and without tool search, and what each would have cost.
import { describe, expect, it } from 'vitest'
import {
  addFigures,
  type BilledTokens,
  billedTokens,
  countedTokens,
  type Figures,
  figuresOf,
  type MeasuredRequest,
  noFigures,
  type Price,
  withoutToolSearch,
} from '../../packages/core/src/figures.ts'

const price: Price = {
  match: 'm',
  input: 1,
  output: 100,
  cacheRead: 10,
  cacheWrite: 1_000,
  cacheWrite1h: 10_000,
}
const billed = (tokens: Partial<BilledTokens>): BilledTokens => ({
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  output: 0,
  ...tokens,
})

function measured(
  samplings: readonly [number, Partial<BilledTokens>?][],
  more: Partial<MeasuredRequest> = {},
): Figures {
  const figures = figuresOf({
    charactersWithout: 1_000,
    hasCacheMarks: false,
    isContinued: false,
    price,
    samplings: samplings.map(([characters, tokens]) => ({ characters, billed: tokens && billed(tokens) })),
    ...more,
  })
  if (!figures) throw new Error('no figures')
  return figures
}

describe('the figures of one request', () => {
  it('that no upstream accepted: none', () => {
    const request = { charactersWithout: 9, samplings: [], hasCacheMarks: false, isContinued: false, price }
    expect(figuresOf(request)).toBeUndefined()
  })

  it('count every sampling, at the tokens per character that were reported', () => {
    const figures = measured([
      [100, { input: 40, output: 7 }],
      [300, { input: 160, output: 5 }],
    ])
    expect(figures).toMatchObject({ requests: 1, rounds: 2, extraRoundTrips: 1, searchOutputTokens: 7 })
    expect(figures).toMatchObject({
      tokensWith: 200,
      tokensWithout: 500,
      tokensSaved: 300,
      isEstimated: false,
    })
  })

  it('estimate what was not reported, and have no price then', () => {
    const some = measured([[100, { input: 50 }], [30]])
    expect(some).toMatchObject({ tokensWith: 65, tokensWithout: 500, isEstimated: true })
    expect(some).not.toHaveProperty('dollarsWith')
    const none = measured([[400]], { charactersWithout: 4_000 })
    expect([none.tokensWith, none.tokensWithout]).toEqual([138, 1379])
    expect(measured([[0, { input: 5 }]]).tokensWithout).toBe(345)
    expect(measured([[100, { input: 50 }]], { price: undefined })).not.toHaveProperty('dollarsSaved')
  })

  /** 100 characters of 100 tokens, 250 characters without: 150 tokens more. */
  const more = (tokens: Partial<BilledTokens>, request: Partial<MeasuredRequest> = {}) =>
    Math.round(1e6 * (measured([[100, tokens]], { charactersWithout: 250, ...request }).dollarsSaved ?? 0))

  it.each<[string, Partial<BilledTokens>, Partial<MeasuredRequest>, number]>([
    ['plain input', { input: 100 }, {}, 150],
    ['reads, when some was read', { cacheRead: 1, cacheWrite: 9, cacheWrite1h: 9, input: 81 }, {}, 1_500],
    ['writes for an hour', { cacheWrite1h: 1, cacheWrite: 9, input: 90 }, {}, 1_500_000],
    ['writes', { cacheWrite: 1, input: 99 }, {}, 150_000],
    ['writes, when the prompt was too short to be', { input: 100 }, { hasCacheMarks: true }, 150_000],
    ['reads, when it was sent before', { input: 100 }, { hasCacheMarks: true, isContinued: true }, 1_500],
    ['plain input, without marks', { input: 100 }, { isContinued: true }, 150],
  ])('bill definitions as the front of the prompt was: %s', (_, tokens, request, millionths) => {
    expect(more(tokens, request)).toBe(millionths)
  })

  it('look at later samplings for how a prompt is cached', () => {
    const saved = (later: Partial<BilledTokens>, isContinued = false) => {
      const samplings = [
        [100, { input: 100 }],
        [100, later],
      ] as const
      const { dollarsWithout } = measured(samplings as never, { charactersWithout: 250, isContinued })
      return Math.round(1e6 * (dollarsWithout ?? 0))
    }
    expect(saved({ input: 100 })).toBe(250)
    expect(saved({ input: 50, cacheWrite: 50 })).toBe(100 + 150_000)
    expect(saved({ input: 50, cacheWrite: 40, cacheWrite1h: 10 })).toBe(100 + 1_500_000)
    expect(saved({ input: 50, cacheRead: 50 }, true)).toBe(100 + 1_500)
  })

  it('take fewer tokens off the front, and then off all kinds alike', () => {
    const without = (charactersWithout: number) => {
      const tokens = { input: 40, cacheRead: 60, output: 3 }
      return Math.round(1e6 * (measured([[100, tokens]], { charactersWithout }).dollarsWithout ?? 0))
    }
    expect(without(100)).toBe(40 + 600 + 300)
    expect(without(70)).toBe(40 + 300 + 300)
    expect(without(40)).toBe(40 + 300)
    expect(without(20)).toBe(8 + 120 + 300)
  })

  it('bill the output of the last sampling only', () => {
    const { dollarsWithout = 0, dollarsWith = 0 } = measured(
      [
        [100, { input: 100, output: 2 }],
        [100, { input: 100, output: 5 }],
      ],
      { charactersWithout: 100 },
    )
    expect(Math.round(1e6 * dollarsWithout)).toBe(100 + 500)
    expect(Math.round(1e6 * dollarsWith)).toBe(200 + 700)
  })
})

it('figures add up field by field; one without a price makes the sum one without', () => {
  const one = measured([[100, { input: 100, output: 1 }]], { charactersWithout: 300 })
  const two = measured(
    [
      [100, { input: 50, output: 1 }],
      [100, { input: 50 }],
    ],
    { charactersWithout: 400 },
  )
  const sum = addFigures(one, two)
  for (const field of Object.keys(noFigures) as (keyof Figures)[]) {
    if (typeof sum[field] === 'number')
      expect(sum[field], field).toBeCloseTo(Number(one[field]) + Number(two[field]))
  }
  expect(sum.isEstimated).toBe(false)
  expect(addFigures(noFigures, one)).toEqual(one)
  const { dollarsWith: _, dollarsWithout: __, dollarsSaved: ___, ...free } = one
  for (const unpriced of [addFigures(one, free), addFigures(free, one)]) {
    expect(unpriced.tokensWith).toBe(2 * one.tokensWith)
    expect(unpriced).not.toHaveProperty('dollarsWithout')
  }
  const estimated = measured([[100]])
  expect([addFigures(one, estimated).isEstimated, addFigures(estimated, one).isEstimated]).toEqual([
    true,
    true,
  ])
})

describe('the usage of a reply', () => {
  const usage = {
    input_tokens: 1.9,
    cache_read_input_tokens: 2,
    cache_creation_input_tokens: 30,
    cache_creation: { ephemeral_1h_input_tokens: 10 },
    output_tokens: 5,
  }

  it('is counted without counting a token twice', () => {
    expect(countedTokens(usage)).toEqual({
      input: 1,
      cacheRead: 2,
      cacheWrite: 20,
      cacheWrite1h: 10,
      output: 5,
    })
    const odd = { ...usage, cache_creation: { ephemeral_1h_input_tokens: 99 } }
    expect(countedTokens(odd)).toMatchObject({ cacheWrite: 0, cacheWrite1h: 30 })
    expect(countedTokens({ output_tokens: null })).toEqual(billed({}))
  })

  it.each([-1, '5', Number.NaN, 1e9 + 1, Number.POSITIVE_INFINITY, {}])(
    'is none where a count is %j',
    (count) => {
      expect(countedTokens({ ...usage, input_tokens: count })).toBeUndefined()
      expect(billedTokens({ ...usage, output_tokens: count })).toBeUndefined()
    },
  )

  it('is none where it counts no input', () => {
    expect(billedTokens({ output_tokens: 5 })).toBeUndefined()
    expect(billedTokens({ input_tokens: 0 })).toBeUndefined()
    expect(billedTokens({ input_tokens: 1e9 })).toMatchObject({ input: 1e9 })
    for (const field of ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'])
      expect(billedTokens({ [field]: 1 }), field).toBeDefined()
  })
})

describe('the request without tool search', () => {
  const definitions = [{ name: 'Read' }]
  const reference = { type: 'tool_reference', tool_name: 'Read' }
  const text = { type: 'text', text: 'hello' }
  const reminder = { type: 'text', text: '<system-reminder>\nDeferred tools: none\n</system-reminder>' }
  const own = { type: 'tool_use', id: '1', name: 'ToolSearch' }
  const ownResult = { type: 'tool_result', tool_use_id: '1', content: [text] }
  const hosted = { type: 'server_tool_use', id: '2', name: 'tool_search_tool_bm25' }
  const hostedResult = { type: 'tool_search_tool_result', tool_use_id: '2' }
  const web = { type: 'server_tool_use', id: '3', name: 'web_search' }
  const client = { type: 'tool_use', id: '4', name: 'find' }
  const found = { type: 'tool_result', tool_use_id: '4', content: [reference] }
  const added = { type: 'tool_addition', tool: { type: 'tool_reference', name: 'Read' } }

  const left = (content: unknown, searchTool?: string) => {
    const request = { model: 'm', tools: [], messages: [{ role: 'user', content }] }
    const sent = withoutToolSearch(request, { definitions, ...(searchTool ? { searchTool } : {}) })
    expect(sent).toMatchObject({ model: 'm', tools: definitions })
    return (sent.messages as { content: unknown }[])[0]?.content
  }

  it.each([
    ['nothing of it', [text, web], undefined, [text, web]],
    ["the API's search", [text, hosted, hostedResult, web], undefined, [text, web]],
    ["the API's search without an answer", [hosted, text], undefined, [text]],
    ["a client's own search", [client, found, text], undefined, [text]],
    ['an addition', [added, text], undefined, [text]],
    ['the search of a shelf that is not asked about', [own, ownResult, hosted], undefined, [own, ownResult]],
    ['the search of a shelf', [own, ownResult, text, client], 'ToolSearch', [text, client]],
    ['text', 'hello', 'ToolSearch', 'hello'],
    [
      'a block without an id',
      [{ type: 'tool_search_tool_result' }, text],
      'ToolSearch',
      [{ type: 'tool_search_tool_result' }, text],
    ],
    ['a reminder of a client', [reminder, hosted], undefined, [reminder]],
  ])('loses what belongs to a search: %s', (_, content, searchTool, expected) => {
    expect(left(content, searchTool)).toEqual(expected)
  })
})
