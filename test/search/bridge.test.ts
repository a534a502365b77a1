// The language table: what is written can be read, and a damaged one is refused with a reason.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Bridge, createBridge } from '../../packages/core/src/search/language.ts'
import { anyText } from '../../packages/testkit/src/any-text.ts'
import { runs } from '../../packages/testkit/src/runs.ts'
import { type Entry, writeTable } from '../../scripts/bridge/table.ts'

const entry = (word: string, targets: readonly string[], frequency = 3): Entry => ({
  word,
  targets,
  frequency,
})

const small = writeTable(
  [entry('invoice', [], 5)],
  new Map([
    ['de', [entry('rechnung', ['invoice', 'bill']), entry('rechnen', ['calculate']), entry('und', [])]],
  ]),
)

describe('the language table', () => {
  it('gives the English words of a word, likeliest first', () => {
    const german = createBridge(small).lexicon('de')
    expect(german?.translate('rechnung')).toEqual(['invoice', 'bill'])
    expect(german?.translate('und')).toEqual([])
    expect(german?.translate('rechn')).toBeUndefined()
    expect(german?.frequency('rechnung')).toBe(3)
    expect(createBridge(small).english.frequency('invoice')).toBe(5)
  })

  it('knows its languages and no others', () => {
    const bridge = createBridge(small)
    expect(bridge.languages).toEqual(['de'])
    expect(bridge.lexicon('fr')).toBeUndefined()
  })

  it.each([
    ['rechnungen', 5, 'rechnung'],
    ['rechnest', 5, 'rechnen'],
    ['rechnest', 7, undefined],
    ['xyz', 1, undefined],
  ])('the nearest word of %s with %i shared characters is %s', (word, least, expected) => {
    expect(createBridge(small).lexicon('de')?.nearest(word, least)).toBe(expected)
  })

  it('reads back whatever was written', () => {
    const word = anyText({ minLength: 1, maxLength: 12 }).filter((text) => !text.includes('\n'))
    const targets = fc.array(fc.constantFrom('invoice', 'mail', 'rain'), { maxLength: 3 })
    fc.assert(
      fc.property(fc.dictionary(word, targets, { maxKeys: 8, noNullPrototype: true }), (words) => {
        const entries = Object.entries(words).map(([one, to]) => entry(one, to))
        const lexicon = createBridge(writeTable([], new Map([['xx', entries]]))).lexicon('xx')
        for (const { word: one, targets: to } of entries) expect(lexicon?.translate(one)).toEqual(to)
      }),
      { numRuns: runs(60) },
    )
  })

  it('says why it does not read a file that is something else', () => {
    expect(() => createBridge(new Uint8Array())).toThrow('not a language table')
    expect(() => createBridge(new TextEncoder().encode('something else'))).toThrow('not a language table')
  })

  it('refuses a damaged table at once, or reads it without failing later', () => {
    fc.assert(
      fc.property(fc.nat(small.length), fc.nat(small.length - 1), fc.nat(255), (length, at, value) => {
        const damaged = small.slice()
        damaged[at] = value
        let bridge: Bridge
        try {
          bridge = createBridge(damaged.subarray(0, length))
        } catch (error) {
          expect(String(error)).toMatch(/language table/)
          return
        }
        for (const language of bridge.languages) bridge.lexicon(language)?.translate('rechnung')
      }),
      { numRuns: runs(300) },
    )
  })
})
