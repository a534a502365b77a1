// Thinking switched on by hand: the API refuses a turn of calls that does not start with the model's thought.
import { describe, expect, test } from 'vitest'
import { blocksOf } from '../../src/core/oracle/index.ts'
import { type Fields, fieldsOf, textOf } from '../../src/lib/index.ts'
import type { MessagesRequest } from '../../src/messages/index.ts'
import { assistant, result, text, tool, user } from '../oracle/requests.ts'
import { ask } from './support/gateways.ts'
import { modelOf, replyOf, searching, type Turn } from './support/played-model.ts'

const thought = (number: number): Fields => ({
  type: 'thinking',
  thinking: `${number}`,
  signature: `s${number}`,
})
const called = (name: string, id: string): Fields => ({ type: 'tool_use', id, name, input: {} })
const tools = [tool('Read'), tool('mcp__mail__send'), tool('mcp__mail__list')]
const byHand = { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 4096 }

/** What each message says, in a word for each block. */
const outline = ({ messages }: MessagesRequest): string[] =>
  messages.map(({ role, content }) => {
    const words = blocksOf(content).map(({ type, name, thinking, content: inner, text: said }) => {
      if (type === 'thinking') return `(${thinking})`
      if (type === 'tool_use') return `${name}()`
      const found = blocksOf(inner).map(({ tool_name, text: told }) => textOf(tool_name ?? told))
      return type === 'tool_result' ? `→${found}` : textOf(said).split('\n')[0]
    })
    return `${role}: ${words.join(' ')}`
  })

/** As the API checks it: the last reply, if it calls tools, starts with a thought. */
function faultOf({ thinking, messages }: MessagesRequest): string | undefined {
  const last = blocksOf(messages.findLast(({ role }) => role === 'assistant')?.content)
  const isAsked = fieldsOf(thinking).type === 'enabled' && last.some(({ type }) => type === 'tool_use')
  return isAsked && last[0]?.type !== 'thinking' ? 'Expected `thinking` or `redacted_thinking`' : undefined
}

/** Two requests of a client: the model plays these samplings, then says that it is done. */
async function twoTurns(samplings: readonly (readonly Fields[])[], words: readonly Fields[] = []) {
  const model = modelOf((request, sampling): Turn => {
    const fault = faultOf(request)
    if (fault) throw new Error(fault)
    return { content: samplings[sampling - 1] ?? [text('Done.')] }
  })
  const first = (await replyOf(model.upstream, { ...ask(tools), ...byHand })).content as Fields[]
  const results = first
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name }) => result(textOf(id), `${name} ran`))
  const turns = [user(text('go')), assistant(...first), user(...results, ...words)]
  const { content } = await replyOf(model.upstream, { ...ask(tools, ...turns), ...byHand })
  expect(content).toEqual([text('Done.')])
  return outline(model.requests.at(-1) as MessagesRequest).slice(2)
}

describe('a reply with a search', () => {
  test('wire 28 beside a call keeps both in the turn that the thought starts', async () => {
    const sampling = [thought(1), searching('select:mcp__mail__send', 'toolu_s'), called('Read', 'toolu_c')]
    expect(await twoTurns([sampling])).toEqual([
      'assistant: (1) ToolSearch() Read()',
      'user: →mcp__mail__send →Read ran Tool loaded.',
    ])
  })

  test('before a call that has no thought of its own joins the turn of the thought', async () => {
    const samplings = [
      [thought(1), searching('select:mcp__mail__send', 'toolu_s')],
      [text('Found.'), called('mcp__mail__send', 'toolu_c')],
    ]
    expect(await twoTurns(samplings)).toEqual([
      'assistant: (1) Found. ToolSearch() mcp__mail__send()',
      'user: →mcp__mail__send →mcp__mail__send ran Tool loaded.',
    ])
  })

  test('before a call with a thought of its own is in its own turn, as it ran', async () => {
    const samplings = [
      [thought(1), searching('select:mcp__mail__send', 'toolu_s')],
      [thought(2), called('mcp__mail__send', 'toolu_c')],
    ]
    expect(await twoTurns(samplings)).toEqual([
      'assistant: (1) ToolSearch()',
      'user: →mcp__mail__send Tool loaded.',
      'assistant: (2) mcp__mail__send()',
      'user: →mcp__mail__send ran',
    ])
  })

  test('a call of a tool that was never searched for is loaded beside it', async () => {
    expect(await twoTurns([[thought(1), called('mcp__mail__list', 'toolu_c')]])).toEqual([
      'assistant: (1) ToolSearch() mcp__mail__list()',
      'user: →mcp__mail__list →mcp__mail__list ran Tool loaded.',
    ])
  })
})
