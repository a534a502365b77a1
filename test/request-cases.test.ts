// One conversation on every wire, each request of it byte for byte; and what a host's own fields become.
import { describe, expect, it } from 'vitest'
import type { ShelfOptions } from '../src/index.ts'
import { EMAIL, ISSUE, SEND, tools } from './support/blocks.ts'
import { BOUND_MODEL, builtIn, type Loose, MODEL, mcp, quietShelf, Talk } from './support/talk.ts'
import { callOf, load, talkOn, wireCases } from './support/wires.ts'

/** A conversation in which tools are found, called, removed, forced and carried over a compaction. */
async function conversation(label: string, model: string): Promise<Loose[]> {
  const notices: string[] = []
  const talk = talkOn(label, { tools, notify: (message) => notices.push(message) }, model)
  const sent: Loose[] = []
  const prepare = async (more: object = {}) => {
    const { request, headers, loaded, decision } = await talk.prepare(more)
    sent.push({ request, headers, loaded, decision })
  }
  await talk.user('start').prepare()
  await prepare()
  await load(talk, SEND)
  await prepare({ tool_choice: { type: 'tool', name: ISSUE } })
  const call = callOf(talk.last as Loose, 'toolu_run', SEND, { text: 'hi' })
  talk.assistant([{ type: 'text', text: 'Sending.' }, call]).user([talk.shelf.result(call, 'sent')])
  talk.shelf.add([mcp('fax', 'dial', { description: 'Dials.' })])
  await prepare()
  if (talk.shelf.state().search !== 'hosted')
    await talk.search('send zebra', [{ type: 'text', text: 'And?' }])
  talk.shelf.remove(SEND)
  await prepare()
  talk.messages = await talk.shelf.compact(talk.messages, { summarize: async () => 'So far.' })
  talk.shelf.add([mcp('slack', 'send_message', { description: '' })])
  await talk.user('go on').prepare()
  await prepare()
  sent.push(notices)
  return sent
}

/** A line per tool and message; what the request before had at the same place is only counted. */
function written(sent: readonly Loose[]): string {
  let before: string[] = []
  const lines = sent.flatMap((one) => {
    if (!('request' in one)) return [`# notices ${JSON.stringify(one)}`]
    const { request, ...rest } = one
    const { tools, messages, ...fields } = request
    const now = [...tools, ...messages].map((part: Loose) => JSON.stringify(part))
    const same = now.findIndex((line, index) => line !== before[index])
    const fresh = same < 0 ? [] : now.slice(same)
    const head = `# ${JSON.stringify({ ...fields, ...rest })}`
    const counts = `${tools.length} tools, ${messages.length} messages, the first ${now.length - fresh.length} lines as before`
    before = now
    return [head, counts, ...fresh]
  })
  return `${lines.join('\n')}\n`
}

describe('one conversation', () => {
  const cases = wireCases.flatMap(({ label }) => [
    [label, MODEL],
    [label, BOUND_MODEL],
  ])
  it.each(cases)('Q1 Q5 A2 N5 on the wire %s with %s', async (label, model) => {
    const sent = await conversation(String(label), String(model))
    const file = `./requests/${label}-${model === MODEL ? 'free' : 'bound'}.txt`.replaceAll(' ', '-')
    await expect(written(sent)).toMatchFileSnapshot(file)
  })
})

