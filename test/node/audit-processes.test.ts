// The audit file of two processes, one of which may not write more than a few kilobytes and is then killed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { createTraceStream, openAuditFile } from '../../src/node/index.ts'
import { until } from '../mcp/support/processes.ts'

const WRITER = fileURLToPath(new URL('./audit-writer.ts', import.meta.url))
/** In blocks of 512 bytes. A file that may not grow fails as a full disk does. */
const LIMIT = 16

it('two processes share a file: kill -9 loses no call that was about to run, and a full disk is reported once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'audit.jsonl')
  const command = [process.execPath, '--import', 'tsx', WRITER, file]
  const child = spawn('sh', ['-c', `ulimit -f ${LIMIT}; exec "$@"`, 'sh', ...command], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const audit = openAuditFile(file, { redact: (text) => text, notify: () => {} })
  onTestFinished(() => audit.close())
  const { trace } = createTraceStream(audit.write)
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
    trace({ type: 'warning', message: 'beside it' })
    audit.flush()
  })
  const full = 'events are not being written'
  await until(() => (said.split(full)[1] ?? '').split('\n').length > 5, 'the child goes on')
  child.kill('SIGKILL')
  await once(child, 'exit')

  expect(said.split(full)).toHaveLength(2)
  const told = Number(said.split(full)[0]?.trim().split('\n').at(-1)?.split(' ')[0])
  const parsed = readFileSync(file, 'utf8').split('\n').slice(0, -1).map(parse)
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
