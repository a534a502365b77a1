// The edges of what stores are made of, without a server: abandoned locks, files that fill up or were left, checks of a
// connection, too many calls, and the upgrade of tables.
import { once } from 'node:events'
import { watch } from 'node:fs'
import { access, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  createMemoryStore,
  createStoredResults,
  openStateStore,
  type StateStore,
  withLock,
} from '../../src/store/index.ts'
import { checkRegularly, createLink } from '../../src/store/link.ts'
import { migrate } from '../../src/store/postgres-schema.ts'
import { temporaryFolder } from '../mcp/support/folder.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const messageOf = (work: Promise<unknown>) => work.then(String, (error: Error) => `! ${error.message}`)

/** Lets the clock of this process go ahead. */
function goAhead(ms: number): void {
  vi.restoreAllMocks()
  const now = Date.now
  vi.spyOn(Date, 'now').mockImplementation(() => now() + ms)
}

async function openFiles(timeoutMs = 60_000, folder = temporaryFolder()) {
  const store = await openStateStore(`file:${folder}`, { timeoutMs })
  onTestFinished(() => store.close())
  return { folder, store }
}

describe('a lock of files', () => {
  const DEAD = 2 ** 22 + 1

  /** All locks as a process holds them, and as one may be removing them. */
  async function lockAll(pid: number, more: { isRemoved?: boolean } = {}) {
    const folder = temporaryFolder()
    const locks = join(folder, 'locks')
    await mkdir(locks, { recursive: true })
    for (let lock = 0; lock < 64; lock++) {
      await writeFile(join(locks, String(lock)), `${pid} holder`)
      if (more.isRemoved) await writeFile(join(locks, `${lock}.removing`), String(pid))
    }
    return folder
  }

  test('of an ended process is removed, and no other', async () => {
    const { store, folder } = await openFiles(60_000, await lockAll(DEAD))
    expect(await store.set('a', 'x')).toBeDefined()
    const left = (await readdir(join(folder, 'locks'))).filter((name) => !name.includes('.'))
    expect(left).toHaveLength(63)
  })

  test('of a process that runs is waited for as long as it may take, and removed after 20 s', async () => {
    const { store, folder } = await openFiles(30, await lockAll(process.pid))
    expect(await messageOf(store.set('a', 'x'))).toMatch(
      new RegExp(`^! another process has held ${join(folder, 'locks')}/\\d+ for 30 ms; try again$`),
    )
    expect(await store.get('a')).toBeUndefined()
    goAhead(21_000)
    expect(await (await openFiles(60_000, folder)).store.set('a', 'x')).toBeDefined()
  })

  test('that another process is removing is left to it, for 20 s', async () => {
    const { store, folder } = await openFiles(30, await lockAll(DEAD, { isRemoved: true }))
    expect(await messageOf(store.set('a', 'x'))).toContain('for 30 ms; try again')
    goAhead(21_000)
    expect(await (await openFiles(60_000, folder)).store.set('a', 'x')).toBeDefined()
  })
})

