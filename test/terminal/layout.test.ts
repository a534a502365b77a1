// Text on a screen: widths, rows, bars, tables, numbers, and what strangers wrote.
import { describe, expect, it } from 'vitest'
import {
  columnsOf,
  count,
  counted,
  createPen,
  duration,
  fit,
  harmlessData,
  linesOf,
  padEnd,
  padStart,
  percent,
  printable,
  printableLine,
  wrap,
} from '../../packages/cli/src/terminal/pen.ts'
import {
  beginningOf,
  endOf,
  firstRows,
  harmless,
  lastRows,
  rowsOf,
  usable,
  visible,
  widthOf,
  wrapLines,
} from '../../packages/cli/src/terminal/table.ts'

describe('columns', () => {
  it.each([
    ['abc', 3],
    ['é', 1],
    ['日本', 4],
    ['👍🏽', 2],
    ['☔️', 2],
    ['\u001b[31mred\u001b[0mé', 4],
    ['', 0],
  ])('%j takes %d', (text, columns) => {
    expect(columnsOf(text)).toBe(columns)
    expect(padEnd(text, columns + 2)).toBe(`${text}  `)
    expect(padStart(text, columns + 2)).toBe(`  ${text}`)
    expect(padStart(padEnd(text, columns - 1), columns - 1)).toBe(text)
  })

  it('text is cut to them, with a mark', () => {
    expect(fit('abcdef', 6)).toBe('abcdef')
    expect(fit('abcdefg', 6)).toBe('abcde…')
    expect(fit('abcd efg', 6)).toBe('abcd…')
    expect(fit('日本語', 5)).toBe('日本…')
    expect(fit('日本語', 4)).toBe('日…')
    expect(fit('abcdefg', 6, '..')).toBe('abcd..')
  })

  it('text is wrapped to them, between words where it can', () => {
    expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
    expect(wrap('abcdefgh ij', 3)).toEqual(['abc', 'def', 'gh', 'ij'])
    expect(wrap('日本語', 4)).toEqual(['日本', '語'])
    expect(wrap('', 5)).toEqual([])
  })
})

describe('a pen', () => {
  it('paints where it may', () => {
    const { bold, dim, red, yellow, green, blue } = createPen({ width: 80, isPlain: false })
    const painted = [bold, dim, red, yellow, green, blue].map((paint) => paint('x'))
    expect(painted).toEqual([1, 2, 31, 33, 32, 36].map((code) => `\u001b[${code}mx\u001b[0m`))
    expect(red('')).toBe('')
    expect(createPen({ width: 80, isPlain: true }).red('x')).toBe('x')
    expect(createPen({ width: 80, isPlain: false, isColoured: false }).red('x')).toBe('x')
    expect(createPen({ width: 70, isPlain: true }).width).toBe(70)
  })

  it('draws bars in which everything above zero shows', () => {
    const { bar } = createPen({ width: 80, isPlain: false })
    const values = [0, -1, 0.001, 0.5, 1, 1.25, 4, 9]
    expect(values.map((value) => bar(value, 4, 4))).toEqual(['', '', '▏', '▌', '█', '█▎', '████', '████'])
    expect(bar(1, 0, 4)).toBe('')
    const plain = createPen({ width: 80, isPlain: true })
    expect(values.map((value) => plain.bar(value, 4, 4))).toEqual([
      '',
      '',
      '#',
      '#',
      '#',
      '#',
      '####',
      '####',
    ])
    expect(plain.bar(1, 0, 4)).toBe('')
    expect([plain.fit('abcdef', 5), createPen({ width: 8, isPlain: false }).fit('abcdef', 5)]).toEqual([
      'abc..',
      'abcd…',
    ])
    expect([plain.marks.error, createPen({ width: 8, isPlain: false }).marks.error]).toEqual(['x', '✗'])
  })
})

