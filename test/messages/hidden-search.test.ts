// Searches that the client does not see: what the model sees of them, which ids carry them, and what is remembered.
import { expect, test } from 'vitest'
import type { Fields } from '../../src/lib/index.ts'
import type { MessagesRequest } from '../../src/messages/index.ts'
import { type Shelved, startHidden, withoutCarriedIds } from '../../src/messages/shelve/index.ts'
import { createClientWork } from '../../src/users/index.ts'
import { assistant, deferred, text, tool, use, user } from '../oracle/requests.ts'

const MODEL = 'claude-opus-4-5'
const asked = [user(text('hi'))]
const request = { model: MODEL, max_tokens: 5, messages: asked } as MessagesRequest

/** A reply of a model that searches in front of this shelf. */
function hidden(more: Partial<Shelved> = {}, tools: readonly Fields[] = [tool('ToolSearch'), tool('Read')]) {
  const reported: (readonly string[])[] = []
  const remembered: unknown[] = []
  const turns: (readonly Fields[])[] = []
  const shelved: Shelved = {
    ...{ loaded: ['old'], deferred: new Set(['old', 'a', 'b']), thinksByHand: false, read: undefined },
    async prepare(extra) {
      turns.push(extra)
      return { model: MODEL, max_tokens: 5, tools, messages: [...asked, ...extra] } as MessagesRequest
    },
    async search(input) {
      const names = String((input as Fields).query)
        .split(' ')
        .filter(Boolean)
      return { tools: names.map((name) => ({ name })), left: names.length - 1, remark: 'Nothing.' } as never
    },
    ...more,
  }
  const searching = startHidden(request, shelved, {
    work: createClientWork({ client: 'me' }),
    signal: new AbortController().signal,
    onSearch: (names) => reported.push(names),
    remember: (...both) => remembered.push(both),
  })
  const search = (query: string) =>
    searching.shown({ id: `id ${query}`, name: 'ToolSearch', input: { query } })
  const sent = async () => {
    await searching.request()
    return turns.at(-1)
  }
  return { searching, search, reported, remembered, sent }
}

/** What a turn says, in a word for each block. */
const outline = (turns: readonly Fields[] | undefined) =>
  (turns ?? []).map(({ role, content }) => {
    const words = (content as Fields[]).map((block) => {
      if (block.type === 'tool_use') return `${block.name}(${JSON.stringify(block.input)})`
      if (block.type !== 'tool_result') return String(block.text ?? block.type)
      return `→${(block.content as Fields[]).map((one) => one.tool_name ?? one.text).join(' | ')}`
    })
    return `${role}: ${words.join(' ')}`
  })

test('what hidden searches found and did not find is what the model sees of them, in turns of their own', async () => {
  const { searching, search, reported, sent } = hidden()
  searching.said(text('I look.'))
  for (const query of ['a', 'a old', 'a b', 'Read', '']) expect(await search(query)).toBeUndefined()
  expect(await searching.answer(1)).toEqual([])
  expect(reported).toEqual([['a'], [], ['b'], [], []])
  const already = (names: string) =>
    `What this finds can be called already: ${names}. Call it, or search with other words.`
  expect(outline(await sent())).toEqual([
    'assistant: I look. ToolSearch({"query":"select:a"})',
    'user: →a',
    'assistant: ToolSearch({"query":"select:a,old"})',
    `user: →${already('a, old')}`,
    'assistant: ToolSearch({"query":"select:a,b"})',
    'user: →a | b',
    'assistant: ToolSearch({"query":"Read"})',
    `user: →${already('Read')}`,
    'assistant: ToolSearch({"query":""})',
    'user: →Nothing.',
  ])
  const remark = '1 more tools matched; search with more specific words for those.'
  expect((await sent())?.map((turn) => JSON.stringify(turn).includes(remark))).toEqual(
    Array.from({ length: 10 }, (_, index) => index === 5),
  )
  searching.said(text('Once more.'))
  await search('b')
  await searching.answer(1)
  expect(outline(await sent()).slice(-2)).toEqual([
    'assistant: Once more. ToolSearch({"query":"select:b"})',
    `user: →${already('b')}`,
  ])
})

