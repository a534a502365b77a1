// Statements 12 to 16 through the gateway: what the model behind it sees of tools that wait and of those that joined.
import { describe, expect, test } from 'vitest'
import {
  assistant,
  deferred,
  found,
  loading,
  reference,
  result,
  search,
  text,
  tool,
  use,
  user,
} from '../oracle/requests.ts'
import { always } from './script-talk.ts'
import { ask, emulate, hosted, type Kind, kinds, reply } from './support/gateways.ts'

const hello = always({ say: 'Hello.' })
const read = tool('Read')
const example = { city: 'Reykjavik' }
const later = deferred('later', { input_examples: [example] })
const other = deferred('other')

/** What the model sees of each request, piece by piece. */
async function shown(kind: Kind, ...requests: object[]): Promise<string[][]> {
  const gateway = await emulate(kind, hello)
  for (const request of requests) await reply(gateway, request as never)
  return gateway.seen.map(({ segments }) => segments.map((segment) => segment.text))
}

const hostedLoading = (...names: string[]) => [
  user(text('go')),
  assistant(text('I look.'), search('srvtoolu_1'), found('srvtoolu_1', ...names), text('There.')),
  user(text('go on')),
]

describe.each(kinds)('emulate on %s', (kind) => {
  test('wire 12 a tool that nothing loaded is not there: no name, description or schema', async () => {
    const [one, two] = await shown(kind, ask([read, later]), ask([read, later, other]))
    expect(two).toEqual(one)
    for (const part of ['later', 'other', 'Reykjavik']) expect(JSON.stringify(two)).not.toContain(part)
  })

  test('wire 13 a reference shows the whole definition with its examples, then and ever after', async () => {
    const request = ask([read, later, other], ...loading('later'))
    const longer = ask([read, later, other], ...loading('later'), assistant(text('So.')), user(text('And?')))
    for (const segments of await shown(kind, request, longer)) {
      const definition = segments.join('\n')
      for (const part of ['does later', 'later_key', 'Reykjavik']) expect(definition).toContain(part)
      expect(definition).not.toContain('does other')
    }
  })

  test('wire 13 a hosted search shows it too, in this reply and in later ones', async () => {
    const gateway = await emulate(kind, always({ call: 'later' }, { say: 'Done.' }))
    const request = ask([hosted('bm25'), later, other])
    const { content } = await reply(gateway, request)
    expect(content.at(-1)).toMatchObject({ type: 'tool_use', name: 'later' })
    await reply(
      gateway,
      ask(
        request.tools as [],
        user(text('go')),
        assistant(...content),
        user(result(String(content.at(-1)?.id))),
      ),
    )
    expect(gateway.seen).toHaveLength(3)
    const sights = gateway.seen.map(({ segments }) => JSON.stringify(segments).includes('Reykjavik'))
    expect(sights).toEqual([false, true, true])
  })

  test('wire 15 tools that nothing refers to may come, go and change places', async () => {
    const turns = hostedLoading('later')
    const [one, ...others] = await shown(
      kind,
      ask([hosted('regex'), later, other], ...turns),
      ask([hosted('regex'), other, later], ...turns),
      ask([hosted('regex'), deferred('a'), later, deferred('b')], ...turns),
      ask([hosted('regex'), later], ...turns),
    )
    for (const segments of others) expect(segments).toEqual(one)
  })

  test('wire 16 a definition that is referred to again is shown once', async () => {
    const again = [
      assistant(use('b')),
      user(result('b', [reference('later'), reference('later')])),
      assistant(use('c')),
      user(result('c', [reference('later')])),
    ]
    const [segments] = await shown(kind, ask([read, later], ...loading('later'), ...again))
    expect(segments?.join('\n').split('does later')).toHaveLength(2)
  })
})

describe.each(['native', 'bridge'] as const)('emulate on %s', (kind) => {
  test.each([
    ['a client’s search', loading('later')],
    ['a hosted search', hostedLoading('later')],
  ])('wire 14 %s shows the definition at its place, and nothing before it moves', async (_, turns) => {
    const tools = [hosted('regex'), read, later]
    const [before = [], after = []] = await shown(kind, ask(tools, turns[0]), ask(tools, ...turns))
    expect(after.slice(0, before.length)).toEqual(before)
    expect(before.join('\n')).not.toContain('does later')
    const place = after.findIndex((segment) => segment.includes('does later'))
    const call = after.findIndex(
      (segment) => segment.includes('"tool_use"') || segment.includes('"server_tool_use"'),
    )
    expect(place).toBeGreaterThan(call)
    expect(after.slice(place + 1).join('\n')).not.toContain('does later')
  })
})

describe('emulate on append', () => {
  test('wire 14 the definition joins the tools at their end; the rest of them, the system and the turns stay', async () => {
    const gateway = await emulate('append', hello)
    const tools = [later, hosted('regex'), other, read]
    const turns = hostedLoading('later')
    await reply(gateway, { ...ask(tools, turns[0]), system: 'Be brief.' })
    await reply(gateway, { ...ask(tools, ...turns), system: 'Be brief.' })
    const [before, after] = gateway.seen.map(({ request }) => request)
    expect(after?.tools?.slice(0, -1)).toEqual(before?.tools)
    expect(after?.tools?.at(-1)).toMatchObject({ name: 'later' })
    expect(after?.system).toBe('Be brief.')
    expect(after?.messages[0]).toEqual(before?.messages[0])
  })
})
