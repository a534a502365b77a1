// N4. Where text beside references goes, and N6: that doing it twice is doing it once.
import { describe, expect, it } from 'vitest'
import {
  assistant,
  EMAIL,
  found,
  ISSUE,
  isDelta,
  LOADED,
  result,
  SEND,
  search,
  sentOf,
  start,
  text,
  tools,
  use,
  user,
} from '../../../packages/testkit/src/blocks.ts'
import {
  BOUND_MODEL,
  type Loose,
  MODEL,
  mcp,
  OLD_MODEL,
  quietShelf,
  Talk,
} from '../../../packages/testkit/src/talk.ts'
import { hostedSearch, talkOn, wireCases } from '../../../packages/testkit/src/wires.ts'

const labels = wireCases.map(({ label }) => label)

describe('N4 text beside references', () => {
  const first = [search('1'), user(found('1', SEND), text('hello'))]
  const bare = [search('1'), user(found('1', SEND), LOADED)]
  const call = assistant(use('2'))

  it('N4 moves to the next user message that has a result and no reference; then N3', async () => {
    expect(await sentOf([...first, call, user(result('2', text('x')))])).toEqual([
      ...bare,
      call,
      user(result('2', text('x')), text('hello')),
    ])
  })

  it('N4 stays when there is none', async () => {
    expect(await sentOf(first)).toEqual(first)
    const more = [...first, assistant(text('ok')), user(text('just words'))]
    expect(await sentOf(more)).toEqual(more)
  })

  it('N4 skips messages without a result, and those with references', async () => {
    const sent = await sentOf([
      ...first,
      assistant(text('ok')),
      { role: 'user', content: 'words' },
      search('3'),
      user(found('3', ISSUE)),
      call,
      user(result('2', text('x'))),
    ])
    expect(sent).toEqual([
      ...bare,
      assistant(text('ok')),
      { role: 'user', content: 'words' },
      search('3'),
      user(found('3', ISSUE), LOADED),
      call,
      user(result('2', text('x')), text('hello')),
    ])
  })

  it('N4 several waiting turns move together, in their order, and only once', async () => {
    const third = assistant(use('4'))
    const sent = await sentOf([
      ...first,
      search('3'),
      user(found('3', ISSUE), text('second'), text('third')),
      call,
      user(result('2', text('x')), text('own')),
      third,
      user(result('4', text('y'))),
    ])
    expect(sent.slice(0, 4)).toEqual([...bare, search('3'), user(found('3', ISSUE), LOADED)])
    expect(sent.at(-3).content.slice(0, 1)).toEqual([result('2', text('x'))])
    const texts = sent
      .at(-3)
      .content.slice(1)
      .map((block: Loose) => block.text)
    expect([...texts].sort()).toEqual(['hello', 'own', 'second', 'third'])
    expect(texts.filter((word: string) => word !== 'own')).toEqual(['hello', 'second', 'third'])
    expect(sent.slice(-2)).toEqual([third, user(result('4', text('y')))])
  })

  it('N4 what the host wrote as a message of its own stays where it is', async () => {
    const stop = { role: 'user', content: 'STOP. Run the tests instead.' }
    const messages = [
      search('1'),
      user(found('1', SEND)),
      stop,
      user(text('a block')),
      call,
      user(result('2', text('x'))),
    ]
    expect(await sentOf(messages)).toEqual([...bare, ...messages.slice(2)])
    const mixed = [search('1'), user(found('1', SEND), text('a sibling')), stop, ...messages.slice(4)]
    expect(await sentOf(mixed)).toEqual([
      ...bare,
      stop,
      call,
      user(result('2', text('x')), text('a sibling')),
    ])
  })

  it('N3 N4 a message that joins the turn later changes nothing that was sent', async () => {
    const talk = new Talk(quietShelf({ tools }))
    talk.messages = [start, search('1'), user(found('1', SEND))]
    const { messages } = (await talk.prepare()).request
    talk.user('STOP. Run the tests instead.')
    const { request } = await talk.prepare()
    expect(request.messages.slice(0, messages.length)).toEqual(messages)
  })

  it('N4 a turn of adjacent messages that holds a reference anywhere takes nothing', async () => {
    const both = assistant(use('2'), use('3', 'ToolSearch'))
    const sent = await sentOf([...first, both, user(result('2', text('x'))), user(found('3', ISSUE))])
    expect(sent.slice(0, 2)).toEqual(first)
  })

  it('N4 results still come first where the text arrives among adjacent messages', async () => {
    const both = assistant(use('2'), use('3'))
    const sent = await sentOf([...first, both, user(result('2', text('x'))), user(result('3', text('y')))])
    expect(sent.slice(-2)).toEqual([
      user(result('2', text('x'))),
      user(result('3', text('y')), text('hello')),
    ])
  })

  it('N4 our own note, the text of N3 and an announcement do not move; other blocks neither', async () => {
    const note = 'Tool search: 3 more matched.'
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const talk = new Talk(quietShelf({ tools }))
    await talk.user().prepare()
    talk.messages.push(search('1'), user({ ...found('1', SEND), note }, image, text('hello')))
    talk.messages.push(search('3'), user(found('3', ISSUE), LOADED))
    talk.shelf.add(mcp('late', 'tool'))
    await talk.prepare()
    const delta = talk.last?.request.messages.at(-1)
    expect(isDelta(delta)).toBe(true)
    talk.messages.push(call, user(result('2', text('x'))))
    expect((await talk.prepare()).request.messages.slice(2)).toEqual([
      search('1'),
      user(found('1', SEND), image, text(note)),
      search('3'),
      user(found('3', ISSUE), LOADED),
      delta,
      call,
      user(result('2', text('x')), text('hello')),
    ])
  })

  it('N4 a moved block keeps its fields', async () => {
    const marked = { ...text('hello'), cache_control: { type: 'ephemeral' } }
    const sent = await sentOf([
      search('1'),
      user(found('1', SEND), marked),
      call,
      user(result('2', text('x'))),
    ])
    expect(sent.at(-1)).toEqual(user(result('2', text('x')), marked))
  })

  it('N4 turn by turn gives what a fresh start gives', async () => {
    const messages = [
      ...first,
      call,
      user(result('2', text('x')), text('own')),
      search('3'),
      user(found('3', ISSUE)),
      user(text('late')),
      assistant(use('5')),
      user(result('5', text('z'))),
    ]
    const talk = new Talk(quietShelf({ tools }))
    talk.messages = [start]
    await talk.prepare()
    for (const message of messages) {
      talk.messages.push(message)
      if (message.role === 'user') await talk.prepare()
    }
    const fresh = new Talk(quietShelf({ tools }))
    fresh.messages = [...(talk.last as Loose).history]
    expect((await fresh.prepare()).request).toEqual(talk.last?.request)
  })
})

