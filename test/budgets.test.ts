import { expect, test } from 'vitest'
import { readSource, stripSource } from './support/source.ts'

const files = readSource()

test('no file in src is longer than 400 lines', () => {
  const lengths = files.map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
  const tooLong = lengths.filter(({ lines }) => lines > 400)
  expect(tooLong.map(({ path, lines }) => `src/${path} has ${lines} lines`)).toEqual([])
})

test('src does not use any', () => {
  const loose = files.filter(({ text }) =>
    /(?::|\bas|<|,|\|)\s*any\b(?!\s*:)/.test(stripSource(text, 'drop')),
  )
  expect(loose.map(({ path }) => `src/${path} uses any`)).toEqual([])
})
