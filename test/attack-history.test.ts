// Attacks on a history: compaction and snipping at bad moments, references from strangers, thinking by hand.
import { describe, expect, it } from 'vitest'
import { type Prepared, ShelfError } from '../packages/core/src/index.ts'
import { visibleTools } from '../packages/core/src/reading.ts'
import { signThinking } from '../packages/messages/src/oracle/thinking.ts'
import { validateRequest } from '../packages/messages/src/oracle/validate.ts'
import {
  addition,
  assistant,
  found,
  ISSUE,
  LOADED,
  result,
  SEND,
  search,
  sentOf,
  system,
  text,
  tools,
  use,
  user,
} from '../packages/testkit/src/blocks.ts'
import {
  BOUND_MODEL,
  builtIn,
  type Loose,
  MODEL,
  mcp,
  quietShelf,
  Talk,
} from '../packages/testkit/src/talk.ts'
import { hostedSearch, load, seen, talkOn, wireCases } from '../packages/testkit/src/wires.ts'

const labels = wireCases.map(({ label }) => label)
const referring = labels.filter((label) => label !== 'append' && label !== 'bridge')

const named = ({ request }: Prepared<Loose>, name: string): Loose =>
  request.tools.find((tool: Loose) => tool.name === name)

/** A conversation on this wire that has loaded one tool and was then compacted. */
async function compacted(label: string, more: object = {}, model = MODEL): Promise<Talk> {
  const talk = talkOn(label, { tools, ...more }, model)
  await talk.user('start').prepare()
  await load(talk, SEND)
  await talk.prepare()
  talk.messages = await talk.shelf.compact(talk.messages, { summarize: 'All so far.' })
  return talk.user('go on')
}

describe('thinking switched on by hand', () => {
  const thinking = { type: 'enabled', budget_tokens: 1024 }

  it.each(referring)(
    'C3 %s: after a compaction loaded tools are sent openly, no call is made up',
    async (label) => {
      const talk = await compacted(label)
      const prepared = await talk.prepare({ thinking })
      expect(prepared.request.messages.every(({ role }: Loose) => role === 'user')).toBe(true)
      expect(named(prepared, SEND)).not.toHaveProperty('defer_loading')
      expect(talk.visible).toContain(SEND)
      const next = await talk.assistant().user().prepare({ thinking })
      expect(JSON.stringify(next.request.messages)).not.toContain('toolshelf_')
      expect(next.request.tools).toEqual(prepared.request.tools)
    },
  )

  it.each(['append', 'bridge'])('C3 %s: no call is made up either', async (label) => {
    const talk = await compacted(label)
    const prepared = await talk.prepare({ thinking })
    expect(prepared.request.messages.every(({ role }: Loose) => role === 'user')).toBe(true)
  })

  it('C3 N5 the model may search for such a tool again, and its thinking stays valid', async () => {
    const talk = await compacted('reference', {}, BOUND_MODEL)
    const { request } = await talk.prepare({ thinking })
    const call = talk.call('ToolSearch', { query: `select:${SEND}` })
    const signature = signThinking(JSON.parse(JSON.stringify(request)))
    talk.assistant([{ type: 'thinking', thinking: 'hm', signature }, call])
    talk.user([await talk.shelf.answer(call)])
    const next = await talk.prepare({ thinking })
    const sent = JSON.parse(JSON.stringify(next.request))
    expect(validateRequest(sent, { bindsThinking: true })).toBeUndefined()
    expect(talk.visible).toContain(SEND)
  })

  it('C3 without it the search is made again in the place of the model', async () => {
    const talk = await compacted('reference')
    const { request } = await talk.prepare()
    expect(JSON.stringify(request.messages)).toContain('"id":"toolshelf_')
    expect(talk.visible).toContain(SEND)
  })
})

const [ASKED, LATE, FOUND] = hostedSearch('srvtoolu_1', [SEND])

