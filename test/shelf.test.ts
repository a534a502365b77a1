// The public door: every method of a shelf, what it leaves alone.
import { describe, expect, it } from 'vitest'
import type { PureShelfOptions } from '../src/core/shelf.ts'
import { createShelf } from '../src/index.ts'
import { BOUND_MODEL, builtIn, type Loose, MODEL, mcp, OLD_MODEL, quietShelf, Talk } from './support/talk.ts'

const read = builtIn('Read')
const send = mcp('slack', 'send_message', {
  input_schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
})
const issue = mcp('github', 'create_issue')
const SEND = 'mcp__slack__send_message'
const ISSUE = 'mcp__github__create_issue'
const tools = [read, send, issue]

const talkWith = (options: PureShelfOptions = {}, model = MODEL) =>
  new Talk(quietShelf({ tools, ...options }), model)

const copy = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value))

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const inner of Object.values(value)) deepFreeze(inner)
  return value
}

describe('a conversation through the shelf', () => {
  it('Q8 prepare → answer → prepare: a tool is found, loaded and callable', async () => {
    const talk = talkWith().user('post hello')
    const { request, headers, decision, loaded } = await talk.prepare({ system: 'be brief' })
    expect(request).toMatchObject({ model: MODEL, max_tokens: 100, system: 'be brief' })
    expect(talk.sentTools).toEqual(['ToolSearch', 'Read', 'DeferredToolPlaceholder'])
    expect([headers, decision.reason, loaded]).toEqual([{}, 'open', []])
    const result = await talk.search('slack send')
    expect(result).toEqual({
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      content: [{ type: 'tool_reference', tool_name: SEND }],
    })
    expect((await talk.prepare()).loaded).toEqual([SEND])
    expect(talk.visible).toContain(SEND)
  })

  it('answer is for the search tool only', async () => {
    const { shelf } = talkWith()
    expect(await shelf.answer({ id: 'x', name: 'Read', input: {} })).toBeUndefined()
    expect(
      await shelf.answer({ id: 'x', name: 'mcp__evil__ToolSearch', input: { query: 'a' } }),
    ).toBeUndefined()
    const renamed = talkWith({ searchTool: 'FindTools' }).shelf
    expect(await renamed.answer({ id: 'x', name: 'ToolSearch', input: { query: 'a' } })).toBeUndefined()
    expect(await renamed.answer({ id: 'x', name: 'FindTools', input: { query: 'slack' } })).toMatchObject({
      content: [{ type: 'tool_reference', tool_name: SEND }],
    })
  })

  it('check says nothing of a good call, and what to do of a bad one', async () => {
    const talk = talkWith().user()
    await talk.prepare()
    expect(talk.shelf.check({ id: 'x', name: 'Read', input: {} })).toBeUndefined()
    expect(talk.shelf.check({ id: 'x', name: SEND, input: { text: 'hi' } })).toBeUndefined()
    expect(talk.shelf.check({ id: 'x', name: SEND, input: {} })).toMatchObject({
      type: 'tool_result',
      tool_use_id: 'x',
      is_error: true,
      content: [{ type: 'text', text: expect.stringContaining(`select:${SEND}`) }],
    })
    expect(talk.shelf.check({ id: 'x', name: 'Reed', input: {} })).toMatchObject({
      content: [{ text: expect.stringContaining('Read') }],
    })
  })

  it('check reads the history it is given', async () => {
    const talk = talkWith().user()
    await talk.prepare()
    await talk.search(`select:${SEND}`)
    const wrong = { id: 'x', name: SEND, input: {} }
    expect(JSON.stringify(talk.shelf.check(wrong, talk.messages))).not.toContain('select:')
  })

  it('resolve and result: the way to the server and back', () => {
    const { shelf } = talkWith()
    const call = { id: 'x', name: SEND, input: { text: 'hi' } }
    expect(shelf.resolve(call)).toEqual({
      name: SEND,
      input: { text: 'hi' },
      server: 'slack',
      original: 'send_message',
    })
    expect(shelf.result(call, 'sent')).toEqual({
      type: 'tool_result',
      tool_use_id: 'x',
      content: [{ type: 'text', text: 'sent' }],
    })
    expect(shelf.result(call, 'no', { isError: true }).is_error).toBe(true)
  })

  it('compact keeps what was loaded', async () => {
    const talk = talkWith().user()
    await talk.prepare()
    await talk.search(`select:${SEND}`)
    await talk.prepare()
    talk.messages = await talk.shelf.compact(talk.messages, { summarize: async () => 'so far' })
    expect(talk.messages).toMatchObject([
      { content: 'so far', compactMetadata: { preCompactDiscoveredTools: [SEND] } },
    ])
    talk.assistant().user()
    expect((await talk.prepare()).loaded).toEqual([SEND])
    expect(talk.visible).toContain(SEND)
  })
})

