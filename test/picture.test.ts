// The README's picture: how a recording is paced and drawn, and what docs/demo.svg must be.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { draw } from '../scripts/picture/draw.ts'
import { paced } from '../scripts/picture/pace.ts'
import type { Frame, Run } from '../scripts/picture/record.ts'

const MAX_BYTES = 150_000
const SIZE = { columns: 20, rows: 2 }

function run(text: string, look: Partial<Run> = {}): Run {
  return { column: 0, text, colour: undefined, isBold: false, isDim: false, ...look }
}

const frame = (milliseconds: number, ...texts: string[]): Frame => ({
  milliseconds,
  rows: texts.map((text) => [run(text)]),
})

describe('paced', () => {
  const times = (frames: readonly Frame[]) => frames.map(({ milliseconds }) => milliseconds)

  it('starts at 0 and cuts long waits', () => {
    const frames = [frame(5000, 'a'), frame(5200, 'b'), frame(60_000, 'c')]
    expect(times(paced(frames, { longestMs: 800, shortestMs: 100 }))).toEqual([0, 200, 1000])
  })

  it('leaves out screens that follow too fast, but not the one that stays', () => {
    const frames = [frame(0, 'a'), frame(40, 'ab'), frame(80, 'abc'), frame(110, 'abcd'), frame(130, 'abcde')]
    const shown = paced(frames, { longestMs: 800, shortestMs: 100 })
    expect(shown.map(({ rows }) => rows[0]?.[0]?.text)).toEqual(['a', 'abcd', 'abcde'])
  })

  it('leaves out screens that look the same', () => {
    const frames = [frame(0, 'a'), frame(500, 'a'), frame(900, 'b')]
    expect(times(paced(frames, { longestMs: 800, shortestMs: 100 }))).toEqual([0, 900])
  })
})

describe('draw', () => {
  const drawn = draw([frame(0, 'one', 'same'), frame(500, 'two', 'same')], SIZE, {
    label: '<a>',
    holdMs: 500,
  })

  it('shows each screen in its time, and the last one without animation', () => {
    expect(drawn).toContain('0.00%{transform:translateY(-0px)}50.00%{transform:translateY(-38px)}100%')
    expect(drawn).toContain('<g class="strip" transform="translate(0 -38)">')
    expect(drawn).toMatch(/@media\(prefers-reduced-motion:no-preference\)\{\.strip\{animation:film 1\.0s/)
  })

  it('draws a row that comes again only once, and escapes texts', () => {
    expect(drawn.match(/>same</g)).toHaveLength(1)
    expect(drawn).toContain('aria-label="&lt;a&gt;"')
  })

  it('draws bars and boxes as shapes, words as text in their colour', () => {
    const rows = [[run('│ 5 ██', { colour: 8 })], [run('x', { colour: 1, isBold: true })]]
    const picture = draw([{ milliseconds: 0, rows }], SIZE, { label: 'a', holdMs: 500 })
    expect(picture).toMatch(
      /<path class="l8" d="M4\.6 0V19"\/><text [^>]*class="c8">5<\/text><rect [^>]*width="18\.4"/,
    )
    expect(picture).toMatch(/class="c1 b">x</)
    expect(picture).not.toMatch(/>[^<]*[█│]/)
  })
})

it('docs/demo.svg is a small film that asks for nothing', () => {
  const picture = readFileSync(new URL('../docs/demo.svg', import.meta.url), 'utf8')
  expect(picture.length).toBeLessThan(MAX_BYTES)
  expect(picture).toContain('@keyframes film')
  expect(picture).toMatch(/total +[\d,]+ without, [\d,]+ with/)
  expect(picture.replace('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|<script|<image/)
})
