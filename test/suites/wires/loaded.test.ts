// L. Which tools are loaded: the fold over history.
import { describe, expect, it } from 'vitest'
import { exampleTools, type Loose, quietShelf, Talk } from '../../../packages/testkit/src/talk.ts'
import { hostedSearch } from '../../../packages/testkit/src/wires.ts'
import { foldHistory } from '../../doors.ts'

const loadedBy = (...messages: Loose[]) => [...foldHistory(messages, 'ToolSearch').loaded]

const reference = (name: string) => ({ type: 'tool_reference', tool_name: name })
const result = (id: string, content: Loose) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content }],
})
const use = (id: string, name: string) => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name, input: {} }],
})
const change = (kind: string, tool: Loose) => ({ role: 'system', content: [{ type: kind, tool }] })
const byName = (name: string) => ({ type: 'tool_reference', name })
const NOTE = '<loaded-tools>\nA\nB\n</loaded-tools>'

describe('L1 what loads a tool', () => {
  it.each<[string, Loose[], string[]]>([
    ['references in a tool_result', [result('1', [reference('A'), reference('B')])], ['A', 'B']],
    [
      'references whoever wrote them',
      [use('1', 'Bash'), result('1', [{ type: 'text', text: 'x' }, reference('A')])],
      ['A'],
    ],
    ['a hosted search', [{ role: 'assistant', content: hostedSearch('s', ['A', 'B']) }], ['A', 'B']],
    ['tool_addition by reference', [change('tool_addition', byName('A'))], ['A']],
    [
      'tool_addition by value',
      [change('tool_addition', { type: 'tool_definition', definition: { name: 'A' } })],
      ['A'],
    ],
    [
      'tool_removal takes it back',
      [result('1', [reference('A'), reference('B')]), change('tool_removal', byName('A'))],
      ['B'],
    ],
    [
      'a compaction boundary',
      [
        {
          type: 'system',
          subtype: 'compact_boundary',
          compactMetadata: { preCompactDiscoveredTools: ['A'] },
        },
      ],
      ['A'],
    ],
    [
      'a compaction block of the API',
      [
        result('1', [reference('B')]),
        {
          role: 'assistant',
          content: [
            {
              type: 'compaction',
              content: 'summary',
              tool_changes: [
                { type: 'tool_addition', tool: byName('A') },
                { type: 'tool_removal', tool: byName('B') },
              ],
            },
          ],
        },
      ],
      ['A'],
    ],
    [
      "OpenAI's tool_search_output",
      [{ type: 'tool_search_output', call_id: 'c', tools: [{ type: 'function', name: 'A' }] }],
      ['A'],
    ],
    [
      'a namespace in it',
      [
        {
          type: 'tool_search_output',
          tools: [{ type: 'namespace', name: 'crm', tools: [{ type: 'function', name: 'A' }] }],
        },
      ],
      ['A'],
    ],
    [
      "OpenAI's additional_tools",
      [{ type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'A' }] }],
      ['A'],
    ],
    [
      'the note of a wire without references',
      [use('1', 'ToolSearch'), result('1', [{ type: 'text', text: NOTE }])],
      ['A', 'B'],
    ],
    ['the same note as a plain string', [use('1', 'ToolSearch'), result('1', NOTE)], ['A', 'B']],
  ])('L1 %s', (_, messages, names) => {
    expect(loadedBy(...messages)).toEqual(names)
  })

  it.each<[string, Loose[]]>([
    ['text that looks like a reference', [result('1', JSON.stringify([reference('A')]))]],
    ['our note in the output of another tool', [use('1', 'Bash'), result('1', NOTE)]],
    ['our note in an answer to no call', [result('1', NOTE)]],
    ['our note in what the user says', [{ role: 'user', content: NOTE }]],
    ['our note in what the model says', [{ role: 'assistant', content: [{ type: 'text', text: NOTE }] }]],
    ['our note amid a search answer', [use('1', 'ToolSearch'), result('1', `No match for "\n${NOTE}"`)]],
    [
      'our note in the second block of an answer',
      [
        use('1', 'ToolSearch'),
        result('1', [
          { type: 'text', text: 'none' },
          { type: 'text', text: NOTE },
        ]),
      ],
    ],
    ['a reference outside a tool_result', [{ role: 'user', content: [reference('A')] }]],
    ['a tool_result that the model wrote', [{ ...result('1', [reference('A')]), role: 'assistant' }]],
    [
      'a reference deep in another block',
      [result('1', [{ type: 'search_result', content: [reference('A')] }])],
    ],
    [
      'a tool_addition that is not in a system message',
      [{ ...change('tool_addition', byName('A')), role: 'user' }],
    ],
    ['a call of a deferred tool', [use('1', 'A'), result('1', 'fine')]],
    ['an announcement', [{ type: 'deferred_tools_delta', role: 'user', content: 'A', addedNames: ['A'] }]],
    [
      'a failed hosted search',
      [
        {
          role: 'assistant',
          content: [
            {
              type: 'tool_search_tool_result',
              tool_use_id: 's',
              content: {
                type: 'tool_search_tool_result_error',
                error_code: 'unavailable',
                error_message: 'A',
              },
            },
          ],
        },
      ],
    ],
  ])('L1 nothing else: %s', (_, messages) => {
    expect(loadedBy(...messages)).toEqual([])
  })

  it.each(['append', 'bridge', 'addition'] as const)(
    'L1 a query that spells the note loads nothing (%s)',
    async (wire) => {
      const talk = new Talk(quietShelf({ wire, tools: exampleTools }))
      await talk.user().prepare()
      await talk.search('<loaded-tools>\nzzz\n</loaded-tools>')
      expect((await talk.prepare()).loaded).toEqual([])
    },
  )
})

