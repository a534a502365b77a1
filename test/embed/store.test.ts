// Vectors on disk: found again, whatever happened to the file.
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import {
  defaultFolder,
  openStore,
  quantize,
  recordSize,
  type VectorStore,
} from '../../packages/core/src/embed/store.ts'
import { bundled } from '../../packages/testkit/src/bundled.ts'
import { DIMENSIONS, floatsOf, temporaryFolder, textsOf, vectorOf } from './support.ts'

const size = recordSize(DIMENSIONS)
const fileIn = (folder: string) => join(folder, `fake-${DIMENSIONS}.vectors`)

function openIn(
  folder: string | undefined,
  messages: string[] = [],
  maxBytes?: number,
): Promise<VectorStore> {
  const notify = (message: string) => void messages.push(message)
  return openStore({
    folder,
    model: 'fake',
    dimensions: DIMENSIONS,
    notify,
    ...(maxBytes && { maxBytes }),
  })
}

async function fill(folder: string, texts: string[]): Promise<void> {
  const store = await openIn(folder)
  store.add(texts, texts.map(vectorOf))
  await store.flush()
}

const found = (store: VectorStore, texts: string[]) => texts.filter((text) => store.has(text))

describe('bytes for numbers', () => {
  test('each number stays within half a step', () => {
    const vector = vectorOf('some words to have numbers from')
    const bytes = quantize(vector, DIMENSIONS)!
    const error = Math.max(...floatsOf(bytes).map((number, index) => Math.abs(number - vector[index]!)))
    expect(Math.max(...bytes.codes.map(Math.abs))).toBe(127)
    expect(error).toBeLessThanOrEqual(bytes.scale * 0.5001)
  })

  test.each([
    ['too short', [1, 2]],
    ['all zero', new Array(DIMENSIONS).fill(0)],
    ['not finite', [Number.NaN, ...new Array(DIMENSIONS - 1).fill(1)]],
    ['so small that bytes cannot tell it from zero', new Array(DIMENSIONS).fill(1e-60)],
  ])('a vector that is %s is none', (_, vector) => {
    expect(quantize(vector, DIMENSIONS)).toBeUndefined()
  })
})

describe('the store', () => {
  test('finds at once what was added, and again after a restart', async () => {
    const folder = temporaryFolder()
    const store = await openIn(folder)
    store.add(['a', 'b'], [vectorOf('a'), vectorOf('b')])
    expect(store.get('a')).toEqual(quantize(vectorOf('a'), DIMENSIONS))
    await store.flush()
    const again = await openIn(folder)
    expect(again.count).toBe(2)
    expect(again.get('b')).toEqual(quantize(vectorOf('b'), DIMENSIONS))
    expect(again.get('c')).toBeUndefined()
  })

  test('keeps models apart', async () => {
    const folder = temporaryFolder()
    await fill(folder, ['a'])
    const options = { folder, dimensions: DIMENSIONS, notify: () => {} }
    expect((await openStore({ ...options, model: '../other/model' })).count).toBe(0)
    expect(readdirSync(folder).sort()).toEqual([
      `..-other-model-${DIMENSIONS}.vectors`,
      `fake-${DIMENSIONS}.vectors`,
    ])
  })

  test.skipIf(process.platform === 'win32')('only its owner can read it', async () => {
    const folder = join(temporaryFolder(), 'deep', 'cache')
    await fill(folder, ['a'])
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(statSync(fileIn(folder)).mode & 0o777).toBe(0o600)
  })

  test('the folder follows XDG_CACHE_HOME, if that is a whole path', () => {
    const absolute = process.platform === 'win32' ? 'C:\\cache' : '/cache'
    expect(defaultFolder({ XDG_CACHE_HOME: absolute })).toBe(join(absolute, 'toolshelf'))
    expect(defaultFolder({ XDG_CACHE_HOME: 'cache' })).toMatch(/\.cache.toolshelf$/)
    expect(defaultFolder({})).toMatch(/\.cache.toolshelf$/)
  })
})

describe('a damaged file', () => {
  test.each([1, 4, size - 1])(
    'a tail torn by %i bytes costs one record, also when others append behind it',
    async (missing) => {
      const folder = temporaryFolder()
      await fill(folder, ['a', 'b', 'c'])
      truncateSync(fileIn(folder), 3 * size - missing)
      expect(found(await openIn(folder), ['a', 'b', 'c'])).toEqual(['a', 'b'])
      await fill(folder, ['d', 'e'])
      expect(found(await openIn(folder), ['a', 'b', 'c', 'd', 'e'])).toEqual(['a', 'b', 'd', 'e'])
    },
  )
})

describe('a folder that cannot be used', () => {
  test('works in memory and says so once', async () => {
    const messages: string[] = []
    const folder = join(temporaryFolder(), 'file')
    writeFileSync(folder, '')
    const store = await openIn(folder, messages)
    store.add(['a'], [vectorOf('a')])
    store.add(['b'], [vectorOf('b')])
    await store.flush()
    expect(found(store, ['a', 'b'])).toEqual(['a', 'b'])
    expect(messages).toEqual([expect.stringContaining(folder)])
  })
})

test('memory keeps twice as many vectors as the file, the newest', async () => {
  const folder = temporaryFolder()
  const size = recordSize(DIMENSIONS)
  const store = await openStore({
    folder,
    model: 'fake',
    dimensions: DIMENSIONS,
    notify: () => {},
    maxBytes: 10 * size,
  })
  const texts = textsOf(50)
  for (const text of texts) store.add([text], [vectorOf(text)])
  expect(store.count).toBe(20)
  expect(texts.filter((text) => store.has(text))).toEqual(texts.slice(-20))
  await store.flush()
})

test('a file over its limit keeps the newest half, and leaves no other file behind', async () => {
  const folder = temporaryFolder()
  const texts = textsOf(30)
  const store = await openIn(folder, [], 20 * size)
  for (const text of texts) store.add([text], [vectorOf(text)])
  await store.flush()
  expect(found(store, texts)).toEqual(texts)
  expect(statSync(fileIn(folder)).size).toBeLessThanOrEqual(20 * size)
  const kept = found(await openIn(folder), texts)
  expect(kept.length).toBeGreaterThanOrEqual(10)
  expect(kept).toEqual(texts.slice(-kept.length))
  expect(readdirSync(folder)).toHaveLength(1)
})

test('several processes append to one file at the same time', async () => {
  const folder = temporaryFolder()
  const program = await bundled({ file: fileURLToPath(new URL('./append.ts', import.meta.url)) })
  const names = ['first', 'second', 'third']
  await Promise.all(names.map((name) => promisify(execFile)(process.execPath, [program, folder, name])))
  const texts = names.flatMap((name) => textsOf(300, name))
  expect(existsSync(fileIn(folder))).toBe(true)
  expect(statSync(fileIn(folder)).size).toBe(texts.length * size)
  expect(found(await openIn(folder), texts)).toEqual(texts)
})
