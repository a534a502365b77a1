// A lock between the processes of one machine that is held for milliseconds and never outlives its holder: its file names
// the process, and is removed by the next one if that process is gone.
import { randomUUID } from 'node:crypto'
import { link, open, readFile, rm, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { StoreError } from './types.ts'

/** Milliseconds after which a holder is taken for gone although a process has its id. */
const LONGEST_HOLD_MS = 20_000
const MAX_PAUSE_MS = 12

/** Runs the work while no other process holds the lock at this path; rejects if it is not free within `timeoutMs`. */
export async function withOwnerLock<Value>(
  path: string,
  timeoutMs: number,
  work: () => Promise<Value>,
): Promise<Value> {
  const draft = `${path}.${randomUUID()}`
  const limit = Date.now() + timeoutMs
  await write(draft, `${process.pid} ${draft}`)
  try {
    while (!(await canLink(draft, path))) {
      if (Date.now() > limit)
        throw new StoreError(`another process has held ${path} for ${timeoutMs} ms; try again`)
      if (!(await removeAbandoned(path))) await sleep(1 + Math.random() * MAX_PAUSE_MS)
    }
    try {
      return await work()
    } finally {
      await rm(path, { force: true })
    }
  } finally {
    await rm(draft, { force: true })
  }
}

async function write(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  await file.writeFile(text).finally(() => file.close())
}

/** Links rather than creates, so that the lock names its holder from its first moment on. */
async function canLink(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Removes a lock whose holder is gone. One process at a time may do so: another would remove the next holder's. */
async function removeAbandoned(path: string): Promise<boolean> {
  const holder = await holderOf(path)
  if (holder === undefined || !(await isAbandoned(path, holder))) return false
  const removing = `${path}.removing`
  try {
    await write(removing, String(process.pid))
  } catch {
    if ((await ageOf(removing)) > LONGEST_HOLD_MS) await rm(removing, { force: true })
    return false
  }
  try {
    if ((await holderOf(path)) === holder) await rm(path, { force: true })
    return true
  } finally {
    await rm(removing, { force: true })
  }
}

function holderOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}

async function isAbandoned(path: string, holder: string): Promise<boolean> {
  return !isRunning(Number.parseInt(holder, 10)) || (await ageOf(path)) > LONGEST_HOLD_MS
}

/** Whether a process with this id exists, of whatever user. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function ageOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  return found ? Date.now() - found.mtimeMs : 0
}
