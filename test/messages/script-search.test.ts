// The offline model and tools that it cannot see: it searches, loads, and never calls what is not in sight.
import { describe, expect, test } from 'vitest'
import type { Fields } from '../../packages/core/src/lib/json.ts'
import type { MessagesRequest } from '../../packages/messages/src/types.ts'
import { OFFLINE_NOTE } from '../../packages/messages/src/upstream/script-model.ts'
import { callToolDefinition } from '../../packages/messages/src/wire/lower.ts'
import {
  assistant,
  deferred,
  found,
  reference,
  result,
  search,
  text,
  tool,
  use,
  user,
} from '../oracle/requests.ts'
import { always, ask, finding, lines, messageFrom, play, recorder, talk } from './script-talk.ts'

const ISSUE = 'mcp__github__create_issue'
const toolSearch = tool('ToolSearch')
const hosted = (variant: string) => ({
  type: `tool_search_tool_${variant}_20251119`,
  name: `tool_search_tool_${variant}`,
})
const file = always({ say: 'I file it.' }, { call: ISSUE, input: { title: 'x' } }, { say: 'Filed.' })
const unseen = (name: string) => `I cannot see a tool named ${name}, so I do not call it.`

describe('a call of a tool that is not in sight', () => {
  test('searches for its words, then calls it', async () => {
    expect(await talk(play(file), ask('go', [toolSearch, deferred(ISSUE)]), finding(ISSUE))).toEqual([
      ['I file it.', 'ToolSearch {"query":"github create issue"}'],
      [`${ISSUE} {"title":"x"}`],
      [`Filed.\n${OFFLINE_NOTE}`],
    ])
  })

  test('searches for what the script says, then for its own words, and gives up after two', async () => {
    const upstream = play(
      always({ call: ISSUE, search: 'file a {{user}}' }, { call: 'Read' }, { say: 'Read: {{result}}.' }),
    )
    const tools = [toolSearch, tool('Read'), deferred(ISSUE)]
    expect(await talk(upstream, ask('bug', tools))).toEqual([
      ['ToolSearch {"query":"file a bug"}'],
      ['ToolSearch {"query":"create issue"}'],
      [unseen(ISSUE), 'Read {}'],
      [`Read: Read ran.\n${OFFLINE_NOTE}`],
    ])
  })

  test('without a search tool, it says so at once', async () => {
    const upstream = play(always({ call: ISSUE }, { search: 'x' }))
    expect(await talk(upstream, ask('go', [tool('Read'), deferred(ISSUE)]))).toEqual([
      [`${unseen(ISSUE)}\nI cannot see a search tool, so I do not search.\n${OFFLINE_NOTE}`],
    ])
  })

  test('a pattern means the first visible tool that matches; groups of the user’s words are taken literally', async () => {
    const upstream = play({ rules: [{ when: 'call (\\S+)', do: [{ call: '/(^|__){{1}}$/' }] }] })
    const tools = [toolSearch, deferred(ISSUE), tool('mcp__gitlab__create_issue')]
    expect(await talk(upstream, ask('call create_issue', tools))).toEqual([
      ['mcp__gitlab__create_issue {}'],
      [OFFLINE_NOTE],
    ])
    expect((await talk(upstream, ask('call .*', tools))).at(-1)).toEqual([`${unseen('.*')}\n${OFFLINE_NOTE}`])
  })

  test('“call” finds a tool behind another client’s prefix, if it is the only one that ends so', async () => {
    const upstream = play({
      rules: [{ when: 'call (\\S+)', do: [{ call: '/(^|__){{1}}$/' }, { say: '{{result}}' }] }],
    })
    const ran = ['files_list_directory {}']
    const said = [`files_list_directory ran\n${OFFLINE_NOTE}`]
    const asked = (...tools: Fields[]) => ask('call list_directory', tools)
    expect(await talk(upstream, asked(tool('files_list_directory'), tool('files_read')))).toEqual([ran, said])
    expect(
      await talk(
        upstream,
        asked(toolSearch, deferred('files_list_directory')),
        finding('files_list_directory'),
      ),
    ).toEqual([['ToolSearch {"query":"list directory"}'], ran, said])
    expect(await talk(upstream, asked(tool('a_list_directory'), tool('b_list_directory')))).toEqual([
      [
        `${unseen('list_directory')} Several end in _list_directory: a_list_directory, b_list_directory.\n${OFFLINE_NOTE}`,
      ],
    ])
    expect(await talk(upstream, asked(tool('a_list_directory'), tool('b__list_directory')))).toEqual([
      ['b__list_directory {}'],
      [`b__list_directory ran\n${OFFLINE_NOTE}`],
    ])
  })

  test('the MCP gateway’s own tools are known behind a client’s prefix, in both of its modes', async () => {
    const upstream = play({
      rules: [{ when: '^call (\\S+)$', do: [{ call: '/(^|__){{1}}$/' }, { say: '{{result}}' }] }],
    })
    const definition = JSON.stringify({ name: 'github__create_issue', input_schema: { type: 'object' } })
    const bridge = ['mcp__toolshelf__ToolSearch', 'mcp__toolshelf__CallTool'].map((name) => tool(name))
    const run = (name: string) => (name.endsWith('ToolSearch') ? [text(definition)] : [text('Filed.')])
    expect(await talk(upstream, ask('call create_issue', bridge), run)).toEqual([
      ['mcp__toolshelf__ToolSearch {"query":"create issue"}'],
      ['mcp__toolshelf__CallTool {"name":"github__create_issue","arguments":{}}'],
      [`Filed.\n${OFFLINE_NOTE}`],
    ])
    const list = ['toolshelf_ToolSearch', 'toolshelf_github__create_issue'].map((name) => tool(name))
    expect((await talk(upstream, ask('call create_issue', list))).at(0)).toEqual([
      'toolshelf_github__create_issue {}',
    ])
    expect((await talk(upstream, ask('call nothing', list))).at(0)).toEqual([
      'toolshelf_ToolSearch {"query":"nothing"}',
    ])
  })

  const callByName = {
    rules: [{ when: '^call (\\S+)$', do: [{ call: '/(^|__){{1}}$/' }, { say: '{{result}}' }] }],
  }
  const signatures = [
    'Call these with CallTool, by their full name. Their definitions:',
    'github__create_issue: Creates: an issue.',
    '  title: string // Its title',
    'Not searched: other.',
  ].join('\n')

  test('signatures are definitions too, behind what Codex writes in front of a result', async () => {
    const bridge = ['mcp__toolshelf__ToolSearch', 'mcp__toolshelf__CallTool'].map((name) => tool(name))
    const head = text('Wall time: 0.7209 seconds\nOutput:')
    const run = (name: string) => [head, text(name.endsWith('ToolSearch') ? signatures : 'Filed.')]
    expect(await talk(play(callByName), ask('call create_issue', bridge), run)).toEqual([
      ['mcp__toolshelf__ToolSearch {"query":"create issue"}'],
      ['mcp__toolshelf__CallTool {"name":"github__create_issue","arguments":{}}'],
      [`Filed.\n${OFFLINE_NOTE}`],
    ])
    // An argument is not a tool, and neither is a line of another text.
    const alike = (name: string) => [text(name.endsWith('ToolSearch') ? signatures : 'title: x')]
    expect((await talk(play(callByName), ask('call title', bridge), alike)).at(-1)?.[0]).toContain(
      unseen('title'),
    )
    const other = (await talk(play(callByName), ask('call create_issue', bridge), () => [
      text('github__create_issue: Creates an issue.'),
    ])) as string[][]
    expect(other.at(-1)?.[0]).toContain(unseen('create_issue'))
  })

  test('where the client defers the MCP gateway’s tools, its own search finds them first', async () => {
    const own = tool('tool_search')
    const behind = ['mcp__toolshelf__ToolSearch', 'mcp__toolshelf__CallTool'].map((name) => deferred(name))
    const run = (isFoundAtOnce: boolean) => (name: string, input: Fields) => {
      if (name.endsWith('CallTool')) return 'Filed.'
      if (name.endsWith('ToolSearch')) return signatures
      const isFound = isFoundAtOnce || input.query === 'ToolSearch CallTool'
      return isFound ? behind.map(({ name }) => reference(String(name))) : 'No tools were found.'
    }
    const rest = [
      ['mcp__toolshelf__ToolSearch {"query":"create issue"}'],
      ['mcp__toolshelf__CallTool {"name":"github__create_issue","arguments":{}}'],
      [`Filed.\n${OFFLINE_NOTE}`],
    ]
    const start = ask('call create_issue', [own, ...behind])
    const first = ['tool_search {"query":"create issue"}']
    expect(await talk(play(callByName), start, run(true))).toEqual([first, ...rest])
    const second = ['tool_search {"query":"ToolSearch CallTool"}']
    expect(await talk(play(callByName), start, run(false))).toEqual([first, second, ...rest])
    expect(await talk(play(callByName), start, () => 'No tools were found.')).toEqual([
      first,
      second,
      [`${unseen('create_issue')}\n${OFFLINE_NOTE}`],
    ])
  })

  test('a search that no history shows, because a gateway hides it, is not missed', async () => {
    const tools = [toolSearch, tool(ISSUE)]
    const messages = [user(text('go')), assistant(use('a', ISSUE)), user(result('a'))]
    const { content } = await messageFrom(play(file), { ...ask('go', tools), messages })
    expect(lines(content)).toEqual([`Filed.\n${OFFLINE_NOTE}`])
  })
})

