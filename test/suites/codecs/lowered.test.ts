// A request with tool search as an upstream gets it that knows none: tools that can be seen, and words in the place of
// references, searches, changes and compactions.
import { describe, expect, it } from 'vitest'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { ask, openGateway, openVendor, upstreamFor } from './servers.ts'

const text = (said: string) => ({ type: 'text', text: said })
const user = (...content: Loose[]) => ({ role: 'user', content })
const assistant = (...content: Loose[]) => ({ role: 'assistant', content })
const system = (...content: Loose[]) => ({ role: 'system', content })
const tool = (name: string, more: Loose = {}) => ({
  name,
  description: `does ${name}`,
  input_schema: { type: 'object', properties: {} },
  ...more,
})
const deferred = (name: string, more: Loose = {}) => tool(name, { defer_loading: true, ...more })
const use = (id: string, name: string, input: Loose = {}) => ({ type: 'tool_use', id, name, input })
const reference = (tool_name: string, more: Loose = {}) => ({ type: 'tool_reference', tool_name, ...more })
const result = (id: string, content: Loose = 'ok', more: Loose = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
})
const change = (type: string, name: string) => ({ type, tool: { type: 'tool_reference', name } })
const SEARCH = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }
const MARK = { type: 'ephemeral' }
const hi = user(text('hi'))
const TOOLS = [tool('read'), deferred('mail'), deferred('post')]

type Wire = 'append' | 'bridge'

async function lowered(messages: Loose[], wire: Wire = 'append', more: Loose = {}): Promise<Loose> {
  const vendor = await openVendor({ body: { content: [], usage: {} } })
  const gateway = await openGateway(upstreamFor('messages', vendor.url, { wire }), 'emulate')
  const headers = { 'anthropic-beta': 'inline-tools-2026-09-15,tool-search-tool-2025-10-19' }
  const body = { model: 'claude-opus-4-5', max_tokens: 16, tools: TOOLS, messages, ...more }
  const got = await ask(gateway, 'messages', body, headers)
  expect(got.status, got.text).toBe(200)
  expect(vendor.sent[0]?.headers['anthropic-beta'] ?? '').not.toContain('tool-search')
  return vendor.last()
}
const sent = async (...given: Parameters<typeof lowered>): Promise<Loose> =>
  (await lowered(...given)).messages
const names = ({ tools }: Loose) => tools.map(({ name }: Loose) => name)
const LOADED = (some: string) => `Tools loaded: ${some}. They are in your list of tools now.`
const BRIDGED = (name: string) =>
  `Tools loaded: ${name}. Call them with CallTool. Their definitions:\n${JSON.stringify(tool(name))}`

describe('wire 32, 39, 40: tools', () => {
  const loading = [hi, assistant(use('c', 'find')), user(result('c', [reference('mail')]))]
  const tools = [deferred('mail'), tool('find'), deferred('post'), tool('read')]

  it('are those that can be seen: always, then found, then forced', async () => {
    expect(names(await lowered([hi], 'append', { tools }))).toEqual(['find', 'read'])
    expect(names(await lowered(loading, 'append', { tools }))).toEqual(['find', 'read', 'mail'])
    const forced = async (name: string, wire: Wire = 'append') =>
      names(await lowered(loading, wire, { tools, tool_choice: { type: 'tool', name } }))
    expect(await forced('post')).toEqual(['find', 'read', 'mail', 'post'])
    expect(await forced('mail')).toEqual(['find', 'read', 'mail'])
    expect(await forced('mail', 'bridge')).toEqual(['CallTool', 'find', 'read', 'mail'])
  })

  it('keep the fields of the API, but those that wait for nothing', async () => {
    const rich = tool('a', { strict: true, input_examples: [{ x: 1 }], cache_control: MARK })
    const tools = [{ ...rich, defer_loading: false }, deferred('mail')]
    expect((await lowered([hi], 'append', { tools })).tools).toEqual([rich])
  })

  it('that a message defines can be forced, and go where it removes them', async () => {
    const added = system({
      type: 'tool_addition',
      tool: { type: 'tool_definition', definition: tool('new') },
    })
    const made = await lowered([hi, added], 'bridge', { tool_choice: { type: 'tool', name: 'new' } })
    expect(names(made)).toEqual(['CallTool', 'read', 'new'])
    expect(
      names(
        await lowered([hi, system(change('tool_removal', 'read'))], 'append', {
          tools: [tool('read'), tool('find'), deferred('mail')],
        }),
      ),
    ).toEqual(['find'])
  })
})

