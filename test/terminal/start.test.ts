// The beginning of a chat, and what is there from earlier ones: typed lines and sessions.
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { keys, newPlace, noTerminal, open, openHere, type Place } from './support.ts'

const scriptIn = (place: Place) =>
  place.file('script.json', { rules: [{ do: [{ say: 'I heard: {{user}}' }] }] })

async function chat(place: Place, words: readonly string[] = []) {
  const screen = openHere(place, ['chat', '--script', scriptIn(place), ...words], { rows: 40 })
  await screen.shows(/Servers +none/)
  return screen
}

function typedLinesOf({ folder }: Place): string {
  const sessions = join(folder, 'data/toolshelf/sessions')
  const names = readdirSync(sessions, { recursive: true, encoding: 'utf8' })
  return join(sessions, names.find((name) => name.endsWith('typed-lines')) ?? 'none')
}

/** A configuration that is read only once it is given: a pipe that somebody is at the other end of. */
function heldConfig(place: Place): { readonly path: string; readonly give: (text: string) => void } {
  const pipe = join(place.folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  const end = openSync(pipe, 'r+')
  const give = (text: string) => {
    writeSync(end, text)
    closeSync(end)
  }
  return { path: `/proc/${process.pid}/fd/${end}`, give }
}

const noPipe = existsSync('/proc/self/fd') ? undefined : 'there is no way to name an open pipe'

describe('the start of a chat', () => {
  it.skipIf(noPipe)('shows the line to type in before all is read, and what is sent waits', async () => {
    const place = newPlace()
    const config = heldConfig(place)
    const screen = openHere(place, ['chat', '--script', scriptIn(place), '--config', config.path])
    const early = await screen.shows('Starting …')
    expect(early).not.toContain('Session  ')
    await screen.shows(/Toolshelf chat with .*\n\n>/s)
    await screen.enter('hello there')
    await screen.shows('Ctrl-C stops')
    screen.type('and more')
    await screen.shows('> and more')
    config.give('{ "mcpServers": {} }')
    const text = await screen.shows(/I heard: hello there.*\d out/s)
    expect(text).toMatch(/Session {3}/)
    expect(text).toContain('> and more')
    expect(text).not.toContain('Starting …')
  })

  it.skipIf(noTerminal)('keeps what is typed before anything is shown', async () => {
    const place = newPlace()
    const screen = open(place, ['chat', '--script', scriptIn(place)])
    screen.type('early words')
    await screen.shows('> early words')
    screen.type('\r')
    await screen.shows('I heard: early words')
  })

  it.skipIf(noPipe)('can be left before all is read', async () => {
    const place = newPlace()
    const config = heldConfig(place)
    const screen = openHere(place, ['chat', '--script', scriptIn(place), '--config', config.path])
    await screen.shows(/\n\n>/)
    screen.type(keys.ctrlD)
    await screen.hides('Starting …')
    config.give('{}')
    expect(await screen.ended()).toBe(0)
  })
})

describe('lines typed in earlier chats', () => {
  it('come back with the arrow key, except those that begin with a space', async () => {
    const place = newPlace()
    const first = await chat(place)
    await first.enter('the first line')
    await first.shows(/I heard: the first line.*\d out/s)
    await first.enter(' a secret')
    await first.shows(/I heard: a secret.*\d out/s)
    first.type(keys.ctrlD)
    await first.ended()
    const file = typedLinesOf(place)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readFileSync(file, 'utf8')).not.toContain('secret')
    const second = await chat(place)
    second.type(keys.up)
    await second.shows('> the first line')
    second.type('\r')
    await second.shows('I heard: the first line')
  })

  it('are the last 200, and a file that cannot be read or written harms nothing', async () => {
    const place = newPlace()
    const first = await chat(place)
    await first.enter('one')
    await first.shows(/I heard: one.*\d out/s)
    const file = typedLinesOf(place)
    const many = Array.from({ length: 300 }, (_, index) => JSON.stringify(`line ${index}`))
    writeFileSync(file, [...many, '{"not', '7', '"last"'].join('\n'))
    await first.enter('two')
    await first.shows(/I heard: two.*\d out/s)
    const kept = readFileSync(file, 'utf8').trim().split('\n')
    expect(kept).toHaveLength(200)
    expect(kept.slice(-3)).toEqual(['"line 299"', '"last"', '"two"'])
    first.type(keys.ctrlD)
    await first.ended()
    rmSync(file)
    mkdirSync(file)
    const second = await chat(place)
    await second.enter('three')
    await second.shows(/I heard: three.*\d out/s)
    second.type(keys.up)
    await second.shows(/> three.*> three/s)
  })
})

describe('/sessions', () => {
  it('lists the sessions of the folder, newest first, with the command to resume', async () => {
    const place = newPlace()
    for (const words of ['about apples', 'about pears']) {
      const screen = await chat(place)
      await screen.enter(words)
      await screen.shows(/\d out/)
      screen.type(keys.ctrlD)
      await screen.ended()
    }
    const screen = await chat(place)
    await screen.enter('/sessions')
    const text = await screen.shows(/about apples\n +toolshelf chat --resume \S+\n/)
    expect(text).toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d {2}\d+ messages {2}about pears.*about apples/s)
    const name = /about apples\n +toolshelf chat --resume (\S+)\n/.exec(text)?.[1] ?? ''
    screen.type(keys.ctrlD)
    await screen.ended()
    const again = await chat(place, ['--resume', name])
    await again.shows(/the last of them:\n\n> about apples/)
    await again.enter('/sessions')
    await again.shows(/about apples {2}\(this one\)/)
  })
})
