// Q5. One suite over all wires, and every way from one wire to another.
import { describe, expect, it } from 'vitest'
import {
  BOUND_MODEL,
  builtIn,
  type Loose,
  MODEL,
  mcp,
  OLD_MODEL,
  quietShelf,
  Talk,
} from '../../../packages/testkit/src/talk.ts'
import {
  callOf,
  hostedSearch,
  load,
  seen,
  talkOn,
  wireCase,
  wireCases,
  wirePairs,
} from '../../../packages/testkit/src/wires.ts'
import type { ShelfOptions, Tool } from '../../doors.ts'
import { extendsPrefix, foldHistory, renderRequest, validateRequest } from '../../doors.ts'

const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
const tools: readonly Tool[] = [
  builtIn('Bash'),
  builtIn('Read'),
  mcp('slack', 'post', { input_schema: schema }),
  mcp('slack', 'read', { input_schema: schema }),
  mcp('github', 'issue', { input_schema: schema }),
  mcp('mail', 'send', { input_schema: schema }),
]
const [POST, READ, ISSUE, SEND] = [
  'mcp__slack__post',
  'mcp__slack__read',
  'mcp__github__issue',
  'mcp__mail__send',
]
const labels = wireCases.map(({ label }) => label)
const FOREIGN =
  /tool_reference|defer_loading|"caller"|server_tool_use|tool_search_tool_result|tool_addition|tool_removal/

const folded = (messages: readonly Loose[]) => [...foldHistory(messages, 'ToolSearch').loaded]
const toolNames = (request: Loose) => request.tools.map(({ name }: Loose) => name)

async function loadedTalk(label: string, ...names: string[]): Promise<Talk> {
  const talk = talkOn(label, { tools })
  await talk.user('start').prepare()
  for (const name of names) await load(talk, name)
  await talk.prepare()
  return talk
}

describe.each(labels)('Q5 on the wire %s', (label) => {
  it('Q5 can be forced, and the decision says so', async () => {
    const { decision } = await talkOn(label, { tools }).user().prepare()
    expect(decision).toMatchObject({ open: true, reason: 'open', wire: wireCase(label).options.wire })
  })

  it('Q5 what it writes the fold reads back, from what was sent and from what the host keeps', async () => {
    const talk = await loadedTalk(label, POST, ISSUE)
    const { request, history: messages, loaded } = talk.last as Loose
    expect(loaded).toEqual([POST, ISSUE])
    expect(folded(request.messages)).toEqual([POST, ISSUE])
    expect(folded(messages)).toEqual([POST, ISSUE])
    expect(folded(JSON.parse(JSON.stringify(request.messages)))).toEqual([POST, ISSUE])
  })

  it('Q5 several tools of one search, and a remark beside them, are read back too', async () => {
    const talk = talkOn(label, { tools, servers: { slow: { state: 'pending' } } })
    await talk.user().prepare()
    await load(talk, POST, READ, ISSUE)
    expect(folded((await talk.prepare()).request.messages)).toEqual([POST, READ, ISSUE])
  })

  it('Q5 the model sees the definition of what was loaded, and of nothing else', async () => {
    const talk = await loadedTalk(label)
    expect(seen(talk.last as Loose, [POST, READ, ISSUE, SEND])).toEqual([])
    await load(talk, POST)
    expect(seen(await talk.prepare(), [POST, READ, ISSUE, SEND])).toEqual([POST])
    await load(talk, ISSUE)
    talk.assistant('fine').user('more')
    expect(seen(await talk.prepare(), [POST, READ, ISSUE, SEND])).toEqual([POST, ISSUE])
  })

  it('Q5 a search that finds nothing loads nothing', async () => {
    const talk = talkOn(label, { tools })
    await talk.user().prepare()
    if (label === 'hosted') talk.assistant(hostedSearch('srvtoolu_none', [])).user()
    else await talk.search('zzzqqq')
    const prepared = await talk.prepare()
    expect(prepared.loaded).toEqual([])
    expect(folded(prepared.request.messages)).toEqual([])
  })

  it('Q5 a loaded tool is called, checked and resolved under its real name', async () => {
    const talk = await loadedTalk(label, POST)
    const call = callOf(talk.last as Loose, 'call_1', POST, { text: 'hi' })
    expect(talk.shelf.check(call)).toBeUndefined()
    expect(talk.shelf.resolve(call)).toEqual({
      name: POST,
      input: { text: 'hi' },
      server: 'slack',
      original: 'post',
    })
    const bad = talk.shelf.check(callOf(talk.last as Loose, 'call_2', POST, { text: 3 }))
    expect(bad).toMatchObject({ tool_use_id: 'call_2', is_error: true })
    expect(JSON.stringify(bad)).toContain('text')
    talk.assistant([call]).user([talk.shelf.result(call, 'posted')])
    expect((await talk.prepare()).loaded).toEqual([POST])
  })

  it('Q5 along a conversation each request extends what the model saw before', async () => {
    const talk = await loadedTalk(label)
    let before = renderRequest(talk.last?.request)
    for (const name of [POST, ISSUE, SEND]) {
      await load(talk, name)
      await talk.prepare()
      const now = renderRequest(talk.last?.request)
      // The append wire grows its tools array: that is what the bridge is for.
      if (label !== 'append') expect(extendsPrefix(before, now)).toEqual({ extends: true })
      before = now
    }
  })

  it('Q5 N6 a user who speaks again before the model has answered leaves the request valid', async () => {
    const talk = await loadedTalk(label, POST)
    talk.user('wait, one more thing')
    expect(seen(await talk.prepare(), [POST])).toEqual([POST])
    talk.assistant('fine').user('more')
    expect(seen(await talk.prepare(), [POST])).toEqual([POST])
  })

  it('Q5 a vanished tool leaves a valid request, and is back when its server is', async () => {
    const talk = await loadedTalk(label, POST, ISSUE)
    talk.shelf.remove({ server: 'slack' })
    const without = await talk.assistant().user().prepare()
    expect(seen(without, [ISSUE])).toEqual([ISSUE])
    talk.shelf.add(tools.filter(({ server }) => server === 'slack'))
    expect(seen(await talk.assistant().user().prepare(), [POST, ISSUE])).toEqual([POST, ISSUE])
  })
})