test('a model that thinks by hand has all searches of a sampling in one turn', async () => {
  const { searching, search, sent } = hidden({ thinksByHand: true })
  searching.said({ type: 'thinking' })
  await search('a')
  await search('')
  await searching.answer(0)
  expect(outline(await sent())).toEqual([
    'assistant: thinking ToolSearch({"query":"select:a"}) ToolSearch({"query":""})',
    'user: →a →Nothing.',
  ])
})

test('reads are answered where results can be read, and are calls like any other where they cannot', async () => {
  const read = async (input: unknown) => [`read ${(input as Fields).handle}`, 'page']
  const { searching, sent } = hidden({ read })
  expect(['ToolSearch', 'ReadResult', 'Read'].map(searching.isSearch)).toEqual([true, true, false])
  expect(['ToolSearch', 'ReadResult'].map(hidden().searching.isSearch)).toEqual([true, false])
  await searching.shown({ id: 'r', name: 'ReadResult', input: { handle: 'h' } })
  await searching.answer(0)
  expect(outline(await sent())).toEqual(['assistant: ReadResult({"handle":"h"})', 'user: →read h | page'])
})

test('searches travel with the first call behind them, and are remembered if none follows', async () => {
  const search = (at: number, thoughts: number, name: string) => ({ at, thoughts, left: 0, names: [name] })
  const { searching, search: find, remembered } = hidden()
  searching.said({ type: 'thinking' })
  searching.said(text('One.'))
  await find('a')
  await searching.answer(2)
  searching.said({ type: 'redacted_thinking' })
  await find('b')
  const [first, second] = [searching.callId('one', 4), searching.callId('two', 5)]
  expect(withoutCarriedIds({ ...request, messages: [assistant(use(first))] }).messages).toEqual([
    assistant(use('one')),
  ])
  expect([first.split('__shelf_')[1], second]).toEqual([
    expect.stringMatching(/^2T1_0_[0-9a-z]{7}-4T2_0_[0-9a-z]{7}$/),
    'two',
  ])
  // A search behind a call belongs to the place of the first one.
  await find('old')
  searching.close([text('Bye.')])
  const place = { ...search(4, 2, 'old'), isRepeat: true }
  expect(remembered).toEqual([[[...asked, assistant(text('Bye.'))], [place]]])
  const other = hidden()
  await other.search('a')
  other.searching.close([text('Bye.'), text('Bye.')])
  expect(other.remembered).toMatchObject([[{}, [search(2, 0, 'a')]]])
  const none = hidden()
  none.searching.close([])
  expect(none.remembered).toEqual([])
})

test('the last sampling has no search, but some tool in sight or none to call', async () => {
  const read = async () => []
  const last = async (tools: readonly Fields[] | undefined, more: Partial<Shelved>, ...queries: string[]) => {
    const { searching, search } = hidden(more, tools)
    for (const query of queries) await search(query)
    await searching.answer(0)
    const { tools: sent, tool_choice: choice, messages } = await searching.lastRequest!()
    const names = sent?.map((one) => `${one.name}${one.defer_loading ? ' deferred' : ''}`)
    return { names, choice, note: outline(messages).at(-1)?.split('Tool search: ')[1] }
  }
  const rule =
    'No more searches are possible in this reply. Answer with what you have, or call a tool you see.'
  const own = [tool('ToolSearch'), tool('ReadResult')]
  expect(await last([...own, tool('Read'), deferred('a')], { read }, 'a', 'b\nc')).toEqual({
    names: ['Read', 'a deferred'],
    choice: undefined,
    note: `you searched for "a", "b c". ${rule}`,
  })
  expect((await last([...own, deferred('a')], {}, 'a')).names).toEqual(['ReadResult', 'a deferred'])
  expect(await last([...own, deferred('a'), deferred('b')], { read }, 'a')).toMatchObject({
    names: ['a', 'b deferred'],
    choice: undefined,
  })
  expect(await last([...own, deferred('b')], { read }, 'a')).toMatchObject({
    names: ['ToolSearch', 'ReadResult', 'b deferred'],
    choice: { type: 'none' },
  })
  expect((await last(undefined, { read })).choice).toBeUndefined()
  const { note } = await last(own, {}, ...Array.from({ length: 12 }, (_, number) => `n${number}`))
  expect(note).toMatch(/^you searched for "n2", .*"n11"\. No more/)
  const none = hidden()
  const { messages } = await none.searching.lastRequest!()
  expect(JSON.stringify(messages.at(-1))).toContain(`Tool search: ${rule}`)
})
