// Ctrl-C, Ctrl-D and the end of a chat: the turn stops, the session stays, no process is left.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { keys, newPlace, noTerminal, open, openHere, rest, shareScreen } from './support.ts'

const seconds = () => 100_000 + Math.floor(Math.random() * 800_000)

/** Whether a process with these words is running. */
const isRunning = (words: string) => {
  const list = execFileSync('ps', ['-eo', 'stat,args'], { encoding: 'utf8' })
  return list.split('\n').some((line) => line.includes(words) && !/^[ZX]/.test(line))
}

async function until(isSo: () => boolean, what: string): Promise<void> {
  for (const end = Date.now() + 90_000; Date.now() < end; await rest(200)) if (isSo()) return
  throw new Error(`${what} took too long`)
}

async function chat(script: object, words: readonly string[] = [], place = newPlace(), isShared = false) {
  const file = place.file('script.json', { rules: [{ do: [{ say: 'I heard: {{user}}' }] }], ...script })
  const screen = openHere(place, ['chat', '--script', file, ...words], { isShared })
  await screen.shows(/Servers +none/)
  return Object.assign(screen, { place, script: file })
}

const sleeping = (pause: number) => ({
  otherwise: 'I heard: {{user}}',
  rules: [
    {
      when: 'sleep',
      do: [{ call: 'Bash', input: { command: `sleep ${pause} & sleep ${pause}` } }, { say: 'Slept.' }],
    },
  ],
})

describe('Ctrl-C', () => {
  const pause = seconds()
  const write = { call: 'Write', input: { path: 'new.txt', content: 'x' } }
  const { otherwise, rules } = sleeping(pause)
  const script = { delay: 300, otherwise, rules: [...rules, { when: 'write', do: [write] }] }
  const shared = shareScreen(() => chat(script, ['--allow', 'Bash'], newPlace(), true))

  it('stops the model while it speaks, keeps what it said, and the session', async () => {
    const screen = shared()
    await screen.enter('say one two three four five six seven eight nine ten')
    await screen.shows('I heard: say')
    screen.type(keys.ctrlC)
    const text = await screen.shows('Stopped. The session goes on.')
    expect(text).toContain('I heard: say')
    expect(text).not.toContain('not a model')
    await screen.enter('go on')
    await screen.shows(/I heard: go on.*\d out/s)
  })

  it('stops a command with all that it started', async () => {
    const screen = shared()
    await screen.enter('sleep')
    await screen.shows('running Bash')
    await until(() => isRunning(`sleep ${pause}`), 'the command')
    screen.type(keys.ctrlC)
    await screen.shows('Stopped. The session goes on.')
    await until(() => !isRunning(`sleep ${pause}`), 'the end of the command')
    await screen.enter('carry on')
    await screen.shows(/I heard: carry on.*\d out/s)
  })

  it('while a question is asked stops the turn, and nothing runs', async () => {
    const screen = shared()
    await screen.enter('write')
    await screen.shows('Allow Write?')
    screen.type(keys.ctrlC)
    await screen.shows('Stopped. The session goes on.')
    expect(screen.text()).not.toContain('Allow Write?')
    expect(existsSync(join(screen.place.folder, 'new.txt'))).toBe(false)
    await screen.enter('move on')
    await screen.shows(/I heard: move on.*\d out/s)
  })

  it('clears a line first, then asks, then ends; typing takes it back', async () => {
    const screen = shared()
    screen.type('some words')
    await screen.shows('> some words')
    screen.type(keys.ctrlC)
    await screen.hides('some words')
    screen.type(keys.ctrlC)
    await screen.shows('Press Ctrl-C again to end the session')
    screen.type('x')
    await screen.shows('> x')
    screen.type(`${keys.backspace}${keys.ctrlC}`)
    await screen.shows('Press Ctrl-C again to end the session')
    screen.type(keys.ctrlC)
    expect(await screen.ended()).toBe(0)
  })
})

describe('the end of a chat', () => {
  it('Ctrl-D ends, and tells how to go on', async () => {
    const place = newPlace()
    const screen = await chat({}, [], place)
    await screen.enter('hello')
    await screen.shows(/\d out/)
    screen.type(keys.ctrlD)
    expect(await screen.ended()).toBe(0)
    expect(screen.raw()).toContain('\u001b[?25h')
    const name = /toolshelf chat --resume (\S+)/.exec(screen.text())?.[1] ?? ''
    const again = await chat({}, ['--resume', name], place)
    await again.shows('I heard: hello')
  })

  it('Ctrl-D in the middle of a command leaves nothing behind', async () => {
    const pause = seconds()
    const screen = await chat(sleeping(pause), ['--allow', 'Bash'])
    await screen.enter('sleep')
    await until(() => isRunning(`sleep ${pause}`), 'the command')
    screen.type(keys.ctrlD)
    expect(await screen.ended()).toBe(0)
    await until(() => !isRunning(`sleep ${pause}`), 'the end of the command')
  })

  it.skipIf(noTerminal).each(['SIGTERM', 'SIGHUP', 'SIGKILL'] as const)(
    '%s in the middle of a command leaves nothing behind, no command and no server',
    async (signal) => {
      const pause = seconds()
      const place = newPlace()
      const server = place.file('server.mjs', "process.stdin.on('end', () => process.exit()).resume()")
      const config = place.file('mcp.json', { mcpServers: { silent: { command: 'node', args: [server] } } })
      const script = place.file('script.json', sleeping(pause))
      const screen = open(place, ['chat', '--script', script, '--config', config, '--allow', 'Bash'])
      await screen.shows('servers: 1 starting')
      await screen.enter('sleep')
      await until(() => isRunning(server) && isRunning(`sleep ${pause}`), 'the command')
      screen.process.kill(signal)
      const code = await screen.ended()
      await until(() => !isRunning(server) && !isRunning(`sleep ${pause}`), 'the end of both')
      if (signal === 'SIGKILL') return
      expect(code).toBe(130)
      expect(screen.raw()).toContain('\u001b[?2004l')
      expect(screen.raw()).toContain('\u001b[?25h')
    },
  )
})