describe('wire 28, 30: messages', () => {
  const call = assistant(use('c', 'read'))

  it('with references say which tools came, once with their definitions', async () => {
    const marked = [reference('mail'), reference('post', { cache_control: MARK })]
    expect((await sent([hi, call, user(result('c', marked))]))[2]).toEqual(
      user(result('c', [{ ...text(LOADED('mail, post')), cache_control: MARK }])),
    )
    const again = [
      hi,
      call,
      user(result('c', [reference('mail')])),
      assistant(use('d', 'read')),
      user(result('d', [reference('mail')])),
    ]
    expect((await sent(again, 'bridge')).filter((_: Loose, at: number) => at % 2 === 0).slice(1)).toEqual([
      user(result('c', [text(BRIDGED('mail'))])),
      user(result('d', [text('Tools loaded: mail. Their definitions are above.')])),
    ])
  })

  it('call tools through CallTool where they are behind it', async () => {
    const calls = assistant(
      { ...use('d', 'mail', { to: 'a' }), caller: { type: 'direct' } },
      use('e', 'read'),
    )
    const messages = [hi, call, user(result('c', [reference('mail')])), calls, user(result('d'), result('e'))]
    expect((await sent(messages, 'bridge'))[3]).toEqual(
      assistant(use('d', 'CallTool', { name: 'mail', arguments: { to: 'a' } }), use('e', 'read')),
    )
    expect((await sent(messages))[3]).toEqual(assistant(use('d', 'mail', { to: 'a' }), use('e', 'read')))
  })

  it('with the API’s own search are turns of a search of ours', async () => {
    const searching = {
      type: 'server_tool_use',
      id: 'srvtoolu_1',
      name: SEARCH.name,
      input: { pattern: 'x' },
    }
    const found = (content: Loose) => ({
      type: 'tool_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content,
    })
    const some = (...all: string[]) =>
      found({ type: 'tool_search_tool_search_result', tool_references: all.map((name) => reference(name)) })
    const reply = async (...blocks: Loose[]) =>
      (await sent([hi, assistant(...blocks), hi], 'append', { tools: [...TOOLS, SEARCH] })).slice(1, -1)
    expect(await reply(text('a'), searching, some('mail'), text('b'))).toEqual([
      assistant(text('a'), use('toolu_search_1', SEARCH.name, { pattern: 'x' })),
      user(result('toolu_search_1', [text(LOADED('mail'))])),
      assistant(text('b')),
    ])
    expect((await reply(searching, some(), text('b')))[1]).toEqual(
      user(result('toolu_search_1', [text('No tool matches. Try other words.')])),
    )
    const failed = (error_message: string | null) =>
      found({ type: 'tool_search_tool_result_error', error_code: 'unavailable', error_message })
    for (const [why, words] of [
      [null, 'The search failed (unavailable)'],
      ['later', 'The search failed (unavailable): later'],
    ] as const)
      expect((await reply(searching, failed(why), text('b')))[1]).toEqual(
        user(result('toolu_search_1', [text(words)], { is_error: true })),
      )
  })

  it('of the host inside the conversation are reminders of the user', async () => {
    const reminder = (words: string) => text(`<system-reminder>\n${words}\n</system-reminder>`)
    const said = async (wire: Wire, ...blocks: Loose[]) =>
      (await sent([hi, system(...blocks)], wire)).slice(1)
    expect(await said('append', text('Be brief.'))).toEqual([user(reminder('Be brief.'))])
    expect(await said('append', change('tool_addition', 'mail'), text('x'))).toEqual([
      user(reminder(LOADED('mail')), reminder('x')),
    ])
    expect(await said('bridge', change('tool_addition', 'mail'))).toEqual([user(reminder(BRIDGED('mail')))])
    expect(await said('append', change('tool_removal', 'read'))).toEqual([
      user(reminder('No longer available: read.')),
    ])
    expect(await said('append', change('tool_removal', 'mail'))).toEqual([])
  })

  it('that the API has compacted start with what it wrote', async () => {
    const summary = { type: 'compaction', content: 'So far.' }
    expect(await sent([assistant(summary), hi])).toEqual([user(text('So far.')), hi])
    expect(await sent([user(summary, text('x'))])).toEqual([user(text('So far.'), text('x'))])
    expect((await sent([hi, assistant(text('and'), summary), hi]))[1]).toEqual(
      assistant(text('and'), text('So far.')),
    )
  })

  it('put remarks of the shelf into the result beside them', async () => {
    const both = assistant(use('c', 'read'), use('d', 'read'))
    const remark = text('Tool search: 3 more matched.')
    const turn = async (...blocks: Loose[]) => (await sent([hi, both, user(...blocks)]))[2]
    expect(await turn(result('c'), result('d'), remark)).toEqual(
      user(result('c'), result('d', [text('ok'), remark])),
    )
    expect(await turn(result('c', [reference('mail')]), result('d'), remark, text('more'))).toEqual(
      user(result('c', [text(LOADED('mail')), remark]), result('d'), text('more')),
    )
    expect(
      await turn(result('c', [reference('mail')]), result('d'), {
        ...text('Tool loaded.'),
        cache_control: MARK,
      }),
    ).toEqual(user({ ...result('c', [text(LOADED('mail'))]), cache_control: MARK }, result('d')))
    expect(await sent([user(remark)])).toEqual([user(remark)])
  })
})

