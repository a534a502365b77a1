// Hostile text made visible.
// biome-ignore-all lint/suspicious/noControlCharactersInRegex: they are what is looked for
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { shownParts } from '../../packages/inspector/src/model/shown-text.ts'
import { runs } from '../../packages/testkit/src/runs.ts'
import { HOSTILE } from './support/tools.ts'

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
