// Kill -9 of the gateway, of a server and of the client, at any moment, again and again: no process is left, the
// configuration is as it was, and the next start can read every file. TEST_EFFORT=15 for a long look.
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runs } from '../../packages/testkit/src/runs.ts'
import { temporaryFolder } from './support/folder.ts'
import { isAlive, startsIn, until } from './support/processes.ts'
import { scriptPath } from './support/servers.ts'

const RUNS = runs(2)
const LONGEST = Math.max(300_000, 20_000 * RUNS)
const main = fileURLToPath(new URL('../../packages/cli/dist/main.js', import.meta.url))
/** A client that speaks to the gateway and, killed, cannot say goodbye. */
const CLIENT = `
const { spawn } = require('node:child_process')
const gateway = spawn(process.execPath, process.argv.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] })
gateway.stdout.pipe(process.stdout)
process.stdin.pipe(gateway.stdin)
require('node:fs').appendFileSync(process.env.STARTS_FILE, gateway.pid + '\\n')
`

function workplace() {
  const folder = temporaryFolder()
  const starts = join(folder, 'starts')
  const config = join(folder, 'servers.json')
  const server = (script: string) => {
    const [file, ...words] = script.split(' ')
    return { command: process.execPath, args: [scriptPath(file!), ...words], env: { STARTS_FILE: starts } }
  }
  const text = JSON.stringify({
    mcpServers: { neighbour: server('healthy'), stubborn: server('stubborn family') },
  })
  writeFileSync(config, text)
  const home = join(folder, 'home')
  mkdirSync(home)
  const environment = {
    ...process.env,
    HOME: home,
    XDG_CACHE_HOME: join(home, 'cache'),
    XDG_STATE_HOME: join(home, 'state'),
    STARTS_FILE: starts,
  }
  return { home, starts, config, text, environment }
}

type Place = ReturnType<typeof workplace>

function startGateway({ config, environment }: Place, through: readonly string[]) {
  const words = [...through, main, 'mcp', '--config', config]
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'ignore'], env: environment })
  child.stdin.on('error', () => {})
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })
  const answers = new Map<number, (result: unknown) => void>()
  lines.on('line', (line) => {
    const { id, result } = JSON.parse(line) as { id: number; result: unknown }
    answers.get(id)?.(result)
  })
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  let count = 0
  const ask = (method: string, params: object = {}) =>
    new Promise<unknown>((resolve) => {
      answers.set(++count, resolve)
      send({ id: count, method, params })
    })
  const clientInfo = { name: 'test', version: '1' }
  void ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  send({ method: 'notifications/initialized' })
  return { child, ask }
}

async function expectNothingLeft({ starts, config, text, home }: Place): Promise<void> {
  const left = () => startsIn(starts).filter(isAlive)
  await until(
    () => left().length === 0,
    () => `none of ${startsIn(starts)} is left; ${left()} are`,
  )
  expect(readFileSync(config, 'utf8')).toBe(text)
  for (const file of filesBelow(home).filter((name) => name.endsWith('.json')))
    expect(() => JSON.parse(readFileSync(file, 'utf8')), file).not.toThrow()
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  )
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** From before anything has started to after everything has. */
const moment = (run: number) => pause((1200 * run) / RUNS)

describe.skipIf(process.platform === 'win32')('H6 kill -9', () => {
  it('of the gateway, at any moment, leaves nothing behind', { timeout: LONGEST }, async () => {
    const place = workplace()
    for (let run = 0; run < RUNS; run++) {
      const { child } = startGateway(place, [])
      await moment(run)
      child.kill('SIGKILL')
      await expectNothingLeft(place)
    }
  })

  it('of the client, at any moment, leaves nothing behind', { timeout: LONGEST }, async () => {
    const place = workplace()
    for (let run = 0; run < RUNS; run++) {
      const { child } = startGateway(place, ['-e', CLIENT, '--'])
      await moment(run)
      child.kill('SIGKILL')
      await expectNothingLeft(place)
    }
  })

  it('of a server costs one call; the next one starts it anew', { timeout: LONGEST }, async () => {
    const place = workplace()
    const { child, ask } = startGateway(place, [])
    const call = (text: string) =>
      ask('tools/call', { name: 'CallTool', arguments: { name: 'neighbour__echo', arguments: { text } } })
    for (let run = 0; run < RUNS; run++) {
      // On a busy machine a call may come before the server does, and says so.
      const word = `round ${run}`
      await until(async () => JSON.stringify(await call(word)).includes(word), 'it answers')
      for (const pid of startsIn(place.starts).filter(isAlive)) process.kill(pid, 'SIGKILL')
      await until(async () => JSON.stringify(await call('again')).includes('again'), 'it answers again')
    }
    child.stdin.end()
    await expectNothingLeft(place)
  })
})
