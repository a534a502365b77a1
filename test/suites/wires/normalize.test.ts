// N. Making history valid: N4 and N6 are in siblings.test.ts, N5 in bound.test.ts.
import { describe, expect, it } from 'vitest'
import {
  addition,
  assistant,
  EMAIL,
  found,
  ISSUE,
  LIST,
  LOADED,
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
} from '../../../packages/testkit/src/blocks.ts'
import {
  builtIn,
  type Loose,
  MODEL,
  mcp,
  OLD_MODEL,
  quietShelf,
  Talk,
} from '../../../packages/testkit/src/talk.ts'
import { hostedSearch } from '../../../packages/testkit/src/wires.ts'
import type { ShelfOptions } from '../../doors.ts'

const off: [string, ShelfOptions, string][] = [
  ['by mode', { toolSearch: false }, MODEL],
  ['by the kill switch', { environment: { CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS: '1' } }, MODEL],
  ['by the model', {}, OLD_MODEL],
  ['by the provider', { provider: 'unheard-of' }, MODEL],
  ['by permission', { isHidden: ({ name }) => name === 'ToolSearch' }, MODEL],
]

describe.each(off)('N1 tool search is off %s', (_, options, model) => {
  it('N1 a result left empty says which tools had been loaded; others keep what they have', async () => {
    const sent = await sentOf(
      [
        search('1'),
        user(found('1', SEND, ISSUE)),
        assistant(use('2')),
        user(result('2', text('kept'), { type: 'tool_reference', tool_name: EMAIL })),
      ],
      options,
      model,
    )
    const [, emptied, , mixed] = sent
    expect(emptied.content).toHaveLength(1)
    expect(emptied.content[0]).toMatchObject({ type: 'tool_result', tool_use_id: '1' })
    for (const name of [SEND, ISSUE]) expect(emptied.content[0].content[0].text).toContain(name)
    expect(mixed).toEqual(user(result('2', text('kept'))))
  })

  it('N1 no reference, no caller, no flag, no note of ours anywhere', async () => {
    const talk = new Talk(quietShelf({ tools, ...options }), model)
    const own = { ...builtIn('Own'), defer_loading: true }
    const deferred = builtIn('Flagged', { shouldDefer: true, defer_loading: true } as Loose)
    talk.shelf.add(deferred)
    talk.messages = [
      start,
      assistant({ ...use('1', 'ToolSearch'), caller: { type: 'direct' } }),
      user({ ...found('1', SEND), note: 'Tool search: 3 more matched.' }),
      assistant(...hostedSearch('srvtoolu_1', [ISSUE])),
      user(text('and')),
    ]
    const { request, headers } = await talk.prepare({
      tools: [own, { type: 'tool_search_tool_regex', name: 'tool_search_tool_regex' }],
    })
    expect(JSON.stringify(request)).not.toMatch(
      /tool_reference|"caller"|defer_loading|tool_search_tool|"note"/,
    )
    expect(JSON.stringify(request)).not.toContain('system-reminder')
    expect(headers).toEqual({})
    expect(talk.sentTools).toEqual(expect.arrayContaining(['Own', 'Flagged', SEND, ISSUE, EMAIL, LIST]))
    expect(talk.sentTools).not.toContain('ToolSearch')
  })
})