describe('search tools', () => {
  test('regex gets a pattern: all words of a name, or any significant word of a question', async () => {
    const tools = [hosted('regex'), deferred(ISSUE)]
    const byName = await talk(play(file), ask('go', tools), finding(ISSUE))
    expect(byName[0]?.[1]).toBe('tool_search_tool_regex {"pattern":"github.*create.*issue"}')
    const byWords = await talk(
      play(always({ search: '{{user}}' })),
      ask('an issue (new)!', tools),
      finding(ISSUE),
    )
    expect(byWords[0]).toEqual(['tool_search_tool_regex {"pattern":"issue|new"}'])
  })

  test('a long question is cut to what the search tools take', async () => {
    const words = 'abcd '.repeat(400)
    const { content } = await messageFrom(play(always({ search: '{{user}}' })), ask(words, [hosted('regex')]))
    const [block] = content as { input: { pattern: string } }[]
    expect(block?.input.pattern).toHaveLength(200)
  })

  test('wire 28: a call and a search in one reply', async () => {
    const upstream = play(always({ calls: [{ call: 'Read' }, { search: 'issue' }] }, { call: ISSUE }))
    const tools = [hosted('bm25'), tool('Read'), deferred(ISSUE)]
    expect(await talk(upstream, ask('go', tools), finding(ISSUE))).toEqual([
      ['Read {}', 'tool_search_tool_bm25 {"query":"issue"}'],
      [`${ISSUE} {}`],
      [OFFLINE_NOTE],
    ])
  })

  test('parallel calls wait until all that can be found is found', async () => {
    const upstream = play(always({ calls: [{ call: 'Read' }, { call: ISSUE }, { call: 'Nowhere' }] }))
    const tools = [toolSearch, tool('Read'), deferred(ISSUE)]
    expect(await talk(upstream, ask('go', tools), finding(ISSUE))).toEqual([
      ['ToolSearch {"query":"github create issue"}', 'ToolSearch {"query":"nowhere"}'],
      ['ToolSearch {"query":"nowhere"}'],
      ['Read {}', `${ISSUE} {}`, unseen('Nowhere')],
      [OFFLINE_NOTE],
    ])
  })

  test('wire 28, 30: the API’s own searches in the history are searches, answered at once or late', async () => {
    const tools = [hosted('regex'), tool('Read'), deferred(ISSUE)]
    const last = async (script: object, ...messages: object[]) => {
      const request = { ...ask('go', tools), messages: [user(text('go')), ...messages] } as MessagesRequest
      return lines((await messageFrom(play(script), request)).content)
    }
    expect(
      await last(file, assistant(text('I file it.'), search('srvtoolu_1'), found('srvtoolu_1', ISSUE))),
    ).toEqual([`${ISSUE} {"title":"x"}`])
    const both = always({ calls: [{ call: 'Read' }, { search: 'issue' }] }, { call: ISSUE }, { say: 'End.' })
    const early = [assistant(use('a', 'Read'), search('srvtoolu_1')), user(result('a'))]
    const late = [assistant(found('srvtoolu_1', ISSUE), use('b', ISSUE)), user(result('b'))]
    expect(await last(both, ...early, ...late)).toEqual([`End.\n${OFFLINE_NOTE}`])
  })
})

describe('the bridge', () => {
  const tools = [toolSearch, callToolDefinition as Fields]
  const describing = (name: string) =>
    name === 'ToolSearch'
      ? `Call them with CallTool. Their definitions:\n${JSON.stringify(tool(ISSUE))}`
      : 'done'

  test('calls a tool whose definition was sent as text through CallTool', async () => {
    const { seen, onRequest } = recorder()
    expect(await talk(play(file, { onRequest }), ask('go', tools), describing)).toEqual([
      ['I file it.', 'ToolSearch {"query":"github create issue"}'],
      [`CallTool {"name":"${ISSUE}","arguments":{"title":"x"}}`],
      [`Filed.\n${OFFLINE_NOTE}`],
    ])
    expect(seen.map(({ action }) => action)).toEqual([
      'calls ToolSearch',
      'calls CallTool',
      'says its piece (end_turn)',
    ])
  })
})