describe('fields of the host', () => {
  const sent = async (more: object, options: ShelfOptions = {}, model = MODEL) =>
    (await new Talk(quietShelf({ tools, ...options }), model).user().prepare(more)).request

  it('Q6 a choice of the search tool is dropped, any other stays; a model that takes none is named', async () => {
    const notices: string[] = []
    const notify = (message: string) => notices.push(message)
    const chosen = async (tool_choice: unknown, model?: string) =>
      (await sent({ tool_choice }, { notify }, model)).tool_choice
    expect(await chosen({ type: 'tool', name: 'ToolSearch' })).toBeUndefined()
    expect(await chosen({ type: 'tool', name: 'Read' })).toEqual({ type: 'tool', name: 'Read' })
    expect(await chosen({ type: 'any' })).toEqual({ type: 'any' })
    expect(await chosen(undefined)).toBeUndefined()
    expect(notices).toEqual([])
    const capabilities = { models: [{ match: '.', forcedToolChoice: false }] }
    const refused = async (tool_choice: object) => {
      notices.length = 0
      await sent({ tool_choice }, { notify, capabilities: capabilities as never })
      return notices
    }
    expect(await refused({ type: 'auto' })).toEqual([])
    expect(await refused({ type: 'any' })).toEqual([`${MODEL} refuses a tool_choice of "any"; use "auto".`])
    expect(await refused({ type: 'tool', name: 'Read' })).toEqual([
      `${MODEL} refuses a tool_choice of "tool"; use "auto".`,
    ])
  })

  it('D10 a tool of the request may not have the name of one of the shelf', async () => {
    const own = (name: string) => sent({ tools: [builtIn(name)] })
    await expect(own('Read')).rejects.toThrow('"Read" is both on the shelf and in the request')
    await expect(own('ToolSearch')).rejects.toThrow('"ToolSearch" is both on the shelf')
    expect((await own('Own')).tools[0]).toEqual(builtIn('Own'))
  })

  it('G7 toolsets lose their deferral with tool search off', async () => {
    const set = { type: 'mcp_toolset', mcp_server_name: 's', defer_loading: true }
    const off = async (more: object) =>
      (
        await quietShelf({ tools, toolSearch: false }).prepare({
          model: MODEL,
          messages: [{ role: 'user', content: 'hi' }],
          tools: [{ ...set, ...more }],
        } as Loose)
      ).request.tools?.[0] as Loose
    const { defer_loading: _, ...bare } = set
    expect(await off({})).toEqual(bare)
    expect(await off({ default_config: { defer_loading: true, enabled: true } })).toEqual({
      ...bare,
      default_config: { enabled: true },
    })
    expect(await off({ configs: { a: { defer_loading: true, x: 1 }, b: 5 } })).toEqual({
      ...bare,
      configs: { a: { x: 1 }, b: 5 },
    })
    expect(await off({ configs: null, default_config: null })).toEqual({ ...bare, default_config: null })
  })

  it('M1 betas of tool search leave a killed request, others stay', async () => {
    const betas = ['own-beta', 'advanced-tool-use-2025-11-20']
    const killed = { environment: { CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS: '1' } }
    expect((await sent({ betas })).betas).toEqual(betas)
    expect((await sent({ betas }, killed)).betas).toEqual(['own-beta'])
    expect(await sent({ betas: betas.slice(1) }, killed)).not.toHaveProperty('betas')
    expect(await sent({ betas: 'own-beta' })).not.toHaveProperty('betas')
  })

  it('Q9 breakpoints: those of tools, and ours at the last tool that stays, as long as there are four', async () => {
    const mark = { type: 'ephemeral' }
    const marksOf = async (options: ShelfOptions, more: object = {}) => {
      const { tools: all } = await sent(more, options)
      return all.filter(({ cache_control }: Loose) => cache_control).map(({ name }: Loose) => name)
    }
    const marked = [builtIn('Read', { cache_control: mark } as Loose), ...tools.slice(1)]
    expect(await marksOf({})).toEqual([])
    expect(await marksOf({ tools: marked })).toEqual(['Read'])
    expect(await marksOf({ tools: [...marked, mcp('s', 'x', { cache_control: mark } as Loose)] })).toEqual([
      'Read',
    ])
    expect(await marksOf({ cacheControl: mark })).toEqual(['Read'])
    const system = (count: number) =>
      Array.from({ length: count }, () => ({ type: 'text', text: 'x', cache_control: mark }))
    expect(await marksOf({ cacheControl: mark }, { system: system(3) })).toEqual(['Read'])
    expect(await marksOf({ cacheControl: mark }, { system: system(4) })).toEqual([])
  })

  it('thinking by hand: a loaded tool that no search shows is sent openly', async () => {
    const shelf = quietShelf({ tools })
    const talk = new Talk(shelf)
    await talk.user().prepare()
    await talk.search(`select:${SEND}`)
    await talk.prepare()
    talk.messages = await shelf.compact(talk.messages, { summarize: async () => 'So far.' })
    const thinking = { type: 'enabled', budget_tokens: 1_024 }
    const { request } = await talk.user('go on').prepare({ thinking, max_tokens: 2_048 })
    const found = request.tools.find(({ name }: Loose) => name === SEND)
    expect(found).toBeDefined()
    expect(found).not.toHaveProperty('defer_loading')
    expect(talk.visible).toContain(SEND)
    expect(JSON.stringify(request.messages)).not.toContain('tool_reference')
    const free = await talk.prepare()
    expect(free.request.tools.find(({ name }: Loose) => name === SEND)?.defer_loading).toBe(true)
  })

  describe('N5 definitions that were sent where nothing may change', () => {
    const changed = (name: string, description: string) => mcp('slack', name, { description })
    const definitionIn = ({ request }: Loose, name: string) =>
      request.tools.find((tool: Loose) => tool.name === name)

    it('stay as they were, while the model is bound and after', async () => {
      const shelf = quietShelf({ tools })
      const talk = new Talk(shelf, BOUND_MODEL)
      await talk.user().prepare()
      await talk.search(`select:${SEND}`)
      const before = definitionIn(await talk.prepare(), SEND)
      shelf.add([changed('send_message', 'New.'), changed('list_channels', 'New too.')])
      expect(definitionIn(await talk.assistant().user().prepare(), SEND)).toEqual(before)
      talk.model = MODEL
      expect(definitionIn(await talk.assistant().user().prepare(), SEND).description).toBe('New.')
      talk.model = BOUND_MODEL
      expect(definitionIn(await talk.assistant().user().prepare(), SEND)).toEqual(before)
    })

    it('are fixed with the first request that needs it, also of tools that are gone by then', async () => {
      const shelf = quietShelf({ tools })
      const talk = new Talk(shelf)
      await talk.user().prepare()
      await talk.search(`select:${SEND}`)
      await talk.prepare()
      shelf.remove(SEND)
      talk.model = BOUND_MODEL
      const first = definitionIn(await talk.assistant().user().prepare(), SEND)
      expect(first?.defer_loading).toBe(true)
      shelf.add([changed('send_message', 'New.')])
      expect(definitionIn(await talk.assistant().user().prepare(), SEND)).toEqual(first)
      const { kept } = shelf.state()
      expect(kept.find(({ definition }) => definition.name === SEND)).toMatchObject({
        place: 'deferred',
        isFixed: true,
      })
    })

    it('built-ins too, in the order of their names', async () => {
      const shelf = quietShelf({ tools: [builtIn('Write'), ...tools] })
      const talk = new Talk(shelf, BOUND_MODEL)
      const first = await talk.user().prepare()
      shelf.remove('Read')
      shelf.add([builtIn('Ask'), builtIn('Write', { description: 'New.' })])
      const { request } = await talk.assistant().user().prepare()
      const names = request.tools.map(({ name }: Loose) => name)
      expect(names.slice(0, 4)).toEqual(['ToolSearch', 'Ask', 'Read', 'Write'])
      expect(definitionIn({ request }, 'Write')).toEqual(definitionIn(first, 'Write'))
    })
  })

  it('Q3 built-ins come first, then tools of servers, each by name', async () => {
    const always = [mcp('a', 'b', { alwaysLoad: true }), mcp('a', 'a', { alwaysLoad: true })]
    const { tools: all } = await sent(
      {},
      { tools: [always[0]!, builtIn('Z'), ...tools, always[1]!, builtIn('B')] },
    )
    const names = all.filter(({ defer_loading }: Loose) => !defer_loading).map(({ name }: Loose) => name)
    expect(names).toEqual(['ToolSearch', 'B', 'Read', 'Z', 'mcp__a__a', 'mcp__a__b'])
  })

  it('K3 a search remembers what it loaded, fixed only where nothing may change', async () => {
    const keptOn = async (model: string) => {
      const talk = new Talk(quietShelf({ tools }), model)
      await talk.user().prepare()
      await talk.search(`select:${SEND}`)
      const kept = () =>
        talk.shelf.state().kept.map(({ definition, place, isFixed }) => [definition.name, place, isFixed])
      const found = kept()
      await talk.prepare()
      return [found, kept()]
    }
    const loose = [[SEND, 'deferred', undefined]]
    const read = ['Read', 'built-in', true]
    expect(await keptOn(MODEL)).toEqual([loose, loose])
    expect(await keptOn(BOUND_MODEL)).toEqual([
      [read, ...loose],
      [read, [SEND, 'deferred', true]],
    ])
  })

  it('Q5 no request holds more hidden tools than the API takes', async () => {
    const notices: string[] = []
    const many = Array.from({ length: 10_000 }, (_, index) => mcp('s', `t${index}`, { description: '' }))
    const staged = {
      tools: many,
      strategy: 'staged',
      wire: 'reference',
      notify: (message: string) => notices.push(message),
    } as const
    const own = [{ ...builtIn('Own'), defer_loading: true }, builtIn('Other')]
    const { request } = await quietShelf(staged).prepare({
      model: MODEL,
      messages: [{ role: 'user', content: 'hi' }],
      tools: own,
    } as Loose)
    expect((request.tools as Loose[]).filter(({ defer_loading }) => defer_loading)).toHaveLength(10_000)
    expect(notices).toEqual([
      '2 tools are left out: a request may have at most 9999 deferred ones. Use the strategy "on-demand".',
    ])
  })

  it('Q8 a forced tool is sent openly, whether it is loaded or not', async () => {
    const openly = async (name: string) => {
      const { tools: all } = await sent({ tool_choice: { type: 'tool', name } })
      return all.filter(({ defer_loading }: Loose) => defer_loading !== true).map((tool: Loose) => tool.name)
    }
    expect(await openly(EMAIL)).toEqual(['ToolSearch', 'Read', EMAIL])
    expect(await openly('Read')).toEqual(['ToolSearch', 'Read'])
  })
})
