// C5. A call and its result belong together: whoever drops one of them, the next request is valid and no load is lost.
import { describe, expect, it } from 'vitest'
import { builtIn, type Loose, MODEL, mcp, quietShelf, Talk } from '../../../packages/testkit/src/talk.ts'
import { hostedSearch, load, seen, talkOn, wireCases } from '../../../packages/testkit/src/wires.ts'
import type { Tool } from '../../doors.ts'

const POST = 'mcp__slack__post'
const tools: readonly Tool[] = [builtIn('Bash'), mcp('slack', 'post'), mcp('slack', 'read')]
const labels = wireCases.map(({ label }) => label)
const text = (words: string) => ({ type: 'text', text: words })
const json = (value: unknown) => JSON.stringify(value)

/** start · a call of Bash with its result · a reply · what the user says next. */
async function talkWithCall(label = 'reference'): Promise<Talk> {
  const talk = talkOn(label, { tools })
  await talk.user('start').prepare()
  const call = talk.call('Bash')
  talk.assistant([text('Let me see.'), call]).user([talk.shelf.result(call, 'fine'), text('and hurry')])
  return talk.assistant('done').user('next')
}

const [CALL, RESULT] = [1, 2]

describe('C5 snip', () => {
  it.each(labels)(
    'C5 %s: a call that is dropped takes its result along, not the words beside it',
    async (label) => {
      const talk = await talkWithCall(label)
      talk.messages = talk.shelf.snip(talk.messages, (_, index) => index === CALL)
      const sent = json((await talk.prepare()).request.messages)
      expect(sent).not.toMatch(/tool_use|Let me see/)
      expect(sent).toContain('and hurry')
    },
  )

  it.each(labels)(
    'C5 %s: a result that is dropped takes its call along, not the words beside it',
    async (label) => {
      const talk = await talkWithCall(label)
      talk.messages = talk.shelf.snip(talk.messages, (_, index) => index === RESULT)
      const sent = json((await talk.prepare()).request.messages)
      expect(sent).not.toMatch(/tool_use|and hurry/)
      expect(sent).toContain('Let me see.')
    },
  )

  it('C5 a reply of which only thinking is left goes whole', () => {
    const shelf = quietShelf({ tools })
    const call = { type: 'tool_use', id: 'c', name: 'Bash', input: {} }
    const messages = [
      { role: 'user', content: 'start' },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature: 'x' }, call] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'fine' }] },
      { role: 'user', content: 'next' },
    ]
    expect(shelf.snip(messages, (_, index) => index === RESULT)).toEqual([messages[0], messages[3]])
  })

  it.each(labels)('C5 %s: neither half of a search that loaded a tool can be dropped', async (label) => {
    for (const dropped of [CALL, RESULT]) {
      const talk = talkOn(label, { tools })
      await talk.user('start').prepare()
      await load(talk, POST)
      await talk.prepare()
      talk.assistant('done').user('next')
      talk.messages = talk.shelf.snip(talk.messages, (_, index) => index === dropped)
      const prepared = await talk.prepare()
      expect(prepared.loaded).toEqual([POST])
      expect(seen(prepared, [POST])).toEqual([POST])
    }
  })
})

