// A lock that processes share: whoever creates the file has it.
import { open, rm, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const PAUSE = 25

/**
 * Waits until the lock is free and takes it; returns what releases it. Whoever holds it for longer than `longestHold`
 * milliseconds was killed, and loses it. Rejects where the file cannot be created.
 */
export async function lockFile(path: string, longestHold: number): Promise<() => Promise<void>> {
  while (!(await tryLock(path))) {
    if (await isAbandoned(path, longestHold)) await rm(path, { force: true })
    else await sleep(PAUSE)
  }
  return () => rm(path, { force: true })
}

async function tryLock(path: string): Promise<boolean> {
  try {
    await (await open(path, 'wx', 0o600)).close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function isAbandoned(path: string, longestHold: number): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && Date.now() - found.mtimeMs > longestHold
}
