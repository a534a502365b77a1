// `toolshelf chat --list`: lists what can be resumed, whatever state the files are in.
import { chmodSync, mkdirSync, mkdtempSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { runCli } from '../../packages/cli/src/main.ts'
import { listSessions } from '../../packages/cli/src/sessions.ts'
import { runHere } from '../../packages/testkit/src/cli-here.ts'

const user = (content: unknown) => ({ role: 'user', content })
const append = (...messages: object[]) => ({ type: 'append', messages })
const isRoot = process.getuid?.() === 0

let work = ''
let kept = ''

beforeEach(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-sessions-'))
  work = join(folder, 'work')
  mkdirSync(work)
  vi.stubEnv('XDG_DATA_HOME', join(folder, 'data'))
  vi.stubEnv('TZ', 'Etc/GMT-2')
  const { out } = await sessions('--json')
  kept = JSON.parse(out).folder
  mkdirSync(kept, { recursive: true })
})

afterEach(() => void vi.unstubAllEnvs())

async function sessions(...words: string[]) {
  const out: string[] = []
  const told: string[] = []
  const print = (text: string) => void out.push(text)
  const report = (text: string) => void told.push(text)
  const code = await runCli(
    ['chat', '--list', ...(words[0] === '--directory' ? [] : ['--directory', work]), ...words],
    {
      print,
      report,
      isInteractive: false,
    },
  )
  return { code, out: out.join('\n'), told: told.join('\n') }
}

/** A session of so many minutes past noon in Greenwich, two hours later here. */
function keep(name: string, minutes: number, ...lines: (object | string)[]): string {
  const file = join(kept, `${name}.jsonl`)
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
  writeFileSync(file, texts.map((text) => `${text}\n`).join(''))
  const time = new Date(Date.UTC(2026, 2, 1, 12, minutes))
  utimesSync(file, time, time)
  return file
}

describe('toolshelf chat --list', () => {
  it('lists the newest first: name, time, number of messages, first words, and how to resume', async () => {
    keep('older', 1, append(user('what changed\n  today?'), { role: 'assistant', content: 'All.' }))
    keep('newer', 30, append(user('one')), append(user('two')), { type: 'state', state: {} })
    const { code, out } = await sessions()
    expect(code).toBe(0)
    expect(out.split('\n')).toEqual([
      'newer',
      '  2026-03-01 14:30, 2 messages: one',
      'older',
      '  2026-03-01 14:01, 2 messages: what changed today?',
      `To resume: toolshelf chat --directory ${work} --resume <name>, or last for the newest`,
    ])
  })

  it('names no folder where none was given', async () => {
    keep('one', 1, append(user('hello')))
    const place = { folder: work, environment: { ...process.env } as never }
    const { out } = await runHere(place, ['chat', '--list'])
    expect(out).toContain('To resume: toolshelf chat --resume <name>, or last for the newest\n')
  })

  it('--json has all of it for programs, and listSessions for the chat', async () => {
    const file = keep('one', 1, append(user('hello')))
    const time = new Date(Date.UTC(2026, 2, 1, 12, 1))
    const entry = { name: 'one', file, messages: 1, words: 'hello', isBroken: false }
    expect(listSessions(work)).toEqual([{ ...entry, time }])
    const { out } = await sessions('--json')
    expect(JSON.parse(out)).toEqual({ folder: kept, sessions: [{ ...entry, time: time.toISOString() }] })
  })

  it('the first words are what the person typed', () => {
    const text = (text: string) => ({ type: 'text', text })
    const result = { type: 'tool_result', tool_use_id: 'a', content: 'x' }
    keep('offered', 1, append(user([text('Skills relevant to your task:\n- a: b'), text('do it')])))
    keep('noted', 2, append(user('<system-reminder>\nnames</system-reminder>'), user('and now')))
    keep('called', 3, append(user([result, text('late')]), user('then')))
    keep('compacted', 4, append(user('the beginning')), { type: 'replace', messages: [user('a summary')] })
    const words = Object.fromEntries(
      listSessions(work).map(({ name, words, messages }) => [name, [words, messages]]),
    )
    expect(words).toEqual({
      offered: ['do it', 1],
      noted: ['and now', 2],
      called: ['then', 2],
      compacted: ['the beginning', 1],
    })
  })

  it('lists a broken session as broken, and a damaged one as far as it can be read', async () => {
    keep('broken', 3, 'not JSON', '{"type":"append"}')
    keep('damaged', 2, append(user('hello')), '{"type":"append","mess')
    keep('empty', 1)
    writeFileSync(join(kept, 'notes.md'), 'no session')
    mkdirSync(join(kept, 'folder.jsonl'))
    const { code, out } = await sessions()
    expect(code).toBe(0)
    expect(out.split('\n').slice(0, -1)).toEqual([
      'broken',
      '  2026-03-01 14:03, it cannot be read',
      'damaged',
      '  2026-03-01 14:02, 1 message: hello',
      'empty',
      '  2026-03-01 14:01, 0 messages',
    ])
  })

  it.skipIf(isRoot)('one without permission is listed as broken', () => {
    chmodSync(keep('locked', 1, append(user('secret'))), 0)
    expect(listSessions(work)).toMatchObject([{ name: 'locked', isBroken: true }])
  })

  it('words cannot steer the terminal, and fit on a line', async () => {
    keep('odd', 1, append(user(`clear\u001b[2J${' word'.repeat(50)}`)))
    const { out } = await sessions()
    expect(out).not.toContain('\u001b')
    for (const line of out.split('\n').slice(0, 2)) expect(line.length).toBeLessThanOrEqual(80)
  })

  it('of many the newest are shown', async () => {
    for (let minute = 0; minute < 35; minute++) keep(`session-${minute}`, minute, append(user('hi')))
    const { out } = await sessions()
    expect(out).toContain('session-34\n')
    expect(out).not.toContain('session-4\n')
    expect(out).toContain('… and 25 older, which --json lists.')
    expect(JSON.parse((await sessions('--json')).out).sessions).toHaveLength(35)
  })

  it('keeps those of two folders apart, however alike their names are', async () => {
    const long = 'x'.repeat(150)
    const folders: string[] = []
    for (work of [
      '/home/a/b',
      '/home/a-b',
      '/home/a b',
      '/home/日本',
      '/home/中国',
      `/a${long}`,
      `/b${long}`,
    ])
      folders.push(JSON.parse((await sessions('--json')).out).folder)
    expect(new Set(folders).size).toBe(folders.length)
    expect(folders[0]).toMatch(/-home-a-b$/)
  })
})
