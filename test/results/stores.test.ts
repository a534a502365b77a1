// The two stores of results: the same contract for both, and what only the one on disk does.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { createMemoryResults } from '../../packages/core/src/index.ts'
import { createDiskResults } from '../../packages/core/src/node.ts'

type ResultLimits = NonNullable<Parameters<typeof createMemoryResults>[0]>

const folders: string[] = []
const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-results-'))
  folders.push(folder)
  return folder
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const A = 'aaaaaaaa'
const B = 'bbbbbbbb'
const C = 'cccccccc'
let time = 1_000_000_000_000
const now = () => {
  time += 1000
  return time
}

const stores = {
  memory: (limits: ResultLimits = {}) => createMemoryResults(limits),
  disk: (limits: ResultLimits = {}) => createDiskResults({ folder: newFolder(), now, ...limits }),
}

describe.each(Object.entries(stores))('a store in %s', (_, create) => {
  test('returns the very text, and only to its owner', async () => {
    const store = create()
    const text = 'a\r\nb\u0000 😀 漢\n'
    await store.put('me', A, text)
    expect(await store.get('me', A)).toBe(text)
    expect(await store.get('you', A)).toBeUndefined()
    expect(await store.get('me', B)).toBeUndefined()
  })

  test('drops the least recently used of an owner that stores too much', async () => {
    const store = create({ bytes: 1000, bytesPerOwner: 250 })
    await store.put('me', A, 'a'.repeat(100))
    await store.put('me', B, 'b'.repeat(100))
    await store.put('you', A, 'y'.repeat(100))
    await store.get('me', A)
    await store.put('me', C, 'c'.repeat(100))
    const sizes = await Promise.all([A, B, C].map(async (id) => (await store.get('me', id))?.length))
    expect(sizes).toEqual([100, undefined, 100])
    expect(await store.get('you', A)).toHaveLength(100)
  })

  test('stays within its limit for all owners together', async () => {
    const store = create({ bytes: 300, bytesPerOwner: 100 })
    for (const owner of ['1', '2', '3', '4']) await store.put(owner, A, 'a'.repeat(100))
    expect(await store.get('1', A)).toBeUndefined()
    expect(await store.get('4', A)).toHaveLength(100)
  })

  test('refuses a text that one owner may not store, and drops an owner', async () => {
    const store = create({ bytes: 100, bytesPerOwner: 50 })
    await expect(store.put('me', A, 'é'.repeat(30))).rejects.toThrow('60 bytes')
    await store.put('me', A, 'short')
    await store.drop('me')
    expect(await store.get('me', A)).toBeUndefined()
  })

  test('refuses limits that are none', () => {
    expect(() => create({ bytes: 0 })).toThrow('bytes')
    expect(() => create({ bytesPerOwner: Number.NaN })).toThrow('bytesPerOwner')
  })
})

describe('a store on disk', () => {
  test('survives a restart, and ignores what a killed process left half-written', async () => {
    const folder = newFolder()
    await createDiskResults({ folder, now }).put('me', A, 'kept')
    const [owner = ''] = readdirSync(folder)
    writeFileSync(join(folder, owner, `${B}.txt.1.part`), 'half')
    const again = createDiskResults({ folder, now })
    expect(await again.get('me', A)).toBe('kept')
    expect(await again.get('me', B)).toBeUndefined()
  })

  test('is private', async () => {
    const folder = newFolder()
    await createDiskResults({ folder, now }).put('me', A, 'secret')
    const [owner = ''] = readdirSync(folder)
    expect(statSync(join(folder, owner)).mode & 0o077).toBe(0)
    expect(statSync(join(folder, owner, `${A}.txt`)).mode & 0o077).toBe(0)
  })

  test('expires what nobody read, and deletes it', async () => {
    const folder = newFolder()
    await createDiskResults({ folder, now, maxAgeMs: 60_000 }).put('me', A, 'old')
    time += 120_000
    const store = createDiskResults({ folder, now, maxAgeMs: 60_000 })
    expect(await store.get('me', A)).toBeUndefined()
    await store.put('you', B, 'new')
    expect(readdirSync(folder)).toHaveLength(1)
  })

  test('keeps what was read for as long again', async () => {
    const store = createDiskResults({ folder: newFolder(), now, maxAgeMs: 60_000 })
    await store.put('me', A, 'read')
    for (const [wait, found] of [
      [50_000, 'read'],
      [50_000, 'read'],
      [120_000, undefined],
    ] as const) {
      time += wait
      expect(await store.get('me', A)).toBe(found)
    }
  })

  test('takes no id that could be a path', async () => {
    const store = createDiskResults({ folder: newFolder(), now })
    await expect(store.put('me', '../../x', 'text')).rejects.toThrow('letters and digits')
    expect(await store.get('me', '../../../etc/passwd')).toBeUndefined()
  })

  test('deletes only what it wrote itself, in a folder that holds other things', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'notes.txt'), 'mine')
    mkdirSync(join(folder, 'src', 'deep'), { recursive: true })
    writeFileSync(join(folder, 'src', 'deep', 'code.ts'), 'mine')
    const store = createDiskResults({ folder, now, maxAgeMs: 60_000 })
    await store.put('me', A, 'text')
    const owner = readdirSync(folder).find((name) => /^[0-9a-f]{40}$/.test(name)) ?? ''
    writeFileSync(join(folder, owner, 'mine.txt.bak'), 'mine')
    time += 120_000
    await createDiskResults({ folder, now, maxAgeMs: 60_000 }).put('you', B, 'text')
    expect(readFileSync(join(folder, 'notes.txt'), 'utf8')).toBe('mine')
    expect(readFileSync(join(folder, 'src', 'deep', 'code.ts'), 'utf8')).toBe('mine')
    expect(readdirSync(join(folder, owner))).toEqual(['mine.txt.bak'])
  })

  test('reads no link in place of a file of its own', async () => {
    const folder = newFolder()
    const store = createDiskResults({ folder, now })
    await store.put('me', A, 'text')
    const [owner = ''] = readdirSync(folder)
    symlinkSync('/etc/hostname', join(folder, owner, `${B}.txt`))
    expect(await store.get('me', B)).toBeUndefined()
  })

  test('several processes may clean up and write at once', async () => {
    const folder = newFolder()
    const writers = Array.from({ length: 20 }, (_, index) =>
      createDiskResults({ folder, now, bytes: 1_000_000 }).put(`owner ${index}`, A, 'text'),
    )
    expect((await Promise.allSettled(writers)).filter(({ status }) => status === 'rejected')).toEqual([])
  })
})
