// Histories of every shape, and what is read from them: loaded tools, roles, and blocks that a host left behind.
import { expect, it } from 'vitest'
import { type Facts, foldHistory } from '../src/core/index.ts'
import {
  addition,
  assistant,
  found,
  ISSUE,
  result,
  SEND,
  search,
  sentOf,
  start,
  system,
  text,
  tools,
  use,
  user,
} from './support/blocks.ts'
import { type Loose, MODEL, quietShelf } from './support/talk.ts'

const removal = (name: string) => ({ type: 'tool_removal', tool: { type: 'tool_reference', name } })
const hosted = (id: string) => ({
  type: 'server_tool_use',
  id,
  name: 'tool_search_tool_bm25',
  input: { query: 'x' },
})
const hostedResult = (id: string, ...names: string[]) => ({
  type: 'tool_search_tool_result',
  tool_use_id: id,
  content: {
    type: 'tool_search_tool_search_result',
    tool_references: names.map((name) => ({ type: 'tool_reference', tool_name: name })),
  },
})

it.each<[string, Loose[], string[]]>([
  ['an answered search', [search('1'), user(found('1', SEND))], [SEND]],
  ['an answer twice', [search('1'), user(found('1', SEND, SEND))], [SEND]],
  ['an answer by the model itself', [search('1'), assistant(found('1', SEND))], []],
  ['an addition by the host', [system(addition(SEND))], [SEND]],
  ['an addition by a user', [user(addition(SEND))], []],
  ['an addition by the model', [assistant(addition(SEND)), user(text('x'))], []],
  ['an addition and a removal', [system(addition(SEND), addition(ISSUE), removal(SEND))], [ISSUE]],
  ['a removal and an addition', [system(removal(SEND), addition(SEND))], [SEND]],
  ['a removal of nothing', [system({ type: 'tool_removal' }, { type: 'tool_removal', tool: 5 })], []],
  [
    "the API's search",
    [assistant(hosted('srvtoolu_1'), hostedResult('srvtoolu_1', SEND), text('x')), user(text('x'))],
    [SEND],
  ],
  ["the API's search by a user", [user(hosted('srvtoolu_1'), hostedResult('srvtoolu_1', SEND))], []],
  [
    'a compaction of the API',
    [assistant({ type: 'compaction', content: 'x', tool_changes: [addition(SEND)] }), user(text('x'))],
    [SEND],
  ],
  [
    'changes in another block',
    [assistant({ ...text('x'), tool_changes: [addition(SEND)] }), user(text('x'))],
    [],
  ],
  [
    'text in place of blocks',
    [
      { role: 'assistant', content: '' },
      { role: 'user', content: 'x' },
    ],
    [],
  ],
  ['what is no message', [null, 5, { role: 'user' }, { content: 'x' }, user(text('x'))], []],
])('L1 L3 loads what it should: %s', async (_, messages, loaded) => {
  const prepared = await quietShelf({ tools }).prepare({
    model: MODEL,
    messages: [start, ...messages],
  } as Loose)
  expect(prepared.loaded).toEqual(loaded)
})

