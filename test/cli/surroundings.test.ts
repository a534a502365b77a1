// Where commands are started in a world that is not in order: a sentence each, no stack, no secret, no hanging.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCli } from '../../packages/cli/src/main.ts'
import { runHere } from '../../packages/testkit/src/cli-here.ts'
import { binary, newPlace, type Place } from '../terminal/support.ts'

const PATIENCE = 120_000

/** As a process, which can be ended where it waits for ever. */
function toolshelf(place: Place, words: readonly string[]) {
  const { status, stdout } = spawnSync(process.execPath, [...binary, ...words], {
    cwd: place.folder,
    env: { ...place.environment },
    encoding: 'utf8',
    timeout: PATIENCE,
    killSignal: 'SIGKILL',
  })
  return { code: status, out: stdout }
}

describe.skipIf(process.platform === 'win32')('surroundings', () => {
  it.each(['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'])(
    '%s that cannot be sent is not shown',
    async (name) => {
      const place = newPlace({ [name]: 'sk-secret\nsk-more' })
      const { code, out, told } = await runHere(place, ['run', 'hello', '--base-url', 'http://127.0.0.1:1'])
      expect(code).toBe(1)
      expect(told).toContain(`${name} contains a line break`)
      expect(out + told).not.toMatch(/secret|more/)
    },
  )

  /** A command that starts in a folder which is gone. */
  const runGone = (words: readonly string[]) => {
    const { folder, environment } = newPlace({ ANTHROPIC_API_KEY: 'key' })
    const gone = join(folder, 'gone')
    mkdirSync(gone)
    const run: typeof runCli = (given, terminal) => {
      rmdirSync(gone)
      return runCli(given, terminal)
    }
    return runHere({ folder: gone, environment }, words, { run })
  }

  it.each([
    ['run', 'hello'],
    ['chat', '--list'],
  ])('%s in a folder that is gone says so', async (...words) => {
    const { code, told } = await runGone(words)
    expect(code).toBe(1)
    expect(told).toBe(`toolshelf ${words[0]}: the current folder no longer exists; change to another one.\n`)
  })

  it('reports a configuration that is a named pipe, and does not wait for it', () => {
    const place = newPlace()
    execFileSync('mkfifo', [join(place.folder, '.mcp.json')])
    const { code, out } = toolshelf(place, ['doctor', '--check'])
    expect(code).toBe(1)
    expect(out).toContain('it is a named pipe')
  })

  it.each([
    [['doctor', '--check', '--config', '/dev/zero'], 'it is a device; use a regular file.'],
    [['add', 'x', '--config', '/dev/zero', '--', 'x'], '/dev/zero is not a regular file. Choose another'],
    [['search', 'x', '--catalog', '/dev/zero'], '/dev/zero is a device; use a regular file.'],
    [
      ['serve', '--upstream', 'script:/dev/zero', '--port', '0'],
      'the script /dev/zero is a device; use a regular file.',
    ],
  ])('%j does not read a device', async (words, message) => {
    const { code, out, told } = await runHere(newPlace(), words)
    expect({ code, text: out + told }).toEqual({ code: 1, text: expect.stringContaining(message) })
  })

  it('stops reading a configuration from a pipe that never ends', () => {
    const words = ['doctor', '--check', '--config', '/dev/stdin']
    const command = [process.execPath, ...binary, ...words].map((word) => `'${word}'`).join(' ')
    const { folder, environment } = newPlace()
    const { stdout } = spawnSync('sh', ['-c', `yes | ${command}`], {
      cwd: folder,
      env: { ...environment },
      encoding: 'utf8',
      timeout: PATIENCE,
      killSignal: 'SIGKILL',
    })
    expect(stdout).toContain('it has more than 64 MB')
  })
})