describe('the pool and its servers', () => {
  it('add takes one tool or many, and replaces one of the same owner and name', async () => {
    const talk = talkWith({ tools: [] }).user()
    talk.shelf.add(read)
    talk.shelf.add([send, issue])
    talk.shelf.add({ ...read, description: 'Reads anew' })
    const { request } = await talk.prepare()
    expect(request.tools.filter(({ name }: Loose) => name === 'Read')).toMatchObject([
      { description: 'Reads anew' },
    ])
  })

  it('remove takes a name, names, or a server', async () => {
    const found = async (talk: Talk) => JSON.stringify(await talk.search(`select:${SEND},${ISSUE}`))
    const one = talkWith()
    one.shelf.remove(SEND)
    expect(await found(one)).toContain(`"tool_name":"${ISSUE}"`)
    expect(await found(one)).not.toContain(`"tool_name":"${SEND}"`)
    const both = talkWith()
    both.shelf.remove([SEND, ISSUE, 'nobody'])
    expect(await found(both)).not.toContain('tool_reference')
    const server = talkWith()
    server.shelf.remove({ server: 'github' })
    expect(await found(server)).not.toContain(`"tool_name":"${ISSUE}"`)
  })

  it('S8 reports pending and failed servers to a search that finds nothing; add ends the waiting', async () => {
    const over = new Promise<void>(() => {})
    const timer = () => ({ over, cancel: () => {} })
    const { shelf } = talkWith({ timer })
    shelf.failed('jira', new Error('refused'))
    shelf.pending('email')
    const call = { id: 'x', name: 'ToolSearch', input: { query: 'email' } }
    const waiting = shelf.answer(call)
    shelf.add(mcp('email', 'send_email'))
    expect(await waiting).toMatchObject({ content: [{ tool_name: 'mcp__email__send_email' }] })
    const nothing = JSON.stringify(await shelf.answer({ ...call, input: { query: 'zzz' } }))
    expect(nothing).toContain('jira (Error: refused)')
    expect(nothing).not.toContain('still connecting')
  })

  it('D2 setServer adds what is newly known, and keeps what was known before', async () => {
    const talk = talkWith({ servers: { slack: { instructions: 'Ask first.' } } }).user()
    talk.shelf.setServer('slack', { alwaysLoad: true })
    talk.shelf.add(mcp('slack', 'later', { _meta: { 'anthropic/alwaysLoad': false } }))
    const { request } = await talk.prepare()
    expect(talk.sentTools).toContain(SEND)
    expect(JSON.stringify(request.messages)).toContain('Ask first.')
  })

  it('tools are all that the model may use, and partition is the same tools split', () => {
    const { shelf } = talkWith({ isHidden: ({ name }) => name === 'create_issue' })
    expect(shelf.tools().map(({ name }) => name)).toEqual(['Read', SEND])
    const { pool, immediate, deferred } = shelf.partition()
    expect(pool.tools).toBe(shelf.tools())
    expect(immediate.map(({ name }) => name)).toEqual(['Read'])
    expect(deferred.map(({ name }) => name)).toEqual([SEND])
    shelf.setServer('slack', { alwaysLoad: true })
    expect(shelf.partition().deferred).toEqual([])
    expect(shelf.tools()).toHaveLength(2)
  })

  it('D2 a server that reconnects is still configured as it was', async () => {
    const talk = talkWith({ servers: { slack: { alwaysLoad: true } } }).user()
    talk.shelf.remove({ server: 'slack' })
    talk.shelf.add(send)
    await talk.prepare()
    expect(talk.sentTools).toContain(SEND)
  })
})