describe('files of a store', () => {
  const namesIn = async (folder: string) =>
    (await readdir(join(folder, 'spool'))).map((name) => name.slice(-14))

  test('of messages end when nothing was written for two minutes; the last five stay', async () => {
    const { store, folder } = await openFiles()
    await store.publish('a', 'x')
    await store.publish('a', 'x')
    expect(await namesIn(folder)).toEqual(['00000000.spool'])
    for (let file = 1; file <= 6; file++) {
      goAhead(file * 121_000)
      await store.publish('a', 'x')
    }
    expect((await namesIn(folder)).sort()).toEqual([2, 3, 4, 5, 6].map((file) => `0000000${file}.spool`))
  })

  test('of messages end at 16 MB', async () => {
    const { store, folder } = await openFiles()
    const overhead = '["a",""]\n'.length
    await store.publish('a', 'x'.repeat(16_000_000 - overhead))
    await store.publish('a', 'x')
    expect(await namesIn(folder)).toHaveLength(1)
    await store.publish('a', 'x')
    expect(await namesIn(folder)).toHaveLength(2)
  })

  test('that a process left are swept ten minutes later', async () => {
    const folder = temporaryFolder()
    for (const part of ['locks', 'values']) await mkdir(join(folder, part), { recursive: true })
    const left = [join(folder, 'locks', 'a.holder'), join(folder, 'values', 'a.draft')]
    for (const path of left) await writeFile(path, '')
    const isThere = (path: string) =>
      access(path).then(
        () => true,
        () => false,
      )
    const first = await openFiles(60_000, folder)
    await first.store.set('a', 'x')
    expect(await Promise.all(left.map(isThere))).toEqual([true, true])
    goAhead(601_000)
    const gone = left.map(async (path) => {
      const watcher = watch(join(path, '..'))
      while (await isThere(path)) await once(watcher, 'change')
      watcher.close()
    })
    const second = await openFiles(60_000, folder)
    await second.store.ping()
    await Promise.all(gone)
    expect(await second.store.get('a')).toMatchObject({ value: 'x' })
  })
})

describe('a connection', () => {
  test('is checked every ten seconds while it is open, until that is stopped', async () => {
    vi.useFakeTimers()
    let current: number | undefined
    let checks = 0
    const stop = checkRegularly({ current: () => current } as never, async () => {
      checks++
      throw new Error('no sign of life')
    })
    await vi.advanceTimersByTimeAsync(10_000)
    expect(checks).toBe(0)
    current = 1
    await vi.advanceTimersByTimeAsync(9999)
    expect(checks).toBe(0)
    await vi.advanceTimersByTimeAsync(10_001)
    expect(checks).toBe(2)
    stop()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(checks).toBe(2)
  })

  test('takes 20,000 calls at once, and more when some are answered', async () => {
    vi.useFakeTimers()
    const link = createLink<number>({ label: 'the server', timeoutMs: 1e6, open: async () => 1 })
    onTestFinished(() => link.close())
    const answers: (() => void)[] = []
    const use = () => link.use(() => new Promise<void>((resolve) => answers.push(resolve)))
    const calls = Array.from({ length: 20_000 }, use)
    expect(await messageOf(use())).toBe('! the server has 20000 unanswered requests; try again later')
    await vi.advanceTimersByTimeAsync(0)
    answers[0]?.()
    await calls[0]
    const next = use()
    await vi.advanceTimersByTimeAsync(0)
    answers.at(-1)?.()
    expect(await messageOf(next)).toBe('undefined')
  })
})

describe('the tables of Postgres', () => {
  type Found = { readonly encoding?: string; readonly version?: number | null; readonly hasSchema?: boolean }

  /** A database that answers so, and what it was asked. */
  function database({ encoding = 'UTF8', version, hasSchema = false }: Found, failing = '') {
    const log: string[] = []
    const query = async (text: string) => {
      log.push(text.replace(/\s+/g, ' ').slice(0, 60))
      if (failing !== '' && text.startsWith(failing)) throw new Error('refused')
      if (text.startsWith('show')) return { rows: [{ server_encoding: encoding }] }
      if (text.includes('to_regclass'))
        return { rows: [{ name: version === undefined ? null : 'migrations' }] }
      if (text.includes('max(version)')) return { rows: [{ version: version ?? null }] }
      return { rows: [], rowCount: hasSchema ? 1 : 0 }
    }
    const release = (isBroken?: boolean) => void log.push(`release ${isBroken}`)
    const pool = { query, connect: async () => ({ query, release }) }
    return { log, run: () => messageOf(migrate(pool as never, 'mine', 'Postgres at x')) }
  }

  test('are left as they are if they are the newest', async () => {
    const { log, run } = database({ version: 1 })
    expect(await run()).toBe('undefined')
    expect(log).toHaveLength(3)
  })

  test.each<[Found, string]>([
    [{ encoding: 'LATIN1' }, '! Postgres at x: the database has the encoding LATIN1; create one with UTF8'],
    [
      { version: 2 },
      '! Postgres at x: the tables have version 2, this Toolshelf knows up to 1; upgrade Toolshelf',
    ],
  ])('of %j are refused', async (found, message) => {
    expect(await database(found).run()).toBe(message)
  })

  test.each([
    [false, ['create schema mine']],
    [true, []],
  ])('are made in one transaction; the schema is there: %s', async (hasSchema, created) => {
    for (const version of [undefined, null]) {
      const { log, run } = database({ version: version as null, hasSchema })
      expect(await run()).toBe('undefined')
      const start = log.indexOf('begin')
      expect(log.slice(start, start + 3 + created.length)).toEqual([
        'begin',
        'select pg_advisory_xact_lock(hashtext($1))',
        'select 1 from pg_namespace where nspname = $1',
        ...created,
      ])
      expect(log.filter((text) => text.startsWith('create table mine.entries'))).toHaveLength(1)
      expect(log.slice(-3)).toEqual([
        'insert into mine.migrations (version) values ($1)',
        'commit',
        'release undefined',
      ])
    }
  })

  test('that cannot be made leave no connection with a transaction behind', async () => {
    const { log, run } = database({}, 'create index')
    expect(await run()).toBe('! refused')
    expect(log.at(-1)).toBe('release true')
    expect(log).not.toContain('commit')
  })
})