describe('Q5 the tools array of each wire', () => {
  const own = (label: string, names: string[]) => [label, names] as const

  it.each([
    own('reference', ['ToolSearch', 'Bash', 'Read', 'DeferredToolPlaceholder', POST, ISSUE]),
    own('addition by reference', ['ToolSearch', 'Bash', 'Read', 'DeferredToolPlaceholder', POST, ISSUE]),
    own('addition by value', ['ToolSearch', 'Bash', 'Read']),
    own('append', ['ToolSearch', 'Bash', 'Read', POST, ISSUE]),
    own('bridge', ['ToolSearch', 'CallTool', 'Bash', 'Read']),
    own('hosted', [
      'tool_search_tool_bm25',
      'Bash',
      'Read',
      'DeferredToolPlaceholder',
      POST,
      ISSUE,
      SEND,
      READ,
    ]),
  ])('Q5 %s', async (label, names) => {
    const talk = await loadedTalk(label, POST, ISSUE)
    expect(talk.sentTools).toEqual(names)
  })

  it('Q5 append: a loaded tool joins at the end and never moves', async () => {
    const talk = await loadedTalk('append')
    let before: Loose[] = talk.last?.request.tools ?? []
    for (const name of [SEND, ISSUE, POST]) {
      await load(talk, name)
      const after: Loose[] = (await talk.prepare()).request.tools
      expect(JSON.stringify(after.slice(0, -1))).toBe(JSON.stringify(before))
      expect(after.at(-1)).toMatchObject({ name, input_schema: schema })
      before = after
    }
    talk.shelf.add([mcp('aaa', 'first'), builtIn('WebFetch', { shouldDefer: true })])
    expect((await talk.assistant().user().prepare()).request.tools).toEqual(before)
  })

  it.each([['append'], ['bridge'], ['reference'], ['addition by reference'], ['addition by value']])(
    'Q5 %s: the names are in the prompt',
    async (label) => {
      const { request } = await talkOn(label, { tools }).user().prepare()
      for (const name of [POST, READ, ISSUE, SEND]) expect(JSON.stringify(request.messages)).toContain(name)
    },
  )

  it('Q5 bridge: search and call stay the same bytes whatever is loaded or connects', async () => {
    const talk = await loadedTalk('bridge')
    const first = JSON.stringify(talk.last?.request.tools)
    await load(talk, POST, ISSUE)
    talk.shelf.add(mcp('late', 'tool'))
    expect(JSON.stringify((await talk.prepare()).request.tools)).toBe(first)
  })

  it.each(['bm25', 'regex'] as const)(
    'Q5 hosted: the search of the provider is %s when asked for',
    async (kind) => {
      const { request } = await talkOn('hosted', { tools, hostedSearch: kind }).user().prepare()
      expect(request.tools[0]).toEqual({
        type: `tool_search_tool_${kind}_20251119`,
        name: `tool_search_tool_${kind}`,
      })
      expect(toolNames(request)).not.toContain('ToolSearch')
    },
  )

  it('Q5 hosted: a provider that has only one kind gets that one', async () => {
    const { request } = await talkOn('hosted', { tools, provider: 'bedrock' }).user().prepare()
    expect(request.tools[0]?.name).toBe('tool_search_tool_regex')
  })

  it.each(['reference', 'value'] as const)(
    'Q5 addition by %s is in a system message after the turn',
    async (additions) => {
      const talk = await loadedTalk(`addition by ${additions}`, POST)
      const last = talk.last?.request.messages.at(-1)
      const definition = { name: POST, description: 'post of slack', input_schema: schema }
      expect(last).toEqual({
        role: 'system',
        content: [
          {
            type: 'tool_addition',
            tool:
              additions === 'value'
                ? { type: 'tool_definition', definition }
                : { type: 'tool_reference', name: POST },
          },
        ],
      })
    },
  )

  it.each(['addition by reference', 'addition by value'])(
    'Q5 %s: a tool_removal of the host takes the tool away',
    async (label) => {
      const talk = await loadedTalk(label, POST, ISSUE)
      talk.assistant('fine').user('without it')
      const removal = { type: 'tool_removal', tool: { type: 'tool_reference', name: POST } }
      talk.messages.push({ role: 'system', content: [removal] })
      const prepared = await talk.prepare()
      expect(prepared.loaded).toEqual([ISSUE])
      expect(seen(prepared, [POST, ISSUE])).toEqual([ISSUE])
      expect(folded(prepared.request.messages)).toEqual([ISSUE])
      talk.assistant('ok').user('again')
      await load(talk, POST)
      expect(seen(await talk.prepare(), [POST, ISSUE])).toEqual([POST, ISSUE])
    },
  )
})

