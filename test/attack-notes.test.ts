// Attacks on the notes that we write into a history: hosts that copy them, end a turn otherwise, or ask twice at once.
import { describe, expect, it } from 'vitest'
import type { Prepared } from '../packages/core/src/index.ts'
import { signThinking } from '../packages/messages/src/oracle/thinking.ts'
import { validateRequest } from '../packages/messages/src/oracle/validate.ts'
import {
  EMAIL,
  found,
  isDelta,
  SEND,
  search,
  system,
  text,
  tools,
  user,
} from '../packages/testkit/src/blocks.ts'
import { BOUND_MODEL, type Loose, MODEL, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'
import { load, seen, talkOn, wireCases } from '../packages/testkit/src/wires.ts'

const labels = wireCases.map(({ label }) => label)

/** A copy with a breakpoint on its last block, as hosts make one of the newest message. */
function withBreakpoint(message: Loose): Loose {
  const blocks = typeof message.content === 'string' ? [text(message.content)] : message.content
  const last = { ...blocks.at(-1), cache_control: { type: 'ephemeral' } }
  return { ...message, content: [...blocks.slice(0, -1), last] }
}

/** The API takes a breakpoint on text and results alike; what is compared is the rest. */
function plain(messages: Loose[]): Loose[] {
  const blocks = (content: Loose) => (typeof content === 'string' ? [text(content)] : content)
  const bare = (block: Loose) => ({ ...block, cache_control: undefined })
  return messages.map(({ role, content }) => ({ role, content: blocks(content).map(bare) }))
}

function expectContinued(next: Loose[], previous: Loose[]): void {
  expect(plain(next.slice(0, previous.length))).toEqual(plain(previous))
}

const announcements = ({ request }: Prepared<Loose>): number =>
  plain(request.messages).filter(({ content }: Loose) =>
    content.some((block: Loose) => block.type === 'text' && isDelta({ content: block.text })),
  ).length

const ownCalls = ({ request }: Prepared<Loose>): number =>
  JSON.stringify(request.messages).split('"id":"toolshelf_').length - 1

type Keep = readonly [label: string, keep: (messages: Loose[]) => Loose[]]

/** How a host may hold what it was given. */
const hosts: readonly Keep[] = [
  ['as they are', (messages) => messages],
  ['the last one a copy', (messages) => messages.with(-1, withBreakpoint(messages.at(-1)))],
  ['all cloned', (messages) => structuredClone(messages)],
  [
    'all cloned, the last with a breakpoint',
    (messages) => structuredClone(messages).with(-1, withBreakpoint(messages.at(-1))),
  ],
  [
    'a moving breakpoint',
    (messages) =>
      messages.map((message, index) =>
        index === messages.length - 1
          ? withBreakpoint(message)
          : { ...message, content: plain([message])[0].content },
      ),
  ],
]

describe('a host that continues from prepared.history with copies of our notes', () => {
  it.each(hosts)('N6 A2 a delta is not doubled over several turns: %s', async (_, keep) => {
    const talk = new Talk(quietShelf({ tools }))
    talk.user('start')
    for (let turn = 1; turn <= 4; turn++) {
      const previous = talk.last?.request.messages ?? []
      const prepared = await talk.prepare()
      expect(announcements(prepared)).toBe(turn < 3 ? 1 : 2)
      expectContinued(prepared.request.messages, previous)
      talk.messages = keep(prepared.history as Loose[])
      expect(announcements(await talk.prepare())).toBe(turn < 3 ? 1 : 2)
      if (turn === 2) talk.shelf.add(mcp('late', 'tool'))
      talk.assistant().user(`turn ${turn}`)
    }
  })

  it.each(hosts.flatMap(([host, keep]) => labels.map((label) => [label, host, keep] as const)))(
    'N6 C3 %s: what shows a loaded tool again after a compaction is not doubled: %s',
    async (label, _, keep) => {
      const talk = talkOn(label, { tools })
      await talk.user('start').prepare()
      await load(talk, SEND)
      await talk.prepare()
      talk.messages = await talk.shelf.compact(talk.last?.history as Loose[], { summarize: 'All so far.' })
      const first = await talk.prepare()
      for (let turn = 0; turn < 3; turn++) {
        talk.messages = keep(talk.last?.history as Loose[])
        const again = await talk.prepare()
        expect(plain(again.request.messages)).toHaveLength(talk.messages.length)
        expect(ownCalls(again)).toBe(ownCalls(first))
        expect(announcements(again)).toBe(1)
        expect(seen(again, [SEND])).toEqual([SEND])
        expectContinued(again.request.messages, first.request.messages)
        talk.assistant().user('go on')
        await talk.prepare()
      }
    },
  )
})

describe('a host that ends each turn with a system message', () => {
  const carriers: readonly Keep[] = [
    ['its own messages', (messages) => messages],
    ['prepared.history', (messages) => messages],
  ]

  it.each(carriers.flatMap(([carrier]) => labels.map((label) => [label, carrier] as const)))(
    'A2 N6 %s: names come before it and do not move; it holds %s',
    async (label, carrier) => {
      const talk = talkOn(label, { tools })
      const turn = async (words: string) => {
        const previous = talk.last?.request.messages ?? []
        if (words !== '') talk.user(words)
        talk.messages.push(system(text(`It is ${talk.messages.length} o'clock.`)))
        const prepared = await talk.prepare()
        expectContinued(prepared.request.messages, previous)
        if (carrier === 'prepared.history') talk.messages = prepared.history as Loose[]
        return prepared
      }
      const first = await turn('start')
      expect(first.request.messages.map(({ role }: Loose) => role)).toEqual(['user', 'user', 'system'])
      expect(isDelta(first.request.messages[1])).toBe(true)
      await load(talk, SEND)
      expect(seen(await turn(''), [SEND])).toEqual([SEND])
      talk.assistant()
      talk.shelf.add(mcp('late', 'tool'))
      const late = await turn('and now?')
      expect(announcements(late)).toBe(2)
      talk.assistant()
      expect(announcements(await turn('thanks'))).toBe(2)
    },
  )

  it.each(labels)('A3 C3 %s: after a compaction the names and the loaded tools are there', async (label) => {
    const talk = talkOn(label, { tools })
    await talk.user('start').prepare()
    await load(talk, SEND)
    await talk.prepare()
    talk.messages = await talk.shelf.compact(talk.last?.history as Loose[], { summarize: 'All so far.' })
    talk.user('go on').messages.push(system(text('Be brief.')))
    const prepared = await talk.prepare()
    expect(seen(prepared, [SEND])).toEqual([SEND])
    expect(announcements(prepared)).toBe(1)
    expect(prepared.request.messages.at(-1)).toMatchObject({ role: 'system' })
    talk
      .assistant()
      .user('more')
      .messages.push(system(text('Be brief.')))
    const next = await talk.prepare()
    expectContinued(next.request.messages, prepared.request.messages)
    expect(seen(next, [SEND])).toEqual([SEND])
  })

  it('N5 A2 on a model that binds thinking nothing moves', async () => {
    const talk = new Talk(quietShelf({ tools }), BOUND_MODEL)
    for (let turn = 0; turn < 4; turn++) {
      talk.user(`turn ${turn}`).messages.push(system(text('Be brief.')))
      if (turn === 2) talk.shelf.add(mcp('late', 'tool'))
      think(talk, (await talk.prepare()).request)
    }
  })
})

/** The model's reply, with thinking bound to this request; throws when earlier thinking is not valid any more. */
function think(talk: Talk, sent: Loose): void {
  const request = JSON.parse(JSON.stringify(sent))
  const error = validateRequest(request, { bindsThinking: true })
  if (error) throw new Error(error.body.error.message)
  talk.assistant([{ type: 'thinking', thinking: 'hm', signature: signThinking(request) }, text('done')])
}

describe('a list before all messages, on a model that binds thinking to them', () => {
  it('N5 A1 a server that connects late does not change what was sent', async () => {
    const talk = new Talk(quietShelf({ tools, announce: 'prepend' }), BOUND_MODEL)
    think(talk, (await talk.user('start').prepare()).request)
    talk.shelf.add(mcp('late', 'tool'))
    const { request } = await talk.user().prepare()
    think(talk, request)
    expect(JSON.stringify(request.messages)).toContain('mcp__late__tool')
  })

  it('N5 A5 the search tool names the place where the names really are', async () => {
    const shelf = quietShelf({ tools, announce: 'prepend' })
    const places = async (model: string) => {
      const { request }: Loose = await new Talk(shelf.fork(), model).user().prepare()
      const { description } = request.tools.find(({ name }: Loose) => name === 'ToolSearch')
      return { told: /<[a-z-]+>/.exec(description)?.[0], used: JSON.stringify(request.messages) }
    }
    const bound = await places(BOUND_MODEL)
    expect(bound.told).toBe('<system-reminder>')
    expect(bound.used).toContain('<system-reminder>')
    expect(bound.used).not.toContain('<available-deferred-tools>')
    expect((await places(MODEL)).told).toBe('<available-deferred-tools>')
  })

  it('N5 A1 another model may take a turn in between', async () => {
    const talk = new Talk(quietShelf({ tools, announce: 'prepend' }), BOUND_MODEL)
    think(talk, (await talk.user('start').prepare()).request)
    talk.model = MODEL
    await talk.user().prepare()
    talk.assistant().user()
    talk.model = BOUND_MODEL
    think(talk, (await talk.prepare()).request)
    think(talk, (await talk.user().prepare()).request)
  })
})

/** A number that resolves when the test says so. */
function later(): { promise: Promise<number>; resolve: (value: number) => void } {
  let resolve = (_: number) => {}
  const promise = new Promise<number>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

describe('requests made at once on one shelf', () => {
  it('N5 a tool that a search loads meanwhile is remembered', async () => {
    const { promise, resolve } = later()
    const shelf = quietShelf({ tools, tombstones: true, toolSearch: 'auto', countTokens: () => promise })
    const talk = new Talk(shelf)
    talk.user('start')
    const early = () => talk.prepare({ messages: [...talk.messages] })
    const slow = Promise.all([early(), early()])
    await talk.search(`select:${SEND}`)
    resolve(1e6)
    await slow
    shelf.remove(SEND)
    const { request } = await talk.prepare()
    expect(talk.visible).toContain(SEND)
    expect(JSON.stringify(request.messages)).toContain(`"tool_name":"${SEND}"`)
  })

  it('T6 one that stays closed does not close what another has opened', async () => {
    const { promise, resolve } = later()
    const countTokens = (_: unknown, model: string) => (model === MODEL ? 1e6 : promise)
    const shelf = quietShelf({ tools, announce: 'prepend', toolSearch: 'auto', countTokens })
    const messages = [{ role: 'user', content: 'start' }]
    const slow = shelf.prepare({ model: 'claude-opus-4-7', messages })
    expect((await shelf.prepare({ model: MODEL, messages })).decision.open).toBe(true)
    resolve(0)
    await slow
    expect(shelf.state().hasOpened).toBe(true)
  })

  it('Q4 N5 state, betas and notes are those of both', async () => {
    const shelf = quietShelf({ tools, provider: 'vertex', toolSearch: 'auto', countTokens: () => 1e6 })
    const messages = [{ role: 'user', content: 'start' }]
    const both = await Promise.all([MODEL, BOUND_MODEL].map((model) => shelf.prepare({ model, messages })))
    expect(both.map(({ history: messages }) => messages.filter(isDelta).length)).toEqual([1, 1])
    expect(shelf.state()).toMatchObject({
      hasOpened: true,
      hasAnnounced: true,
      betas: ['tool-search-tool-2025-10-19'],
    })
    expect(shelf.state().kept.some(({ definition }) => definition.name === 'Read')).toBe(true)
  })
})

describe('a message that is filled after it was read', () => {
  it('L4 references pushed after check() count', async () => {
    const shelf = quietShelf({ tools })
    const talk = new Talk(shelf)
    await talk.user('start').prepare()
    const content: Loose[] = []
    talk.messages.push(search('toolu_1'), user())
    talk.messages.at(-1).content = content
    expect(shelf.check(talk.call('Read'), talk.messages)).toBeUndefined()
    content.push(found('toolu_1', SEND))
    expect((await talk.prepare()).loaded).toEqual([SEND])
    expect(talk.visible).toContain(SEND)
  })

  it('L4 references written into a placeholder count too', async () => {
    const shelf = quietShelf({ tools })
    const talk = new Talk(shelf)
    await talk.user('start').prepare()
    const content: Loose[] = [null, found('toolu_2', EMAIL)]
    talk.messages.push({
      role: 'assistant',
      content: [...search('toolu_1').content, ...search('toolu_2').content],
    })
    talk.messages.push({ role: 'user', content })
    shelf.check(talk.call('Read'), talk.messages)
    content[0] = found('toolu_1', SEND)
    expect(new Set((await talk.prepare()).loaded)).toEqual(new Set([SEND, EMAIL]))
  })
})
