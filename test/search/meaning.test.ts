// The table of meanings: word pieces as BERT cuts them, and related words nearer than unrelated ones.
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMeaning } from '../../src/search/index.ts'
import { createPieceTable, visitPieces } from '../../src/search/meaning/wordpiece.ts'
import { runAtOnce } from '../../src/search/slices.ts'
import { anyText } from '../support/any-text.ts'
import { runs } from '../support/runs.ts'

const meaning = createMeaning(readFileSync(new URL('../../data/meaning.bin', import.meta.url)))

function similarity(first: string, second: string): number {
  const other = meaning.embed(second)
  return meaning.embed(first).reduce((sum, value, i) => sum + value * other[i]!, 0)
}

describe('word pieces', () => {
  const tokens = ['play', '##ing', '##in', '##g', 'un', '##play', 'cafe', 'a', 'git', 'hub']
  const vocabulary = runAtOnce(createPieceTable(new TextEncoder().encode(tokens.join('\n'))))
  const pieces = (text: string, limit = 64) => {
    const found: string[] = []
    visitPieces(vocabulary, text, limit, (row) => found.push(tokens[row]!))
    return found
  }

  test.each([
    ['Playing', ['play', '##ing']],
    ['unplaying', ['un', '##play', '##ing']],
    ['Café, a-play!', ['cafe', 'a', 'play']],
    ['play_git.hub', ['play', 'git', 'hub']],
    ['unknown play', ['play']],
    ['使用git搜索', ['git']],
    ['playж play', ['play']],
    ['', []],
    ['🎉', []],
  ])('%s', (text, expected) => {
    expect(pieces(text)).toEqual(expected)
  })

  test('stop at the limit, at the end of a word', () => {
    expect(pieces('playing playing playing', 3)).toEqual(['play', '##ing', 'play', '##ing'])
  })
})

describe('meaning', () => {
  test.each([
    ['send an email', 'compose message', 'resize picture'],
    ['let a teammate know that the report is finished', 'send message', 'create branch'],
    ['will it rain tomorrow', 'get weather forecast', 'list files'],
    ['delete a folder', 'remove directory', 'play song'],
    ['stock quote', 'share price', 'translate text'],
    ['what is on my agenda today', 'list calendar events', 'merge pull request'],
    ['where is my package', 'track shipment', 'get lyrics'],
  ])('%s: nearer to %s than to %s', (text, near, far) => {
    expect(similarity(text, near)).toBeGreaterThan(similarity(text, far) + 0.1)
  })

  test('is a unit vector, whatever the case and the accents', () => {
    expect(similarity('Résumé UPLOAD', 'resume upload')).toBeCloseTo(1, 5)
    expect(meaning.embed('weather')).toHaveLength(meaning.dimensions)
  })

  test('is nothing where no word is known', () => {
    for (const text of ['', '   ', '🎉🚀', 'погода завтра', '天气预报', 'مرحبا', '\ud800', 'x'.repeat(500)]) {
      expect(meaning.embed(text).every((value) => value === 0)).toBe(true)
    }
  })

  test('takes any text', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 300 }), (text) => {
        const length = meaning.embed(text).reduce((sum, value) => sum + value * value, 0)
        expect(length === 0 || Math.abs(length - 1) < 1e-4).toBe(true)
      }),
      { numRuns: runs(60) },
    )
  })

  test('knows the mean of the requests that it was made with', async () => {
    const source: string = new URL('../../scripts/distil/phrases.mjs', import.meta.url).href
    const { requestPairs } = (await import(source)) as { requestPairs: () => Iterable<[string, string]> }
    const texts = [...new Set(Array.from(requestPairs(), ([text]) => text))].filter((_, at) => at % 5 === 0)
    const mean = new Float64Array(meaning.dimensions)
    for (const text of texts)
      for (const [i, value] of meaning.embed(text).entries()) mean[i]! += value / texts.length
    const error = Math.hypot(...mean.map((value, i) => value - meaning.requests[i]!))
    expect(error).toBeLessThan(0.1 * Math.hypot(...mean))
  })

  test('refuses other bytes', () => {
    expect(() => createMeaning(new Uint8Array(3))).toThrow('not a table of meanings')
    expect(() => createMeaning(new TextEncoder().encode('TSM1'.padEnd(64, '0')))).toThrow()
  })
})
