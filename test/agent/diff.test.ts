// A file's change, line by line: right for any two texts, and short for any size.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { FileChange } from '../../packages/core/src/lib/diff.ts'
import { fileChange } from '../../packages/core/src/lib/diff.ts'
import { runs } from '../../packages/testkit/src/runs.ts'

const signs = { same: ' ', added: '+', removed: '-', gap: '…' }
const shown = ({ lines }: FileChange) => lines.map(({ kind, text }) => `${signs[kind]}${text}`)
const text = (count: number, name = 'line') =>
  Array.from({ length: count }, (_, index) => `${name} ${index}\n`).join('')

describe('fileChange', () => {
  test('a changed line with three lines around it', () => {
    const before = text(20)
    const change = fileChange('a.ts', before, before.replace('line 10\n', 'other\nand more\n'))
    expect(shown(change)).toEqual([
      ' line 7',
      ' line 8',
      ' line 9',
      '-line 10',
      '+other',
      '+and more',
      ' line 11',
      ' line 12',
      ' line 13',
    ])
    expect(change).toMatchObject({ path: 'a.ts', isNew: false, added: 2, removed: 1, left: 0 })
    expect(change.lines.map(({ line }) => line)).toEqual([8, 9, 10, 11, 11, 12, 13, 14, 15])
  })

  test('huge files that have nothing in common are cut, and say so', () => {
    const change = fileChange('a', text(50_000, 'old'), text(50_000, 'new'))
    expect(change).toMatchObject({ added: 50_000, removed: 50_000 })
    expect(change.lines.length).toBeLessThanOrEqual(400)
    expect(change.left).toBeGreaterThan(75_000)
  })

  test('property: the lines that are not removed are the new text, those not added the old one', () => {
    const line = fc.constantFrom('a', 'b', 'c', '', 'd e')
    const lines = fc.array(line, { maxLength: 12 })
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const join = (parts: string[]) => parts.map((part) => `${part}\n`).join('')
        const change = fileChange('a', join(before), join(after))
        const added = change.lines.filter(({ kind }) => kind === 'added')
        const removed = change.lines.filter(({ kind }) => kind === 'removed')
        for (const { text: value, line: number } of added) expect(after[number - 1]).toBe(value)
        for (const { text: value, line: number } of removed) expect(before[number - 1]).toBe(value)
        const kept = (all: readonly string[], gone: typeof added) =>
          all.filter((_, index) => !gone.some(({ line: number }) => number === index + 1))
        expect(kept(after, added)).toEqual(kept(before, removed))
        expect(change).toMatchObject({ added: added.length, removed: removed.length })
      }),
      { numRuns: runs(100) },
    )
  })
})