/** The provider's search waits beside a call of ours, and is answered in the next reply (wire 1.6). */
const waiting = (): Loose[] => [
  user(text('start')),
  assistant(ASKED, use('toolu_1')),
  user(result('toolu_1', text('fine'))),
]
const answered = (): Loose[] => [...waiting(), assistant(LATE, FOUND), user(text('go on'))]

describe('a hosted search whose result comes in the next reply', () => {
  it('Q5 C3 nothing is put between, though a loaded tool is out of sight; then it is shown', async () => {
    const talk = talkOn('hosted', { tools })
    const { messages } = talkOn('hosted').user('old')
    const old = [...messages, assistant(...hostedSearch('srvtoolu_0', [ISSUE])), user(text('x'))]
    const [boundary] = await talk.shelf.compact(old, { summarize: 'All so far.' })
    talk.messages = [boundary, ...waiting().slice(1)]
    const first = await talk.prepare()
    expect(first.loaded).toEqual([ISSUE])
    expect(first.request.messages.map(({ role }: Loose) => role)).toEqual(['user', 'assistant', 'user'])
    talk.messages.push(...answered().slice(3))
    const next = await talk.prepare()
    expect(next.request.messages.slice(0, 3)).toEqual(first.request.messages)
    expect(seen(next, [SEND, ISSUE])).toEqual([SEND, ISSUE])
    expect(JSON.stringify(next.request.messages)).toContain('Deferred tools now available')
  })

  it('C5 its three messages stay when all are snipped', async () => {
    const talk = talkOn('hosted', { tools })
    await talk.user('start').prepare()
    talk.messages = answered()
    const last = talk.messages.length - 1
    talk.messages = talk.shelf.snip(talk.messages, (_, index) => index !== 0 && index !== last)
    expect(talk.messages).toEqual(answered())
    expect(seen(await talk.prepare(), [SEND])).toEqual([SEND])
  })

  it('C5 any single message may be named', async () => {
    for (const index of answered().keys()) {
      const talk = talkOn('hosted', { tools })
      talk.messages = talk.shelf.snip([user(text('first')), ...answered()], (_, at) => at === index + 1)
      expect(seen(await talk.user().prepare(), [SEND])).toEqual([SEND])
    }
  })

  const impatient = () => answered().toSpliced(3, 0, user(text('hurry')))

  it.each([0, 1, 2, 3, 4, 5, 6])('C2 C3 compaction that keeps %i messages', async (keep) => {
    for (const label of ['hosted', 'reference']) {
      for (const messages of [answered(), impatient()]) {
        const talk = talkOn(label, { tools })
        talk.messages = messages
        await talk.prepare()
        talk.messages = await talk.shelf.compact(messages, { keep, summarize: () => 'All so far.' })
        expect(seen(await talk.user().prepare(), [SEND])).toEqual([SEND])
      }
    }
  })

  it.each([0, 1, 2])('C2 compaction while it waits, keeping %i messages', async (keep) => {
    const talk = talkOn('hosted', { tools })
    talk.messages = waiting()
    await talk.prepare()
    talk.messages = await talk.shelf.compact(waiting(), { keep, summarize: () => 'All so far.' })
    await talk.prepare()
  })
})

