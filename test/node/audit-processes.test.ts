// The audit file of processes that are killed at any moment, and of one that may not write more than a few kilobytes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { openAuditFile } from '../../packages/core/src/node/audit-file.ts'
import { createTraceStream } from '../../packages/core/src/node/trace-stream.ts'
import { bundled } from '../../packages/testkit/src/bundled.ts'
import { runs } from '../../packages/testkit/src/runs.ts'
import { until } from '../mcp/support/processes.ts'

let writer = ''
beforeAll(async () => {
  writer = await bundled({ file: fileURLToPath(new URL('./audit-writer.ts', import.meta.url)) })
})
/** In blocks of 512 bytes. A file that may not grow fails as a full disk does. */
const LIMIT = 16

function place(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'audit.jsonl')
}

/** Starts a process that reports events without a pause; `said` is what it has written to its pipe. */
function startWriter(file: string, limit: number | 'unlimited') {
  const command = [process.execPath, writer, file]
  const child = spawn('sh', ['-c', `ulimit -f ${limit}; exec "$@"`, 'sh', ...command], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  return {
    child,
    said: () => said,
    async kill() {
      const closed = once(child, 'close')
      child.kill('SIGKILL')
      await closed
    },
  }
}

/** Lines of a file; undefined for half a line. */
const linesIn = (file: string) => readFileSync(file, 'utf8').split('\n').slice(0, -1).map(parse)

it('kill -9 at a random moment loses no event whose report had returned', async () => {
  for (let round = 0; round < runs(2); round++) {
    const file = place()
    const { said, kill } = startWriter(file, 'unlimited')
    const most = 1 + Math.floor(Math.random() * 3000)
    await until(() => said().split('\n').length > most, 'the child reports events')
    await kill()
    const acknowledged = Number(said().split('\n').at(-2))
    const sequences = linesIn(file).map((record) => record?.sequence)
    expect(sequences).toEqual(sequences.map((_, index) => index + 1))
    // It may have written one line more than it could say.
    expect([acknowledged, acknowledged + 1]).toContain(sequences.length)
  }
})

it('two processes share a file: one that is killed loses nothing, and a full disk is reported once', async () => {
  const file = place()
  const { child, said, kill } = startWriter(file, LIMIT)
  const audit = openAuditFile(file, { redact: (text) => text, notify: () => {} })
  onTestFinished(() => audit.close())
  const { trace } = createTraceStream(audit.write)
  child.stdout.on('data', () => trace({ type: 'warning', message: 'beside it' }))
  const full = 'events are not being written'
  await until(() => (said().split(full)[1] ?? '').split('\n').length > 5, 'the child goes on')
  await kill()

  expect(said().split(full)).toHaveLength(2)
  const told = Number(said().split(full)[0]?.trim().split('\n').at(-1))
  const parsed = linesIn(file)
  const records = parsed.filter((record) => record !== undefined)
  const own = records.filter(({ processId }) => processId === child.pid).map(({ sequence }) => sequence)
  expect(own.length).toBeGreaterThanOrEqual(told)
  expect(own).toEqual(own.map((_, index) => index + 1))
  expect(records.some(({ processId }) => processId === process.pid)).toBe(true)
  // The full disk may have taken half a line.
  expect(parsed.length - records.length).toBeLessThanOrEqual(1)
})

function parse(line: string): { readonly processId: number; readonly sequence: number } | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
