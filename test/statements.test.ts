// docs/statements.md is the key to the numbers in test names: each number once, and where it is implemented and proven
// as `npm run reference` writes it.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { numbersIn, readFiles, statementsPage, type TextFile } from '../scripts/statements-page.ts'

const page = readFileSync(new URL('../docs/statements.md', import.meta.url), 'utf8')
const numbers = [...page.matchAll(/^\| ([A-Z]\d+|wire \d+) \|/gm)].map(([, number = '']) => number)
const sources = readFiles('src')
const tests = readFiles('test')

describe('the page of statements', () => {
  it('has each number once', () => {
    expect(numbers.length).toBeGreaterThan(140)
    expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([])
  })

  it('is as the code says; if not, run npm run reference', () => {
    expect(page).toBe(statementsPage(page, sources, tests))
  })

  it.each([
    ['source file', numbersIn(sources, 'tags')],
    ['test title', numbersIn(tests, 'titles')],
  ])('every number has a %s, and every number there has a row', (_, named) => {
    expect(numbers.filter((number) => !named.has(number))).toEqual([])
    expect([...named].filter(([number]) => !numbers.includes(number))).toEqual([])
  })
})

describe('statementsPage', () => {
  const rows = [
    '| S8 | A search waits. | old | old |',
    '| wire 14 | It stays. |  |  |',
    '| X | Other. | a | b |',
  ]
  const file = (path: string, ...lines: string[]): TextFile => ({ path, text: lines.join('\n') })

  it('fills in sources by their tags and tests by their titles, the most titles first', () => {
    const filled = statementsPage(
      rows.join('\n'),
      [
        file('src/core/wait.ts', '// Waits.', '// Implements S7, S8.'),
        file('src/mcp/a.ts', '// As S8 wants.'),
      ],
      [
        file('test/a.test.ts', "it('S8 waits', f)", '// S8'),
        file('test/b.test.ts', "it.each([1])('S8 %s', f)", "describe('S8 more', f)"),
        file('test/c.test.ts', 'test.each([', '  [1],', "])('wire 12–14, 16 %s', f)"),
      ],
    )
    expect(filled.split('\n')).toEqual([
      '| S8 | A search waits. | [wait.ts](../src/core/wait.ts) | [b.test.ts](../test/b.test.ts), [a.test.ts](../test/a.test.ts) |',
      '| wire 14 | It stays. |  | [c.test.ts](../test/c.test.ts) |',
      '| X | Other. | a | b |',
    ])
  })

  it('names four tests and says how many more there are', () => {
    const tests = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => file(`test/${name}.test.ts`, "it('S8', f)"))
    expect(statementsPage(rows.join('\n'), [], tests)).toContain('[d.test.ts](../test/d.test.ts), 2 more |')
  })
})
