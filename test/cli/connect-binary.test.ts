// `toolshelf connect --apply` from outside: the binary changes a client's file, and the new entry then starts without
// PATH, as desktop applications start it.
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { binary } from '../../packages/testkit/src/binary.ts'
import { runHere } from '../../packages/testkit/src/cli-here.ts'
import { scriptPath } from '../mcp/support/servers.ts'

it('the entry works without PATH, runs the server that moved, and goes back', async () => {
  const home = mkdtempSync(join(tmpdir(), 'toolshelf-apply-'))
  const file = join(home, '.cursor/mcp.json')
  const before = `{ "mcpServers": { "good": { "command": ${JSON.stringify(process.execPath)}, "args": [${JSON.stringify(scriptPath('healthy'))}] } } }`
  mkdirSync(dirname(file))
  writeFileSync(file, before)
  const cli = (...words: string[]) =>
    spawnSync(process.execPath, [...binary, 'connect', ...words], {
      cwd: home,
      env: { HOME: home },
      encoding: 'utf8',
    })
  const here = (...words: string[]) =>
    runHere({ folder: home, environment: { HOME: home } }, ['connect', ...words])
  expect(await here('--apply')).toMatchObject({ code: 1, told: expect.stringContaining('add --yes') })
  expect(readFileSync(file, 'utf8')).toBe(before)

  const applied = cli('--apply', '--yes')
  expect({ status: applied.status, told: applied.stderr }).toMatchObject({
    status: 0,
    told: expect.stringMatching(/good: \d+ tools/),
  })
  const { command, args } = JSON.parse(readFileSync(file, 'utf8')).mcpServers.toolshelf
  expect(command).toBe(process.execPath)

  const gateway = spawn(command, args, { cwd: home, env: { HOME: home }, stdio: ['pipe', 'pipe', 'ignore'] })
  try {
    const lines = createInterface({ input: gateway.stdout })[Symbol.asyncIterator]()
    const ask = async (id: number, method: string, params: object) => {
      gateway.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
      for (;;) {
        const { value, done } = await lines.next()
        if (done) throw new Error('the gateway has ended')
        const message = JSON.parse(value)
        if (message.id === id) return message.result
      }
    }
    await ask(1, 'initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    })
    gateway.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
    const { tools } = await ask(2, 'tools/list', {})
    expect(tools.map(({ name }: { name: string }) => name)).toContain('ToolSearch')
  } finally {
    gateway.kill()
  }

  expect((await here('--undo', '--yes')).code).toBe(0)
  expect(readFileSync(file, 'utf8')).toBe(before)
})
