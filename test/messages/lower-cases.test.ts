// A request of the contract as every upstream without tool search gets it, block by block.
import { describe, expect, it } from 'vitest'
import type { MessagesRequest } from '../../src/messages/index.ts'
import { callToolDefinition, lower, withEverythingLoaded } from '../../src/messages/wire/index.ts'
import {
  assistant,
  deferred,
  found,
  type Json,
  reference,
  request,
  result,
  search,
  system,
  text,
  tool,
  use,
  user,
} from '../oracle/requests.ts'

type Lowering = Parameters<typeof lower>[2]
type Wire = Parameters<typeof lower>[1]

const SEARCH = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }
const MARK = { type: 'ephemeral' }
const hi = user(text('hi'))
const definitionOf = (name: string) => JSON.stringify(tool(name))
const names = ({ tools = [] }: MessagesRequest) => tools.map(({ name }) => name)

function lowered(
  tools: unknown[],
  messages: Json[],
  wire: Wire = 'append',
  lowering?: Lowering,
  more: Json = {},
) {
  return lower({ ...request(tools, ...messages), ...more } as unknown as MessagesRequest, wire, lowering)
}
const sent = (
  messages: Json[],
  wire: Wire = 'append',
  tools: unknown[] = [tool('read'), deferred('mail'), deferred('post')],
) => lowered(tools, messages, wire).messages

describe('the tools of a request', () => {
  const loading = [hi, assistant(use('c', 'find')), user(result('c', [reference('mail')]))]

  it('are those that can be seen: always, then found, then forced', () => {
    const tools = [deferred('mail'), tool('find'), deferred('post'), tool('read')]
    expect(names(lowered(tools, [hi]))).toEqual(['find', 'read'])
    expect(names(lowered(tools, loading))).toEqual(['find', 'read', 'mail'])
    const forced = (name: string, wire: Wire = 'append') =>
      names(lowered(tools, loading, wire, {}, { tool_choice: { type: 'tool', name } }))
    expect(forced('post')).toEqual(['find', 'read', 'mail', 'post'])
    expect(forced('mail')).toEqual(['find', 'read', 'mail'])
    expect(forced('none')).toEqual(['find', 'read', 'mail'])
    expect(forced('mail', 'bridge')).toEqual(['CallTool', 'find', 'read', 'mail'])
    expect(lowered(tools, loading, 'native').tools).toEqual(tools)
  })

  it('one that a message defines can be forced too', () => {
    const added = system({
      type: 'tool_addition',
      tool: { type: 'tool_definition', definition: tool('new') },
    })
    const { tools } = lowered(
      [tool('read')],
      [hi, added],
      'bridge',
      {},
      { tool_choice: { type: 'tool', name: 'new' } },
    )
    expect(tools).toEqual([callToolDefinition, tool('read'), tool('new')])
  })

  it('beyond the limit go through CallTool, which comes last', () => {
    const tools = ['a', 'b']
      .map((name) => tool(name))
      .concat(['mail', 'post', 'fax'].map((name) => deferred(name)))
    const all = [
      hi,
      assistant(use('c', 'a')),
      user(
        result(
          'c',
          ['mail', 'post', 'fax'].map((name) => reference(name)),
        ),
      ),
    ]
    const limited = (maxTools: number, more: Json = {}) =>
      names(lowered(tools, all, 'append', { maxTools }, more))
    expect(limited(6)).toEqual(['a', 'b', 'mail', 'post', 'fax'])
    expect(limited(5)).toEqual(['a', 'b', 'mail', 'post', 'CallTool'])
    expect(limited(4)).toEqual(['a', 'b', 'mail', 'CallTool'])
    expect(limited(1)).toEqual(['a', 'b', 'CallTool'])
    expect(limited(6, { tool_choice: { type: 'tool', name: 'fax' } })).toEqual([
      'a',
      'b',
      'mail',
      'post',
      'fax',
      'CallTool',
    ])
    expect(limited(6, { tool_choice: { type: 'tool', name: 'a' } })).toEqual([
      'a',
      'b',
      'mail',
      'post',
      'fax',
    ])
    const own = lowered([...tools, tool('CallTool')], all, 'append', { maxTools: 4 })
    expect(names(own)).toEqual(['a', 'b', 'CallTool', 'mail', 'post', 'fax'])
  })

  it('have only fields that every API takes, unless it takes all', () => {
    const rich = tool('a', {
      strict: true,
      input_examples: [{ x: 1 }, { x: 2 }],
      cache_control: MARK,
      defer_loading: false,
    })
    const plain = {
      ...tool('a'),
      description: 'does a\n\nExamples of its input:\n{"x":1}\n{"x":2}',
      cache_control: MARK,
    }
    expect(lowered([rich], [hi]).tools).toEqual([plain])
    const { defer_loading: _, ...kept } = rich
    expect(lowered([rich], [hi], 'append', { keepsFields: true }).tools).toEqual([kept])
    const bare = { name: 'a', input_schema: {}, input_examples: [1] }
    expect(lowered([bare], [hi]).tools).toEqual([
      { name: 'a', input_schema: {}, description: 'Examples of its input:\n1' },
    ])
    const hosted = {
      type: 'web_search_20250305',
      name: 'web_search',
      max_uses: 1,
      strict: true,
      allowed_callers: [],
    }
    expect(lowered([hosted], [hi]).tools).toEqual([
      { type: 'web_search_20250305', name: 'web_search', max_uses: 1 },
    ])
    const marked = deferred('mail', { cache_control: MARK })
    expect(lowered([tool('find'), marked], loading).tools).toEqual([tool('find'), tool('mail')])
    expect(lowered([tool('find', { cache_control: null })], [hi]).tools).toEqual([tool('find')])
  })

  it('of a toolset lose their deferral', () => {
    const set = (more: Json) => ({ type: 'mcp_toolset', mcp_server_name: 's', ...more })
    const given = set({
      default_config: { defer_loading: true, enabled: true },
      configs: { a: { defer_loading: false, x: 1 } },
    })
    const everything = withEverythingLoaded({
      ...request([given, SEARCH, deferred('b'), tool('c')], hi),
    } as unknown as MessagesRequest)
    expect(everything.tools).toEqual([
      set({ default_config: { enabled: true }, configs: { a: { x: 1 } } }),
      tool('b'),
      tool('c'),
    ])
    const partly = (more: Json) =>
      withEverythingLoaded({ model: 'm', messages: [], tools: [set(more)] }).tools?.[0]
    expect(partly({ configs: { a: {} } })).toEqual(set({ configs: { a: {} } }))
    expect(partly({ default_config: {} })).toEqual(set({ default_config: {} }))
    const bare = { model: 'm', messages: [] }
    expect(withEverythingLoaded(bare)).toBe(bare)
  })
})

