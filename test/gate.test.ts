// G1, G2, G4, G5, G7: is tool search on for this request, and why?
import { describe, expect, it } from 'vitest'
import type { Decision, ShelfOptions, Trace } from '../packages/core/src/index.ts'

type DecisionReason = Decision['reason']

import { builtIn, type Loose, MODEL, mcp, OLD_MODEL, quietShelf, Talk } from '../packages/testkit/src/talk.ts'

const tools = [builtIn('Read'), mcp('slack', 'send')]

async function decisionOf(options: ShelfOptions, model = MODEL): Promise<Loose> {
  return (await new Talk(quietShelf({ tools, ...options }), model).user().prepare()).decision
}

describe('G1 the optimistic gate', () => {
  const proxy = 'https://llm.corp.example/anthropic'

  it('G1 no in standard', async () => {
    expect((await decisionOf({ toolSearch: 'off' })).reason).toBe('mode')
  })

  it.each([undefined, '', 'https://api.anthropic.com'])(
    'G1 yes at a known Anthropic host: %s',
    async (baseURL) => {
      expect((await decisionOf({ baseURL })).open).toBe(true)
    },
  )

  it('G1 the base URL is read from the environment; the option wins', async () => {
    const environment = { ANTHROPIC_BASE_URL: proxy }
    expect((await decisionOf({ environment })).reason).toBe('proxy')
    expect((await decisionOf({ environment, baseURL: 'https://api.anthropic.com' })).open).toBe(true)
  })

  it('G1 the known hosts are data', async () => {
    const capabilities = {
      providers: [
        {
          provider: 'anthropic',
          firstParty: true,
          hosts: ['llm.corp.example'],
          references: true,
          wire: 'reference' as const,
        },
      ],
    }
    expect((await decisionOf({ capabilities, baseURL: proxy })).open).toBe(true)
    expect((await decisionOf({ capabilities, baseURL: 'https://api.anthropic.com' })).reason).toBe('proxy')
  })

  it.each(['true', '1', 'banana', 'auto:0', 'auto'])('G1 yes as soon as the user sets %s', async (value) => {
    const environment = { ENABLE_TOOL_SEARCH: value }
    const options = { environment, baseURL: proxy, countTokens: () => 90_000 }
    expect(await decisionOf(options)).toMatchObject({ open: true, reason: 'open' })
  })

  it.each(['', '   '])('G1 no for the empty value %j', async (value) => {
    const environment = { ENABLE_TOOL_SEARCH: value }
    expect((await decisionOf({ environment, baseURL: proxy })).reason).toBe('proxy')
  })

  it.each(['append', 'bridge'] as const)('G1 yes where the wire is %s', async (wire) => {
    expect((await decisionOf({ wire, baseURL: proxy })).open).toBe(true)
  })

  it.each(['reference', 'addition', 'hosted'] as const)('G1 no where the wire is %s', async (wire) => {
    expect((await decisionOf({ wire, baseURL: proxy })).reason).toBe('proxy')
  })

  it('G1 yes where the provider is not first-party', async () => {
    expect((await decisionOf({ provider: 'bedrock', baseURL: proxy })).open).toBe(true)
  })

  it('G1 looks at no model and counts nothing', async () => {
    let asked = 0
    const countTokens = () => ++asked
    expect((await decisionOf({ baseURL: proxy, countTokens }, OLD_MODEL)).reason).toBe('proxy')
    expect(asked).toBe(0)
  })
})

describe('G2 the definitive gate', () => {
  const proxied = { baseURL: 'https://proxy.example' }
  const withoutSearch = { isHidden: ({ name }: { name: string }) => name === 'ToolSearch' }
  const nothing = { tools: [builtIn('Read')] }
  const auto = { toolSearch: 'auto' }

  // Each row fails in one way and, as far as that is possible, in every later way too.
  const rows: [DecisionReason, ShelfOptions, string][] = [
    [
      'kill-switch',
      {
        toolSearch: 'off',
        environment: { TOOLSHELF_DISABLE_BETAS: '1' },
        ...proxied,
        ...withoutSearch,
        ...nothing,
      },
      OLD_MODEL,
    ],
    ['mode', { toolSearch: 'off', ...proxied, ...withoutSearch, ...nothing }, OLD_MODEL],
    ['proxy', { ...proxied, ...withoutSearch, ...nothing }, OLD_MODEL],
    ['model', { ...auto, ...withoutSearch, ...nothing }, OLD_MODEL],
    ['provider', { ...auto, provider: 'nobody', ...withoutSearch, ...nothing }, MODEL],
    ['no-search-tool', { ...auto, ...withoutSearch, ...nothing }, MODEL],
    ['nothing-to-search', { ...auto, ...nothing }, MODEL],
    ['below-threshold', auto, MODEL],
  ]
  it.each(rows)('G2 the first failure is the reason: %s', async (reason, options, model) => {
    let asked = 0
    const countTokens = () => {
      asked++
      return 0
    }
    expect(await decisionOf({ ...options, countTokens }, model)).toMatchObject({ open: false, reason })
    expect(asked).toBe(reason === 'below-threshold' ? 1 : 0)
  })

  it('G2 nothing deferrable but a server still pending is on', async () => {
    const talk = new Talk(
      quietShelf({ tools: [builtIn('Read')], servers: { slack: { state: 'pending' } } }),
    ).user()
    expect((await talk.prepare()).decision).toMatchObject({ open: true, deferrable: 0 })
    expect(talk.sentTools).toContain('ToolSearch')
    talk.shelf.failed('slack', 'gone')
    expect((await talk.prepare()).decision.reason).toBe('nothing-to-search')
  })

  it('G2 the threshold is asked in auto only', async () => {
    let asked = 0
    const countTokens = () => ++asked
    expect((await decisionOf({ countTokens })).open).toBe(true)
    expect(asked).toBe(0)
  })
})

