// Sub-agents: the same tools, a conversation of their own (L5, U1).
import { describe, expect, it } from 'vitest'
import type { Trace } from '../packages/core/src/index.ts'
import { builtIn, type Loose, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'

const read = builtIn('Read')
const send = mcp('slack', 'send_message', {
  input_schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
})
const issue = mcp('github', 'create_issue')
const SEND = 'mcp__slack__send_message'
const ISSUE = 'mcp__github__create_issue'

const parentTalk = (options = {}) =>
  new Talk(quietShelf({ tools: [read, send, issue], ...options })).user('main')

const childOf = (parent: Talk) => new Talk(parent.shelf.fork()).user('sub')

const deltasIn = (messages: Loose[]): Loose[] =>
  messages.filter(({ type }) => type === 'deferred_tools_delta')

describe('L5 what is loaded', () => {
  it('L5 the host may hand a history over', async () => {
    const parent = parentTalk()
    await parent.prepare()
    await parent.search(`select:${SEND}`)
    const { history: messages } = await parent.prepare()
    const child = new Talk(parent.shelf.fork())
    child.messages = [...messages]
    child.assistant().user('sub')
    const prepared = await child.prepare()
    expect(prepared.loaded).toEqual([SEND])
    expect(child.visible).toContain(SEND)
    expect(deltasIn(prepared.history)).toHaveLength(1)
    const call = { ...child.call('ToolSearch', { query: `select:${ISSUE}` }), id: 'toolu_of_the_child' }
    child.assistant([call]).user([await child.shelf.answer(call)])
    expect((await child.prepare()).loaded).toEqual([SEND, ISSUE])
    expect((await parent.assistant().user().prepare()).loaded).toEqual([SEND])
  })

  it('L5 the parent’s own message objects, handed over without our notes, bring no note along', async () => {
    const parent = parentTalk()
    await parent.prepare()
    const child = new Talk(parent.shelf.fork())
    child.messages = [...parent.messages]
    child.assistant().user('sub')
    const { history: messages } = await child.prepare()
    expect(messages.map(({ type }: Loose) => type)).toEqual([
      undefined,
      undefined,
      undefined,
      'deferred_tools_delta',
    ])
    expect(deltasIn(messages)).toMatchObject([{ origin: 'sub-agent', announcedBefore: 0 }])
  })
})

describe('U1 a sub-agent', () => {
  it('U1 has its own announcements', async () => {
    const events: Trace[] = []
    const parent = parentTalk({ trace: (event: Trace) => events.push(event) })
    const first = await parent.prepare()
    const child = childOf(parent)
    const own = await child.prepare()
    expect(deltasIn(own.history)).toMatchObject([
      { addedNames: [ISSUE, SEND], announcedBefore: 0, origin: 'sub-agent' },
    ])
    expect(deltasIn(first.history)).toMatchObject([{ origin: 'main' }])
    expect((await parent.prepare()).request).toEqual(first.request)
    expect(events.filter(({ type }) => type === 'announced').map((event: Loose) => event.fault)).toEqual([
      false,
      false,
    ])
  })

  it('U1 has a state of its own: headers, the open gate, kept definitions', async () => {
    const parent = parentTalk({ provider: 'vertex', tombstones: true })
    await parent.prepare()
    expect(parent.shelf.state().betas).toHaveLength(1)
    const fork = parent.shelf.fork()
    expect(fork.state()).toMatchObject({ betas: [], kept: [], hasOpened: false, hasAnnounced: false })
    await new Talk(fork).user().prepare()
    const before = JSON.stringify(parent.shelf.state())
    await new Talk(fork.fork()).user().prepare()
    expect(JSON.stringify(parent.shelf.state())).toBe(before)
  })

  it('U1 what was learned of the back-end is shared', async () => {
    const parent = parentTalk()
    const child = childOf(parent)
    const prepared = await child.prepare()
    const refusal = { status: 400, message: 'Messages content type tool_reference not supported' }
    await child.shelf.recover(refusal, { model: child.model, messages: child.messages }, prepared)
    expect((await parent.prepare()).decision).toMatchObject({ open: false, reason: 'rejected' })
  })
})

describe('S10 what a fork hides', () => {
  const hide = { server: (name: string) => name === 'slack', tool: () => false }

  it('S10 does not exist there: not listed, searched, suggested, checked or resolved; its own forks inherit that', async () => {
    const shelf = quietShelf({ tools: [read, send, issue] })
    shelf.failed('slack', 'it crashed')
    for (const fork of [shelf.fork({ hide }), shelf.fork({ hide }).fork()]) {
      expect(fork.tools().map(({ name }) => name)).not.toContain(SEND)
      expect([...fork.servers().keys()]).not.toContain('slack')
      const found = await fork.search({ query: 'slack send message' })
      expect(JSON.stringify(found)).not.toMatch(/slack__|crashed/)
      const answer = fork.check({ id: '1', name: SEND.slice(0, -1), input: {} })
      expect(JSON.stringify(answer)).not.toContain(SEND)
      expect(fork.resolve({ id: '1', name: SEND, input: {} }).server).toBeUndefined()
    }
    expect(shelf.tools().map(({ name }) => name)).toContain(SEND)
  })
})
