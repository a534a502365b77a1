// Texts of millions of equal characters. V8 stops optimising regular expressions once a process has compiled many of them, and
// then a repetition overflows its stack after a few million characters: a gateway that runs for days gets there.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { bundled } from '../../packages/testkit/src/bundled.ts'
import { isThorough } from '../../packages/testkit/src/runs.ts'

const LENGTH = 9_000_000

/** What overflowed; the last character of the second is repeated. */
const known = [
  ['preview', 'x'],
  ['printableLine', ' '],
  ['cleanText', '\u200b'],
  ['oracle', 'A'],
]
/** With more effort, everything on everything. */
const units = [
  '\n',
  '\r',
  '\t',
  '-',
  '=',
  '<',
  '\u0001',
  '\ufe0f',
  '\u{E0041}',
  '\ud800',
  '|',
  '"',
  '\u001b',
  '\u001b[ ',
  '\u001b[1',
  '\u001b]x',
]
const others = units.flatMap((unit) =>
  ['preview', 'printableLine', 'cleanText', 'unsafeKinds'].map((use) => [use, unit]),
)

const program = (all: readonly string[][]) => `
import { cleanText, unsafeKinds } from './packages/core/src/lib/text.ts'
import { validateRequest } from './packages/messages/src/oracle/validate.ts'
import { previewOf } from './packages/core/src/results.ts'
import { printableLine } from './packages/cli/src/terminal/pen.ts'

const oracle = (data) => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }
  const call = { type: 'tool_use', id: data, name: 'Read', input: {} }
  const messages = [{ role: 'user', content: [image] }, { role: 'assistant', content: [call] }]
  for (const one of messages) validateRequest({ model: 'claude-opus-4-6', max_tokens: 1, messages: [one] })
}
const uses = { oracle, cleanText, unsafeKinds, printableLine, preview: (text) => previewOf(text, 5000) }
for (const [use, unit] of ${JSON.stringify(all)}) {
  const text = unit.slice(0, -1) + unit.slice(-1).repeat(${LENGTH})
  try {
    uses[use](text)
  } catch (error) {
    console.log(use, JSON.stringify(unit), String(error))
  }
}
console.log('all tried')
`

test('H6 overflow no stack, also where expressions are not optimised', async () => {
  const file = await bundled({ text: program(isThorough ? [...known, ...others] : known) })
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-regexp-optimization', file])
  expect(stdout).toBe('all tried\n')
})