describe('Q5 chosen by capability', () => {
  it.each([
    ['anthropic', 'reference'],
    ['bedrock', 'reference'],
    ['openai-compatible', 'append'],
  ])('Q5 %s speaks %s', async (provider, wire) => {
    const { decision } = await new Talk(quietShelf({ tools, provider })).user().prepare()
    expect(decision.wire).toBe(wire)
  })

  it('Q5 a row may name the wire of a model', async () => {
    const capabilities = { models: [{ match: '^claude-3', wire: 'bridge' as const }] }
    const talk = new Talk(quietShelf({ tools, capabilities }), OLD_MODEL)
    expect((await talk.user().prepare()).decision.wire).toBe('bridge')
  })
})

describe('Q5 nothing foreign leaks', () => {
  /** A conversation that has seen every block there is. */
  async function worldly(): Promise<Loose[]> {
    const talk = await loadedTalk('reference', POST)
    talk.assistant([{ ...talk.call(POST), caller: { type: 'direct' } }])
    talk.user([talk.shelf.result(talk.messages.at(-1).content[0], 'fine')])
    talk.assistant(hostedSearch('srvtoolu_9', [ISSUE])).user('and')
    const by = { type: 'tool_reference', name: SEND }
    talk.messages.push({ role: 'system', content: [{ type: 'tool_addition', tool: by }] })
    return [...((await talkLike(talk, 'addition by reference')).last as Loose).history]
  }
  async function talkLike(talk: Talk, label: string, options: ShelfOptions = {}): Promise<Talk> {
    const next = talkOn(label, { tools, state: talk.shelf.state(), ...options })
    next.messages = [...talk.messages]
    await next.prepare()
    return next
  }
  const proxied: [string, ShelfOptions, string][] = [
    ['append', { wire: 'append' }, MODEL],
    ['bridge', { wire: 'bridge' }, MODEL],
    ['a closed gate', { toolSearch: false }, MODEL],
    ['an old model', {}, OLD_MODEL],
    ['the kill switch', { environment: { TOOLSHELF_DISABLE_BETAS: '1' } }, MODEL],
  ]

  it.each(proxied)(
    'Q5 %s: none of its blocks and fields is in the request, and an old proxy takes it',
    async (_, options, model) => {
      const talk = new Talk(quietShelf({ tools, ...options }), model)
      talk.messages = [
        ...(await worldly()),
        { role: 'assistant', content: 'so' },
        { role: 'user', content: 'go' },
      ]
      const { request, headers, loaded } = await talk.prepare()
      expect(JSON.stringify(request)).not.toMatch(FOREIGN)
      expect(headers).toEqual({})
      expect(validateRequest(JSON.parse(JSON.stringify(request)), { isOldProxy: true })).toBeUndefined()
      expect(loaded).toEqual([POST, ISSUE, SEND])
    },
  )

  it.each(['append', 'bridge'])('Q5 %s: an old proxy takes a whole conversation', async (label) => {
    const talk = await loadedTalk(label, POST, ISSUE)
    for (const name of [SEND, READ]) {
      await load(talk, name)
      const { request } = await talk.prepare()
      expect(JSON.stringify(request)).not.toMatch(FOREIGN)
      expect(validateRequest(JSON.parse(JSON.stringify(request)), { isOldProxy: true })).toBeUndefined()
    }
  })
})