describe('in memory', () => {
  const newStore = () => {
    const store = createMemoryStore()
    onTestFinished(() => store.close())
    return store
  }

  test('keys have the order of their bytes', async () => {
    const store = newStore()
    const keys = ['a', 'b', '\uffff', '\u{10000}', '\u{10001}']
    for (const key of keys.toReversed()) await store.set(key, '')
    expect((await store.list('')).map(({ key }) => key)).toEqual(keys)
  })

  test('only to a number is added', async () => {
    const store = newStore()
    await store.set('a', 'text')
    expect(await messageOf(store.add('a', 1, 1000))).toBe('! cannot add to "a": its value is not a number')
    await store.set('b', '1.5')
    expect(await store.add('b', 1, 1000)).toBe(2.5)
  })

  test('waits for a held lock three times as long as it may last, or as long as configured', async () => {
    const store = newStore()
    await store.set('lock', 'x')
    const work = vi.fn(async () => {})
    expect(await messageOf(withLock(store, 'lock', 1, work))).toBe(
      '! the lock "lock" was not free within 3 ms; try again',
    )
    expect(await messageOf(withLock(store, 'lock', 1000, work, { waitMs: 0 }))).toBe(
      '! the lock "lock" was not free within 0 ms; try again',
    )
    expect(work).not.toHaveBeenCalled()
  })

  test('an index of results that always changes is given up after 50 attempts, and nothing counts', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const store = newStore()
    let attempts = 0
    const set: StateStore['set'] = async (key, value, options = {}) => {
      if (options.ifVersion === undefined) return store.set(key, value, options)
      attempts++
      return undefined
    }
    const results = createStoredResults({ store: { ...store, set } })
    expect(await messageOf(results.put('ann', 'result00', 'x'))).toBe(
      '! the index of results changes too fast; try again',
    )
    expect(attempts).toBe(50)
    expect((await store.list('result-bytes/')).map(({ value }) => value)).toEqual(['0'])
  })
})

test.each([
  ['nowhere', 'unknown store without a scheme: expected redis://'],
  ['ftp://user:pass@host', 'unknown store "ftp:…": expected redis://'],
  ['redis://user:p@ss:word@:x', 'the URL of the Redis store is not valid; expected redis://'],
  ['file://host/folder', 'the store "file://…" names another host'],
  ['postgres://host/db?schema=Mine', 'invalid schema "Mine"'],
  [`postgres://host/db?schema=${'a'.repeat(31)}`, 'invalid schema'],
  ['postgres://host/db?schema=1a', 'invalid schema'],
])('%s opens nothing', async (url, message) => {
  expect(await messageOf(openStateStore(url))).toContain(`! ${message}`)
})