describe('state', () => {
  const cases: [string, PureShelfOptions, string][] = [
    ['the reference wire', {}, MODEL],
    ['a latched header', { provider: 'vertex' }, MODEL],
    ['auto, once opened', { toolSearch: 'auto:1', contextWindow: 5_000 }, MODEL],
    ['kept definitions', { tombstones: true }, MODEL],
    ['a model that binds thinking', {}, BOUND_MODEL],
    ['prepend', { announce: 'prepend', contextWindow: 2_000 }, MODEL],
    ['append', { wire: 'append' }, MODEL],
    ['bridge', { wire: 'bridge' }, MODEL],
    ['addition', { wire: 'addition' }, MODEL],
    ['addition by value', { wire: 'addition', additions: 'value' }, MODEL],
    ['tool search off', {}, OLD_MODEL],
  ]

  it.each(cases)('T6 Q4 N5 survives a JSON round trip with the messages: %s', async (_, options, model) => {
    const talk = talkWith(options, model).user()
    await talk.prepare()
    await talk.search(`select:${SEND}`)
    const { history: messages } = await talk.prepare()
    const state = copy(talk.shelf.state())
    const next = [
      { role: 'assistant', content: 'done' },
      { role: 'user', content: 'go on' },
    ]
    talk.messages.push(...next)
    talk.shelf.remove({ server: 'slack' })
    const here = await talk.prepare()
    const resumed = talkWith({ ...options, tools: [read, issue], state }, model)
    resumed.messages = [...copy(messages), ...next]
    const there = await resumed.prepare()
    expect(JSON.stringify(there.request.tools)).toBe(JSON.stringify(here.request.tools))
    expect(there.headers).toEqual(here.headers)
    expect(there.loaded).toEqual(here.loaded)
    expect(there.decision.open).toBe(here.decision.open)
    const withoutOrigin = (all: Loose[]) => all.map(({ origin: _origin, ...rest }) => rest)
    expect(withoutOrigin(there.history)).toEqual(withoutOrigin(here.history))
    expect(there.request.messages).toEqual(here.request.messages)
    expect(copy(there.state)).toEqual(there.state)
  })

  it('is what prepare returned, and plain JSON from the start', async () => {
    const talk = talkWith().user()
    expect(copy(talk.shelf.state())).toEqual(talk.shelf.state())
    const { state } = await talk.prepare()
    expect(talk.shelf.state()).toEqual(state)
  })
})

