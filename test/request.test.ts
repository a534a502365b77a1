// Q. Building the request (Q5, the wires, has a file of its own).
import { describe, expect, it } from 'vitest'
import type { ShelfOptions, Tool } from '../packages/core/src/index.ts'
import { extendsPrefix, renderRequest } from '../packages/core/src/reading.ts'
import {
  builtIn,
  exampleTools,
  type Loose,
  MODEL,
  mcp,
  OLD_MODEL,
  quietShelf,
  Talk,
} from '../packages/testkit/src/talk.ts'
import { load, talkOn } from '../packages/testkit/src/wires.ts'

const SEND = 'mcp__slack__send_message'
const EMAIL = 'mcp__email__send_email'
const PLACEHOLDER = 'DeferredToolPlaceholder'
const tools: readonly Tool[] = [builtIn('Write'), builtIn('Bash'), ...exampleTools]

const talkWith = (options: ShelfOptions = {}, model = MODEL) =>
  new Talk(quietShelf({ tools, ...options }), model)
const sent = (talk: Talk): Loose[] => talk.last?.request.tools ?? []
const deferredOf = (talk: Talk) =>
  sent(talk)
    .filter(({ defer_loading }) => defer_loading)
    .map(({ name }) => name)

describe('Q1 which tools are sent', () => {
  it('Q1 tools that the host puts into the request itself go along', async () => {
    const talk = talkWith()
    await talk.user().prepare({ tools: [builtIn('Extra')] })
    expect(talk.sentTools).toEqual(expect.arrayContaining(['Extra', 'Bash', 'ToolSearch']))
  })
})

describe('Q2 the fields of deferral', () => {
  const cached = { type: 'ephemeral' }
  const marked = builtIn('Marked', { shouldDefer: true, cache_control: cached } as Partial<Tool>)

  it.each(['reference', 'addition by reference', 'hosted'])(
    'Q2 %s: a deferred tool that is sent says so and has no cache_control; the others have neither',
    async (label) => {
      const talk = talkOn(label, { tools: [marked, ...tools], strategy: 'staged', cacheControl: cached })
      await talk.user().prepare()
      await load(talk, SEND, 'Marked')
      await talk.prepare()
      expect(deferredOf(talk)).toEqual(expect.arrayContaining([SEND, 'Marked', PLACEHOLDER, EMAIL]))
      for (const tool of sent(talk)) {
        const isImmediate = ['Bash', 'Write', 'ToolSearch', 'tool_search_tool_bm25'].includes(tool.name)
        expect(tool.defer_loading).toBe(isImmediate ? undefined : true)
        if (tool.defer_loading) expect(tool).not.toHaveProperty('cache_control')
      }
    },
  )

  it.each(['reference', 'addition by reference', 'append', 'bridge', 'hosted'])(
    'Q9 %s: ours is not one too many for the API',
    async (label) => {
      const said = (count: number) =>
        Array.from({ length: count }, () => ({ type: 'text', text: 'words', cache_control: cached }))
      for (const own of [3, 4]) {
        const talk = talkOn(label, { tools, cacheControl: cached })
        await talk.user(said(2)).prepare({ system: said(own - 2) })
        expect(sent(talk).filter(({ cache_control }) => cache_control)).toHaveLength(4 - own)
      }
    },
  )

  it.each(['append', 'bridge', 'addition by value'])(
    'Q2 %s: neither field of ours appears in the tools',
    async (label) => {
      const talk = talkOn(label, { tools, strategy: 'staged' })
      await talk.user().prepare()
      await load(talk, SEND)
      const { request } = await talk.prepare()
      expect(JSON.stringify(request.tools)).not.toMatch(/defer_loading|cache_control/)
    },
  )
})