describe('C5 a host that drops messages itself', () => {
  it.each(labels)('C5 %s: a result without its call is not sent', async (label) => {
    const talk = await talkWithCall(label)
    talk.messages.splice(CALL, 1)
    const sent = json((await talk.prepare()).request.messages)
    expect(sent).not.toContain('tool_use')
    expect(sent).toContain('and hurry')
  })

  it.each(labels)('C5 %s: a call without its result is answered by a text that says so', async (label) => {
    const talk = await talkWithCall(label)
    talk.messages.splice(RESULT, 1)
    const { request, history: messages } = await talk.prepare()
    const answer = request.messages
      .flatMap(({ content }: Loose) => content)
      .find(({ type }: Loose) => type === 'tool_result')
    expect(answer).toMatchObject({
      is_error: true,
      content: [text('The result of this call is no longer in the conversation.')],
    })
    expect(json(messages)).not.toContain('no longer in the conversation')
  })

  it('C5 one of two results: the other stays, and the missing one comes first', async () => {
    const talk = new Talk(quietShelf({ tools })).user('start')
    const [one, two] = [talk.call('Bash'), talk.call('Bash')]
    talk.assistant([one, two]).user([talk.shelf.result(two, 'kept'), text('go')])
    const { request }: Loose = await talk.prepare()
    expect(request.messages[2].content.map(({ type, tool_use_id }: Loose) => [type, tool_use_id])).toEqual([
      ['tool_result', one.id],
      ['tool_result', two.id],
      ['text', undefined],
    ])
  })

  it('C5 a call at the very end is answered too', async () => {
    const talk = new Talk(quietShelf({ tools })).user('start')
    talk.assistant([talk.call('Bash')])
    const { request }: Loose = await talk.prepare()
    expect(request.messages.at(-1).content[0].type).toBe('tool_result')
  })

  it('C5 a second answer to one call is not sent', async () => {
    const talk = new Talk(quietShelf({ tools })).user('start').run('Bash', {}, 'first')
    talk.messages.push(structuredClone(talk.messages.at(-1)))
    await expect(talk.prepare()).resolves.toBeDefined()
  })

  it.each(['reference', 'addition by reference', 'hosted'])(
    'C5 %s: tools that a result without its call had loaded stay loaded, and are shown again',
    async (label) => {
      const talk = talkOn('reference', { tools })
      await talk.user('start').prepare()
      await talk.search(`select:${POST}`)
      await talk.prepare()
      talk.assistant('done').user('next')
      const other = talkOn(label, { tools, state: talk.shelf.state() })
      other.messages = talk.messages.filter((_, index) => index !== CALL)
      const prepared = await other.prepare()
      expect(prepared.loaded).toEqual([POST])
      expect(seen(prepared, [POST])).toEqual([POST])
      const again = await other.assistant().user().prepare()
      expect(json(again.request.messages.slice(0, prepared.request.messages.length))).toBe(
        json(prepared.request.messages),
      )
    },
  )

  it('C5 hosted: a late result without its search is left out, and so is a search without its late result', async () => {
    const late = (): Loose[] => {
      const [search, result] = hostedSearch('srvtoolu_1', [POST])
      const call = { type: 'tool_use', id: 'c', name: 'Bash', input: {} }
      return [
        { role: 'user', content: 'start' },
        { role: 'assistant', content: [search, call] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'fine' }] },
        { role: 'assistant', content: [result, text('found')] },
        { role: 'user', content: 'next' },
      ]
    }
    for (const [dropped, loaded] of [
      [1, [POST]],
      [3, []],
    ] as const) {
      const talk = talkOn('hosted', { tools })
      talk.messages = late().filter((_, index) => index !== dropped)
      const prepared = await talk.prepare()
      expect(prepared.loaded).toEqual(loaded)
      expect(seen(prepared, [POST])).toEqual(loaded)
    }
  })

  it('C5 addition: a tool change that lost the message it followed gets another', async () => {
    const talk = talkOn('addition by reference', { tools })
    await talk.user('start').prepare()
    await talk.search(`select:${POST}`)
    talk.messages = [...(await talk.prepare()).history]
    talk.assistant('done').user('next')
    const place = talk.messages.findIndex(({ role }) => role === 'system')
    talk.messages.splice(place - 1, 1)
    const prepared = await talk.prepare()
    expect(seen(prepared, [POST])).toEqual([POST])
  })

  it('C5 the first results of a continued thread answer calls that the API holds', async () => {
    const shelf = quietShelf({ tools })
    const result = { type: 'tool_result', tool_use_id: 'held', content: 'fine' }
    const messages = [{ role: 'user', content: [result] }]
    const thread = { type: 'continue', previous_message_id: 'msg_1' }
    const { request } = await shelf.prepare({ model: MODEL, max_tokens: 9, thread, messages })
    expect(json(request.messages)).toContain('held')
  })
})
