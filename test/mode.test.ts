// M: what the user asked for, and the kill switch.
import { describe, expect, it } from 'vitest'
import type { ShelfOptions } from '../packages/core/src/index.ts'
import { builtIn, type Loose, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'

const tools = [builtIn('Read'), mcp('slack', 'send')]

/** The decision of one request, and the warnings to the user. Anything reaches a threshold here. */
async function decisionOf(options: ShelfOptions): Promise<Loose> {
  const warnings: string[] = []
  const notify = (message: string) => void warnings.push(message)
  const talk = new Talk(quietShelf({ tools, countTokens: () => 10_000_000, notify, ...options })).user()
  const { decision, request } = await talk.prepare()
  await talk.prepare()
  return { decision, warnings, names: request.tools.map(({ name }: Loose) => name) }
}

type Row = [value: string, mode: string, percent?: number]

const clear: Row[] = [
  ['', 'tst'],
  ['   ', 'tst'],
  ...['true', '1', 'yes', 'on', 'TRUE', ' Yes ', 'On\n', 'auto:0', 'AUTO:0'].map(
    (value): Row => [value, 'tst'],
  ),
  ...['auto', 'auto:', ' Auto ', 'AUTO:'].map((value): Row => [value, 'tst-auto', 10]),
  ['auto:1', 'tst-auto', 1],
  ['auto:50', 'tst-auto', 50],
  ['auto:99', 'tst-auto', 99],
  [' AUTO:7 ', 'tst-auto', 7],
  ['auto:12.9', 'tst-auto', 12],
  ['auto:99.9', 'tst-auto', 99],
  ['auto:0.9', 'tst'],
  ...['false', '0', 'no', 'off', 'FALSE', ' No ', 'auto:100', 'AUTO:100'].map(
    (value): Row => [value, 'standard'],
  ),
]

const unclear: Row[] = [
  ['auto:-3', 'tst'],
  ['auto:400', 'standard'],
  ['auto:x', 'tst-auto', 10],
  ['auto:5%', 'tst-auto', 10],
  ['auto:NaN', 'tst-auto', 10],
  ['banana', 'tst'],
  ['2', 'tst'],
  ['automatic', 'tst'],
]

const places: [string, (value: string) => ShelfOptions][] = [
  ['environment', (value) => ({ environment: { ENABLE_TOOL_SEARCH: value } })],
  ['option', (value) => ({ toolSearch: value })],
]

describe.each(places)('M3 the table, from the %s', (_, from) => {
  it.each([...clear, ...unclear])('M3 %j is %s %s', async (value, mode, percent) => {
    const { decision, names } = await decisionOf(from(value))
    expect(decision.mode).toBe(mode)
    expect(decision.open).toBe(mode !== 'standard')
    expect(names.includes('ToolSearch')).toBe(mode !== 'standard')
    expect(names.includes('mcp__slack__send')).toBe(mode === 'standard')
    expect(decision.thresholdCheck?.threshold).toBe(percent && 2000 * percent)
  })

  it.each(clear)('M3 %j gives no warning', async (value) => {
    expect((await decisionOf(from(value))).warnings).toEqual([])
  })

  it.each(unclear)('M3 %j gives one warning, with the value', async (value) => {
    const { warnings } = await decisionOf(from(value))
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain(value)
  })
})

it('M3 unset is tst, and so is the option in code as a boolean', async () => {
  expect((await decisionOf({})).decision).toMatchObject({ open: true, mode: 'tst' })
  expect((await decisionOf({ toolSearch: true })).decision).toMatchObject({ open: true, mode: 'tst' })
  expect((await decisionOf({ toolSearch: false })).decision).toMatchObject({ open: false, mode: 'standard' })
})

it('M3 an auto that is 0 or 100 asks no counter', async () => {
  for (const value of ['auto:0', 'auto:100']) {
    let asked = 0
    const countTokens = () => ++asked
    await decisionOf({ toolSearch: value, countTokens })
    expect(asked).toBe(0)
  }
})

describe('M2 the option', () => {
  it.each([
    [false, 'true', 'standard'],
    [true, 'false', 'tst'],
    ['auto:30', 'false', 'tst-auto'],
    ['off', 'auto', 'standard'],
    ['', 'false', 'standard'],
    ['  ', 'false', 'standard'],
  ])('M2 %j in code and %j in the environment is %s', async (toolSearch, value, mode) => {
    const { decision } = await decisionOf({ toolSearch, environment: { ENABLE_TOOL_SEARCH: value } })
    expect(decision.mode).toBe(mode)
  })

  it.each([true, 'true', 'auto', 'banana'])(
    'M2 %j counts as set, so a proxy is trusted',
    async (toolSearch) => {
      const { decision } = await decisionOf({ toolSearch, baseURL: 'https://proxy.example' })
      expect(decision).toMatchObject({ open: true, reason: 'open' })
    },
  )

  it('M2 an empty option does not count as set', async () => {
    const { decision } = await decisionOf({ toolSearch: '', baseURL: 'https://proxy.example' })
    expect(decision.reason).toBe('proxy')
  })

  it('M2 does not win over the kill switch', async () => {
    const { decision } = await decisionOf({ toolSearch: true, environment: { TOOLSHELF_DISABLE_BETAS: '1' } })
    expect(decision).toMatchObject({ open: false, reason: 'kill-switch', mode: 'standard' })
  })
})

const switches = ['CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS', 'TOOLSHELF_DISABLE_BETAS']

describe.each(switches)('M1 the kill switch %s', (name) => {
  it.each(['1', 'true', 'yes', 'on', ' TRUE '])('M1 %j is standard over everything else', async (value) => {
    for (const wire of [undefined, 'reference', 'append', 'bridge', 'hosted', 'addition'] as const) {
      const environment = { [name]: value, ENABLE_TOOL_SEARCH: 'true' }
      const { decision, names } = await decisionOf({ environment, toolSearch: true, ...(wire && { wire }) })
      expect(decision).toMatchObject({ open: false, reason: 'kill-switch', mode: 'standard' })
      expect(names).toEqual(['Read', 'mcp__slack__send'])
    }
  })

  it.each(['', '0', 'false', 'no', 'off'])('M1 %j leaves tool search on', async (value) => {
    expect((await decisionOf({ environment: { [name]: value } })).decision.open).toBe(true)
  })
})

describe('M1 nothing reaches the wire, from any place', () => {
  const killed = { environment: { TOOLSHELF_DISABLE_BETAS: '1' } }

  async function sent(messages: Loose[], more: object = {}, options: ShelfOptions = {}): Promise<Loose> {
    const talk = new Talk(quietShelf({ tools, ...killed, ...options }))
    talk.messages = messages
    return talk.prepare(more)
  }

  /** Every field name, and every block type, that occurs anywhere in a value. */
  function wordsOf(value: Loose): string[] {
    if (typeof value !== 'object' || value === null) return []
    const own = Array.isArray(value) ? [] : [...Object.keys(value), String(value.type)]
    return [...own, ...Object.values(value).flatMap(wordsOf)]
  }

  function expectClean({ request, headers }: Loose): void {
    const words = wordsOf(request)
    for (const word of ['defer_loading', 'tool_reference', 'caller']) expect(words).not.toContain(word)
    expect(words.filter((word) => /^tool_search_tool|^tool_(addition|removal)$/.test(word))).toEqual([])
    expect(headers).toEqual({})
  }

  it('M1 from tools that the host put into the request: deferral and hosted search tools', async () => {
    const own = [
      builtIn('Own', { defer_loading: true } as object),
      { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
      { type: 'tool_search_tool_regex', name: 'tool_search_tool_regex', defer_loading: false },
    ]
    const prepared = await sent([{ role: 'user', content: 'hi' }], { tools: own })
    expectClean(prepared)
    expect(prepared.request.tools.map(({ name }: Loose) => name)).toEqual(['Own', 'Read', 'mcp__slack__send'])
  })

  it('M1 from a toolset’s members in the request', async () => {
    const toolset = {
      type: 'mcp_toolset',
      mcp_server_name: 'files',
      default_config: { defer_loading: true },
      configs: { read: { defer_loading: true, enabled: true } },
    }
    const prepared = await sent([{ role: 'user', content: 'hi' }], { tools: [toolset] })
    expectClean(prepared)
    expect(prepared.request.tools[0]).toMatchObject({ configs: { read: { enabled: true } } })
  })

  it('M1 from tools of the shelf that bring such fields', async () => {
    const odd = [
      ...[
        builtIn('Own', { defer_loading: true } as object),
        mcp('a', 'x', { defer_loading: true } as object),
      ],
      { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
    ]
    expectClean(await sent([{ role: 'user', content: 'hi' }], {}, { tools: odd }))
  })

  it('M1 from the request’s own betas; others stay', async () => {
    const betas = [
      ...['advanced-tool-use-2025-11-20', 'context-1m-2025-08-07', 'tool-search-tool-2025-10-19'],
      ...['mid-conversation-tool-changes-2026-07-01', 'inline-tools-2026-09-15'],
    ]
    const { request } = await sent([{ role: 'user', content: 'hi' }], { betas })
    expect(request.betas).toEqual(['context-1m-2025-08-07'])
  })

  it('M1 a list of betas that is left empty is not sent: the SDK would make an empty header of it', async () => {
    const { request } = await sent([{ role: 'user', content: 'hi' }], {
      betas: ['tool-search-tool-2025-10-19'],
    })
    expect(request).not.toHaveProperty('betas')
  })

  it('M1 but a schema or an input may use these words', async () => {
    const schema = {
      type: 'object',
      properties: { caller: { type: 'string' }, defer_loading: { type: 'boolean' } },
    }
    const call = {
      type: 'tool_use',
      id: 'toolu_1',
      name: 'Own',
      input: { caller: 'me', defer_loading: true },
    }
    const own = builtIn('Own', { input_schema: schema })
    const { request } = await sent(
      [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [call] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] },
      ],
      {},
      { tools: [own] },
    )
    expect(request.tools[0].input_schema).toEqual(schema)
    expect(request.messages[1].content[0].input).toEqual({ caller: 'me', defer_loading: true })
  })

  it('M1 from headers latched earlier in the conversation or saved with it', async () => {
    const environment: Record<string, string> = {}
    const shelf = quietShelf({ tools, environment, provider: 'bedrock' })
    const talk = new Talk(shelf).user()
    const before = await talk.prepare()
    expect(before.headers).toEqual({ 'anthropic-beta': 'tool-search-tool-2025-10-19' })
    await talk.search('select:mcp__slack__send')
    await talk.prepare()
    environment.CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS = '1'
    expectClean(await talk.prepare())
    const resumed = quietShelf({ tools, ...killed, provider: 'bedrock', state: before.state })
    const again = new Talk(resumed)
    again.messages = talk.messages
    expectClean(await again.prepare())
  })

  it('M1 a search that the model still calls loads nothing', async () => {
    const talk = new Talk(quietShelf({ tools, ...killed })).user()
    await talk.prepare()
    const result = await talk.search('select:mcp__slack__send')
    expect(JSON.stringify(result)).not.toContain('tool_reference')
    expectClean(await talk.prepare())
  })
})
