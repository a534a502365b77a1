import { expect, test } from 'vitest'
import { functionsIn, lineAt, readSource, stripSource } from './support/source.ts'

const files = readSource()

test('no file in src is longer than 400 lines', () => {
  const lengths = files.map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
  const tooLong = lengths.filter(({ lines }) => lines > 400)
  expect(tooLong.map(({ path, lines }) => `src/${path} has ${lines} lines`)).toEqual([])
})

test('no function in src is longer than 80 lines', () => {
  const tooLong = files.flatMap((file) =>
    functionsIn(file)
      .filter(({ lines }) => lines > 80)
      .map(
        ({ name, start, lines }) => `src/${file.path}:${lineAt(file.text, start)} ${name} has ${lines} lines`,
      ),
  )
  expect(tooLong).toEqual([])
})

test('functions of every kind are measured', () => {
  const text = [
    'function* one() {\n}',
    'export const two = async <T,>(x: T) => {\n\n}',
    'class A { #three(): void {\n} }',
    'const b = { four: () => [\n].map(() => 1), get five() { return 5 } }',
    'declare function none(): void',
  ].join('\n')
  const found = functionsIn({ path: 'x.ts', text }).map(
    ({ name, start, lines }) => `${name} ${lineAt(text, start)} ${lines}`,
  )
  expect(found).toEqual(['one 1 2', 'two 3 3', 'three 6 2', 'four 8 2', 'four 9 1', 'five 9 1'])
})

test('src does not use any', () => {
  const loose = files.filter(({ text }) =>
    /(?::|\bas|<|,|\|)\s*any\b(?!\s*:)/.test(stripSource(text, 'drop')),
  )
  expect(loose.map(({ path }) => `src/${path} uses any`)).toEqual([])
})
