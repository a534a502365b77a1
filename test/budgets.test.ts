import { expect, test } from 'vitest'
import { functionsIn, lineAt, readSource, type SourceFile, stripSource } from './support/source.ts'

const files = readSource()

test('no file in src is longer than 400 lines', () => {
  const lengths = files.map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
  const tooLong = lengths.filter(({ lines }) => lines > 400)
  expect(tooLong.map(({ path, lines }) => `src/${path} has ${lines} lines`)).toEqual([])
})

/**
 * Whether a function of more than 80 lines is possible, by indentation alone, since to parse every file takes seconds: its
 * first and last line are indented alike, and what is between them further. Comments and templates may be indented less:
 * they are left out, and their lines are taken to be part of each function.
 */
function mayBeTooLong({ text }: SourceFile): boolean {
  const lines = stripSource(text, 'drop').split('\n')
  const most = 80 - (text.split('\n').length - lines.length)
  const last = new Map<number, number>()
  return lines.some((line, number) => {
    const indent = line.search(/\S/)
    if (indent < 0) return false
    const before = last.get(indent) ?? number
    for (const deeper of [...last.keys()]) if (deeper > indent) last.delete(deeper)
    last.set(indent, number)
    return number > before && number - before >= most
  })
}

test('no function in src is longer than 80 lines', () => {
  const tooLong = files.filter(mayBeTooLong).flatMap((file) =>
    functionsIn(file)
      .filter(({ lines }) => lines > 80)
      .map(
        ({ name, start, lines }) => `src/${file.path}:${lineAt(file.text, start)} ${name} has ${lines} lines`,
      ),
  )
  expect(tooLong).toEqual([])
})

test('a long function is found by its indentation', () => {
  const body = (lines: number) => `function a() {\n${'  b()\n\n'.repeat(lines / 2 - 1)}}\n`
  const isFound = (text: string) => mayBeTooLong({ path: 'x.ts', text })
  expect([isFound(body(80)), isFound(body(82))]).toEqual([false, true])
  expect(isFound(`class A {\n${body(82).replaceAll(/^/gm, '  ')}}`)).toBe(true)
  expect(isFound(body(82).replace('b()\n\n', 'b(`\n\nx`)'))).toBe(true)
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
  const isLoose = (text: string) => /(?::|\bas|<|,|\|)\s*any\b(?!\s*:)/.test(text)
  const loose = files.filter(({ text }) => isLoose(text) && isLoose(stripSource(text, 'drop')))
  expect(loose.map(({ path }) => `src/${path} uses any`)).toEqual([])
})
