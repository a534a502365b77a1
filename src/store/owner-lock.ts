// Implements a lock between the processes of one machine that is held for milliseconds and never outlives its holder:
// its file names the process, and the next one removes it if that process is gone.
import { randomUUID } from 'node:crypto'
import { link, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isRunning } from '../node/index.ts'
import { StoreError } from './types.ts'

/** Milliseconds after which a holder counts as gone even if a process with its id exists. */
const MAX_HOLD_MS = 20_000
const MAX_PAUSE_MS = 12
/** Milliseconds after which no process can still be writing a temporary file or waiting with one. */
const LEFT_MS = 600_000

/** Creates the locks of a folder for one holder. A lock is a hard link to the holder's file, which is created once. */
export function createOwnerLocks(folder: string, timeoutMs: number) {
  const holder = join(folder, `${randomUUID()}.holder`)
  let written: Promise<void> | undefined

  /** Links rather than creates, so that the lock file names its holder from the first moment. */
  async function tryLock(path: string): Promise<boolean> {
    written ??= write(holder, `${process.pid} ${holder}`)
    try {
      await written
      await link(holder, path)
      return true
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EEXIST') return false
      // The file, or the whole folder, was deleted.
      written = undefined
      throw error
    }
  }

  return {
    /** Runs the work while no other holder has the lock of this name; rejects if it is not free in time. */
    async alone<Value>(name: string, work: () => Promise<Value>): Promise<Value> {
      const path = join(folder, name)
      const limit = Date.now() + timeoutMs
      while (!(await tryLock(path))) {
        if (Date.now() > limit)
          throw new StoreError(`another process has held ${path} for ${timeoutMs} ms; try again`)
        if (!(await removeAbandoned(path))) await sleep(1 + Math.random() * MAX_PAUSE_MS)
      }
      try {
        return await work()
      } finally {
        await rm(path, { force: true })
      }
    },
    /** Deletes the holder's file; if that fails, a sweep does it later. */
    close: () => rm(holder, { force: true }).catch(() => {}),
  }
}

async function write(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  await file.writeFile(text).finally(() => file.close())
}

/**
 * Removes a lock whose holder is gone. Only one process at a time may do so, because another would remove the next
 * holder's.
 */
async function removeAbandoned(path: string): Promise<boolean> {
  const holder = await holderOf(path)
  if (holder === undefined || !(await isAbandoned(path, holder))) return false
  const removing = `${path}.removing`
  try {
    await write(removing, String(process.pid))
  } catch {
    if ((await ageOf(removing)) > MAX_HOLD_MS) await rm(removing, { force: true })
    return false
  }
  try {
    const isSame = (await holderOf(path)) === holder
    if (isSame && (await isAbandoned(path, holder))) await rm(path, { force: true })
    return true
  } finally {
    await rm(removing, { force: true })
  }
}

function holderOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}

async function isAbandoned(path: string, holder: string): Promise<boolean> {
  return !isRunning(Number.parseInt(holder, 10)) || (await ageOf(path)) > MAX_HOLD_MS
}

/** Deletes files that processes left in the folder of locks when they were killed while waiting. */
export async function sweepLocks(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (name.includes('.')) await removeOld(join(folder, name))
}

/** Deletes a file if the process that wrote it must have ended. Its modification time may lie in the future. */
export async function removeOld(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found && Date.now() - found.ctimeMs > LEFT_MS) await rm(path, { force: true })
}

async function ageOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  // Linking a file updates its ctime, not its mtime.
  return found ? Date.now() - found.ctimeMs : 0
}
