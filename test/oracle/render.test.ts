// What the model sees, and what a prompt cache keeps of it: test/statements.md, wire 12 to 16.
import { describe, expect, it } from 'vitest'
import { countTokens, extendsPrefix, renderRequest, visibleTools } from '../../packages/core/src/reading.ts'
import {
  assistant,
  deferred,
  found,
  loading,
  reference,
  request,
  result,
  search,
  text,
  tool,
  use,
  user,
} from './requests.ts'

const hi = user(text('hi'))
const shown = (value: unknown) =>
  renderRequest(value)
    .map((segment) => segment.text)
    .join('\n')
const kinds = (value: unknown) => renderRequest(value).map((segment) => segment.kind)
const count = (value: unknown, part: string) => shown(value).split(part).length - 1

describe('visibility', () => {
  it('wire 12 a deferred tool that nothing refers to is not there', () => {
    const without = request([tool('a'), deferred('b')], hi)
    const within = request([tool('a'), deferred('b'), deferred('hidden')], hi)
    expect(renderRequest(within)).toEqual(renderRequest(without))
    expect(shown(within)).not.toContain('hidden')
    expect(shown(request([tool('a'), tool('hidden')], hi))).toContain('hidden')
  })

  it('wire 13 a reference shows the whole definition, from there on and ever after', () => {
    const tools = [tool('a'), deferred('b', { input_examples: [{ b_key: 'example' }] })]
    const loaded = request(tools, ...loading('b'))
    const later = request(tools, ...loading('b'), assistant(text('x')), hi)
    for (const value of [loaded, later]) {
      expect(shown(value)).toMatch(/<functions>.*does b.*b_key.*example.*<\/functions>/s)
      expect(visibleTools(value)).toEqual(['a', 'b'])
    }
    expect(visibleTools(request(tools, hi))).toEqual(['a'])
  })

  it('wire 13 as does a search by the API', () => {
    const value = request([tool('a'), deferred('b')], hi, assistant(search('s'), found('s', 'b'), text('x')))
    expect(kinds(value).slice(-4)).toEqual(['assistant', 'functions', 'assistant', 'assistant'])
    expect(visibleTools(value)).toEqual(['a', 'b'])
  })

  it('wire 14 the definition is where the reference is, and nothing before it moves', () => {
    const tools = [tool('a'), deferred('b')]
    const [first, call, answer] = loading('b')
    const before = request(tools, first, call)
    const after = request(tools, first, call, answer)
    expect(extendsPrefix(renderRequest(before), renderRequest(after))).toEqual({ extends: true })
    expect(kinds(after).slice(renderRequest(before).length)).toEqual(['user', 'functions', 'user'])
  })

  it('wire 15 deferred tools that nothing refers to may come, go and change places', () => {
    const history = loading('b')
    const some = request([tool('a'), deferred('b'), deferred('c')], ...history)
    for (const tools of [
      [tool('a'), deferred('c'), deferred('b')],
      [deferred('d'), deferred('b'), tool('a')],
      [tool('a'), deferred('b')],
    ]) {
      expect(renderRequest(request(tools, ...history))).toEqual(renderRequest(some))
    }
  })

  it('wire 16 a definition is shown once', () => {
    const again = [assistant(use('call-2')), user(result('call-2', [reference('b'), reference('b')]))]
    const value = request([tool('a'), deferred('b')], ...loading('b'), ...again)
    expect(count(value, '<functions>')).toBe(1)
    expect(kinds(value).indexOf('functions')).toBe(
      kinds(request([tool('a'), deferred('b')], ...loading('b'))).indexOf('functions'),
    )
  })

  it('wire 5 a tool that is in sight anyway is not shown again', () => {
    expect(count(request([tool('a')], ...loading('a')), 'does a')).toBe(1)
  })
})

describe('render', () => {
  it('starts with the tools in their order, then system, then the conversation', () => {
    const value = { ...request([tool('b'), tool('a')], hi), system: [text('rules')] }
    expect(kinds(value)).toEqual(['tools', 'tools', 'system', 'user'])
    expect(shown(value).indexOf('does b')).toBeLessThan(shown(value).indexOf('does a'))
  })

  it('is blind to cache_control, except in what belongs to a tool', () => {
    const mark = { cache_control: { type: 'ephemeral' } }
    const make = (more: object) => ({
      ...request(
        [tool('a', { ...more }), deferred('b')],
        user(text('hi', { ...more })),
        assistant({ ...use('c'), ...more }),
        user(result('c', [reference('b', { ...more })], { ...more })),
      ),
      system: [text('rules', { ...more })],
    })
    expect(renderRequest(make(mark))).toEqual(renderRequest(make({})))
    const called = (input: object) => request([tool('a')], hi, assistant({ ...use('c'), input }))
    expect(renderRequest(called(mark))).not.toEqual(renderRequest(called({})))
  })

  it('counts what is shown', () => {
    const small = countTokens(request([tool('a'), deferred('b')], hi))
    const large = countTokens(request([tool('a'), deferred('b')], ...loading('b')))
    expect(small).toBe(
      Math.ceil(
        renderRequest(request([tool('a'), deferred('b')], hi)).reduce(
          (sum, { text }) => sum + text.length,
          0,
        ) / 2.9,
      ),
    )
    expect(large).toBeGreaterThan(small)
  })
})

describe('extendsPrefix', () => {
  const tools = [tool('a'), deferred('b')]
  const check = (previous: unknown, next: unknown) =>
    extendsPrefix(renderRequest(previous), renderRequest(next))

  it('holds when messages or blocks of the last turn are added', () => {
    const one = request(tools, hi)
    expect(check(one, request(tools, hi, assistant(text('x'))))).toEqual({ extends: true })
    expect(check(one, request(tools, user(text('hi'), text('more'))))).toEqual({ extends: true })
    expect(check(one, request(tools, { role: 'user', content: 'hi' }, user(text('more'))))).toEqual({
      extends: true,
    })
  })

  it('says where it broke', () => {
    const one = request(tools, hi, assistant(text('x')))
    const two = request(tools, user(text('hi'), text('more')), assistant(text('x')))
    expect(check(one, two)).toEqual({
      extends: false,
      at: 3,
      expected: { kind: 'assistant', text: 'x' },
      found: { kind: 'user', text: 'more' },
    })
    expect(check(one, request(tools, hi))).toMatchObject({ extends: false, at: 3, found: undefined })
  })

  it.each([
    ['the first deferred tool', [tool('a')], tools],
    ['another immediate tool', tools, [...tools, tool('c')]],
    ['a changed tool', tools, [tool('a', { description: 'new' }), deferred('b')]],
    ['a deferred tool made immediate', tools, [tool('a'), tool('b')]],
  ])('breaks at %s', (_, before, after) => {
    expect(check(request(before, hi), request(after, hi)).extends).toBe(false)
  })

  it('breaks when a result already sent gets more content', () => {
    const answer = (...content: unknown[]) =>
      request(tools, hi, assistant(use('c')), user(result('c', content)))
    expect(check(answer(text('x')), answer(text('x'), text('y'))).extends).toBe(false)
  })
})
