// The prompt cache's prefix: what belongs to it (K1), and what broke it (K2).
import { describe, expect, it } from 'vitest'
import { explainBreak, type Prepared, type ShelfOptions } from '../packages/core/src/index.ts'
import { prefixHash } from '../packages/core/src/prefix.ts'
import { extendsPrefix, renderRequest } from '../packages/core/src/reading.ts'
import {
  BOUND_MODEL,
  builtIn,
  type Loose,
  MODEL,
  mcp,
  quietShelf,
  Talk,
} from '../packages/testkit/src/talk.ts'

const read = builtIn('Read')
const send = mcp('slack', 'send_message')
const SEND = 'mcp__slack__send_message'

const continues = (before: Prepared<Loose>, after: Prepared<Loose>) =>
  extendsPrefix(renderRequest(before.request), renderRequest(after.request)).extends

/** A conversation that loaded `send` and used it. */
async function loadedTalk(options: ShelfOptions = {}, model = MODEL): Promise<Talk> {
  const talk = new Talk(quietShelf({ tools: [read, send], ...options }), model).user()
  await talk.prepare()
  await talk.search(`select:${SEND}`)
  await talk.prepare()
  return talk.run(SEND)
}

describe('K1 the prefix hash', () => {
  it('K1 loading a tool is not a cache break', async () => {
    const talk = new Talk(quietShelf({ tools: [read, send] })).user()
    const before = await talk.prepare()
    await talk.search(`select:${SEND}`)
    const after = await talk.prepare()
    expect(talk.sentTools).toContain(SEND)
    expect(prefixHash(after)).toBe(prefixHash(before))
    expect(explainBreak(before, after)).toEqual([])
    expect(continues(before, after)).toBe(true)
  })

  it('K1 a deferred server connecting is not a cache break, on both strategies', async () => {
    for (const strategy of ['on-demand', 'staged'] as const) {
      const talk = new Talk(quietShelf({ tools: [read, send], strategy })).user()
      const before = await talk.prepare()
      talk.shelf.add([mcp('github', 'create_issue'), mcp('aaa', 'first_of_all')])
      talk.assistant().user()
      const after = await talk.prepare()
      expect(prefixHash(after)).toBe(prefixHash(before))
      expect(explainBreak(before, after)).toEqual([])
      expect(continues(before, after)).toBe(true)
    }
  })

  it('K1 a server reconnecting is not a cache break, though its tool was loaded', async () => {
    const talk = await loadedTalk({ tools: [read, send, mcp('github', 'create_issue')] })
    const before = await talk.prepare()
    talk.shelf.remove({ server: 'slack' })
    const gone = await talk.prepare({ messages: [...talk.messages] })
    talk.shelf.add(send)
    talk.assistant().user()
    const after = await talk.prepare()
    expect(prefixHash(gone)).toBe(prefixHash(before))
    expect(prefixHash(after)).toBe(prefixHash(before))
    expect(explainBreak(before, after)).toEqual([])
    expect(continues(before, after)).toBe(true)
  })

  it.each([
    ['by option', MODEL, { tombstones: true }, 'one of two servers'],
    ['by option', MODEL, { tombstones: true }, 'the only server'],
    ['by the model', BOUND_MODEL, {}, 'one of two servers'],
    ['by the model', BOUND_MODEL, {}, 'the only server'],
  ])(
    'K1 where tombstones are kept %s (%s, %j), %s may go and come back',
    async (_, model, options, which) => {
      const others = which === 'the only server' ? [] : [mcp('github', 'create_issue')]
      const talk = await loadedTalk({ tools: [read, send, ...others], ...options }, model)
      const before = await talk.prepare()
      talk.shelf.remove({ server: 'slack' })
      talk.assistant().user()
      const gone = await talk.prepare()
      talk.shelf.add(send)
      talk.assistant().user()
      const after = await talk.prepare()
      expect(explainBreak(before, gone)).toEqual([])
      expect(explainBreak(gone, after)).toEqual([])
      expect([continues(before, gone), continues(gone, after)]).toEqual([true, true])
      expect(new Set([before, gone, after].map(prefixHash)).size).toBe(1)
    },
  )

  it('K1 leaves every deferred tool out, and nothing else', () => {
    const tools = [{ name: 'Read' }, { name: 'A', defer_loading: true }]
    const request = { model: 'm', system: 's', tools }
    const same = [
      { ...request, tools: [tools[0]] },
      { ...request, tools: [tools[0], { name: 'B', defer_loading: true, description: 'new' }] },
      { ...request, tools: [{ name: 'Read', cache_control: { type: 'ephemeral' } }] },
      { ...request, max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] },
    ]
    for (const other of same) expect(prefixHash({ request: other })).toBe(prefixHash({ request }))
    const different: Parameters<typeof explainBreak>[0][] = [
      { request: { ...request, model: 'n' } },
      { request: { ...request, system: 't' } },
      { request: { ...request, tools: [{ name: 'Read', description: 'other' }] } },
      { request: { ...request, tools: [...tools, { name: 'C' }] } },
      { request, headers: { 'anthropic-beta': 'x' } },
    ]
    for (const other of different) expect(prefixHash(other)).not.toBe(prefixHash({ request }))
  })

  it('K1 the search tool and the bytes before the messages do not depend on the order of registration', async () => {
    const one = await new Talk(quietShelf({ tools: [read, builtIn('Bash'), send] })).user().prepare()
    const other = await new Talk(quietShelf({ tools: [send, builtIn('Bash'), read] })).user().prepare()
    expect(prefixHash(other)).toBe(prefixHash(one))
  })
})

