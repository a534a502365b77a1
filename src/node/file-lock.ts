// Implements a lock between processes: the process that creates the lock file holds it.
import { open, rm, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const RETRY_MS = 25

/**
 * Waits for the lock, takes it and returns a function that releases it. A lock older than `maxHoldMs` milliseconds is
 * assumed to belong to a killed process and is taken over. Rejects if the file cannot be created.
 */
export async function lockFile(path: string, maxHoldMs: number): Promise<() => Promise<void>> {
  while (!(await tryLock(path))) {
    if (await isAbandoned(path, maxHoldMs)) await rm(path, { force: true })
    else await sleep(RETRY_MS)
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

async function isAbandoned(path: string, maxHoldMs: number): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && Date.now() - found.mtimeMs > maxHoldMs
}
