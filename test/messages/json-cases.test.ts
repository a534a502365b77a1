// JSON in bytes: spaces, escapes and brackets at every place, and lists that differ in one item.
import { describe, expect, it } from 'vitest'
import {
  createListCache,
  endOfValue,
  isDeepJson,
  jsonBytes,
  memberAt,
  nextItem,
  parseExact,
  readValue,
  skipSpace,
  stringifyExact,
} from '../../src/messages/json/index.ts'

const bytes = (text: string) => Buffer.from(text)

it('white space is skipped, of every kind and no other', () => {
  expect(skipSpace(bytes(' \n\r\t x'), 0)).toBe(5)
  expect([' x', '\nx', '\rx', '\tx', '\fx', 'x'].map((text) => skipSpace(bytes(text), 0))).toEqual([
    1, 1, 1, 1, 0, 0,
  ])
  expect(skipSpace(bytes('  '), 0)).toBe(2)
})

describe('a long string', () => {
  const plain = 'x'.repeat(80)
  it.each([
    ['no escape', '', 0],
    ['an escaped quote', '\\"', 0],
    ['an escaped backslash', '\\\\', 0],
    ['both', '\\\\\\"y', 0],
    ['four backslashes', '\\\\\\\\', 0],
  ])('ends behind its last quote: %s', (_, ending) => {
    const text = `"${plain}${ending}"`
    expect(endOfValue(bytes(`${text} "next"`), 0)).toBe(text.length)
  })

  it('may have its first escape where the search for quotes begins', () => {
    for (let length = 58; length < 72; length++) {
      const text = JSON.stringify(`${'x'.repeat(length)}\\"\\`)
      expect(endOfValue(bytes(`${text},"`), 0), String(length)).toBe(text.length)
    }
  })
})

describe('items and members', () => {
  it.each<[string, boolean, ']' | '}', number | string | undefined]>([
    [' ]', true, ']', undefined],
    [' }', true, '}', undefined],
    [' 1]', true, ']', 1],
    [' , 1]', false, ']', 3],
    ['\t]', false, ']', undefined],
    [' 1]', false, ']', 'no comma at 1'],
    [', ]', false, ']', 'no value at 2'],
    [',}', false, '}', 'no value at 1'],
    ['}', false, ']', 'no comma at 0'],
    [']', true, '}', 0],
  ])('%j %j %s: %j', (text, isFirst, close, expected) => {
    const next = () => nextItem(bytes(text), 0, isFirst, close)
    if (typeof expected === 'string') expect(next).toThrow(expected)
    else expect(next()).toBe(expected)
  })

  it('a member has a key, a colon and a value', () => {
    expect(memberAt(bytes('"a\\n" : 1'), 0)).toEqual({ key: 'a\n', value: 8 })
    expect(() => memberAt(bytes('a: 1'), 0)).toThrow('no key at 0')
    expect(() => memberAt(bytes('"a" 1'), 0)).toThrow('no colon at 4')
  })
})

describe('numbers of many digits', () => {
  const LONG = '12345678901234567890'
  it.each([
    `{"a":${LONG}}`,
    ` [ ${LONG} , {"b":[${LONG}]} ] `,
    `{"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":{"i":${LONG}}}}}}}}}}`,
    `{"a":"${'x'.repeat(5_000)}","b":[${LONG},{"c":${LONG}}]}`,
    `[{"data":"${'A'.repeat(20_000)}","n":${LONG}}]`,
    '{"a":1,"b":[true,null,"é"]}',
  ])('keep them: %#', (json) => expect(stringifyExact(parseExact(json))).toBe(json.trim()))

  it('also where another part of the value was changed', () => {
    const value = parseExact(`{"keep":{"n":${LONG}},"list":[{"n":${LONG}},1],"drop":1}`) as {
      [name: string]: unknown
    }
    expect(stringifyExact({ ...value, drop: 2 })).toBe(
      `{"keep":{"n":${LONG}},"list":[{"n":${LONG}},1],"drop":2}`,
    )
  })

  it('lose digits only in what the scanner cannot read', () => {
    const json = `{"__proto__":1,"n":${LONG}}`
    expect(Object.keys(parseExact(json) as object)).toEqual(['__proto__', 'n'])
    expect(() => parseExact('{"n":}')).toThrow(SyntaxError)
  })
})

it('refuses deep nesting, however short', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  expect([isDeepJson(nested(1_000)), isDeepJson(nested(1_001)), isDeepJson('['.repeat(1_999))]).toEqual([
    false,
    true,
    false,
  ])
  expect(isDeepJson(`"${'x'.repeat(3_000)}`)).toBe(false)
  expect(() => parseExact(nested(1_001))).toThrow('nested more than 1000 levels deep')
})

describe('what is written', () => {
  it('has large parts of their own, and joins the small ones', () => {
    const large = (size: number) => {
      const text = bytes(JSON.stringify({ a: 'x'.repeat(size - 8) }))
      return { text, value: readValue(text, 0, text.length) }
    }
    const [one, two, less] = [large(65_536), large(70_000), large(65_535)]
    const lengths = (value: unknown) => jsonBytes(value).map((part) => part.length)
    expect(lengths(one.value)).toEqual([65_536])
    expect(lengths([one.value, two.value])).toEqual([1, 65_536, 1, 70_000, 1])
    expect(lengths([less.value])).toEqual([65_537])
    expect(lengths({ a: 1, b: [2, 'é'] })).toEqual([20])
  })

  it('is null for what JSON has no word for, and nothing for a field without a value', () => {
    expect(stringifyExact(undefined)).toBe('null')
    expect(stringifyExact([undefined, () => {}])).toBe('[null,null]')
    expect(stringifyExact({ a: undefined, b: {}, c: [] })).toBe('{"b":{},"c":[]}')
  })
})

it('a list that shares its start with one known list and its end with another is neither', () => {
  const item = (name: string) => ({ value: { name }, bytes: bytes(`{"name":"${name}"}`) })
  const [a, b, c, x, y] = ['a', 'b', 'c', 'x', 'y'].map(item)
  const cache = createListCache({ maxBytes: 100_000, maxItemBytes: 1_000, replaced: 0 })
  cache.add('me', [a!, b!, c!])
  cache.add('me', [a!, x!, y!])
  const found = cache.find('me', bytes('[{"name":"a"},{"name":"b"},{"name":"y"}]'), 1)
  expect(found?.items).toEqual([a, b])
  expect(cache.find('me', bytes('[{"name":"a"},{"name":"x"},{"name":"y"}]'), 1)?.items).toEqual([a, x, y])
})
