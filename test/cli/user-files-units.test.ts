// Names of sessions and rules on disk: each form of a name and each bound.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  dataFolder,
  findSession,
  newSessionFile,
  openUserRules,
  resumeOptions,
  rulesIn,
  sessionFiles,
  sessionsFolder,
  whereabouts,
} from '../../src/cli/user-files/index.ts'
import { enter } from '../support/cli-here.ts'
import { outcomeOf } from './support/input.ts'

let folder: string
let leave = () => {}
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'user-files-'))
  leave = enter(folder, { XDG_DATA_HOME: join(folder, 'data'), HOME: folder })
})
afterEach(() => {
  leave()
  rmSync(folder, { recursive: true })
})

/** Without the temporary folder, which has another name each time. */
const without = (value: unknown) =>
  String(value)
    .replaceAll(folder, '')
    .replaceAll(/sessions\/-[\w-]+-work-[0-9a-f]{8}/g, 'sessions/work')

test('data is in the folder that the environment names, if it is absolute', () => {
  const given = (data: string | undefined) => dataFolder({ XDG_DATA_HOME: data }, '/home/ada')
  const own = join('/home/ada', '.local', 'share', 'toolshelf')
  expect([given(undefined), given(''), given('here'), given('/data')]).toEqual([
    own,
    own,
    own,
    join('/data', 'toolshelf'),
  ])
})

test('each working folder has sessions of its own', () => {
  const name = (path: string) =>
    sessionsFolder(path).slice(join(folder, 'data', 'toolshelf', 'sessions').length + 1)
  const long = `/${'x'.repeat(119)}`
  expect([name('/a/b.c'), name('/a b'), name('/a-b'), name(long), name(`${long}y`)]).toEqual([
    ...[
      '-a-b.c',
      expect.stringMatching(/^-a-b-[0-9a-f]{8}$/),
      expect.stringMatching(/^-a-b-[0-9a-f]{8}$/),
      `-${'x'.repeat(119)}`,
    ],
    expect.stringMatching(/^x{119}y-[0-9a-f]{8}$/),
  ])
  expect(name('/a b')).not.toBe(name('/a-b'))
  expect(newSessionFile('/a').slice(sessionsFolder('/a').length + 1)).toMatch(
    /^\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d-[0-9a-f]{8}\.jsonl$/,
  )
})

