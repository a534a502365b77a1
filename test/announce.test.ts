// How the model learns the names of deferred tools (A): what is announced, where, when, and what is recorded.
import { describe, expect, it } from 'vitest'
import type { Prepared, ShelfOptions, Trace } from '../packages/core/src/index.ts'
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
const list = mcp('slack', 'list_channels')
const issue = mcp('github', 'create_issue')
const SEND = 'mcp__slack__send_message'
const LIST = 'mcp__slack__list_channels'
const ISSUE = 'mcp__github__create_issue'

const deltasIn = (messages: Loose[]): Loose[] =>
  messages.filter(({ type }) => type === 'deferred_tools_delta')

const lastDelta = (prepared: Prepared<Loose>): Loose => deltasIn(prepared.history).at(-1)

const sentText = (prepared: Prepared<Loose>): string => JSON.stringify(prepared.request.messages)

/** A trace that keeps the events of announcements. */
function heard() {
  const events: Extract<Trace, { type: 'announced' }>[] = []
  return { events, trace: (event: Trace) => void (event.type === 'announced' && events.push(event)) }
}

type HostKind = (talk: Talk, prepared: Prepared<Loose>) => void

const hosts: [string, HostKind][] = [
  ['keeps its own array of the same messages', () => {}],
  [
    'carries prepared.history forward',
    (talk, { history: messages }) => {
      talk.messages = messages
    },
  ],
  [
    'stores prepared.history as JSON between the turns',
    (talk, { history: messages }) => {
      talk.messages = JSON.parse(JSON.stringify(messages))
    },
  ],
]

describe('A1 prepend', () => {
  const prepending = (options: ShelfOptions = {}) =>
    new Talk(quietShelf({ announce: 'prepend', tools: [read, send, issue], ...options }))

  it('A1 is one user message before all others, a full name a line', async () => {
    const talk = prepending().user('hello')
    const { request } = await talk.prepare()
    expect(request.messages).toEqual([
      { role: 'user', content: `<available-deferred-tools>\n${ISSUE}\n${SEND}\n</available-deferred-tools>` },
      { role: 'user', content: 'hello' },
    ])
  })

  it.each(hosts)('A1 is not stored, so a host that %s sends it once', async (_, carry) => {
    const talk = prepending().user()
    for (let turn = 0; turn < 3; turn++) {
      const prepared = await talk.prepare()
      expect(sentText(prepared).split('<available-deferred-tools>')).toHaveLength(2)
      expect(deltasIn(prepared.history)).toEqual([])
      carry(talk, prepared)
      talk.assistant().user()
    }
  })

  it('A9 lists loaded tools too', async () => {
    const talk = prepending().user()
    await talk.prepare()
    await talk.search(`select:${SEND}`)
    const { request, loaded }: Loose = await talk.prepare()
    expect(loaded).toEqual([SEND])
    expect(request.messages[0].content).toContain(SEND)
  })
})

describe.each(hosts)('a host that %s', (_, carry) => {
  it.each([MODEL, BOUND_MODEL])(
    'A2 announces each name once, at a place that never moves (%s)',
    async (model) => {
      const talk = new Talk(quietShelf({ tools: [read, send] }), model).user()
      const requests: Loose[] = []
      const next = async () => {
        const prepared = await talk.prepare()
        requests.push(prepared.request)
        carry(talk, prepared)
        return prepared
      }
      await next()
      talk.assistant().user()
      await next()
      talk.shelf.add(issue)
      await next()
      await talk.search(`select:${SEND}`)
      await next()
      talk.run(SEND)
      talk.shelf.add(list)
      const last = await next()
      for (const name of [SEND, ISSUE, LIST]) {
        const told = last.request.messages.filter(
          ({ content }: Loose) => typeof content === 'string' && content.split('\n').includes(name),
        )
        expect(told, name).toHaveLength(1)
      }
      requests.slice(1).forEach((request, index) => {
        expect(extendsPrefix(renderRequest(requests[index]), renderRequest(request))).toEqual({
          extends: true,
        })
      })
    },
  )

  it('A2 reports added and removed tools, each once', async () => {
    const talk = new Talk(quietShelf({ tools: [read, send, list] })).user()
    carry(talk, await talk.prepare())
    talk.shelf.remove(LIST)
    talk.shelf.add(issue)
    talk.assistant().user()
    const second = await talk.prepare()
    expect(lastDelta(second)).toMatchObject({ addedNames: [ISSUE], removedNames: [LIST] })
    expect(lastDelta(second).content.split('\n').slice(1, -1)).toEqual([
      expect.stringContaining('now available'),
      ISSUE,
      expect.stringContaining('no longer available'),
      LIST,
    ])
    carry(talk, second)
    talk.assistant().user()
    expect(deltasIn((await talk.prepare()).history)).toHaveLength(2)
  })

  it('A3 announces again, once, what the messages kept by a compaction no longer announce', async () => {
    const talk = new Talk(quietShelf({ tools: [read, send] })).user()
    carry(talk, await talk.prepare())
    talk.shelf.add(issue)
    talk.assistant().user('newest')
    carry(talk, await talk.prepare())
    talk.messages = await talk.shelf.compact(talk.messages, { summarize: 'so far', keep: 2 })
    talk.assistant().user()
    const after = await talk.prepare()
    expect(deltasIn(after.history).map(({ addedNames }) => addedNames)).toEqual([[ISSUE], [SEND]])
    carry(talk, after)
    talk.assistant().user()
    expect(deltasIn((await talk.prepare()).history)).toHaveLength(2)
  })
})