describe('the messages of a request', () => {
  const LOADED = (name: string) => `Tools loaded: ${name}. They are in your list of tools now.`
  const BRIDGED = (name: string) =>
    `Tools loaded: ${name}. Call them with CallTool. Their definitions:\n${definitionOf(name)}`
  const through = (id: string, name: string, input: Json = {}) => ({
    type: 'tool_use',
    id,
    name: 'CallTool',
    input: { name, arguments: input },
  })

  it('without tool search are the same objects', () => {
    const messages = [hi, assistant(use('c', 'read')), user(result('c'))]
    const out = sent(messages)
    for (const [index, message] of messages.entries()) expect(out[index]).toEqual(message)
    expect(out[1]).toBe(messages[1])
  })

  it('with references say which tools came', () => {
    const call = assistant(use('c', 'read'))
    const marked = [reference('mail'), reference('post', { cache_control: MARK })]
    expect(sent([hi, call, user(result('c', marked))])[2]).toEqual(
      user(result('c', [{ ...text(LOADED('mail, post')), cache_control: MARK }])),
    )
    expect(sent([hi, call, user(result('c', [reference('mail')]))], 'bridge')[2]).toEqual(
      user(result('c', [text(BRIDGED('mail'))])),
    )
    const again = [
      hi,
      call,
      user(result('c', [reference('mail')])),
      assistant(use('d', 'read')),
      user(result('d', [reference('mail')])),
    ]
    expect(sent(again, 'bridge')[4]).toEqual(
      user(result('d', [text('Tools loaded: mail. Their definitions are above.')])),
    )
    expect(sent(again)[4]).toEqual(user(result('d', [text(LOADED('mail'))])))
  })

  it('call tools through CallTool where they are behind it', () => {
    const calls = assistant({ ...use('d', 'mail'), input: { to: 'a' } }, use('e', 'read'))
    const messages = [
      hi,
      assistant(use('c', 'read')),
      user(result('c', [reference('mail')])),
      calls,
      user(result('d'), result('e')),
    ]
    expect(sent(messages, 'bridge')[3]).toEqual(
      assistant(through('d', 'mail', { to: 'a' }), use('e', 'read')),
    )
    expect(sent(messages)[3]).toBe(calls)
    const calling = assistant({ ...use('d', 'mail'), caller: { type: 'direct' } })
    expect(sent([...messages.slice(0, 3), calling, user(result('d'))], 'bridge')[3]).toEqual(
      assistant(through('d', 'mail')),
    )
    expect(sent([...messages.slice(0, 3), calling, user(result('d'))])[3]).toEqual(
      assistant(use('d', 'mail')),
    )
  })

  it("with the API's own search are turns of a search of ours", () => {
    const tools = [tool('read'), deferred('mail'), deferred('post'), SEARCH]
    const failed = {
      ...found('srvtoolu_2'),
      content: { type: 'tool_search_tool_result_error', error_code: 'unavailable' },
    }
    const told = { ...failed, content: { ...failed.content, error_message: 'later' } }
    const called = (id: string) => ({ ...use(id, 'tool_search_tool_regex'), input: { pattern: 'x' } })
    const reply = (...blocks: Json[]) => sent([hi, assistant(...blocks), hi], 'append', tools).slice(1, -1)
    const searching = { ...search('srvtoolu_1'), caller: { type: 'direct' } }
    expect(reply(text('a'), searching, found('srvtoolu_1', 'mail'), text('b'))).toEqual([
      assistant(text('a'), called('toolu_search_1')),
      user(result('toolu_search_1', [text(LOADED('mail'))])),
      assistant(text('b')),
    ])
    expect(reply(search('srvtoolu_1'), found('srvtoolu_1'), text('b'))[1]).toEqual(
      user(result('toolu_search_1', [text('No tool matches. Try other words.')])),
    )
    const error = (words: string) => user(result('toolu_search_2', [text(words)], { is_error: true }))
    expect(reply(search('srvtoolu_2'), failed, text('b'))[1]).toEqual(
      error('The search failed (unavailable)'),
    )
    expect(reply(search('srvtoolu_2'), told, text('b'))[1]).toEqual(
      error('The search failed (unavailable): later'),
    )
    const web = { type: 'server_tool_use', id: 'srvtoolu_3', name: 'web_search', input: {} }
    expect(reply(web, text('b'))).toEqual([assistant(web, text('b'))])
  })

  it('of the host inside the conversation are reminders of the user', () => {
    const reminder = (words: string) => text(`<system-reminder>\n${words}\n</system-reminder>`)
    const change = (type: string, name: string) => ({ type, tool: { type: 'tool_reference', name } })
    const said = (wire: Wire, ...blocks: Json[]) => sent([hi, system(...blocks)], wire).slice(1)
    expect(said('append', text('Be brief.'))).toEqual([user(reminder('Be brief.'))])
    expect(said('append', change('tool_addition', 'mail'), text('x'))).toEqual([
      user(reminder(LOADED('mail')), reminder('x')),
    ])
    expect(said('bridge', change('tool_addition', 'mail'))).toEqual([user(reminder(BRIDGED('mail')))])
    expect(said('append', change('tool_removal', 'read'))).toEqual([
      user(reminder('No longer available: read.')),
    ])
    expect(said('append', change('tool_removal', 'mail'))).toEqual([])
    const gone = lowered([tool('read'), deferred('mail')], [hi, system(change('tool_removal', 'read'))])
    expect(names(gone)).toEqual([])
  })

  it('that the API has compacted start with what it wrote', () => {
    const summary = { type: 'compaction', content: 'So far.' }
    expect(sent([assistant(summary), hi])).toEqual([user(text('So far.')), hi])
    expect(sent([assistant(summary, text('and')), hi])).toEqual([
      user(text('So far.')),
      assistant(text('and')),
      hi,
    ])
    expect(sent([user(summary, text('x'))])).toEqual([user(text('So far.'), text('x'))])
    expect(sent([hi, assistant(text('and'), summary), hi])[1]).toEqual(
      assistant(text('and'), text('So far.')),
    )
  })

  it('put remarks of the shelf into the result beside them', () => {
    const call = assistant(use('c', 'read'), use('d', 'read'))
    const remark = text('Tool search: 3 more matched.')
    const loadedMark = { ...text('Tool loaded.'), cache_control: MARK }
    const turn = (...blocks: Json[]) => sent([hi, call, user(...blocks)])[2]
    const ok = (id: string, ...more: Json[]) => result(id, [text('ok'), ...more])
    expect(turn(result('c', 'ok'), result('d', 'ok'), remark)).toEqual(
      user(result('c', 'ok'), ok('d', remark)),
    )
    expect(turn(result('c', [reference('mail')]), result('d', 'ok'), remark, text('more'))).toEqual(
      user(result('c', [text(LOADED('mail')), remark]), result('d', 'ok'), text('more')),
    )
    expect(turn(result('c', [reference('mail')]), result('d', 'ok'), loadedMark)).toEqual(
      user({ ...result('c', [text(LOADED('mail'))]), cache_control: MARK }, result('d', 'ok')),
    )
    const own = { ...result('c', [reference('mail')]), cache_control: { type: 'ephemeral', ttl: '1h' } }
    expect(turn(own, result('d', 'ok'), loadedMark)).toMatchObject({
      content: [{ cache_control: own.cache_control }, {}],
    })
    const alone = user(remark)
    expect(sent([alone])).toEqual([alone])
    const words = 'Tool search: 3 more matched.'
    expect(sent([{ role: 'user', content: words }])).toEqual([{ role: 'user', content: words }])
  })
})
