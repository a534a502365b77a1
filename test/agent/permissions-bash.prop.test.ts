// Whatever bash runs of a line that we call certain is among the commands that rules were asked about.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readShell } from '../../src/agent/permissions/shell.ts'
import { runs } from '../support/runs.ts'

const words = [
  ...[
    'aa',
    'bb',
    '"c d"',
    "'e;f'",
    "$'g\\'h'",
    "$'\\u0065cho'",
    'i\\ j',
    '~',
    '#k',
    'l#',
    '{}',
    '{',
    '}',
    '!',
    '""',
  ],
  ...[
    '<<E',
    "<<'E'",
    '<<-E',
    'E',
    '>f1',
    '2>f2',
    '>&2',
    '&>f3',
    '<<<w',
    '>|f4',
    '\\',
    "'",
    '"',
    '`',
    '$',
    '$(',
    '*',
  ],
]
const joints = [
  ' ',
  ' ',
  ' ',
  ';',
  '\n',
  '\nE\n',
  ' && ',
  '|',
  '|&',
  '&',
  '\\\n',
  '\t',
  '(',
  ')',
  ' ( ',
  ' ) ',
  '',
  ' # ',
]
const lines = fc
  .array(fc.tuple(fc.constantFrom(...words), fc.constantFrom(...joints)), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.flat().join(''))

/** The commands that bash did not find, with their arguments, and the files that it made. Builtins do nothing here. */
function runIn(folder: string, line: string) {
  const log = join(folder, '..', 'log')
  rmSync(log, { force: true })
  const handler = `() { printf '%s\\0' "$#" "$@" >> '${log}'; }`
  spawnSync('/bin/bash', ['-c', `${line}\nwait`], {
    cwd: folder,
    env: { PATH: '', HOME: '~', 'BASH_FUNC_command_not_found_handle%%': handler },
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
  'bash runs and writes nothing that was not found',
  () => {
    const place = mkdtempSync(join(tmpdir(), 'toolshelf-bash-'))
    const folder = mkdtempSync(join(place, 'work-'))
    fc.assert(
      fc.property(lines, (line) => {
        const { commands, redirections, isCertain } = readShell(line)
        fc.pre(isCertain)
        const { ran, files } = runIn(folder, line)
        for (const command of ran) expect(commands.map((one) => one.words)).toContainEqual(command)
        for (const file of files) expect(redirections).toContainEqual({ kind: 'write', path: file })
      }),
      { numRuns: runs(25), maxSkipsPerRun: 1000 },
    )
    rmSync(place, { recursive: true })
  },
  300_000,
)