describe('snipping', () => {
  it.each(labels.flatMap((label) => [[label, 'own'] as const, [label, 'prepared'] as const]))(
    'C5 %s: everything may be named but the first message; %s messages',
    async (label, carried) => {
      const talk = talkOn(label, { tools })
      await talk.user('start').prepare()
      await load(talk, SEND)
      await talk.prepare()
      talk.run('Read').assistant().user('thanks')
      await talk.prepare()
      const messages: Loose[] = carried === 'own' ? talk.messages : (talk.last?.history as Loose[])
      talk.messages = talk.shelf.snip(messages, (_, index) => index > 0)
      expect(talk.messages.length).toBeLessThan(messages.length)
      const prepared = await talk.user('go on').prepare()
      expect(prepared.loaded).toEqual([SEND])
      expect(seen(prepared, [SEND])).toEqual([SEND])
    },
  )

  it.each(['addition by reference', 'addition by value'])(
    'C5 %s: an addition keeps its place',
    async (label) => {
      const talk = talkOn(label, { tools })
      await talk.user('start').prepare()
      await load(talk, SEND)
      talk.messages = (await talk.prepare()).history as Loose[]
      talk.assistant().user('and now?').assistant().user('thanks')
      for (const index of talk.messages.keys()) {
        const other = talkOn(label, { tools })
        other.messages = talk.shelf.snip(
          talk.messages,
          (message, at) => at === index && message.role !== 'assistant',
        )
        if (other.messages[0].role !== 'user') continue
        expect(seen(await other.user('and then?').prepare(), [SEND])).toEqual([SEND])
      }
    },
  )

  it('C5 addition by reference: the message that it follows stays too', async () => {
    const talk = talkOn('addition by reference', { tools })
    const turns = [assistant(text('a')), user(text('b')), system(addition(SEND)), assistant(text('c'))]
    talk.messages = talk.shelf.snip([user(text('start')), ...turns], (_, index) => index > 0)
    expect(talk.messages).toEqual([user(text('start')), ...turns.slice(1, 3)])
    expect(seen(await talk.prepare(), [SEND])).toEqual([SEND])
  })
})

describe('references that others wrote', () => {
  const reference = (name: string) => ({ type: 'tool_reference', tool_name: name })

  it.each([MODEL, BOUND_MODEL])('N6 a result that mixes text and references: %s', async (model) => {
    const mixed = result('toolu_1', text('Here you are.'), reference(SEND), text('Enjoy.'))
    const sent = await sentOf([assistant(use('toolu_1')), user(mixed)], {}, model)
    expect(sent[1].content).toEqual([found('toolu_1', SEND), text('Here you are.'), text('Enjoy.')])
  })

  it('N6 N4 the text moves on like any other beside references', async () => {
    const mixed = result('toolu_1', text('Here you are.'), reference(SEND))
    const later = [assistant(use('toolu_2')), user(result('toolu_2', text('fine')))]
    const sent = await sentOf([assistant(use('toolu_1')), user(mixed), ...later])
    expect(sent[1].content).toEqual([found('toolu_1', SEND), LOADED])
    expect(sent[3].content).toEqual([result('toolu_2', text('fine')), text('Here you are.')])
  })

  it('N6 results of the same turn stay in front of text that a mixed result gives up', async () => {
    const mixed = result('toolu_1', text('Here you are.'), reference(SEND))
    const both = [assistant(use('toolu_1'), use('toolu_2')), user(mixed, result('toolu_2', text('fine')))]
    const sent = await sentOf(both)
    expect(sent[1].content.map(({ type }: Loose) => type)).toEqual(['tool_result', 'tool_result', 'text'])
  })

  it.each([' ', '\n'])(
    'N6 text of nothing (%j) beside a reference, valid there, is left out',
    async (blank) => {
      const mixed = result('toolu_1', { type: 'text', text: blank }, reference(SEND))
      const sent = await sentOf([assistant(use('toolu_1')), user(mixed)])
      expect(sent[1].content).toEqual([found('toolu_1', SEND), LOADED])
    },
  )

  it('N2 to tools in the request’s own list stay', async () => {
    const own = { ...builtIn('Own'), defer_loading: true }
    const talk = new Talk(quietShelf({ tools }))
    talk.messages = [user(text('start')), search('toolu_1'), user(found('toolu_1', 'Own', 'Gone'))]
    const { request }: Loose = await talk.prepare({ tools: [own] })
    expect(request.messages.flatMap(({ content }: Loose) => content)).toContainEqual(found('toolu_1', 'Own'))
    expect(visibleTools(request)).toContain('Own')
  })

  it.each(['Read', SEND])('D10 N2 %s on the shelf and in the request is an error', async (name) => {
    const request = { model: MODEL, messages: [user(text('start'))], tools: [builtIn(name)] }
    const error: Loose = await quietShelf({ tools })
      .prepare(request)
      .catch((thrown) => thrown)
    expect(error).toBeInstanceOf(ShelfError)
    expect(error.code).toBe('DUPLICATE_TOOL')
    expect(error.message).toContain(name)
  })

  it.each(['ToolSearch', 'DeferredToolPlaceholder'])(
    'D10 so is %s, which the shelf sends itself',
    async (name) => {
      const request = { model: MODEL, messages: [user(text('start'))], tools: [builtIn(name)] }
      const error: Loose = await quietShelf({ tools })
        .prepare(request)
        .catch((thrown) => thrown)
      expect(error).toBeInstanceOf(ShelfError)
      expect(error.code).toBe('DUPLICATE_TOOL')
    },
  )
})

