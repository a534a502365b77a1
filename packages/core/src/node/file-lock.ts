// Implements a lock between processes: the process that creates the lock file holds it. The file names the process, so
// that the next one takes the lock over as soon as the holder is gone.
import { readlinkSync } from 'node:fs'
import { open, readFile, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

const RETRY_MS = 25

/**
 * Waits for the lock, takes it and returns a function that releases it. A lock is taken over if its process on this
 * machine has ended, or if it is older than `maxHoldMs` milliseconds. Rejects if the file cannot be created.
 */
export async function lockFile(path: string, maxHoldMs: number): Promise<() => Promise<void>> {
  while (!(await tryLock(path))) {
    if (!(await removeAbandoned(path, maxHoldMs))) await sleep(RETRY_MS)
  }
  return () => rm(path, { force: true })
}

async function tryLock(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600)
    // On a full disk the file stays empty, and only its age says that it is abandoned.
    await file.writeFile(`${process.pid} ${machine()}`).catch(() => {})
    await file.close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Names what process ids are unique in: containers with the same folder may have processes of the same ids. */
function machine(): string {
  let namespace = ''
  try {
    namespace = readlinkSync('/proc/self/ns/pid')
  } catch {
    // Only Linux has it.
  }
  return `${hostname()} ${namespace}`
}

/** Removes the lock if it is abandoned. Only one process at a time may, because another would remove the next holder's. */
async function removeAbandoned(path: string, maxHoldMs: number): Promise<boolean> {
  if (!(await isAbandoned(path, maxHoldMs))) return false
  const removing = `${path}.removing`
  try {
    await (await open(removing, 'wx', 0o600)).close()
  } catch {
    if ((await ageOf(removing)) > maxHoldMs) await rm(removing, { force: true })
    return false
  }
  try {
    if (await isAbandoned(path, maxHoldMs)) await rm(path, { force: true })
    return true
  } finally {
    await rm(removing, { force: true })
  }
}

async function isAbandoned(path: string, maxHoldMs: number): Promise<boolean> {
  if ((await ageOf(path)) > maxHoldMs) return true
  const holder = await readFile(path, 'utf8').catch(() => '')
  const pid = Number.parseInt(holder, 10)
  return holder === `${pid} ${machine()}` && !isRunning(pid)
}

async function ageOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  return found ? Date.now() - found.mtimeMs : 0
}

/** Returns whether a process with this id exists, of any user. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