const base = {
  model: 'claude-opus-4-6',
  system: 'You help.',
  tools: [
    { name: 'Read', description: 'Reads' },
    { name: 'Write', description: 'Writes' },
    { name: 'Loaded', description: 'Is loaded', defer_loading: true },
    { name: 'Hidden', description: 'Is hidden', defer_loading: true },
  ],
  messages: [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'ToolSearch', input: {} }] },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 't',
          content: [{ type: 'tool_reference', tool_name: 'Loaded' }],
        },
      ],
    },
  ],
}

const [readTool, writeTool, loadedTool, hiddenTool] = base.tools as [Loose, Loose, Loose, Loose]
const headers = { 'anthropic-beta': 'a' }

describe('K2 what broke the prefix', () => {
  const breaks: [string, Loose, Loose][] = [
    ['model', { model: 'other' }, [{ kind: 'model', before: base.model, after: 'other' }]],
    ['system', { system: 'You harm.' }, [{ kind: 'system', before: 'You help.', after: 'You harm.' }]],
    ['system gone', { system: undefined }, [{ kind: 'system', before: 'You help.', after: undefined }]],
    ['tool added', { tools: [...base.tools, { name: 'New' }] }, [{ kind: 'tool-added', name: 'New' }]],
    [
      'tool removed',
      { tools: [readTool, loadedTool, hiddenTool] },
      [{ kind: 'tool-removed', name: 'Write' }],
    ],
    [
      'tool changed',
      { tools: [readTool, { ...writeTool, description: 'Writes more' }, loadedTool] },
      [{ kind: 'tool-changed', name: 'Write' }],
    ],
    [
      'loaded tool changed',
      { tools: [readTool, writeTool, { ...loadedTool, description: 'Is another' }] },
      [{ kind: 'tool-changed', name: 'Loaded' }],
    ],
    ['loaded tool removed', { tools: [readTool, writeTool] }, [{ kind: 'tool-removed', name: 'Loaded' }]],
    [
      'deferred tool shown',
      { tools: [readTool, writeTool, loadedTool, { name: 'Hidden', description: 'Is hidden' }] },
      [{ kind: 'tool-added', name: 'Hidden' }],
    ],
    [
      'order of tools',
      { tools: [writeTool, readTool, loadedTool, hiddenTool] },
      [{ kind: 'tools-reordered' }],
    ],
    [
      'message edited',
      { messages: [base.messages[0], { role: 'assistant', content: 'else' }, base.messages[2]] },
      [{ kind: 'message-edited', index: 1 }],
    ],
    ['message removed', { messages: base.messages.slice(0, 2) }, [{ kind: 'message-edited', index: 2 }]],
  ]

  it.each(breaks)('K2 %s', (_, change, causes) => {
    expect(explainBreak({ request: base, headers }, { request: { ...base, ...change }, headers })).toEqual(
      causes,
    )
  })

  it('K2 header', () => {
    const next = { request: base, headers: { 'anthropic-beta': 'a,b' } }
    expect(explainBreak({ request: base, headers }, next)).toEqual([
      { kind: 'header', before: headers, after: next.headers },
    ])
    expect(explainBreak({ request: base }, { request: base, headers })).toMatchObject([{ kind: 'header' }])
  })

  it('K2 names every cause, not only the first', () => {
    const next = { ...base, model: 'other', system: 'x', tools: [], messages: [] }
    expect(explainBreak({ request: base, headers }, { request: next }).map(({ kind }) => kind)).toEqual([
      'model',
      'header',
      'tool-removed',
      'tool-removed',
      'tool-removed',
      'system',
      'message-edited',
    ])
  })

  const harmless: [string, Loose][] = [
    ['the same request', {}],
    ['messages appended', { messages: [...base.messages, { role: 'assistant', content: 'two' }] }],
    ['an unreferenced deferred tool added', { tools: [...base.tools, { name: 'New', defer_loading: true }] }],
    ['an unreferenced deferred tool removed', { tools: [readTool, writeTool, loadedTool] }],
    [
      'an unreferenced deferred tool changed',
      { tools: [readTool, writeTool, loadedTool, { ...hiddenTool, description: 'x' }] },
    ],
    ['deferred tools in another order', { tools: [readTool, writeTool, hiddenTool, loadedTool] }],
    [
      'a breakpoint moved',
      {
        tools: [readTool, { ...writeTool, cache_control: { type: 'ephemeral' } }, loadedTool],
        system: 'You help.',
      },
    ],
    ['sampling parameters', { max_tokens: 7, tool_choice: { type: 'auto' }, temperature: 0 }],
  ]

  it.each(harmless)('K2 %s is no break', (_, change) => {
    expect(explainBreak({ request: base, headers }, { request: { ...base, ...change }, headers })).toEqual([])
    expect(extendsPrefix(renderRequest(base), renderRequest({ ...base, ...change }))).toEqual({
      extends: true,
    })
  })

  it('K2 a property of a tool that is called cache_control is part of what the model reads', () => {
    const tool = (type: string) => ({
      ...readTool,
      input_schema: { type: 'object', properties: { cache_control: { type } } },
    })
    const sent = (type: string) => ({ request: { ...base, tools: [tool(type)], messages: [] } })
    expect(explainBreak(sent('string'), sent('number'))).toEqual([{ kind: 'tool-changed', name: 'Read' }])
    expect(prefixHash(sent('number'))).not.toBe(prefixHash(sent('string')))
  })

  it('K2 odd requests are explained, not thrown at', () => {
    const odd: Loose[] = [
      { request: {} },
      { request: { tools: null, messages: 'x', system: null } },
      { request: { tools: [{}, { name: '__proto__' }], messages: [null, 5] } },
    ]
    for (const one of odd) for (const other of odd) expect(explainBreak(one, other)).toBeInstanceOf(Array)
    for (const one of odd) expect(prefixHash(one)).toBeTypeOf('string')
  })

  it('K2 the known breaks of a conversation are explained', async () => {
    const talk = new Talk(quietShelf({ tools: [read, send], announce: 'prepend' })).user()
    const first = await talk.prepare({ system: 'a' })
    talk.shelf.setServer('late', { alwaysLoad: true })
    talk.shelf.add(mcp('late', 'now'))
    const second = await talk.prepare({ system: 'a' })
    expect(explainBreak(first, second)).toEqual([{ kind: 'tool-added', name: 'mcp__late__now' }])
    talk.shelf.add(mcp('github', 'create_issue'))
    const third = await talk.prepare({ system: 'b' })
    expect(explainBreak(second, third)).toEqual([
      { kind: 'system', before: 'a', after: 'b' },
      { kind: 'message-edited', index: 0 },
    ])
  })
})
