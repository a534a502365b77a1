// H7 in a terminal: a chat in a folder that brings servers asks before anything of them is used.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isThorough } from '../../packages/testkit/src/runs.ts'
import { scriptPath } from '../mcp/support/servers.ts'
import { keys, newPlace, noTerminal, open, openHere, type Place } from './support.ts'

const HEALTHY = scriptPath('healthy')

function folder(): Place {
  const place = newPlace()
  place.file('script.json', {
    rules: [{ when: 'never said', do: [{ say: 'x' }] }],
    otherwise: 'I heard you.',
  })
  place.file('.mcp.json', {
    mcpServers: {
      'every\u001b[31mthing': { command: 'node', args: [HEALTHY] },
      marking: {
        command: 'node',
        args: ['-e', `require('fs').writeFileSync(${JSON.stringify(join(place.folder, 'ran'))}, '')`],
      },
    },
  })
  return place
}

const chat = ['chat', '--script', 'script.json']

describe('H7 a chat in a folder that nobody trusts', () => {
  it('asks once, shows what would run, and then starts it', async () => {
    const place = folder()
    const first = openHere(place, chat, { columns: 120 })
    const asked = await first.shows('Trust this content?')
    expect(asked).toMatch(/server every\\u\{1b\}\[31mthing .*\n +"command": "node"/)
    expect(asked).toContain('server marking (.mcp.json)')
    expect(existsSync(join(place.folder, 'ran'))).toBe(false)
    await first.enter('y')
    await first.shows(/Servers +every.*\d+ \(tools\)/)
    await first.enter('hello')
    await first.shows('I heard you.')
    first.type(keys.ctrlD)
    expect(await first.ended()).toBe(0)
    const second = openHere(place, chat, { columns: 120 })
    await second.shows(/Servers +every.*\d+ \(tools\)/)
    expect(second.scrolled()).not.toContain('Trust this content?')
  })

  it('continues without them after no, and says so', async () => {
    const place = folder()
    const screen = openHere(place, chat, { columns: 120 })
    await screen.shows('Trust this content?')
    screen.type('\r')
    await screen.shows(/2 servers of .* are not used/)
    await screen.shows(/Servers +none/)
    await screen.enter('hello')
    await screen.shows('I heard you.')
    expect(existsSync(join(place.folder, 'ran'))).toBe(false)
  })

  it.skipIf(noTerminal)('Ctrl-C ends it', async () => {
    const place = folder()
    const screen = open(place, chat, { columns: 120 })
    await screen.shows('Trust this content?')
    screen.type(keys.ctrlC)
    expect(await screen.ended()).toBe(130)
    expect(existsSync(join(place.folder, 'ran'))).toBe(false)
  })

  // By default only a run, below, meets the end of the input.
  it.skipIf(noTerminal || !isThorough)('the end of the input is no answer', async () => {
    const place = folder()
    const screen = open(place, chat, { columns: 120 })
    await screen.shows('Trust this content?')
    screen.type(keys.ctrlD)
    await screen.shows(/2 servers of .* are not used/)
    expect(existsSync(join(place.folder, 'ran'))).toBe(false)
  })

  it.skipIf(noTerminal)(
    'a run asks too, the end of the input is no answer, and the model’s answer comes where it was not',
    async () => {
      const place = folder()
      const screen = open(place, ['run', 'hello', '--script', 'script.json'], { columns: 80 })
      const asked = await screen.shows('Trust this content?')
      // No row that a long command fills looks like one of ours.
      const [, rows = ''] = /^The files of(.*)^Trust covers/ms.exec(asked) ?? []
      expect(rows.split('\n').length).toBeGreaterThan(4)
      for (const row of rows.trimEnd().split('\n').slice(1)) expect(row).toMatch(/^ {2}.*\S/)
      screen.type(keys.ctrlD)
      await screen.shows(/2 servers of .* are not used/s)
      await screen.shows('I heard you.')
      expect(await screen.ended()).toBe(0)
      expect(existsSync(join(place.folder, 'ran'))).toBe(false)
    },
  )
})
