// What a command shows while the sentence encoder reads tools.
import { expect, test } from 'vitest'
import { createEncoderProgress } from '../../packages/cli/src/tools.ts'

function watch(isInteractive: boolean) {
  const told: string[] = []
  const clock = { now: 0 }
  const terminal = { print: () => {}, report: (text: string) => void told.push(text), isInteractive }
  const { report, finish } = createEncoderProgress(terminal, () => clock.now)
  const at = (milliseconds: number, done: number) => {
    clock.now = milliseconds
    report(done, 2000)
  }
  return { told, at, finish }
}

test('elsewhere than on a terminal, a line every ten seconds, with an estimate', () => {
  const { told, at, finish } = watch(false)
  at(500, 1000)
  at(5000, 1100)
  at(10_500, 1200)
  at(20_500, 1960)
  finish()
  expect(told).toEqual([
    'The encoder has read 1000 of 2000 tools.',
    'The encoder has read 1200 of 2000 tools, about 40 s left.',
    'The encoder has read 1960 of 2000 tools, about 1 s left.',
  ])
})

test('on a terminal, one line that is rewritten and removed at the end', () => {
  const { told, at, finish } = watch(true)
  at(0, 8)
  at(100, 16)
  at(1000, 24)
  finish()
  const rewrite = '\u001b[1A\u001b[2K'
  expect(told).toEqual([
    'The encoder has read 8 of 2000 tools.',
    `${rewrite}The encoder has read 24 of 2000 tools, about 2 min left.`,
    rewrite,
  ])
})

test('nothing where nothing had to be read', () => {
  const { told, finish } = watch(true)
  finish()
  expect(told).toEqual([])
})

test('names what is read, and ends a log with all of it', () => {
  const told: string[] = []
  const terminal = { print: () => {}, report: (text: string) => void told.push(text), isInteractive: false }
  const { report, finish } = createEncoderProgress(terminal, () => 0, 'candidates')
  report(8, 15)
  report(12, 15)
  report(15, 15)
  finish()
  expect(told).toEqual([
    'The encoder has read 8 of 15 candidates.',
    'The encoder has read 15 of 15 candidates.',
  ])
})
