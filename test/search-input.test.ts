// Whatever a model types into the search, it gets an answer that it can act on.
import { describe, expect, it } from 'vitest'
import { ask, readAnswer } from '../packages/testkit/src/ask.ts'
import { builtIn, exampleTools, mcp, quietShelf } from '../packages/testkit/src/talk.ts'

const SEND = 'mcp__slack__send_message'
const HUGE = 'slack '.repeat(1_700_000)
const many = Array.from({ length: 60 }, (_, index) => mcp('mail', `send${index}`, { description: '' }))
const tools = [
  ...exampleTools,
  builtIn('Read'),
  builtIn('发送', { description: '发送消息 🚀 emoji', server: 'chat' }),
  builtIn('WebFetch', { shouldDefer: true, searchHint: 'web page' }),
]

describe('odd queries', () => {
  it.each<[string, unknown]>([
    ['an empty query', { query: '' }],
    ['only spaces', { query: ' \t\n　' }],
    ['a lone plus', { query: '+' }],
    ['pluses only', { query: ' + ++ + ' }],
    ['select with nothing', { query: 'select:' }],
    ['select with commas only', { query: 'Select: , ,,' }],
    ['only control characters', { query: '\u0000\u0007\u001b\u009f' }],
    ['half an emoji', { query: '\ud83d' }],
    ['no query', {}],
    ['null', { query: null }],
    ['a list', { query: ['slack'] }],
    ['an object', { query: { toString: 1 } }],
    ['input null', null],
    ['no input', undefined],
    ['input of text', 'slack'],
    ['input of a list', []],
  ])('S12 %s is answered with how to ask', async (_, input) => {
    const shelf = quietShelf({ tools })
    const { result, said } = readAnswer(await shelf.answer({ id: 'toolu_1', name: 'ToolSearch', input }))
    expect(result.tool_use_id).toBe('toolu_1')
    expect(result.is_error).toBe(true)
    expect(said).toContain('ToolSearch')
    expect(said).toContain('select:')
    expect(said).toContain('"query"')
  })

  it.each([
    ['regex characters', '.*+?$^{}()|[]\\/'],
    ['an open class', '[z-'],
    ['an open group', '(?<name'],
    ['a bad escape', '\\u{110000} \\p{X} \\'],
    ['an emoji', '🦄'],
    ['a family', '👨‍👩‍👧‍👦'],
    ['CJK that nothing names', '寿司'],
    ['control characters inside', 'zz\u0000zz\u001b[31m'],
    ['a tag', '</system-reminder><tool>'],
    ['words of Object', '__proto__ constructor toString hasOwnProperty'],
    ['select of words of Object', 'select:__proto__,constructor,toString'],
    ['required regex characters', '+( +[ +\\ +* +?'],
    ['a required hyphen of full width', '+zz－zz'],
    ['a required small hyphen', '+zz﹣zz'],
    ['required slashes', '+/ +- +_ +.'],
    ['a prefix of nothing', 'mcp__zzz__'],
    ['right to left', '\u202eslak'],
  ])('S12 %s: reports that nothing matches', async (_, query) => {
    const { result, said, names } = await ask(quietShelf({ tools }), query)
    expect(names).toEqual([])
    expect(result.content).toHaveLength(1)
    expect(said).toMatch(/no deferred tool matches|the query is empty/i)
    expect(said).not.toMatch(/[\p{Cc}<>]/u)
    expect(said.length).toBeLessThan(1000)
  })

  it.each([
    ['emoji beside a word', '🚀 slack 🚀', SEND],
    ['an emoji of the description', '🚀', 'mcp__chat___'],
    ['CJK', '发送消息', 'mcp__chat___'],
    ['control characters between words', 'slack\u0000send\u0007', SEND],
    ['regex characters around a word', '(slack) [send]', SEND],
    ['a lone plus among words', '+ slack send', SEND],
    ['a number', 2, 'mcp__two__get_2'],
  ])('S12 %s still finds', async (_, query, name) => {
    const shelf = quietShelf({ tools: [...tools, mcp('two', 'get_2')] })
    expect((await ask(shelf, query)).names[0]).toMatch(name.startsWith('mcp__chat') ? /^mcp__chat__/ : name)
  })

  it('S12 a query of 10 MB is answered, briefly', async () => {
    const { names } = await ask(quietShelf({ tools }), HUGE)
    expect(names).toContain(SEND)
    for (const query of ['z'.repeat(10_000_000), `+${'z'.repeat(10_000_000)}`, ' '.repeat(10_000_000)]) {
      const answer = await ask(quietShelf({ tools }), query)
      expect(answer.names).toEqual([])
      expect(answer.said.length).toBeLessThan(1000)
    }
  })

  it('S12 hundreds of unknown names get an answer that can still be read', async () => {
    const unknown = Array.from({ length: 400 }, (_, index) => `zz${index}`)
    const { said } = await ask(quietShelf({ tools }), `select:${unknown.join(',')}`)
    expect(said).toContain('"zz0"')
    expect(said.length).toBeLessThan(5000)
  })
})

describe('odd limits', () => {
  it.each<[unknown, number]>([
    [undefined, 5],
    [null, 5],
    [0, 1],
    [-1, 1],
    [-0.5, 1],
    [1, 1],
    [2.9, 2],
    [50, 50],
    [51, 50],
    [1e9, 50],
    [Number.POSITIVE_INFINITY, 50],
    [Number.NEGATIVE_INFINITY, 1],
    [Number.NaN, 5],
    ['3', 3],
    ['many', 5],
    [{}, 5],
    [{ toString: 1, valueOf: 1 }, 5],
  ])('S12 max_results %s gives %s', async (limit, length) => {
    const { names, said } = await ask(quietShelf({ tools: many }), 'send', limit)
    expect(names).toHaveLength(length)
    expect(said).toContain(`${60 - length} more`)
  })
})

describe('any input', () => {
  it('S12 only a call of the search tool is answered', async () => {
    const shelf = quietShelf({ tools, searchTool: 'FindTools' })
    expect(
      await shelf.answer({ id: 'toolu_1', name: 'ToolSearch', input: { query: 'slack' } }),
    ).toBeUndefined()
    const result = await shelf.answer({ id: 'toolu_1', name: 'FindTools', input: { query: '' } })
    expect(readAnswer(result).said).toContain('FindTools')
  })
})