describe('compaction', () => {
  it('C2 keeping more than there is changes nothing, and nothing is summarised', async () => {
    const talk = new Talk(quietShelf({ tools }))
    const { history: messages } = await talk.user('start').prepare()
    const summarize = () => {
      throw new Error('not to be called')
    }
    for (const keep of [messages.length, 99]) {
      expect(await talk.shelf.compact(messages as Loose[], { keep, summarize })).toEqual(messages)
    }
  })

  it.each(labels)('C2 N6 %s: what is to be summarised is a valid conversation', async (label) => {
    const talk = talkOn(label, { tools })
    await talk.user('start').prepare()
    await load(talk, SEND)
    await talk.prepare()
    talk.run('Read').assistant()
    const inner = await talk.shelf.compact(talk.messages, { summarize: 'All so far.' })
    for (const messages of [talk.messages, talk.last?.history as Loose[], [...inner, ...answered()]]) {
      let given: Loose[] = []
      await talk.shelf.compact(messages, {
        summarize: (gone) => {
          given = gone
          return 'All so far.'
        },
      })
      expect(given.length).toBeGreaterThan(0)
      const asked = [...given, { role: 'user', content: 'Summarise this.' }]
      expect(validateRequest({ model: MODEL, messages: asked }, { isOldProxy: true })).toBeUndefined()
    }
  })

  it('C2 N5 its thinking is not bound to what it has lost', async () => {
    const talk = new Talk(quietShelf({ tools }), BOUND_MODEL)
    const { request } = await talk.user('start').prepare()
    const signature = signThinking(JSON.parse(JSON.stringify(request)))
    talk.assistant([{ type: 'thinking', thinking: 'hm', signature }, text('done')]).user()
    let given: Loose[] = []
    await talk.shelf.compact(talk.messages, {
      summarize: (gone) => {
        given = gone
        return 'All so far.'
      },
    })
    expect(validateRequest({ model: BOUND_MODEL, messages: given }, { bindsThinking: true })).toBeUndefined()
  })
})

describe('ten thousand deferred tools', () => {
  const many = Array.from({ length: 10_050 }, (_, index) => mcp('many', `tool_${index}`))
  const deferredIn = ({ request }: Prepared<Loose>) =>
    request.tools.filter(({ defer_loading }: Loose) => defer_loading === true).length

  it.each([{ strategy: 'staged' }, { wire: 'hosted' }] as const)(
    'Q1 N2 are not exceeded: %o',
    async (options) => {
      const talk = new Talk(quietShelf({ tools: many, ...options }))
      expect(deferredIn(await talk.user().prepare())).toBe(10_000)
      await load(talk, 'mcp__many__tool_10049')
      expect(deferredIn(await talk.prepare())).toBe(10_000)
      expect(talk.visible).toContain('mcp__many__tool_10049')
    },
  )

  it('Q1 N2 nor with deferred tools of the request’s own', async () => {
    const talk = new Talk(quietShelf({ tools: many, strategy: 'staged' }))
    const own = { ...builtIn('Own'), defer_loading: true }
    expect(deferredIn(await talk.user().prepare({ tools: [own] }))).toBe(10_000)
  })
})