describe('Q5 from one wire to another', () => {
  /** The conversation as it was stored, on another wire. */
  function resume(before: Talk, label: string): Talk {
    const { history: messages, state } = JSON.parse(JSON.stringify(before.last))
    const after = talkOn(label, { tools, state })
    for (const message of messages) after.call(String(message.role))
    after.messages = messages
    return after
  }

  it.each(wirePairs)('Q5 %s → %s: every loaded tool stays usable, in a new session too', async (from, to) => {
    const before = await loadedTalk(from, POST, ISSUE)
    before.assistant('fine').user('now elsewhere')
    await before.prepare()
    const after = resume(before, to)
    const switched = await after.prepare()
    expect(switched.loaded).toEqual([POST, ISSUE])
    expect(seen(switched, [POST, ISSUE, SEND])).toEqual([POST, ISSUE])
    expect(after.shelf.check(callOf(switched, 'call_9', ISSUE, { text: 'x' }))).toBeUndefined()
    after.assistant('well').user('and more')
    await load(after, SEND)
    expect(seen(await after.prepare(), [POST, ISSUE, SEND])).toEqual([POST, ISSUE, SEND])
    const back = resume(after, from).assistant('ok').user('back again')
    expect(seen(await back.prepare(), [POST, ISSUE, SEND])).toEqual([POST, ISSUE, SEND])
  })

  it.each(wirePairs)(
    'Q5 %s → %s on one shelf, by the model’s row; the host carries no notes',
    async (from, to) => {
      const row = (match: string, label: string) => ({
        match,
        wire: wireCase(label).options.wire as 'append',
      })
      const capabilities = { models: [row('^model-from', from), row('^model-to', to)] }
      const additions = [from, to].includes('addition by value') ? 'value' : 'reference'
      const talk = new Talk(quietShelf({ tools, capabilities, additions }), 'model-from')
      await talk.user().prepare()
      await load(talk, POST)
      await talk.prepare()
      talk.model = 'model-to'
      expect(seen(await talk.assistant().user().prepare(), [POST])).toEqual([POST])
      await load(talk, ISSUE)
      expect(seen(await talk.prepare(), [POST, ISSUE])).toEqual([POST, ISSUE])
      talk.model = 'model-from'
      expect(seen(await talk.assistant().user().prepare(), [POST, ISSUE])).toEqual([POST, ISSUE])
    },
  )

  it.each(labels)('Q5 %s on a model with bound thinking', async (label) => {
    const talk = talkOn(label, { tools }, BOUND_MODEL)
    await talk.user().prepare()
    await load(talk, POST)
    expect(seen(await talk.prepare(), [POST])).toEqual([POST])
  })
})
