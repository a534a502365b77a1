// The tool `Bash` with a real shell: output, exit code, limits, and that nothing is left running.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { createBuiltInTools } from '../../packages/agent/src/tools/built-in.ts'
import { bundled } from '../../packages/testkit/src/bundled.ts'
import { textIn } from './support.ts'

let directory: string

beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'toolshelf-bash-')))
  const place = directory
  return () => rmSync(place, { recursive: true, force: true })
})

async function bash(command: string, more: { timeout?: number; signal?: AbortSignal } = {}) {
  const { signal = new AbortController().signal, ...options } = more
  const environment = { PATH: process.env.PATH, GREETING: 'hello' }
  const tool = createBuiltInTools({ directory, environment }).find(({ name }) => name === 'Bash')!
  const input = { command, ...options }
  const output = await tool.run(input, {
    call: { id: 'toolu_1', name: 'Bash', input },
    signal,
    emit: () => {},
  })
  const { content, isError } = output as { content: object[]; isError: boolean }
  return { text: textIn({ content }), isError }
}

const pidIn = (name: string) => Number(readFileSync(join(directory, name), 'utf8'))
const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
const hasEnded = (name: string) => vi.waitFor(() => expect(isRunning(pidIn(name))).toBe(false), 60_000)

test('output of both kinds, the folder, the environment, and the exit code', async () => {
  expect(await bash('pwd; echo $GREETING; echo bad >&2; exit 3')).toEqual({
    text: expect.stringContaining('Exit code 3.'),
    isError: true,
  })
  expect((await bash('pwd; echo $GREETING')).text).toBe(`${directory}\nhello`)
  expect(await bash('true')).toEqual({ text: '(No output.)', isError: false })
  expect((await bash('kill -9 $$')).text).toBe('Ended by SIGKILL.')
})

test('there is no input to wait for', async () => {
  expect((await bash('cat; read line || echo none')).text).toBe('none')
})

test('long output keeps its beginning and its end', async () => {
  const { text } = await bash('for i in $(seq 1 20000); do echo "line $i"; done')
  expect(text.length).toBeLessThan(31_000)
  expect(text).toMatch(/^line 1\nline 2\n/)
  expect(text).toMatch(/line 20000$/)
  expect(text).toMatch(/… \(\d+ bytes left out here; send the output to a file/)
})

test('a command that takes too long is stopped with all it started', async () => {
  const result = await bash('echo started; sleep 60 & echo $! > child; wait', { timeout: 3 })
  expect(result).toEqual({
    text: 'started\nStopped after 3 seconds; give a longer timeout.',
    isError: true,
  })
  await hasEnded('child')
})

test('a command is stopped with all it started when the user stops', async () => {
  const stop = new AbortController()
  const work = bash('sleep 60 & echo $! > child; wait', { signal: stop.signal })
  await vi.waitFor(
    () => expect(existsSync(join(directory, 'child')) && pidIn('child')).toBeGreaterThan(0),
    60_000,
  )
  stop.abort()
  await work
  await hasEnded('child')
})

test('what is left in the background ends with the command', async () => {
  expect((await bash('sleep 60 & echo $! > child; echo done')).text).toBe('done')
  await hasEnded('child')
})

/** Runs a command, and is killed as soon as its process is there: before anything else could be done about it. */
const KILLED_AT_ONCE = `
import processes from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { createBuiltInTools } from './packages/agent/src/tools/built-in.ts'
const start = processes.spawn
processes.spawn = (...words) => {
  writeFileSync('child', String(start(...words).pid))
  process.kill(process.pid, 'SIGKILL')
}
syncBuiltinESMExports()
const tools = createBuiltInTools({ directory: process.cwd(), environment: process.env })
const input = { command: 'sleep 60' }
const around = { call: { id: 'toolu_1', name: 'Bash', input }, signal: new AbortController().signal, tell() {} }
await tools.find(({ name }) => name === 'Bash').run(input, around)
`

test.skipIf(process.platform === 'win32')(
  'a kill at the very start of a command leaves nothing behind',
  async () => {
    const program = await bundled({ text: KILLED_AT_ONCE })
    const child = spawn(process.execPath, [program], { cwd: directory, stdio: 'ignore' })
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
    await hasEnded('child')
  },
)

test('reports a folder that no longer exists', async () => {
  rmSync(directory, { recursive: true })
  await expect(bash('true')).rejects.toThrow(/The shell could not be started in /)
})
