// Where commands are started in a world that is not in order: a sentence each, no stack, no secret, no hanging.
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runHere } from '../support/cli-here.ts'
import { binary, newPlace, type Place } from '../terminal/support.ts'

const PATIENCE = 120_000

function toolshelf(place: Place, words: readonly string[], before = '') {
  const line = `${before} exec "$0" "$@"`
  const { status, stdout, stderr } = spawnSync(
    '/bin/sh',
    ['-c', line, process.execPath, ...binary, ...words],
    {
      cwd: place.folder,
      env: { ...place.environment },
      encoding: 'utf8',
      timeout: PATIENCE,
      killSignal: 'SIGKILL',
    },
  )
  return { code: status, out: stdout, told: stderr }
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

  it.each([['run', 'hello'], ['sessions']])('%s in a folder that is gone says so', (...words) => {
    const place = newPlace({ ANTHROPIC_API_KEY: 'key' })
    const { code, told } = toolshelf(place, words, 'mkdir gone; cd gone; rmdir ../gone;')
    expect(code).toBe(1)
    expect(told).toBe(`toolshelf ${words[0]}: the current folder no longer exists; change to another one.\n`)
  })

  it('completion works in a folder that is gone', () => {
    const { code } = toolshelf(newPlace(), ['completion', 'bash'], 'mkdir gone; cd gone; rmdir ../gone;')
    expect(code).toBe(0)
  })

  it('a configuration that is a named pipe is told, not waited for', () => {
    const place = newPlace()
    execFileSync('mkfifo', [join(place.folder, '.mcp.json')])
    const { code, out } = toolshelf(place, ['config', 'check'])
    expect(code).toBe(1)
    expect(out).toContain('it is a named pipe')
  })
})