describe('G4 toward loading everything, never toward hiding silently', () => {
  async function expectEverything(
    options: ShelfOptions,
    reason: DecisionReason,
    model = MODEL,
  ): Promise<Loose> {
    const prepared = await quietShelf({ tools, ...options }).prepare({
      model,
      messages: [{ role: 'user', content: 'hi' }],
    })
    expect(prepared.decision).toMatchObject({ open: false, reason })
    expect(prepared.request.tools.map(({ name }) => name)).toEqual(['Read', 'mcp__slack__send'])
    return prepared.decision
  }

  it('G4 an unknown provider', async () => {
    await expectEverything({ provider: 'nobody' }, 'provider')
    await expectEverything({ provider: 'nobody', wire: 'reference', toolSearch: true }, 'provider')
  })

  it('G4 a gate that throws', async () => {
    const isHidden = ({ name }: { name: string }) =>
      name === 'ToolSearch' && expect.fail('no permissions file')
    const decision = await expectEverything({ isHidden }, 'no-search-tool')
    expect(decision.error).toContain('no permissions file')
  })

  it('G4 a counter and an estimate that both fail', async () => {
    let written = 0
    const toJSON = () => (written++ === 0 ? { type: 'object' } : expect.fail('too late'))
    const odd = [builtIn('Read'), mcp('slack', 'send', { input_schema: { type: 'object', toJSON } })]
    const countTokens = () => expect.fail('no network')
    const decision = await expectEverything(
      { tools: odd, toolSearch: 'auto', countTokens },
      'below-threshold',
    )
    expect(decision.error).toContain('too late')
  })

  it('G4 a mark that throws leaves a built-in loaded', async () => {
    const talk = new Talk(
      quietShelf({ tools: [...tools, builtIn('LSP', { initializing: () => expect.fail('x') })] }),
    )
    await talk.user().prepare()
    expect(talk.sentTools).toContain('LSP')
  })

  it('G4 an unsupported model gets everything loaded, unless a row or the user names append or bridge', async () => {
    await expectEverything({}, 'model', OLD_MODEL)
    const open = { open: true, reason: 'open' }
    for (const wire of ['append', 'bridge'] as const) {
      expect(await decisionOf({ wire }, OLD_MODEL)).toMatchObject({ ...open, wire })
      expect(await decisionOf({ wire, provider: 'nobody' })).toMatchObject({ ...open, wire })
      const capabilities = { models: [{ match: 'claude-3', wire }] }
      expect(await decisionOf({ capabilities }, OLD_MODEL)).toMatchObject({ ...open, wire })
    }
    expect(await decisionOf({ provider: 'openai-compatible' }, 'gpt-6')).toMatchObject({
      ...open,
      wire: 'append',
    })
  })
})

describe('G5 the decision is a value', () => {
  it('G5 on the request and in the trace, the same', async () => {
    const events: Trace[] = []
    const talk = new Talk(quietShelf({ tools, trace: (event) => void events.push(event) })).user()
    const open = await talk.prepare()
    talk.model = OLD_MODEL
    const closed = await talk.prepare()
    expect(events.filter(({ type }) => type === 'decision')).toMatchObject([
      { type: 'decision', model: MODEL, decision: open.decision },
      { type: 'decision', model: OLD_MODEL, decision: closed.decision },
    ])
    expect(open.decision).toEqual({
      open: true,
      reason: 'open',
      mode: 'tst',
      wire: 'reference',
      deferrable: 1,
    })
    expect(closed.decision).toMatchObject({ open: false, reason: 'model', deferrable: 1 })
  })
})
