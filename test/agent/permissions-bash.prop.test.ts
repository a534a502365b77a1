// Of a line that counts as a plain simple command, bash makes exactly the words that rules are compared with.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readPlain } from '../../packages/agent/src/permissions/shell.ts'
import { runs } from '../../packages/testkit/src/runs.ts'

const plain = ['aa', '-b', '--c=d', "'e f'", '"g h"', "i'j'k", './l', '%m', 'n:o,p', '+q', '@r', "''", "'é'"]
const odd = [
  '"e;f"',
  "$'g'",
  'i\\ j',
  '~',
  '#k',
  '{}',
  '{',
  '!',
  '<<E',
  '>f1',
  '2>f2',
  '<<<w',
  '\\',
  "'",
  '"',
  '`',
  '$',
  '$(',
  '*',
  'é',
]
const joints = [' ', ' ', ' ', ' ', '\t', '', ';', '\n', ' && ', '|', '&', '\\\n', '(', ')', '\r', '\u00a0']
const word = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...plain) },
  { weight: 1, arbitrary: fc.constantFrom(...odd) },
)
const joint = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(' ', '\t', '  ') },
  { weight: 1, arbitrary: fc.constantFrom(...joints) },
)
const lines = fc
  .array(fc.tuple(word, joint), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.flat().join(''))

/** The commands that bash did not find, with their arguments, and the files that it made. Builtins do nothing here. */
function runIn(folder: string, line: string) {
  const log = join(folder, '..', 'log')
  rmSync(log, { force: true })
  const handler = `() { printf '%s\\0' "$#" "$@" >> '${log}'; }`
  spawnSync('/bin/bash', ['-c', `${line}\nwait`], {
    cwd: folder,
    env: { PATH: '/nowhere', HOME: '~', 'BASH_FUNC_command_not_found_handle%%': handler },
    // The pipe stays open until the last background process has ended, so none writes during the next line.
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  })
  const parts = existsSync(log) ? readFileSync(log, 'utf8').split('\0').slice(0, -1) : []
  const ran: string[][] = []
  for (let at = 0; at < parts.length; at += Number(parts[at]) + 1)
    ran.push(parts.slice(at + 1, at + 1 + Number(parts[at])))
  const files = readdirSync(folder)
  for (const file of files) rmSync(join(folder, file))
  return { ran, files }
}

test.skipIf(!existsSync('/bin/bash'))(
  'bash runs exactly that command, and writes nothing',
  () => {
    const place = mkdtempSync(join(tmpdir(), 'toolshelf-bash-'))
    const folder = mkdtempSync(join(place, 'work-'))
    fc.assert(
      fc.property(lines, (line) => {
        const command = readPlain(line, 'bash')
        // A path or a job is not looked for.
        fc.pre(command !== undefined && !/^[%.]/.test(command.text))
        expect(runIn(folder, line)).toEqual({ ran: [command?.words], files: [] })
      }),
      { numRuns: runs(25), maxSkipsPerRun: 1000 },
    )
    rmSync(place, { recursive: true })
  },
  300_000,
)

test('no text makes it throw, and quotes come back as they are needed', () => {
  fc.assert(
    fc.property(fc.oneof(lines, fc.string()), (line) => {
      const command = readPlain(line, '/usr/bin/bash')
      if (command) expect(readPlain(command.text, 'sh')).toEqual(command)
    }),
    { numRuns: runs(300) },
  )
})
