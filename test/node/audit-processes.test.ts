// The audit file of several processes, of one that is killed, and on a disk that is full.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { until } from '../mcp/support/processes.ts'

const writer = new URL('./audit-writer.ts', import.meta.url).pathname

function place(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'audit.jsonl')
}

/** `limit`: blocks of 512 bytes that a file may have, as a full disk would. */
function start(file: string, count: number, limit?: number): ChildProcess {
  const command = [process.execPath, '--import', 'tsx', writer, file, String(count)]
  const limited = limit === undefined ? [] : [`ulimit -f ${limit};`]
  const line = [...limited, 'exec "$@"'].join(' ')
  const child = spawn('sh', ['-c', line, 'sh', ...command], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0
const whole = (file: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

it('two processes write to one file, and no line is lost or torn', async () => {
  const file = place()
  const children = [start(file, 300), start(file, 300)]
  await Promise.all(children.map((child) => once(child, 'exit')))
  const records = whole(file)
  expect(records).toHaveLength(600)
  expect(new Set(records.map(({ processId }) => processId)).size).toBe(2)
})

it('kill -9 loses at most what was being written', async () => {
  const file = place()
  const child = start(file, 1_000_000)
  let told = 0
  child.stdout?.on('data', (chunk) => {
    told = Number(String(chunk).trim().split('\n').at(-1))
  })
  await until(() => told > 200, 'it writes')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const text = readFileSync(file, 'utf8')
  const records = text
    .slice(0, text.lastIndexOf('\n'))
    .split('\n')
    .map((line) => JSON.parse(line))
  // The writer says how many records earlier turns of its loop have reported.
  expect(records.length).toBeGreaterThanOrEqual(told)
  expect(records.map(({ sequence }) => sequence)).toEqual(records.map((_, index) => index + 1))
})

it('a full disk is reported once, and the process goes on', async () => {
  const file = place()
  const child = start(file, 300, 16)
  let said = ''
  child.stdout?.on('data', (chunk) => {
    said += chunk
  })
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
  expect(said.match(/events are not being written/g)).toHaveLength(1)
  expect(sizeOf(file)).toBeLessThanOrEqual(16 * 512)
  expect(whole(file).length).toBeGreaterThan(10)
})