describe('rows', () => {
  // Of 20 columns 17 are counted on.
  it('are counted, and text is cut to them at either end', () => {
    expect([usable(20), usable(5)]).toEqual([17, 10])
    expect(
      ['', 'x'.repeat(17), 'x'.repeat(18), 'é'.repeat(9), 'a\n\nb'].map((text) => rowsOf(text, 20)),
    ).toEqual([1, 1, 2, 2, 3])
    const text = `${'a'.repeat(18)}\nb\n${'c'.repeat(40)}`
    expect(firstRows(text, 2, 20)).toBe('a'.repeat(18))
    expect(firstRows(text, 3, 20)).toBe(`${'a'.repeat(18)}\nb`)
    expect(firstRows(text, 4, 20)).toBe(`${'a'.repeat(18)}\nb\n${'c'.repeat(17)}`)
    expect(lastRows(text, 2, 20)).toBe('c'.repeat(34))
    expect(lastRows(text, 4, 20)).toBe(`b\n${'c'.repeat(40)}`)
    expect([firstRows(text, 0, 20), lastRows(text, 0, 20)]).toEqual(['', ''])
  })

  it('a line is cut by columns', () => {
    expect(widthOf('aé')).toBe(3)
    expect(['aéb', 'é'].map((line) => beginningOf(line, 3))).toEqual(['aé', 'é'])
    expect(beginningOf('aéb', 2)).toBe('a')
    expect([endOf('aéb', 3), endOf('aéb', 2), endOf('aéb', 9)]).toEqual(['éb', 'b', 'aéb'])
  })

  it('indents the continuation of a long line', () => {
    expect(wrapLines('one two three four five six', 20)).toBe('one two three four\n  five six')
    expect(wrapLines(`  ${'x'.repeat(30)}`, 20)).toBe(`  ${'x'.repeat(17)}\n    ${'x'.repeat(13)}`)
    expect(wrapLines('x'.repeat(19), 20)).toBe('x'.repeat(19))
    expect(wrapLines('x'.repeat(20), 20)).toBe(`${'x'.repeat(19)}\n  x`)
    expect(wrapLines(`${' '.repeat(30)}${'x'.repeat(30)}`, 30)).toBe(
      `\n\n${' '.repeat(12)}${'x'.repeat(17)}\n${' '.repeat(12)}${'x'.repeat(13)}`,
    )
    expect(wrapLines('x'.repeat(14), 13)).toBe(`${'x'.repeat(12)}\n  xx`)
  })
})

describe('numbers and texts', () => {
  it('are written for people', () => {
    expect([count(1234567), counted(1, 'tool'), counted(2000, 'tool'), counted(0, 'tool')]).toEqual([
      '1,234,567',
      '1 tool',
      '2,000 tools',
      '0 tools',
    ])
    expect([0, 0.0004, 0.0005, 0.1234, 1].map(percent)).toEqual([
      '0.0 %',
      '< 0.1 %',
      '0.1 %',
      '12.3 %',
      '100.0 %',
    ])
    expect([null, 0.4, 999, 1000, 1250].map(duration)).toEqual(['', '0 ms', '999 ms', '1.0 s', '1.3 s'])
  })

  it('of strangers steer nothing and hide nothing', () => {
    expect(printableLine(' a\u001b[31mb\u009b2Jc\u200bd\n\te\u0007\ud800 ')).toBe('abcd e \ufffd')
    expect(linesOf('a\r\nb\rc\n\n d')).toEqual(['a', 'b', 'c', 'd'])
    expect(harmlessData({ a: 'x\ny', stderr: 'x\ny\n', n: 1, list: ['\u001b[1mz'] })).toEqual({
      ...{ a: 'x y', stderr: 'x\ny', n: 1 },
      list: ['z'],
    })
    expect(printable('a\tb\nc\u0007\u200b')).toBe('a\tb\nc??')
    expect(harmless('\u001b[31ma\r\nb\tc\u0007\u202e\u200bd')).toBe('a\nb    c??\u200bd')
    expect(visible('a\u200b\u001b\u2028\tb\n')).toBe('a\\u{200b}\\u{1b}\\u{2028}    b\n')
  })
})
