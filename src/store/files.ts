// Stores shared state in a folder, for several processes of one machine and one user, without a server.
import { createHash } from 'node:crypto'
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { storeErrorOf } from './calls.ts'
import { createChannels } from './channels.ts'
import { createFileSpool } from './file-spool.ts'
import { createFileValues } from './file-values.ts'
import { addTo, createVersions, DEFAULT_LISTED, withChecks } from './limits.ts'
import { closedError } from './link.ts'
import { createOwnerLocks, sweepLocks } from './owner-lock.ts'
import { type StateStore, StoreError } from './types.ts'

/** Options of `createFileStore`. */
export type FileStoreOptions = {
  /** Created if missing, readable only by this user. */
  readonly folder: string
  /** Milliseconds that a write waits for other processes. */
  readonly timeoutMs: number
}

/** Number of lock files, which all keys share. */
const LOCKS = 64
const SWEEP_MS = 60_000

/** Creates a store in a folder; creates the folder at the first use. */
export function createFileStore({ folder, timeoutMs }: FileStoreOptions): StateStore {
  const label = `the store in ${folder}`
  const placeOf = (part: string) => join(folder, part)
  const places = { values: placeOf('values'), spool: placeOf('spool'), locks: placeOf('locks') }
  const newVersion = createVersions()
  const values = createFileValues(places.values)
  const locks = createOwnerLocks(places.locks, timeoutMs)
  const alone = createTurns(locks.alone)
  const channels = createChannels({ join: () => spool.start(), leave: async () => {} })
  const spool = createFileSpool({
    folder: places.spool,
    onMessage: channels.dispatch,
    onGap: channels.reportGap,
  })
  let isClosed = false
  const inFolders = createFolders(Object.values(places), label, sweep)
  async function run<Value>(work: () => Promise<Value>): Promise<Value> {
    if (isClosed) throw closedError(label)
    return inFolders(work)
  }

  const change = <Value>(key: string, work: () => Promise<Value>) =>
    run(() => alone(values.nameOf(key), work))

  function sweep(): void {
    spool.sweep().catch(() => {})
    values.sweep(alone).catch(() => {})
    sweepLocks(places.locks).catch(() => {})
  }
  const sweeper = setInterval(sweep, SWEEP_MS).unref()

  return withChecks({
    kind: 'files',
    async get(key) {
      const found = await run(() => values.read(key))
      return found && { value: found.value, version: found.version }
    },
    list: (prefix, { limit = DEFAULT_LISTED, after = '' } = {}) =>
      run(() => values.list(prefix, after, limit)),
    async set(key, value, { ttlMs, ifVersion } = {}) {
      const isCurrent = async () =>
        ifVersion === undefined || ((await values.read(key))?.version ?? null) === ifVersion
      // Checks without the lock first, because of many writers all but one fail.
      if (!(await run(isCurrent))) return undefined
      return change(key, async () => {
        if (!(await isCurrent())) return undefined
        const version = newVersion()
        await values.write({ key, version, value }, ttlMs)
        return version
      })
    },
    touch: (key, ttlMs) => change(key, () => values.touch(key, ttlMs)),
    delete: (key, { ifVersion } = {}) => change(key, () => values.remove(key, ifVersion)),
    async add(key, amount, ttlMs) {
      return change(key, async () => {
        const found = await values.read(key)
        const sum = addTo(key, found?.value, amount)
        await values.write({ key, version: newVersion(), value: String(sum) }, found ? 'keep' : ttlMs)
        return sum
      })
    },
    async publish(channel, message) {
      await run(() => spool.publish(channel, message))
    },
    async subscribe(channel, listener) {
      return run(() => channels.subscribe(channel, listener))
    },
    onGap: channels.onGap,
    ping: () => run(async () => void (await values.read('ping'))),
    async close() {
      isClosed = true
      clearInterval(sweeper)
      channels.clear()
      await Promise.all([spool.close(), locks.close()])
    },
  })
}

/** Returns a function that runs work once the folders exist; creates them again, once, if they were deleted. */
function createFolders(places: readonly string[], label: string, onMade: () => void) {
  let ready: Promise<void> | undefined
  async function makeFolders(): Promise<void> {
    for (const place of places) {
      await mkdir(place, { recursive: true, mode: 0o700 })
      await chmod(place, 0o700)
    }
    onMade()
  }
  return async function run<Value>(work: () => Promise<Value>, isSecond = false): Promise<Value> {
    try {
      ready ??= makeFolders()
      await ready
      return await work()
    } catch (error) {
      const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT'
      if (!(error instanceof StoreError)) ready = undefined
      if (isGone && !isSecond) return run(work, true)
      throw storeErrorOf(label, error)
    }
  }
}

type Alone = <Value>(name: string, work: () => Promise<Value>) => Promise<Value>

/**
 * Returns a function that runs work for a name exclusively: first among the calls of this process, then among processes.
 */
function createTurns(alone: Alone): Alone {
  const turns = new Map<string, Promise<unknown>>()
  return async (name, work) => {
    const lock = String(createHash('sha1').update(name).digest().readUInt16BE(0) % LOCKS)
    const before = turns.get(lock) ?? Promise.resolve()
    const done = before.then(() => alone(lock, work))
    const settled = done.catch(() => {})
    turns.set(lock, settled)
    try {
      return await done
    } finally {
      if (turns.get(lock) === settled) turns.delete(lock)
    }
  }
}
