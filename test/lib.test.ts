// The helpers that everything else builds on, by tables.
import { describe, expect, it, vi } from 'vitest'
import {
  byName,
  closestNames,
  cut,
  errorMessage,
  fieldsOf,
  fullName,
  hash,
  isContainer,
  jsonLength,
  listOf,
  matchesAny,
  omitFields,
  oncePerFrozen,
  oneLine,
  parseBetas,
  quote,
  spellOutInvisible,
  splitName,
  textOf,
  toJson,
  walkJson,
  withoutCacheControl,
} from '../src/lib/index.ts'

describe('patterns of names', () => {
  it.each([
    ['send', ['send'], ['send_', 'xsend', '']],
    ['*', ['', 'send'], []],
    ['mcp__*', ['mcp__', 'mcp__a'], ['mcp_', 'xmcp__']],
    ['*_delete', ['_delete', 'a_delete'], ['delete', 'a_deleted']],
    ['a*b', ['ab', 'axb'], ['a', 'b', 'ba', 'abc']],
    ['ab*ba', ['abba', 'abxba'], ['aba']],
    ['a*b*c', ['abc', 'axbxc', 'abbc'], ['acb', 'ac', 'abxcx']],
    ['a*bc*c', ['abcc', 'abcxc'], ['abc']],
    ['**', ['', 'a'], []],
  ])('%s fits %j and not %j', (pattern, fitting, others) => {
    expect(fitting.filter((name) => !matchesAny([pattern], name))).toEqual([])
    expect(others.filter((name) => matchesAny([pattern], name))).toEqual([])
  })

  it('any of several may fit, and none fits nothing', () => {
    expect([matchesAny(['a', 'b*'], 'bc'), matchesAny([], 'a')]).toEqual([true, false])
  })
})

describe('names', () => {
  it.each([
    ['mcp__slack__sendMessage', ['slack', 'send', 'message']],
    ['MCP__a', ['a']],
    ['HTTPServer2x', ['http', 'server', '2', 'x']],
    ['a.b/c-d e', ['a', 'b', 'c', 'd', 'e']],
    ['приветМир2', ['привет', 'мир', '2']],
    ['ÉTATCivil', ['état', 'civil']],
    ['mcp__', []],
  ])('S5 %s is split', (name, words) => {
    expect(splitName(name)).toEqual(words)
  })

  it('are compared and found', () => {
    expect(fullName('MCP__Slack__Send')).toBe('slack__send')
    expect(fullName('mcp_a')).toBe('mcp_a')
    expect(
      [...'bca']
        .map((name) => ({ name }))
        .sort(byName)
        .map(({ name }) => name),
    ).toEqual(['a', 'b', 'c'])
    expect(byName({ name: 'a' }, { name: 'a' })).toBe(0)
    const names = ['send', 'create_pull', 'issue_create', 'createIssues', 'delete_issue', 'create_issue']
    expect(closestNames('create_isue', names, 10)).toEqual([
      'create_issue',
      'issue_create',
      'createIssues',
      'create_pull',
      'delete_issue',
    ])
    expect(closestNames('create_isue', names)).toHaveLength(3)
    expect(closestNames('xyz', names)).toEqual([])
    expect(closestNames('', ['', 'a'])).toEqual([''])
    // The keys of a map are read once, however often names are compared with them.
    const keyed = new Map(names.map((name) => [name, 1]))
    const keys = vi.spyOn(keyed, 'keys')
    for (const wanted of ['create_isue', 'snd'])
      expect(closestNames(wanted, keyed)).toEqual(closestNames(wanted, names))
    expect(keys).toHaveBeenCalledTimes(1)
    const [long, longer] = ['ab'.repeat(100), `${'ab'.repeat(100)}${'xy'.repeat(600)}`]
    expect([closestNames(longer, [long]), closestNames(long, [longer])]).toEqual([[long], [longer]])
  })
})