describe('A2 delta', () => {
  it('A2 does not report a tool as gone that became non-deferred', async () => {
    const talk = new Talk(quietShelf({ tools: [read, send, issue] })).user()
    await talk.prepare()
    talk.shelf.setServer('slack', { alwaysLoad: true })
    talk.assistant().user()
    const { history: messages } = await talk.prepare()
    expect(talk.sentTools).toContain(SEND)
    expect(deltasIn(messages)).toHaveLength(1)
    talk.shelf.remove(SEND)
    talk.assistant().user()
    expect(lastDelta(await talk.prepare())).toMatchObject({ addedNames: [], removedNames: [SEND] })
  })

  it('A2 waits for a user message: behind a reply begun by the host nothing is put', async () => {
    const talk = new Talk(quietShelf({ tools: [read, send] }), 'claude-opus-4-5')
      .user()
      .assistant('Once upon')
    expect(deltasIn((await talk.prepare()).history)).toEqual([])
    talk.user()
    expect(deltasIn((await talk.prepare()).history)).toHaveLength(1)
  })

  it('A2 announces to a host that returns to an older branch what that branch lacks', async () => {
    const talk = new Talk(quietShelf({ tools: [read, send] })).user('first')
    const { history: oldBranch } = await talk.prepare()
    talk.shelf.add(issue)
    talk.assistant().user()
    await talk.prepare()
    talk.messages = [{ role: 'user', content: 'first, edited' }]
    await talk.prepare()
    talk.messages = [...oldBranch]
    talk.assistant().user()
    expect(deltasIn((await talk.prepare()).history).flatMap(({ addedNames }) => addedNames)).toEqual([
      SEND,
      ISSUE,
    ])
  })

  it('A8 is a persisted record, rendered for the model inside <system-reminder> without its fields', async () => {
    const talk = new Talk(quietShelf({ tools: [read, send, issue] })).user()
    const { history: messages, request }: Loose = await talk.prepare()
    const record = messages[1]
    expect(JSON.parse(JSON.stringify(record))).toMatchObject({
      type: 'deferred_tools_delta',
      role: 'user',
      addedNames: [ISSUE, SEND],
      removedNames: [],
    })
    expect(request.messages[1]).toEqual({ role: 'user', content: record.content })
    expect(record.content).toMatch(/^<system-reminder>\n.*\n<\/system-reminder>$/s)
  })

  it('A8 a record written by another session is read back', async () => {
    const record = { type: 'deferred_tools_delta', role: 'user', content: 'told', addedNames: [SEND, ISSUE] }
    const talk = new Talk(quietShelf({ tools: [read, send, issue, list] }))
    talk.messages = [
      { role: 'user', content: 'hi' },
      { ...record, removedNames: [] },
    ]
    talk.assistant().user()
    expect(lastDelta(await talk.prepare())).toMatchObject({ addedNames: [LIST], announcedBefore: 2 })
  })
})

describe('A4 where a delta was made', () => {
  it('A4 records and traces the count before and the origin; the first one of the main thread is not a fault', async () => {
    const { events, trace } = heard()
    const talk = new Talk(quietShelf({ tools: [read, send, issue], trace })).user()
    await talk.prepare()
    talk.shelf.add(list)
    talk.assistant().user()
    const { history: messages } = await talk.prepare()
    expect(deltasIn(messages)).toMatchObject([
      { announcedBefore: 0, origin: 'main' },
      { announcedBefore: 2, origin: 'main' },
    ])
    expect(events).toEqual([
      { type: 'announced', added: 2, removed: 0, announcedBefore: 0, origin: 'main', fault: false },
      { type: 'announced', added: 1, removed: 0, announcedBefore: 2, origin: 'main', fault: false },
    ])
  })

  it('A4 nothing before, though the main thread had announced, is a fault', async () => {
    const { events, trace } = heard()
    const talk = new Talk(quietShelf({ tools: [read, send], trace })).user('hello')
    await talk.prepare()
    talk.messages = [
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: 'hi' },
    ]
    talk.user()
    await talk.prepare()
    expect(events.map(({ announcedBefore, origin, fault }) => [announcedBefore, origin, fault])).toEqual([
      [0, 'main', false],
      [0, 'main', true],
    ])
  })

  it.each([0, 2])('A4 the first after a compaction that kept %i messages is no fault', async (keep) => {
    const { events, trace } = heard()
    const talk = new Talk(quietShelf({ tools: [read, send, issue], trace })).user()
    await talk.prepare()
    talk.shelf.remove(ISSUE)
    talk.assistant().user()
    await talk.prepare()
    talk.messages = await talk.shelf.compact(talk.messages, { summarize: 'so far', keep })
    talk.assistant().user()
    const { history: messages } = await talk.prepare()
    expect(lastDelta({ history: messages } as Loose)).toMatchObject({
      addedNames: [SEND],
      origin: 'compacted',
    })
    expect(events.at(-1)).toMatchObject({ announcedBefore: 0, origin: 'compacted', fault: false })
  })
})

describe('A5 the place', () => {
  it.each([
    ['delta', '<system-reminder>'],
    ['prepend', '<available-deferred-tools>'],
  ] as const)(
    'A5 %s: the search tool’s description names %s, and there they are',
    async (announce, place) => {
      for (const wire of ['reference', 'addition', 'append', 'bridge'] as const) {
        const talk = new Talk(quietShelf({ tools: [read, send], announce, wire })).user()
        const { request }: Loose = await talk.prepare()
        const { description } = request.tools.find(({ name }: Loose) => name === 'ToolSearch')
        expect(description).toContain(`Deferred tools appear by name in ${place} messages.`)
        const holder = request.messages.find(({ content }: Loose) => String(content).includes(SEND))
        expect(holder.content.startsWith(`${place}\n`)).toBe(true)
      }
    },
  )
})
