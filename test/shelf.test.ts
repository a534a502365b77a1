// The public door: every method of a shelf, what it leaves alone.
import { describe, expect, it } from 'vitest'
import type { PureShelfOptions } from '../packages/core/src/shelf.ts'
import { builtIn, type Loose, MODEL, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'

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

describe('what is not ours', () => {
  it('Q1 tools and betas that the host put into the request stay, in front', async () => {
    const own = { type: 'web_search_20250305', name: 'web_search' }
    const { request } = await talkWith()
      .user()
      .prepare({ tools: [own], betas: ['some-beta'] })
    expect(request.tools[0]).toEqual(own)
    expect(request.betas).toEqual(['some-beta'])
  })

  it('Q9 the caller’s tools are neither frozen nor marked by us', async () => {
    const given = copy(tools)
    await new Talk(quietShelf({ tools: given, cacheControl: { type: 'ephemeral' } })).user().prepare()
    expect(given).toEqual(copy(tools))
    for (const tool of given) expect(Object.isFrozen(tool) || Object.isFrozen(tool.input_schema)).toBe(false)
  })
})