describe('Q4 the beta header', () => {
  const headerOf = async (options: ShelfOptions) => (await talkWith(options).user().prepare()).headers

  it.each([
    ['anthropic', undefined],
    ['aws', undefined],
    ['baseten', undefined],
    ['bedrock', 'tool-search-tool-2025-10-19'],
    ['vertex', 'tool-search-tool-2025-10-19'],
    ['foundry', 'advanced-tool-use-2025-11-20'],
  ])('Q4 %s: %s', async (provider, beta) => {
    expect(await headerOf({ provider })).toEqual(beta ? { 'anthropic-beta': beta } : {})
  })

  it('Q4 the row can be replaced', async () => {
    const row = {
      provider: 'anthropic',
      references: true,
      wire: 'reference',
      betas: ['news-2027-01-01'],
    } as const
    expect(await headerOf({ capabilities: { providers: [row] } })).toEqual({
      'anthropic-beta': 'news-2027-01-01',
    })
  })

  const latched = { 'anthropic-beta': 'tool-search-tool-2025-10-19' }

  it('Q4 once sent it stays, also while tool search is off', async () => {
    const talk = talkWith({ provider: 'bedrock' })
    expect((await talk.user().prepare()).headers).toEqual(latched)
    talk.model = OLD_MODEL
    const off = await talk.assistant().user().prepare()
    expect(off.decision.reason).toBe('model')
    expect(off.headers).toEqual(latched)
  })

  it.each(['CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS', 'TOOLSHELF_DISABLE_BETAS'])(
    'Q4 %s wins over what was sent before',
    async (name) => {
      const environment: Record<string, string> = {}
      const talk = talkWith({ provider: 'bedrock', environment })
      expect((await talk.user().prepare()).headers).toEqual(latched)
      environment[name] = '1'
      const killed = await talk
        .assistant()
        .user()
        .prepare({ betas: ['advanced-tool-use-2025-11-20', 'own-2025-01-01'] })
      expect(killed.headers).toEqual({})
      expect(killed.request.betas).toEqual(['own-2025-01-01'])
    },
  )
})

describe('Q6 tool_choice', () => {
  it("Q6 the host's own choice of another tool passes", async () => {
    const choice = { type: 'tool', name: 'Bash' }
    expect((await talkWith().user().prepare({ tool_choice: choice })).request.tool_choice).toEqual(choice)
  })
})

describe('Q7 the placeholder', () => {
  const pending = { slack: { state: 'pending' } } as const

  it.each(['reference', 'addition by reference', 'hosted'])(
    'Q7 %s: there from the first request, before any deferred tool, and always the same',
    async (label) => {
      const talk = talkOn(label, { tools: [builtIn('Bash')], servers: pending })
      await talk.user().prepare()
      const [first] = sent(talk).filter(({ name }) => name === PLACEHOLDER)
      expect(first).toMatchObject({ defer_loading: true })
      const before = renderRequest(talk.last?.request)
      talk.shelf.add(exampleTools)
      await talk.assistant().user().prepare()
      await load(talk, SEND)
      await talk.prepare()
      expect(talk.visible).toContain(SEND)
      const now = sent(talk).filter(({ name }) => name === PLACEHOLDER)
      expect(JSON.stringify(now)).toBe(JSON.stringify([first]))
      expect(extendsPrefix(before, renderRequest(talk.last?.request))).toEqual({ extends: true })
    },
  )

  it.each(['append', 'bridge', 'addition by value'])('Q7 %s does not need it', async (label) => {
    const talk = talkOn(label, { tools, servers: pending })
    await talk.user().prepare()
    expect(talk.sentTools).not.toContain(PLACEHOLDER)
  })

  it('Q7 no tool of the host can take its name', () => {
    expect(() => quietShelf({ tools: [builtIn(PLACEHOLDER)] })).toThrow(PLACEHOLDER)
  })
})

describe('Q8 when a loaded tool can be called', () => {
  const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
  const strict = [builtIn('Bash'), mcp('slack', 'post', { input_schema: schema })]
  const POST = 'mcp__slack__post'

  it('Q8 a call beside the search in the same turn is one of a tool that was not loaded', async () => {
    const talk = new Talk(quietShelf({ tools: strict }))
    await talk.user().prepare()
    const [search, bad, good] = [
      talk.call('ToolSearch', { query: `select:${POST}` }),
      talk.call(POST, {}),
      talk.call(POST, { text: 'hi' }),
    ]
    talk.assistant([search, bad, good])
    const refused = talk.shelf.check(bad, talk.messages)
    expect(refused).toMatchObject({ is_error: true, tool_use_id: bad.id })
    expect(JSON.stringify(refused)).toContain(`select:${POST}`)
    expect(talk.shelf.check(good, talk.messages)).toBeUndefined()
    talk.user([await talk.shelf.answer(search), refused, talk.shelf.result(good, 'sent')])
    await talk.prepare()
    expect(talk.visible).toContain(POST)
  })
})

describe('Q9 overlays', () => {
  it('Q9 a breakpoint moves with the last tool and leaves none behind', async () => {
    const talk = talkWith({ cacheControl: { type: 'ephemeral' } })
    await talk.user().prepare()
    talk.shelf.add(builtIn('Zoo'))
    await talk.assistant().user().prepare()
    expect(
      sent(talk)
        .filter(({ cache_control }) => cache_control)
        .map(({ name }) => name),
    ).toEqual(['Zoo'])
  })
})