describe('wire 28, 42: replies with searches', () => {
  const search = (id: string) => ({ type: 'server_tool_use', id, name: SEARCH.name, input: { pattern: 'x' } })
  const found = (id: string, ...all: string[]) => ({
    type: 'tool_search_tool_result',
    tool_use_id: id,
    content: { type: 'tool_search_tool_search_result', tool_references: all.map((name) => reference(name)) },
  })
  const tools = [...TOOLS, SEARCH]
  /** Who says what, with calls by their ids. */
  const told = async (...messages: Loose[]): Promise<string[]> =>
    (await sent(messages, 'append', { tools })).map(
      ({ role, content }: Loose) =>
        `${role}: ${content.map(({ id, tool_use_id: of, text: said }: Loose) => (id ?? (of ? `→${of}` : said)).replace('toolu_search_', '')).join(' ')}`,
    )
  const id = (name: string) => `srvtoolu_${name}`

  it('put a result beside a call before the remarks of the user and the host', async () => {
    const messages = [
      hi,
      assistant(use('call', 'read'), search(id('f'))),
      user(result('call'), text('remark')),
      system(text('be brief')),
      assistant(found(id('f'), 'mail'), text('done')),
    ]
    expect((await told(...messages)).slice(2, 4)).toEqual([
      'user: →call →f remark',
      'user: <system-reminder>\nbe brief\n</system-reminder>',
    ])
  })

  it('put each search into the turn that its result ends', async () => {
    const apart = [
      search(id('a')),
      search(id('b')),
      found(id('a'), 'mail'),
      text('and'),
      found(id('b')),
      text('done'),
    ]
    expect((await told(hi, assistant(...apart), hi)).slice(1, -1)).toEqual([
      'assistant: a',
      'user: →a',
      'assistant: b and',
      'user: →b',
      'assistant: done',
    ])
    const together = [search(id('a')), search(id('b')), found(id('a'), 'mail'), found(id('b')), text('done')]
    expect((await told(hi, assistant(...together), hi)).slice(1, -1)).toEqual([
      'assistant: a b',
      'user: →a →b',
      'assistant: done',
    ])
    const waiting = [use('call', 'read'), search(id('a')), found(id('a'), 'mail'), text('and')]
    expect((await told(hi, assistant(...waiting), user(result('call')))).slice(1)).toEqual([
      'assistant: a',
      'user: →a',
      'assistant: call and',
      'user: →call',
    ])
  })

  it('of very many searches at once become one turn, with all results in the next', async () => {
    const ids = Array.from({ length: 3000 }, (_, at) => id(String(at)))
    const [, searches, results] = await sent(
      [hi, assistant(...ids.map(search), ...ids.map((one) => found(one, 'mail'))), hi],
      'append',
      { tools },
    )
    expect([searches.content.length, results.content.length]).toEqual([3000, 3000])
  })

  it('send a tool that a message defines where the request itself has none', async () => {
    const addition = { type: 'tool_addition', tool: { type: 'tool_definition', definition: tool('mail') } }
    for (const [wire, name] of [
      ['append', 'mail'],
      ['bridge', 'CallTool'],
    ] as const)
      expect(names(await lowered([hi, system(addition)], wire, { tools: undefined }))).toEqual([name])
    expect(await lowered([hi], 'append', { tools: undefined })).not.toHaveProperty('tools')
  })
})
