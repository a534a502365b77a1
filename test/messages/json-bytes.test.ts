// JSON in bytes: where values end, and the lists that are recognised by their bytes.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createListCache,
  endOfValue,
  jsonBytes,
  type ListItem,
  readValue,
} from '../../src/messages/json/index.ts'
import { largeValues } from '../../src/messages/json/scan.ts'

describe('where a value ends', () => {
  it('is found in strings of any length, full of escapes', () => {
    const text = fc.array(fc.constantFrom('\\', '"', 'a', 'é', '\n'), { minLength: 0, maxLength: 90 })
    fc.assert(
      fc.property(
        text,
        fc.integer({ min: 55, max: 70 }),
        fc.constantFrom('', ',', ' "', ']'),
        (some, plain, rest) => {
          for (const value of [some.join(''), 'x'.repeat(plain) + some.join('')]) {
            const json = Buffer.from(JSON.stringify(value))
            expect(endOfValue(Buffer.from(`[${json}${rest}`), 1)).toBe(1 + json.length)
          }
        },
      ),
    )
  })

  it('is found for everything else, up to a thousand levels', () => {
    for (const value of ['1', '-1.5e3', 'true', '{}', '[]', '{"a":[1,{"b":"]}"}]}'])
      for (const rest of ['', ',1', ' ', '\n', ']', '}'])
        expect(endOfValue(Buffer.from(value + rest), 0), value + rest).toBe(value.length)
    const nested = (levels: number) => Buffer.from('['.repeat(levels) + ']'.repeat(levels))
    expect(endOfValue(nested(1000), 0)).toBe(2000)
    expect(() => endOfValue(nested(1001), 0)).toThrow('nested too deeply at 1000')
    for (const broken of ['', ',', '"a', '"a\\"', '[1', '{"a":"]}'])
      expect(() => endOfValue(Buffer.from(broken), 0), broken).toThrow(/no value|no end/)
  })

  it('is listed for large values, containers and strings', () => {
    const json = Buffer.from('{"a":["12345",{"b":1}],"c":"x"}')
    expect([...largeValues(json, 0, json.length, 7)].sort(([a], [b]) => a - b)).toEqual([
      [0, 31],
      [5, 22],
      [6, 13],
      [14, 21],
    ])
  })
})

it('only a long text without escapes under the key data is decoded when it is read', () => {
  const isLazy = (value: unknown, key = 'data') => {
    const bytes = Buffer.from(JSON.stringify({ [key]: value }))
    const read = readValue(bytes, 0, bytes.length) as { [key: string]: unknown }
    expect(read[key]).toEqual(value)
    return Object.getOwnPropertyDescriptor(read, key)?.get !== undefined
  }
  const long = 'x'.repeat(16_382)
  expect([isLazy(long), isLazy(long.slice(1)), isLazy(long, 'text')]).toEqual([true, false, false])
  expect([isLazy(`${long}\n`), isLazy([long, long])]).toEqual([false, false])
})

describe('lists by their bytes', () => {
  const items = (...names: readonly string[]): ListItem[] =>
    names.map((name) => ({ value: { name }, bytes: Buffer.from(`{"name":"${name}"}`) }))
  const bytesOf = (...names: readonly string[]) =>
    Buffer.from(`[${items(...names).map(({ bytes }) => bytes)}]`)
  const open = (more: { maxBytes?: number; maxItemBytes?: number; replaced?: number } = {}) =>
    createListCache({ maxBytes: 100_000, maxItemBytes: 1000, replaced: 0, ...more })
  const sizeOf = (count: number) => count * (12 * 3 + 200)

  it('the longest known start is found, and the same list where all of it is', () => {
    const cache = open()
    const abc = items('a', 'b', 'c')
    const short = cache.add('me', abc.slice(0, 2))
    const long = cache.add('me', [...abc, ...items('d')])
    expect(cache.find('me', bytesOf('a', 'b'), 1)).toMatchObject({ items: { length: 2 }, end: 26 })
    expect(cache.find('me', bytesOf('a', 'b'), 1)?.whole).toBe(short)
    expect(cache.find('me', bytesOf('a', 'b', 'c', 'd'), 1)?.whole).toBe(long)
    const longer = cache.find('me', bytesOf('a', 'b', 'c', 'x'), 1)
    expect(longer).toEqual({ items: abc, end: 39, whole: undefined })
    expect(cache.find('me', bytesOf('a', 'b', 'c', 'd', 'e'), 1)).toMatchObject({ end: 52, whole: undefined })
    expect(cache.find('me', bytesOf('b', 'a'), 1)).toBeUndefined()
    expect(cache.find('you', bytesOf('a', 'b'), 1)).toBeUndefined()
    expect(cache.find('me', Buffer.from('[1]'), 1)).toBeUndefined()
    expect(cache.add('me', [])).toEqual([])
  })

  it('what was not used for longest goes first, and sizes add up', () => {
    const cache = open({ maxBytes: sizeOf(2) })
    cache.add('me', items('a'))
    cache.add('me', items('b'))
    expect(cache.size).toBe(sizeOf(2))
    cache.find('me', bytesOf('a'), 1)
    cache.add('me', items('c'))
    expect(cache.size).toBe(sizeOf(2))
    expect(['a', 'b', 'c'].map((name) => cache.find('me', bytesOf(name), 1) !== undefined)).toEqual([
      true,
      false,
      true,
    ])
    expect(open({ maxItemBytes: 12 }).maxItemBytes).toBe(12)
  })

  it('of lists with one start the last eight are kept', () => {
    const cache = open()
    const [first] = items('a')
    const names = [...'bcdefghij']
    for (const name of names) cache.add('me', [first!, ...items(name)])
    const known = names.map((name) => cache.find('me', bytesOf('a', name), 1)?.whole !== undefined)
    expect(known).toEqual([false, ...names.slice(1).map(() => true)])
    expect(cache.size).toBe(sizeOf(16))
  })

  it('a conversation that continues replaces its start, though its last items changed', () => {
    const cache = open({ replaced: 1 })
    const [a, b, c] = items('a', 'b', 'c')
    cache.add('me', [a!, b!])
    cache.add('me', [a!, c!, b!])
    expect(cache.size).toBe(sizeOf(3))
    cache.add('me', [a!, b!])
    expect(cache.size).toBe(sizeOf(5))
    const plain = open()
    plain.add('me', [a!])
    plain.add('me', [a!, b!])
    expect(plain.size).toBe(sizeOf(3))
  })

  it('an item above the limit is not looked up', () => {
    const cache = open({ maxItemBytes: 12 })
    cache.add('me', items('a'))
    cache.add('me', items('ab'))
    expect(cache.find('me', bytesOf('a'), 1)).toBeDefined()
    expect(cache.find('me', bytesOf('ab'), 1)).toBeUndefined()
  })
})

describe('what is written', () => {
  it('is what JSON.stringify writes, also for frozen and deep values', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 12 }), (value) => {
        for (const one of [value, { list: [value, undefined], none: undefined }, Object.freeze([value, 'é'])])
          expect(Buffer.concat(jsonBytes(one)).toString()).toBe(JSON.stringify(one))
      }),
    )
  })
})
