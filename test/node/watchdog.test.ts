// The shell that kills what we started if we are killed: one for all groups, started again if something kills it.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import {
  createWatchdog,
  spawnGuarded,
  watchdog as watchdogOfProcess,
} from '../../packages/core/src/node/watchdog.ts'
import { descendantsOf, isAlive, until } from '../mcp/support/processes.ts'

const commandOf = (pid: number) => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}
/** The groups that each running watchdog was started with, by its process. */
const runningWatchdogs = () =>
  descendantsOf(process.pid).flatMap((pid) => {
    const [, , script, , ...groups] = commandOf(pid)
    return script?.includes('groups="$*"') ? [{ pid, groups: groups.filter(Boolean).map(Number) }] : []
  })

it.skipIf(!existsSync('/proc/self/cmdline'))(
  'one shell watches all groups, as long as there are some',
  async () => {
    // Tests before this one may have left the watchdog of their process prepared.
    const others = new Set(runningWatchdogs().map(({ pid }) => pid))
    const watchdogs = () => runningWatchdogs().filter(({ pid }) => !others.has(pid))
    const watchdog = createWatchdog({ idleMs: 50 })
    const [one, two] = [1, 2].map(() => {
      const { pid } = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' })
      onTestFinished(() => void (isAlive(pid!) && process.kill(pid!, 'SIGKILL')))
      return pid!
    }) as [number, number]
    const watching = (groups: readonly number[]) =>
      until(
        () => JSON.stringify(watchdogs().map((shell) => shell.groups)) === JSON.stringify([groups]),
        () => `one watchdog has ${groups}: ${JSON.stringify(watchdogs())}`,
      )
    watchdog.guard(one)
    await watching([one])
    const [first] = watchdogs()
    watchdog.prepare()
    watchdog.guard(two)
    expect(watchdogs()).toEqual([first])
    process.kill(first!.pid, 'SIGKILL')
    await watching([one, two])
    watchdog.release(one)
    watchdog.release(one)
    expect(watchdogs()).toHaveLength(1)
    watchdog.release(two)
    await until(() => watchdogs().length === 0, 'the watchdog ends')
    expect([one, two].map(isAlive)).toEqual([true, true])
    // One that is killed while it watches nothing stays away.
    watchdog.prepare()
    await watching([])
    process.kill(watchdogs()[0]!.pid, 'SIGKILL')
    await until(() => watchdogs().length === 0, 'the idle watchdog is gone')
    watchdog.guard(two)
    await watching([two])
    watchdog.release(two)
  },
)

it('a guarded command runs with its arguments, in a group of its own and without input', async () => {
  const script = 'read line; echo "$0 $1 [$line] $WORD"; exec ps -o pgid= -p $$'
  const child = spawnGuarded('/bin/sh', ['-c', script, 'name', 'a b'], {
    cwd: '/',
    env: { PATH: process.env.PATH, WORD: 'word' },
  })
  onTestFinished(() => watchdogOfProcess.release(child.pid!))
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect([code, text.trim().split(/\s*\n\s*/)]).toEqual([0, ['name a b [] word', String(child.pid)]])
})