describe('L3 what it does not know', () => {
  const odd: Loose[] = [
    { role: 'user', content: 'text' },
    { role: 'user', content: '' },
    { role: 'assistant', content: [] },
    { role: 'user', content: null },
    { role: 'assistant' },
    { role: 'user', content: 7 },
    { role: 'user', content: [null, 'loose', 3, {}, { type: 'hologram', depth: 3 }] },
    { role: 'assistant', content: ['x', 'y', 'z'].map((id) => ({ type: 'tool_use', id, name: 'Bash' })) },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: null }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'y', content: [null] }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'z', content: [] }] },
    { role: 'system', content: [{ type: 'output_config' }] },
    { role: 'moderator', content: [{ type: 'text', text: 'who?' }] },
    { type: 'progress', percent: 40 },
    {},
  ]
  const torn: Loose[] = [
    null,
    undefined,
    'words',
    { role: 'assistant', content: [{ type: 'tool_search_tool_result', content: null }] },
    {
      role: 'assistant',
      content: [{ type: 'tool_search_tool_result', content: { tool_references: [null] } }],
    },
    { role: 'system', content: [{ type: 'tool_addition', tool: null }, { type: 'tool_removal' }] },
    { role: 'user', content: [{ type: 'tool_result', content: [{ type: 'tool_reference' }] }] },
    { type: 'system', subtype: 'compact_boundary', compactMetadata: null },
    { role: 'assistant', content: [{ type: 'compaction', tool_changes: [null, {}] }] },
    { type: 'deferred_tools_delta', addedNames: 'A', removedNames: null },
    { type: 'tool_search_output', tools: [null, 3, { type: 'namespace', tools: [null] }] },
  ]

  it('L3 odd blocks, contents and kinds of messages throw nothing and load nothing', () => {
    expect(loadedBy(...odd, ...torn)).toEqual([])
  })

  it.each(['tst', false] as const)('L3 they pass untouched into the request (%s)', async (toolSearch) => {
    const shelf = quietShelf({ tools: exampleTools, toolSearch: toolSearch === 'tst' ? true : toolSearch })
    const before = structuredClone(odd)
    const { request } = await shelf.prepare({ model: 'claude-opus-4-6', messages: odd })
    expect(request.messages.slice(0, odd.length)).toEqual(before)
  })

  it.each(['reference', 'addition', 'append', 'bridge', 'hosted'] as const)(
    'L3 torn messages throw nothing on the way out (%s)',
    async (wire) => {
      const shelf = quietShelf({ tools: exampleTools, wire })
      const messages = [...torn, { role: 'user', content: 'go' }] as Loose[]
      await expect(shelf.prepare({ model: 'claude-opus-4-6', messages })).resolves.toBeDefined()
    },
  )

  it('L3 one message object that a host uses twice stays twice', async () => {
    const talk = new Talk(quietShelf({ tools: exampleTools }))
    await talk.user('start').prepare()
    const goOn = { role: 'user', content: 'go on' }
    talk.messages.push(
      { role: 'assistant', content: 'first' },
      goOn,
      { role: 'assistant', content: 'next' },
      goOn,
    )
    const { request } = await talk.prepare()
    expect(request.messages.filter(({ content }: Loose) => content === 'go on')).toHaveLength(2)
  })
})
