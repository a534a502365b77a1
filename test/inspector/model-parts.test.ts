// Areas of a treemap, and hostile text made visible.
// biome-ignore-all lint/suspicious/noControlCharactersInRegex: they are what is looked for
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { shownParts, squarify } from '../../src/inspector/model/index.ts'
import { runs } from '../support/runs.ts'
import { HOSTILE } from './support/tools.ts'

describe('treemap', () => {
  const area = { x: 0, y: 0, width: 400, height: 300 }

  test('areas are in proportion, inside, and do not overlap', () => {
    const values = fc.array(fc.integer({ min: 0, max: 5000 }), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(values, (given) => {
        const areas = squarify(given, area)
        const sum = given.reduce((total, one) => total + one, 0)
        for (const [at, one] of areas.entries()) {
          expect(one === undefined).toBe(given[at] === 0)
          if (!one) continue
          expect((one.width * one.height) / (area.width * area.height)).toBeCloseTo(given[at]! / sum, 6)
          expect(one.x).toBeGreaterThanOrEqual(-1e-6)
          expect(one.y + one.height).toBeLessThanOrEqual(area.height + 1e-6)
          expect(one.x + one.width).toBeLessThanOrEqual(area.width + 1e-6)
          for (const other of areas.slice(at + 1)) if (other) expect(overlap(one, other)).toBeLessThan(1e-3)
        }
      }),
      { numRuns: runs(60) },
    )
  })

  test('areas are nearer to squares than slices are', () => {
    const ratios = squarify([6, 6, 4, 3, 2, 2, 1], { x: 0, y: 0, width: 6, height: 4 }).map((one) =>
      one ? Math.max(one.width / one.height, one.height / one.width) : 0,
    )
    expect(Math.max(...ratios)).toBeLessThan(3)
  })
})

type Area = { readonly x: number; readonly y: number; readonly width: number; readonly height: number }

function overlap(one: Area, other: Area): number {
  const width = Math.min(one.x + one.width, other.x + other.width) - Math.max(one.x, other.x)
  const height = Math.min(one.y + one.height, other.y + other.height) - Math.max(one.y, other.y)
  return Math.max(0, width) * Math.max(0, height)
}

describe('text', () => {
  const marksOf = (text: string) => shownParts(text).flatMap(({ mark }) => mark ?? [])

  test('what steers, hides or turns is marked', () => {
    expect(marksOf(HOSTILE.ansi)).toEqual(['ESC[31m', 'ESC[0m', 'ESC]8;;http://evil.example', 'ESC]8;;'])
    expect(marksOf(HOSTILE.bidi)).toEqual(['U+202E', 'U+202C', 'U+2066', 'U+2069', 'U+200B'])
    expect(marksOf('a\u0000b\u{E0041}')).toEqual(['U+0000', 'U+E0041'])
  })

  test('plain text, line breaks, emoji and scripts that need joiners are not', () => {
    for (const text of ['plain', 'two\n\tlines\r\n', '👨‍👩‍👧 ok', 'می‌خواهم', 'שלום'])
      expect(shownParts(text)).toEqual([{ text }])
  })

  const characters = [
    'a',
    ' ',
    '\n',
    '[31m',
    ';',
    '\u001b',
    '\u009b',
    '\u0007',
    '\u0000',
    '\u202e',
    '\u2069',
    '\u200d',
    '👩',
    'ن',
    '\ud800',
  ]
  const odd = fc.array(fc.constantFrom(...characters), { maxLength: 30 }).map((parts) => parts.join(''))

  test('no part of the text is lost, and no plain part holds a hidden character', () => {
    fc.assert(
      fc.property(odd, (text) => {
        const parts = shownParts(text)
        expect(parts.map((part) => part.text).join('')).toBe(text)
        for (const { text: own, mark } of parts)
          if (mark === undefined)
            expect(own).not.toMatch(/[\u0000-\u0008\u001b\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
      }),
      { numRuns: runs(100) },
    )
  })
})
