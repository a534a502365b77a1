// Thinking that is bound to what came before it: wire.md section 7, statement 44.
import { describe, expect, it } from 'vitest'
import { signThinking, thinkingPrefix } from '../../src/core/oracle/index.ts'
import {
  assistant,
  deferred,
  found,
  type Json,
  loading,
  reference,
  refusal,
  request,
  result,
  search,
  text,
  tool,
  use,
  user,
} from './requests.ts'

const hi = user(text('hi'))
const tools = [tool('a'), tool('z'), deferred('b')]
const thought = (signature: string): Json => ({ type: 'thinking', thinking: 'hm', signature })
const check = (value: unknown) => refusal(value, { bindsThinking: true })
const BOUND = 'Invalid `signature` in `thinking` block. The block is bound to a different conversation.'

const asked = { ...request(tools, ...loading('b')), system: 'rules' }
const reply = assistant(thought(signThinking(asked)), text('x'))
const answered = { ...asked, messages: [...asked.messages, reply, hi] }

describe('bound thinking', () => {
  it('wire 44 is good where it was thought, and later', () => {
    expect(check(answered)).toBeUndefined()
    expect(check({ ...answered, messages: [...answered.messages, assistant(text('y')), hi] })).toBeUndefined()
  })

  it('wire 44 is refused elsewhere, at its place', () => {
    const first = request(tools, hi)
    const moved = request(tools, user(text('ho')), assistant(thought(signThinking(first)), text('x')), hi)
    expect(check(moved)).toBe(`messages.1.content.0: ${BOUND}`)
    expect(refusal(moved)).toBeUndefined()
  })

  const breakpoint = { cache_control: { type: 'ephemeral' } }
  const [first, ...rest] = answered.messages
  it.each<[string, Json]>([
    ['an unreferenced deferred tool more', { tools: [...tools, deferred('c')] }],
    ['a cache breakpoint on a tool', { tools: [tool('a', breakpoint), tool('z'), deferred('b')] }],
    ['a cache breakpoint on a message', { messages: [user(text('hi', breakpoint)), ...rest] }],
    ['a string for a block', { messages: [{ role: 'user', content: 'hi' }, ...rest] }],
    ['other settings', { max_tokens: 99, tool_choice: { type: 'none' } }],
  ])('wire 44 survives %s', (_, change) => {
    expect(check({ ...answered, ...change })).toBeUndefined()
  })

  it('wire 44 survives the first deferred tool, and older thinking that is dropped', () => {
    const bare = request([tool('a')], hi)
    const bound = [hi, assistant(thought(signThinking(bare)), text('x')), hi]
    expect(check(request([tool('a'), deferred('b')], ...bound))).toBeUndefined()
    const second = assistant(thought(signThinking(request(tools, ...bound))), text('y'))
    const dropped = [hi, assistant(text('x')), hi, second, hi]
    expect(check(request(tools, ...dropped))).toBeUndefined()
  })

  const [, call] = loading('b')
  it.each<[string, Json]>([
    ['an edited message', { messages: [user(text('ho')), ...rest] }],
    ['a message less', { messages: [first, reply, hi] }],
    [
      'messages put in front',
      { messages: [hi, assistant(text('1')), user(text('2')), ...answered.messages] },
    ],
    ['a text block more in an earlier user turn', { messages: [user(text('hi'), text('note')), ...rest] }],
    [
      'a text block beside the reference',
      {
        messages: [first, call, user(result('call-1', [reference('b')]), text('note')), reply, hi],
      },
    ],
    ['a tool more', { tools: [...tools, tool('c')] }],
    ['a tool less', { tools: [tool('a'), deferred('b')] }],
    ['an edited tool', { tools: [tool('a', { description: 'new' }), tool('z'), deferred('b')] }],
    ['an edited loaded tool', { tools: [tool('a'), tool('z'), deferred('b', { description: 'new' })] }],
    ['a tool no longer deferred', { tools: [tool('a'), tool('z'), tool('b')] }],
    ['tools in another order', { tools: [tool('z'), tool('a'), deferred('b')] }],
    ['another system prompt', { system: 'other rules' }],
  ])('wire 44 does not survive %s', (_, change) => {
    expect(check({ ...answered, ...change })).toContain(BOUND)
  })

  it('wire 44 does not survive reordering', () => {
    const pair = (one: string, two: string) => [user(text(one)), assistant(text('ok')), user(text(two))]
    const bound = assistant(thought(signThinking(request(tools, ...pair('1', '2')))), text('x'))
    expect(check(request(tools, ...pair('1', '2'), bound, hi))).toBeUndefined()
    expect(check(request(tools, ...pair('2', '1'), bound, hi))).toContain(`messages.3.content.0: ${BOUND}`)
  })

  it('wire 44 covers thinking in the middle of a reply', () => {
    const searched = [search('srvtoolu_1'), found('srvtoolu_1', 'b')]
    const start = request(tools, hi)
    const late = assistant(...searched, thought(signThinking(start, searched)), text('x'))
    expect(check(request(tools, hi, late, hi))).toBeUndefined()
    expect(check(request([tool('a'), tool('z'), deferred('b', { strict: true })], hi, late, hi))).toContain(
      BOUND,
    )
  })

  it('wire 44 does not judge signatures of other origin', () => {
    expect(check(request(tools, hi, assistant(thought('EqoB'), use('c')), user(result('c'))))).toBeUndefined()
  })

  it('the prefix of a place is that of the request that ended there', () => {
    expect(signThinking(asked)).toBe(`oracle:${thinkingPrefix(answered, 3, 0)}`)
    expect(thinkingPrefix(answered, 3, 0)).toBe(thinkingPrefix(answered, 3, 1))
    expect(thinkingPrefix(answered, 4, 0)).not.toBe(thinkingPrefix(answered, 3, 1))
  })
})
