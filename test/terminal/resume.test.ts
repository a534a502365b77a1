// A resumed session: the last messages are shown, loaded tools stay loaded, and damage loses as little as possible.
import { appendFileSync, copyFileSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { keys, newPlace, openHere, type Place } from './support.ts'

const rules = [
  {
    when: 'move it',
    do: [{ call: 'Move', input: { from: 'a.txt', to: 'b.txt' }, search: 'move file' }, { say: 'Moved.' }],
  },
  {
    when: 'move again',
    do: [{ call: 'Move', input: { from: 'b.txt', to: 'a.txt' } }, { say: 'Moved back.' }],
  },
]

async function started(place: Place, words: readonly string[], isShared = false) {
  const script = place.file('script.json', { rules, otherwise: 'I heard: {{user}}' })
  const screen = openHere(place, ['chat', '--script', script, '--allow', 'Move', ...words], {
    rows: 40,
    isShared,
  })
  await screen.shows(/Servers +none/)
  return screen
}

async function first(place: Place): Promise<string> {
  place.file('a.txt', 'alpha')
  const screen = await started(place, [], true)
  await screen.enter('hello')
  await screen.shows(/I heard: hello.*\d out/s)
  await screen.enter('move it')
  await screen.shows(/Moved\..*\d out/s)
  screen.type(keys.ctrlD)
  await screen.ended()
  return sessionOf(place)
}

function sessionOf({ folder }: Place): string {
  const sessions = join(folder, 'data/toolshelf/sessions')
  const names = readdirSync(sessions, { recursive: true, encoding: 'utf8' })
  return join(sessions, names.find((name) => name.endsWith('.jsonl')) ?? '')
}

describe('toolshelf chat --resume', () => {
  const place = newPlace()
  let session: string
  let damaged: string
  beforeAll(async () => {
    session = await first(place)
    damaged = join(newPlace().folder, 'session.jsonl')
  })

  it('resumes a transcript that was cut in half', async () => {
    copyFileSync(session, damaged)
    truncateSync(damaged, Math.floor(readFileSync(damaged).length / 2))
    const screen = await started(place, ['--resume', damaged])
    await screen.shows(/1\s+unreadable\s+line\s+was\s+left\s+out/)
    await screen.enter('still there?')
    await screen.shows('I heard: still there?')
    screen.type(keys.ctrlD)
    await screen.ended()
    const again = await started(place, ['--resume', damaged])
    await again.enter('and now?')
    await again.shows('I heard: and now?')
  })

  it('resumes a session that ended in the middle of a call', async () => {
    copyFileSync(session, damaged)
    const call = { type: 'tool_use', id: 'toolu_open', name: 'Bash', input: { command: 'true' } }
    const messages = [
      { role: 'user', content: 'run it' },
      { role: 'assistant', content: [call] },
    ]
    appendFileSync(damaged, `${JSON.stringify({ type: 'append', messages })}\n`)
    const screen = await started(place, ['--resume', damaged])
    await screen.shows(/> run it\n +✗ Bash/)
    await screen.enter('go on')
    await screen.shows('I heard: go on')
  })

  it('resumes the last session, with what it had loaded', async () => {
    const screen = await started(place, ['--resume', 'last'])
    await screen.shows(/Resumed +\d+ messages; the last of them:\n\n> move it\n.*Moved\./s)
    await screen.enter('/tools')
    await screen.shows(/Loaded +.*Move/)
    await screen.enter('/context')
    const window = await screen.shows('deferred, not in it')
    expect(window).toContain('as your next message will be sent')
    expect(window).toMatch(/tools loaded by search +[1-9]\d* /)
    expect(window).toMatch(/conversation +[1-9]\d* /)
    await screen.enter('/verbose')
    await screen.shows('Calls are now shown with their results')
    await screen.enter('move again')
    const text = await screen.shows('Moved back.')
    expect(text.split('> move again')[1]).not.toContain('ToolSearch')
    expect(readFileSync(join(place.folder, 'a.txt'), 'utf8')).toBe('alpha')
  })

  it('reports that there is nothing to resume, and changes no other file', async () => {
    const place = newPlace()
    const script = place.file('script.json', { rules: [{ do: [{ say: 'hi' }] }] })
    const none = openHere(place, ['chat', '--script', script, '--resume', 'last'])
    expect(await none.ended()).toBe(1)
    expect(none.text()).toContain('no session found in')
    const other = join(place.folder, 'notes.md')
    writeFileSync(other, '# Notes')
    const wrong = openHere(place, ['chat', '--script', script, '--resume', 'notes.md'])
    expect(await wrong.ended()).toBe(1)
    expect(wrong.text()).toMatch(/notes\.md is\s+not a session/)
    expect(readFileSync(other, 'utf8')).toBe('# Notes')
    const missing = openHere(place, ['chat', '--script', script, '--resume', 'no.jsonl'])
    expect(await missing.ended()).toBe(1)
    expect(missing.text()).toContain('no such file')
  })
})