describe('JSON that may be anything', () => {
  it('is read without throwing', () => {
    const odd = [undefined, null, 0, 'x', [1], { a: 1 }, () => 1]
    expect(odd.map(fieldsOf)).toEqual([{}, {}, {}, {}, {}, { a: 1 }, {}])
    expect(odd.map(listOf)).toEqual([[], [], [], [], [1], [], []])
    expect(odd.map(textOf)).toEqual(['', '', '', 'x', '', '', ''])
    expect(odd.map(toJson)).toEqual(['null', 'null', '0', '"x"', '[1]', '{"a":1}', 'null'])
    expect(odd.map(isContainer)).toEqual([false, false, false, false, true, true, false])
    const circle: unknown[] = []
    circle.push(circle)
    expect(toJson(circle)).toBe('"…"')
    expect(omitFields({ a: 1, b: 2, c: 3 }, 'a', 'c')).toEqual({ b: 2 })
    expect(parseBetas(' a,, b ,')).toEqual(['a', 'b'])
    expect(parseBetas(undefined)).toEqual([])
  })

  it('loses its breakpoints, six levels deep, and not in what belongs to the caller', () => {
    const mark = { cache_control: {} }
    expect(
      withoutCacheControl([
        { ...mark, text: 'a', input: mark, input_schema: mark, content: [{ ...mark, b: 1 }] },
      ]),
    ).toEqual([{ text: 'a', input: mark, input_schema: mark, content: [{ b: 1 }] }])
    expect(withoutCacheControl({ a: { a: { a: { a: { a: mark } } } } })).toEqual({
      a: { a: { a: { a: { a: {} } } } },
    })
    const deep = { a: { a: { a: { a: { a: { a: mark } } } } } }
    expect(withoutCacheControl(deep)).toEqual(deep)
    expect([withoutCacheControl(null), withoutCacheControl('x')]).toEqual([null, 'x'])
  })

  it('is walked in order, each container once, with paths that are all different', () => {
    const value = { a: [1, { 'b.c': null }], d$: {}, whole: { not: 1 } }
    const circle = { ...value, again: value.a }
    const places = [...walkJson(circle, 'x', (one) => 'not' in one)]
    expect(places.map(({ path, key }) => `${path} ${key}`)).toEqual([
      'x x',
      'x.a a',
      'x.a[0] ',
      'x.a[1] ',
      'x.a[1]["b.c"] b.c',
      'x.d$ d$',
      'x.whole whole',
      'x.again again',
    ])
    expect(places[4]?.value).toBeNull()
  })
})

describe('text of strangers', () => {
  it('is cut, never within a pair', () => {
    expect([cut('abcd', 4), cut('abcde', 4), cut('ab  cde', 5)]).toEqual(['abcd', 'abc…', 'ab…'])
    expect(cut('ab😀cd', 4)).toBe('ab…')
    expect(cut('ab😀cd', 5)).toBe('ab😀…')
    expect([cut('abc', 1), cut('abc', 0)]).toEqual(['…', '…'])
  })

  it('comes on one line, without tags', () => {
    expect(oneLine(' a\n\tb <b>c\u0007 ', 80)).toBe('a b bc')
    expect(oneLine('x'.repeat(100), 10)).toBe(`${'x'.repeat(9)}…`)
    expect(oneLine(undefined, 20)).toBe('undefined')
  })

  it('is quoted by its kind', () => {
    const circle: { self?: object } = {}
    circle.self = circle
    const values = ['a', () => 1, { a: 1 }, undefined, 3n, circle]
    expect(values.map(quote)).toEqual([
      '"a"',
      'a function',
      '{"a":1}',
      'undefined',
      '[object BigInt]',
      '[object Object]',
    ])
    expect(quote('x'.repeat(100))).toHaveLength(80)
  })

  it('is read from errors, whatever was thrown', () => {
    const spiteful = {
      get message() {
        throw new Error('no')
      },
    }
    const values = [new Error('a'), { message: 'b' }, { message: 3 }, 'c', undefined, new Error(''), spiteful]
    expect(values.map(errorMessage)).toEqual([
      'a',
      'b',
      '[object Object]',
      'c',
      'undefined',
      'Error',
      '[object Object]',
    ])
  })

  it('shows what cannot be seen', () => {
    expect(spellOutInvisible('a\u200bb\nc\u0007\u{E0041}\ud800\ue000')).toBe(
      'a\\u{200b}b c\\u{7}\\u{e0041}\\u{d800}\\u{e000}',
    )
    expect(spellOutInvisible('plain é 😀')).toBe('plain é 😀')
  })
})

it('hashes are the same on every machine', () => {
  expect(['', 'a', 'toolshelf', 'é😀'].map(hash)).toEqual([
    '0wvjl67o803',
    '262p94epp1d',
    '1zxg3p0ntws',
    '03yjaate3wu',
  ])
})

it('computes once per frozen object', () => {
  let count = 0
  const size = oncePerFrozen((list: readonly number[]) => {
    count++
    return list.length || undefined
  })
  const [frozen, open] = [Object.freeze([]), [1]]
  expect([size(frozen), size(frozen), size(open), size(open)]).toEqual([undefined, undefined, 1, 1])
  expect(count).toBe(3)
})

describe('the length of JSON', () => {
  const deep = JSON.parse(`${'['.repeat(150)}${']'.repeat(150)}`)
  it.each([
    ['text'],
    [''],
    [12.5],
    [true],
    [null],
    [[]],
    [{}],
    [[1, 'two', [null, { a: 'b' }]]],
    [{ a: 1, left: undefined, b: { c: ['x', false] } }],
  ])('of %j is that of its JSON', (value) => {
    expect(jsonLength(value)).toBe(JSON.stringify(value).length)
  })

  it('is there for any value', () => {
    for (const value of [undefined, deep, () => {}, Symbol('x'), 1n])
      expect(jsonLength(value)).toBeGreaterThan(0)
  })
})
