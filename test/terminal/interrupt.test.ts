// Ctrl-C, Ctrl-D and the end of a chat: the turn stops, the session stays, no process is left.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isThorough } from '../../packages/testkit/src/runs.ts'
import { isAlive, until } from '../mcp/support/processes.ts'
import { keys, newPlace, noTerminal, open, openHere, type Place, shareScreen } from './support.ts'

/** The processes of a command or a server, once it has written all their ids into a file of the place. */
async function processesIn({ folder }: Place, file: string): Promise<number[]> {
  const written = () => (existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8') : '')
  await until(() => written().endsWith('\n'), `the ids in ${file}`)
  const ids = written().trim().split(' ').map(Number)
  expect(ids.every(isAlive)).toBe(true)
  return ids
}

async function chat(script: object, words: readonly string[] = [], place = newPlace(), isShared = false) {
  const file = place.file('script.json', { rules: [{ do: [{ say: 'I heard: {{user}}' }] }], ...script })
  const screen = openHere(place, ['chat', '--script', file, ...words], { isShared })
  await screen.shows(/Servers +none/)
  return Object.assign(screen, { place, script: file })
}

/** Two processes, whose ids it writes into a file. */
const command = 'sleep 900000 & echo $! $$ > ids; exec sleep 900000'
const sleeping = {
  otherwise: 'I heard: {{user}}',
  rules: [{ when: 'sleep', do: [{ call: 'Bash', input: { command } }, { say: 'Slept.' }] }],
}

describe('Ctrl-C', () => {
  const write = { call: 'Write', input: { path: 'new.txt', content: 'x' } }
  const rules = [...sleeping.rules, { when: 'write', do: [write] }]
  const script = { delay: 300, otherwise: sleeping.otherwise, rules }
  const shared = shareScreen(() => chat(script, ['--allow', 'Bash'], newPlace(), true))

  it('stops the model while it speaks, keeps what it said, and the session', async () => {
    const screen = shared()
    await screen.enter('say one two three four five six seven eight nine ten')
    await screen.shows('I heard: say')
    screen.type(keys.ctrlC)
    const text = await screen.shows('Stopped. The session continues.')
    expect(text).toContain('I heard: say')
    expect(text).not.toContain('not a model')
    await screen.enter('go on')
    await screen.shows(/I heard: go on.*\d out/s)
  })

  it('stops a command with all that it started', async () => {
    const screen = shared()
    await screen.enter('sleep')
    await screen.shows('running Bash')
    const ids = await processesIn(screen.place, 'ids')
    screen.type(keys.ctrlC)
    await screen.shows('Stopped. The session continues.')
    await until(() => !ids.some(isAlive), 'the end of the command')
    await screen.enter('carry on')
    await screen.shows(/I heard: carry on.*\d out/s)
  })

  it('while a question is asked stops the turn, and nothing runs', async () => {
    const screen = shared()
    await screen.enter('write')
    await screen.shows('Allow Write?')
    screen.type(keys.ctrlC)
    await screen.shows('Stopped. The session continues.')
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
  it('Ctrl-D ends, and prints how to resume', async () => {
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
    const screen = await chat(sleeping, ['--allow', 'Bash'])
    await screen.enter('sleep')
    const ids = await processesIn(screen.place, 'ids')
    screen.type(keys.ctrlD)
    expect(await screen.ended()).toBe(0)
    await until(() => !ids.some(isAlive), 'the end of the command')
  })

  // SIGTERM is tried with TEST_EFFORT above 1: a chat treats it like SIGHUP, and test/operate tests it for other commands.
  const signals: readonly NodeJS.Signals[] = [
    'SIGHUP',
    'SIGKILL',
    ...(isThorough ? ['SIGTERM' as const] : []),
  ]
  it.skipIf(noTerminal).each(signals)(
    '%s in the middle of a command leaves nothing behind, no command and no server',
    async (signal) => {
      const place = newPlace()
      // It ends with its input.
      const silent = { command: 'sh', args: ['-c', 'echo $$ > server; exec cat > /dev/null'] }
      const config = place.file('mcp.json', { mcpServers: { silent } })
      const script = place.file('script.json', sleeping)
      const screen = open(place, ['chat', '--script', script, '--config', config, '--allow', 'Bash'])
      await screen.shows('servers: 1 starting')
      await screen.enter('sleep')
      const ids = [...(await processesIn(place, 'server')), ...(await processesIn(place, 'ids'))]
      screen.process.kill(signal)
      const code = await screen.ended()
      await until(() => !ids.some(isAlive), 'the end of both')
      if (signal === 'SIGKILL') return
      expect(code).toBe(130)
      expect(screen.raw()).toContain('\u001b[?2004l')
      expect(screen.raw()).toContain('\u001b[?25h')
    },
  )
})