describe('N6 twice is once', () => {
  const second = [
    search('3'),
    user({ ...found('3', ISSUE, 'mcp__gone__x'), note: 'Tool search: one.' }, text('b')),
  ]
  const history = [
    search('1'),
    user(found('1', SEND), text('a')),
    ...second,
    assistant({ ...use('4'), caller: { type: 'direct' } }),
    user(result('4', text('x'))),
    assistant(...hostedSearch('srvtoolu_1', [EMAIL, 'mcp__gone__y'])),
    { role: 'user', content: 'words' },
    search('5'),
    user(found('5', 'mcp__gone__z')),
    user(text('last')),
  ]
  const cases = [
    ...labels.flatMap((label) => [[label, MODEL] as const, [label, BOUND_MODEL] as const]),
    ['reference', OLD_MODEL] as const,
  ]

  it.each(cases)(
    'N6 %s, %s: what was sent comes out as it went in, and the API takes both',
    async (label, model) => {
      const first = talkOn(label, { tools }, model)
      first.messages = [start, ...history]
      const once = (await first.prepare()).request.messages
      const again = talkOn(label, { tools }, model)
      again.messages = JSON.parse(JSON.stringify(once))
      const twice = (await again.prepare()).request.messages
      // Announcements aside: the records of the first one are not part of what was sent.
      const heard = (messages: readonly Loose[]) => messages.filter((message) => !isDelta(message))
      expect(heard(twice)).toEqual(heard(once))
      expect(twice.filter(isDelta).slice(0, 1)).toEqual(once.filter(isDelta))
    },
  )

  it.each(cases)(
    'N6 %s, %s: the history that the host keeps gives the same request',
    async (label, model) => {
      const first = talkOn(label, { tools }, model)
      first.messages = [start, ...history]
      const once = await first.prepare()
      const again = talkOn(label, { tools, state: once.state }, model)
      again.messages = JSON.parse(JSON.stringify(once.history))
      expect((await again.prepare()).request).toEqual(once.request)
    },
  )
})
