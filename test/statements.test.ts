// Every statement that a source file says it implements is proven by a test, and the other way round.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { namesIn, readFiles, statementsPage, type TextFile } from '../scripts/statements-page.ts'

const tagged = namesIn(readFiles('packages'), 'tags')
const titled = namesIn(readFiles('test'), 'titles')
const list = readFileSync(new URL('./statements.md', import.meta.url), 'utf8')

describe('the numbers of statements', () => {
  it('are in a source file and in the title of a test, or in neither', () => {
    expect(tagged.size).toBeGreaterThan(140)
    expect([...tagged.keys()].filter((number) => !titled.has(number))).toEqual([])
    expect([...titled.keys()].filter((number) => !tagged.has(number))).toEqual([])
  })

  it('are those of test/statements.md', () => {
    const listed = [...list.matchAll(/^- \*\*([^*]+)\*\*/gm)].map(([, number]) => number)
    expect(new Set(listed)).toEqual(new Set(tagged.keys()))
    expect(new Set(listed).size).toBe(listed.length)
  })
})

it('statementsPage lists sources by their tags and tests by their titles', () => {
  const file = (path: string, ...lines: string[]): TextFile => ({ path, text: lines.join('\n') })
  const page = statementsPage(
    [file('src/core/wait.ts', '// Waits.', '// Implements S7, S10.'), file('src/a.ts', '// As S8 wants.')],
    [
      file('test/a.test.ts', "it('S10 waits', f)", '// S8'),
      file('test/b.test.ts', 'test.each([', '  [1],', "])('wire 12–13 | %s', f)"),
      file('test/c.test.ts', ...[1, 2, 3, 4, 5].map((n) => `it('S7 no. ${n}', f)`)),
    ],
  )
  const c = '([c.test.ts](../test/c.test.ts))'
  expect(page.split('\n').filter((line) => /^\| \w+ ?\d/.test(line))).toEqual([
    `| S7 | [core/wait.ts](../src/core/wait.ts) | S7 no. 1 ${c}<br>S7 no. 2 ${c}<br>S7 no. 3 ${c}<br>S7 no. 4 ${c}<br>1 more |`,
    '| S10 | [core/wait.ts](../src/core/wait.ts) | S10 waits ([a.test.ts](../test/a.test.ts)) |',
    '| wire 12 |  | wire 12–13 \\| %s ([b.test.ts](../test/b.test.ts)) |',
    '| wire 13 |  | wire 12–13 \\| %s ([b.test.ts](../test/b.test.ts)) |',
  ])
})