it.each<[string, Loose[], Loose[]]>([
  [
    'a result without a call',
    [assistant(text('x')), user(result('1', text('y')), text('z'))],
    [assistant(text('x')), user(text('z'))],
  ],
  [
    'a search without a result, in an old reply',
    [assistant(hosted('srvtoolu_1'), text('x')), user(text('y')), assistant(text('z')), user(text('w'))],
    [assistant(text('x')), user(text('y')), assistant(text('z')), user(text('w'))],
  ],
  [
    'a search result without a search',
    [assistant(hostedResult('srvtoolu_1'), text('x')), user(text('y'))],
    [assistant(text('x')), user(text('y'))],
  ],
  [
    'another tool of the API',
    [
      assistant(
        { ...hosted('srvtoolu_1'), name: 'web_search' },
        { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
      ),
      user(text('y')),
    ],
    [
      assistant(
        { ...hosted('srvtoolu_1'), name: 'web_search' },
        { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
      ),
      user(text('y')),
    ],
  ],
])('C5 is sent as the API takes it: %s', async (_, messages, sent) => {
  expect(await sentOf(messages)).toEqual(sent)
})

/** Everything that is read, by field. */
function fieldsOf(facts: Facts): [string, string][] {
  const sources = Object.fromEntries([...facts.sources].map(([name, kinds]) => [name, [...kinds]]))
  const open = { calls: [...facts.open.calls], searches: [...facts.open.searches] }
  const fields = Object.entries({ ...facts, sources, open })
  return fields.map(([key, value]) => [
    key,
    JSON.stringify(value instanceof Set ? [...value] : value) ?? 'none',
  ])
}

const delta = (fields: object) => ({
  type: 'deferred_tools_delta',
  role: 'user',
  content: 'names',
  ...fields,
})
const boundary = (compactMetadata: unknown) => ({
  ...{ type: 'system', subtype: 'compact_boundary', role: 'user', content: 'summary', compactMetadata },
})
const loadedText = (id: string, words: string, ...names: string[]) =>
  result(id, text(`<loaded-tools${words}>\n${names.join('\n')}\n</loaded-tools>\nmore`))
const byValue = (name: string) => ({ type: 'tool_addition', tool: { definition: { name } } })

/** One message after the other; each is followed by what it changes in the state that is read. */
const conversation: Loose[] = [
  start,
  delta({ addedNames: ['a', 'b', 5], removedNames: [], instructedBy: ['s'], step: 'names', tokens: 7 }),
  delta({ addedNames: ['c'], removedNames: ['a', 'x'], instructedBy: 's', step: 'grouped', tokens: '7' }),
  assistant(use('1', 'ToolSearch'), use('2'), use('3', 'Other')),
  assistant({ ...use('4'), id: 4 }, hosted('srv_1'), { ...hosted('srv_2'), name: 'web_search' }),
  user(found('1', 'a', 'a'), found('2', 'b'), loadedText('3', ' definitions', 'no')),
  user(found('1', 'late')),
  assistant(use('5', 'ToolSearch'), hostedResult('srv_1', 'd'), hostedResult('srv_9', 'e')),
  user(loadedText('5', ' definitions', 'f', 'a'), null, 5, { type: 'text', text: 'x', content: [null] }),
  assistant(use('6', 'ToolSearch'), use('7', 'ToolSearch'), use('8', 'ToolSearch')),
  user(loadedText('6', '', 'g'), result('7', null, text('no note')), { ...result('8'), content: null }),
  {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: '6', content: [{ type: 'tool_reference' }] }],
  },
  assistant(use('9', 'ToolSearch')),
  user({ ...result('9'), content: '<loaded-tools>\nh\n</loaded-tools>' }),
  assistant(use('10', 'ToolSearch')),
  system(
    addition('i'),
    byValue('j'),
    byValue('a'),
    { type: 'tool_addition', tool: null },
    { type: 'tool_removal' },
  ),
  user({ ...result('10'), content: ' <loaded-tools>\nno\n</loaded-tools>' }),
  system(removal('i'), removal('never'), { ...text('x'), tool: { name: 'no' } }),
  {
    type: 'tool_search_output',
    tools: [{ name: 'k' }, null, { type: 'namespace', tools: [{ name: 'l' }, null] }],
  },
  { type: 'additional_tools', tools: [{ type: 'namespace', name: 'm', tools: 'n' }, { name: 5 }] },
  { type: 'other', tools: [{ name: 'no' }] },
  { type: 'additional_tools', tools: 'no' },
  assistant(
    { type: 'compaction', tool_changes: [addition('o'), null, removal('k')] },
    { type: 'compaction' },
  ),
  { role: 'assistant', content: [{ type: 'tool_search_tool_result', tool_use_id: 'x', content: null }] },
  boundary({ loadOrder: ['p', 5], preCompactDiscoveredTools: ['q', 'p'], keptDeltas: 2 }),
  delta({ addedNames: 'a', removedNames: 'b' }),
  boundary(null),
  boundary({ keptDeltas: '3' }),
  delta({ addedNames: ['q'], removedNames: ['q'] }),
]

it('L1 L2 L3 A3 C3 C4 reads the same from a conversation at every turn', async () => {
  let before = new Map<string, string>()
  const lines = conversation.map((message, index) => {
    const fields = fieldsOf(foldHistory(conversation.slice(0, index + 1), 'ToolSearch'))
    const changed = fields.filter(([key, value]) => before.get(key) !== value)
    before = new Map(fields)
    return [JSON.stringify(message), ...changed.map(([key, value]) => `  ${key}: ${value}`)].join('\n')
  })
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./histories/facts.txt')
})
