// Histories of every shape, and what is read from them: loaded tools, roles, and blocks that a host left behind.
import { expect, it } from 'vitest'
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
