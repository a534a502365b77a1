// Statements 42 to 44 through the gateway: tools that change amid a conversation, and thinking that is bound to it.
import { describe, expect, test } from 'vitest'
import type { Fields } from '../../packages/core/src/lib/json.ts'
import { assistant, deferred, result, system, text, tool, user } from '../oracle/requests.ts'
import { always } from './script-talk.ts'
import { ask, blockLine, hosted, open, post, refused, reply, ways } from './support/gateways.ts'

const hello = always({ say: 'Hello.' })
const read = tool('Read')
const INLINE = { 'anthropic-beta': 'inline-tools-2026-09-15' }
const BY_REFERENCE = { 'anthropic-beta': 'mid-conversation-tool-changes-2026-07-01' }
const named = (name: string) => ({ type: 'tool_reference', name })
const addition = (of: Fields) => ({ type: 'tool_addition', tool: of })
const removal = (name: string) => ({ type: 'tool_removal', tool: named(name) })
const defined = (definition: Fields) => ({ type: 'tool_definition', definition })

describe.each(ways)('%s', (way) => {
  const tools = [read, deferred('later')]

  test('wire 42 a tool is added by reference and by value, and called', async () => {
    const byReference = [user(text('go')), system(addition(named('later')))]
    const one = await reply(
      await open(way, always({ call: 'later' })),
      ask(tools, ...byReference),
      BY_REFERENCE,
    )
    expect(one.content.map(blockLine)).toEqual(['tool_use later {}'])
    const byValue = [user(text('go')), system(addition(defined(tool('brand_new'))))]
    const two = await reply(await open(way, always({ call: 'brand_new' })), ask([read], ...byValue), INLINE)
    expect(two.content.map(blockLine)).toEqual(['tool_use brand_new {}'])
  })

  test('wire 42 a removed tool is out of sight', async () => {
    const gateway = await open(way, hello)
    const messages = [
      ...[user(text('go')), system(addition(named('later'))), assistant(text('So.'))],
      ...[user(text('on')), system(removal('later'))],
    ]
    await reply(gateway, ask(tools, ...messages), BY_REFERENCE)
    const told = gateway.seen[0]?.segments.map(({ text }) => text).join('\n')
    expect(gateway.seen[0]?.visible).not.toContain('later')
    expect(told).toMatch(/(no longer available|No longer available)/)
  })

  test.each([
    ['an undeclared tool', [removal('gone')], 'tool_reference_unresolved'],
    ['another kind of tool', [addition(defined(hosted('regex', { name: 'Read' })))], undefined],
    ['a name of another kind', [addition(defined({ ...hosted('bm25') }))], 'tool_name_conflict'],
    [
      'too much',
      [addition(defined(tool('huge', { description: 'x'.repeat(4_200_000) })))],
      'available_tools_limit_exceeded',
    ],
  ])('wire 42 %s is refused with its code', async (_, changes, code) => {
    const gateway = await open(way, hello)
    const clash = tool('tool_search_tool_bm25')
    const request = ask([read, clash, deferred('later')], user(text('go')), system(...changes))
    expect(await refused(gateway, request, { headers: INLINE })).toMatchObject({ status: 400, code })
  })

  test('wire 42 has its place, its beta and its own spelling of a name', async () => {
    const gateway = await open(way, hello)
    const wrong = [
      [user(text('go')), system(addition(named('later'))), user(text('on'))],
      [user(text('go')), system(addition({ type: 'tool_reference', tool_name: 'later' }))],
    ]
    for (const messages of wrong)
      expect(await refused(gateway, ask(tools, ...messages), { headers: INLINE })).toMatchObject({
        status: 400,
      })
    const right = [user(text('go')), system(addition(named('later')))]
    expect(await refused(gateway, ask(tools, ...right))).toMatchObject({ status: 400 })
  })

  test('wire 43 what a compaction says of tools holds on replay', async () => {
    const gateway = await open(way, always({ call: 'later' }))
    const compaction = {
      type: 'compaction',
      content: 'So far, so good.',
      tool_changes: [addition(named('later'))],
    }
    const messages = [user(text('before')), assistant(compaction), user(text('go'))]
    const { content } = await reply(gateway, ask(tools, ...messages), INLINE)
    expect(content.map(blockLine)).toEqual(['tool_use later {}'])
    const told = gateway.seen[0]?.segments.map(({ text }) => text).join('\n')
    expect(told).toContain('So far, so good.')
    const alone = await reply(gateway, ask(tools, ...messages.slice(1)), INLINE)
    expect(alone.content.map(blockLine)).toEqual(['tool_use later {}'])
  })
})

describe.each(['native', 'pass'] as const)('thinking that is bound, %s', (way) => {
  const script = {
    ...always({ think: 'Hm.' }, { call: 'send_mail' }, { think: 'So.' }, { say: 'Done.' }),
    boundThinking: true,
  }
  const tools = [hosted('bm25'), read, deferred('send_mail')]

  test('wire 44 survives a hosted search, its replay and tools that join the ones that wait', async () => {
    const gateway = await open(way, script)
    const first = await reply(gateway, ask(tools))
    expect(first.content.map(({ type }) => type)).toEqual([
      ...['thinking', 'server_tool_use', 'tool_search_tool_result', 'tool_use'],
    ])
    const messages = [
      user(text('go')),
      assistant(...first.content),
      user(result(String(first.content.at(-1)?.id))),
    ]
    const second = await reply(gateway, ask([...tools, deferred('new')], ...messages))
    expect(second.content.map(({ type }) => type)).toEqual(['thinking', 'text'])
    const more = [assistant(...second.content), user(text('again'))]
    expect((await post(gateway, ask(tools, ...messages, ...more))).status).toBe(200)
  })

  test('wire 44 is refused by the upstream where the past was changed, in its words', async () => {
    const gateway = await open(way, script)
    const { content } = await reply(gateway, ask(tools))
    const messages = [user(text('went')), assistant(...content), user(result(String(content.at(-1)?.id)))]
    const { status, message } = await refused(gateway, ask(tools, ...messages))
    expect(status).toBe(400)
    expect(message).toMatch(/^messages\.1\.content\.0: Invalid `signature` in `thinking` block/)
  })
})