describe('N2 a reference to a removed tool', () => {
  const gone = 'mcp__gone__tool'

  it('N2 it is removed, the others in the same result are kept', async () => {
    expect(await sentOf([search('1'), user(found('1', gone, SEND, 'mcp__gone__too'))])).toEqual([
      search('1'),
      user(found('1', SEND), LOADED),
    ])
  })

  it('N2 a result left empty says so in text', async () => {
    const [, { content }] = (await sentOf([search('1'), user(found('1', gone, 'Vanished'))])) as Loose
    expect(content[0].content).toHaveLength(1)
    expect(content[0].content[0].text).toMatch(/no longer available.*mcp__gone__tool.*Vanished/)
  })

  it('N2 in a hosted search too, and a search left empty is one without a match', async () => {
    const blocks = hostedSearch('srvtoolu_1', [gone, SEND])
    const [reply] = await sentOf([assistant(...blocks), user(text('go'))])
    expect(reply.content[1].content.tool_references).toEqual([{ type: 'tool_reference', tool_name: SEND }])
    const [empty] = await sentOf([assistant(...hostedSearch('srvtoolu_1', [gone])), user(text('go'))])
    expect(empty.content[1].content).toEqual({ type: 'tool_search_tool_search_result', tool_references: [] })
  })

  it('N2 in a tool_addition too', async () => {
    const sent = await sentOf(
      [
        system(addition(gone), addition(SEND)),
        assistant(text('ok')),
        user(text('go')),
        system(addition(gone)),
      ],
      { wire: 'addition' },
    )
    expect(sent.filter(({ role }) => role === 'system')).toEqual([system(addition(SEND))])
  })

  it('N2 a tool that permissions hide now counts as removed', async () => {
    const isHidden = ({ name }: { name: string }) => name === 'send_message'
    expect(await sentOf([search('1'), user(found('1', SEND, ISSUE))], { isHidden })).toEqual([
      search('1'),
      user(found('1', ISSUE), LOADED),
    ])
  })

  it('N2 a tool that is not deferred any more is in the pool: its reference stays', async () => {
    const now = [...tools, mcp('always', 'here', { alwaysLoad: true })]
    const name = 'mcp__always__here'
    expect(await sentOf([search('1'), user(found('1', name))], { tools: now })).toEqual([
      search('1'),
      user(found('1', name), LOADED),
    ])
  })

  it('N2 or the tool is kept as a tombstone', async () => {
    const talk = new Talk(quietShelf({ tools, tombstones: true }))
    await talk.user().search(`select:${SEND},${ISSUE}`)
    const before = (await talk.prepare()).request
    talk.shelf.remove({ server: 'slack' })
    const after = (await talk.assistant().user().prepare()).request
    expect(after.messages.slice(0, before.messages.length)).toEqual(before.messages)
  })
})

describe('N3 a turn of bare references', () => {
  it('N3 gets the text as a sibling, after all results', async () => {
    expect(await sentOf([search('1'), user(found('1', SEND))])).toEqual([
      search('1'),
      user(found('1', SEND), LOADED),
    ])
    const both = assistant(use('1', 'ToolSearch'), use('2'))
    expect(await sentOf([both, user(found('1', SEND), result('2', text('x')))])).toEqual([
      both,
      user(found('1', SEND), result('2', text('x')), LOADED),
    ])
  })

  it('N3 once for adjacent user messages, behind the last result', async () => {
    const both = assistant(use('1', 'ToolSearch'), use('2'))
    expect(await sentOf([both, user(found('1', SEND)), user(result('2', text('x')))])).toEqual([
      both,
      user(found('1', SEND)),
      user(result('2', text('x')), LOADED),
    ])
  })

  it('N3 our own note serves as that text', async () => {
    const note = 'Tool search: 3 more matched and are not loaded.'
    expect(await sentOf([search('1'), user({ ...found('1', SEND), note })])).toEqual([
      search('1'),
      user(found('1', SEND), text(note)),
    ])
  })

  it('N3 an announcement in the same turn does not', async () => {
    const talk = new Talk(quietShelf({ tools }))
    talk.messages = [start, search('1'), user(found('1', SEND))]
    expect((await talk.prepare()).request.messages.slice(1, 3)).toEqual([
      search('1'),
      user(found('1', SEND), LOADED),
    ])
  })

  it('N3 a real search with a remark, on the way to the API and back', async () => {
    const talk = new Talk(quietShelf({ tools, maxResults: 1 }))
    await talk.user().prepare()
    await talk.search('slack')
    const { content }: Loose = (await talk.prepare()).request.messages.at(-1)
    expect(content[0].content).toEqual([
      { type: 'tool_reference', tool_name: expect.stringContaining('slack') },
    ])
    expect(content[0]).not.toHaveProperty('note')
    expect(content.slice(1)).toEqual([text(expect.stringContaining('1 more matched') as unknown as string)])
  })

  it('N3 a result without references gets nothing', async () => {
    const plain = [assistant(use('1')), user(result('1', text('x')))]
    expect(await sentOf(plain)).toEqual(plain)
  })
})