test('a session is found by its name, the start of it, or its path', async () => {
  const directory = join(folder, 'work')
  const find = async (requested: string) => without(await outcomeOf(() => findSession(requested, directory)))
  const home = sessionsFolder(directory)
  expect(await find('last')).toContain('CommandError: no session found in ')
  expect(sessionFiles(directory)).toEqual([])
  mkdirSync(join(home, 'folder.jsonl'), { recursive: true })
  const write = (name: string, seconds: number) => {
    writeFileSync(join(home, name), '')
    utimesSync(join(home, name), seconds, seconds)
  }
  ;[
    ['2026-a.jsonl', 5],
    ['2026-b.jsonl', 7],
    ['2026.jsonl', 5],
    ['2025-x.jsonl', 1],
    ['note.txt', 9],
  ].forEach(([name, seconds]) => {
    write(String(name), Number(seconds))
  })
  expect(sessionFiles(directory).map(({ name }) => name)).toEqual(['2026-b', '2026-a', '2026', '2025-x'])
  const file = (name: string) => without(join(home, `${name}.jsonl`))
  expect([
    await find('last'),
    await find('2026'),
    await find('2026-a'),
    await find('2026-b.jsonl'),
    await find('2025'),
  ]).toEqual([...['2026-b', '2026', '2026-a', '2026-b', '2025-x'].map(file)])
  writeFileSync(join(folder, 'mine'), '')
  writeFileSync(join(folder, 'mine.txt'), '')
  expect([
    await find('./mine'),
    await find('mine.txt'),
    await find('202'),
    await find('2026-'),
    await find('lst'),
    await find('mine'),
    await find(''),
  ]).toMatchInlineSnapshot(`
    [
      "/mine",
      "/mine.txt",
      "CommandError: "202" matches 4 sessions: 2026-b, 2026-a, 2026, …. Write more of the name.",
      "CommandError: "2026-" matches 2 sessions: 2026-b, 2026-a. Write more of the name.",
      "CommandError: no such file or session: "lst"; did you mean last? Sessions of this folder are stored in /data/toolshelf/sessions/work; "toolshelf chat --list --directory /work" lists them.",
      "CommandError: no such file or session: "mine". Sessions of this folder are stored in /data/toolshelf/sessions/work; "toolshelf chat --list --directory /work" lists them.",
      "CommandError: no such file or session: "". Sessions of this folder are stored in /data/toolshelf/sessions/work; "toolshelf chat --list --directory /work" lists them.",
    ]
  `)
  for (const name of ['2026-c', '2026-d']) write(`${name}.jsonl`, 2)
  expect(await find('2026-')).toContain('2026-b, 2026-a, 2026-d, …. Write more')
  expect(
    [
      resumeOptions(join(home, '2026-a.jsonl'), directory),
      resumeOptions('/x/y.jsonl', directory),
      whereabouts(directory),
    ].map(without),
  ).toMatchInlineSnapshot(`
    [
      "--resume 2026-a --directory /work",
      "--resume /x/y.jsonl",
      "Sessions of this folder are stored in /data/toolshelf/sessions/work; "toolshelf chat --list --directory /work" lists them.",
    ]
  `)
  expect(resumeOptions(join(sessionsFolder('.'), 'a.jsonl'), '.')).toBe('--resume a')
  expect(whereabouts('.')).toMatch(/"toolshelf chat --list" lists/)
  rmSync(home, { recursive: true })
  writeFileSync(home, '')
  expect(await outcomeOf(() => sessionFiles(directory))).toContain('CommandError: cannot list the sessions')
})

test('rules are kept for everywhere or for a folder', async () => {
  const machine = { home: folder, folder, platform: 'linux', environment: {} } as const
  const rules = openUserRules(machine)
  const stored = () => JSON.parse(readFileSync(rules.file, 'utf8').replaceAll(folder, ''))
  const rule = (effect: 'allow' | 'deny', text: string, scope: 'user' | 'project') => ({
    effect,
    rule: text,
    scope,
  })
  expect(await rules.read()).toEqual([])
  expect(await rules.remove(rule('allow', 'Bash', 'user'))).toBe(false)
  expect(existsSync(rules.file)).toBe(false)
  await rules.add([
    rule('allow', 'Bash(ls)', 'user'),
    rule('deny', 'Read', 'project'),
    rule('allow', 'Bash(ls)', 'user'),
    rule('deny', 'Edit', 'project'),
  ])
  expect(stored()).toEqual({ allow: ['Bash(ls)'], folders: { '': { deny: ['Read', 'Edit'] } } })
  expect(await rules.read()).toEqual([
    rule('allow', 'Bash(ls)', 'user'),
    rule('deny', 'Read', 'project'),
    rule('deny', 'Edit', 'project'),
  ])
  expect([
    await rules.remove(rule('deny', 'Read', 'user')),
    await rules.remove(rule('deny', 'Read', 'project')),
  ]).toEqual([false, true])
  expect(stored().folders).toEqual({ '': { deny: ['Edit'] } })
  expect(existsSync(`${rules.file}.lock`)).toBe(false)
  for (const [text, message] of [
    ['{', 'is not valid JSON. Correct it'],
    ['[]', 'is not a JSON object. Correct it'],
    ['{"allow":5}', '"allow" must be a list of rules. Correct the file'],
    ['{"allow":["("]}', 'Correct the file'],
  ] as const) {
    writeFileSync(rules.file, text)
    expect(await outcomeOf(() => rules.read())).toContain(message)
  }
  const many = (count: number) => rulesIn({ ask: Array(count).fill('Bash') }, 'user')
  expect([many(1000), many(1001)].map(({ rules: read, problems }) => [read.length, problems])).toEqual([
    [1000, []],
    [1000, ['"ask" has 1001 rules, more than 1000']],
  ])
})