describe('what is not ours', () => {
  const strange: Loose[] = [
    { role: 'user', content: 'hi', id: 'm1', cache: { deep: [1, null] } },
    { role: 'assistant', content: [{ type: 'text', text: 'ok', citations: [{ a: 1 }] }], stop_reason: 'x' },
    {
      role: 'user',
      content: [{ type: 'hologram', data: { tool_reference: true }, cache_control: { t: 1 } }],
    },
    { role: 'narrator', content: [{ type: 'text', text: 'meanwhile' }], extra: true },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature: 's' }] },
    { type: 'progress', percent: 5 },
    { role: 'user', content: [{ type: 'text', text: 'so?', unknown: { nested: ['x'] } }, { novel: 1 }] },
  ]

  it.each([
    ['open', {}, MODEL],
    ['closed', { toolSearch: false }, MODEL],
    ['on an old model', {}, OLD_MODEL],
    ['on a bound model', {}, BOUND_MODEL],
    ['bridge', { wire: 'bridge' }, MODEL],
  ] as [string, PureShelfOptions, string][])(
    'L3 unknown fields, blocks and roles pass untouched: %s',
    async (_, options, model) => {
      const { shelf } = talkWith(options)
      const system = [{ type: 'text', text: 's', cache_control: { type: 'ephemeral' } }]
      const more = {
        system,
        metadata: { user_id: 'u' },
        thinking: { type: 'x' },
        tool_choice: { type: 'auto' },
      }
      const given = deepFreeze({ model, messages: copy(strange), ...more, novel: { field: [1] } })
      const { request, history: messages } = await shelf.prepare(given)
      expect(request.messages.slice(0, strange.length)).toEqual(strange)
      expect(messages.slice(0, strange.length)).toEqual(strange)
      expect(request).toMatchObject({ model, ...more, novel: { field: [1] } })
      expect(request.messages.length - strange.length).toBe(shelf.state().search === 'off' ? 0 : 1)
    },
  )

  it('L3 sends a message object twice that occurs twice in a history', async () => {
    const talk = talkWith()
    const same = { role: 'user', content: 'continue' }
    const reply = { role: 'assistant', content: 'done' }
    talk.messages = [same, reply, same, reply, same]
    const { request, history: messages } = await talk.prepare()
    expect(request.messages.slice(0, 5)).toEqual([same, reply, same, reply, same])
    expect(request.messages).toHaveLength(6)
    talk.messages = messages
    talk.messages.push(reply, same)
    expect((await talk.prepare()).request.messages).toHaveLength(8)
  })

  it('Q1 tools and betas that the host put into the request stay, in front', async () => {
    const own = { type: 'web_search_20250305', name: 'web_search' }
    const { request } = await talkWith()
      .user()
      .prepare({ tools: [own], betas: ['some-beta'] })
    expect(request.tools[0]).toEqual(own)
    expect(request.betas).toEqual(['some-beta'])
  })

  it('N7 the caller’s objects are never changed: everything works on frozen input', async () => {
    const frozen: PureShelfOptions = deepFreeze({
      tools: copy(tools),
      servers: { slack: { alwaysLoad: false, instructions: 'Ask first.' } },
      cacheControl: { type: 'ephemeral' },
      state: copy(createShelf({}).state()),
      environment: {},
      notify: () => {},
    })
    const talk = new Talk(createShelf(frozen))
    const grow = (...messages: Loose[]) => {
      talk.messages = deepFreeze([...talk.messages, ...copy(messages)])
    }
    grow({ role: 'user', content: [{ type: 'text', text: 'hi' }] })
    await talk.prepare()
    const call = deepFreeze(talk.call('ToolSearch', { query: `select:${SEND}, nobody` }))
    const result = await talk.shelf.answer(call)
    grow(
      { role: 'assistant', content: [call] },
      { role: 'user', content: [result, { type: 'text', text: 'now' }] },
    )
    await talk.prepare()
    const use = deepFreeze(talk.call(SEND, { text: 'hi' }))
    expect(talk.shelf.check(use, talk.messages)).toBeUndefined()
    const output = deepFreeze([
      { type: 'text', text: '' },
      { type: 'tool_reference', tool_name: ISSUE },
    ])
    grow({ role: 'assistant', content: [use] }, { role: 'user', content: [talk.shelf.result(use, output)] })
    await talk.prepare()
    talk.model = OLD_MODEL
    await talk.prepare()
    talk.model = MODEL
    talk.shelf.snip(talk.messages, (_, index) => index === 0)
    talk.messages = deepFreeze(await talk.shelf.compact(talk.messages, { summarize: 'so far', keep: 1 }))
    await talk.prepare()
  })

  it('Q9 the caller’s tools are neither frozen nor marked by us', async () => {
    const given = copy(tools)
    await new Talk(quietShelf({ tools: given, cacheControl: { type: 'ephemeral' } })).user().prepare()
    expect(given).toEqual(copy(tools))
    for (const tool of given) expect(Object.isFrozen(tool) || Object.isFrozen(tool.input_schema)).toBe(false)
  })
})
