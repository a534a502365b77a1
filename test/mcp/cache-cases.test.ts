// What is remembered of servers, on disk and in a store: which entries are found again, and which are not.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type CachedServer,
  defaultCacheFolder,
  openDefinitionCache,
  openStoredDefinitions,
  readCachedServers,
  rememberReads,
} from '../../src/mcp/cache/index.ts'
import type { ServerConfig } from '../../src/mcp/index.ts'
import { createMemoryStore } from '../../src/store/index.ts'
import { faultyStore } from '../support/faulty-store.ts'
import { temporaryFolder } from './support/folder.ts'
import { defaults } from './support/servers.ts'

const config = (
  name: string,
  url = 'http://127.0.0.1/a',
  more: Partial<ServerConfig> = {},
): ServerConfig => ({
  ...{ ...defaults(name), transport: { kind: 'http', url, headers: {} } },
  ...more,
})
const server: CachedServer = {
  ...{ tools: [{ name: 'one' }], freshUntil: 5, lists: { prompts: { entries: [1], freshUntil: 0 } } },
  ...{
    info: { name: 'x', version: '1' },
    clientCapabilities: {},
    capabilities: { tools: {} },
    instructions: 'Be kind.',
    isLegacy: true,
  },
}
const nobody = config('nobody')

describe('definitions on disk', () => {
  const clock = { now: 1000 }
  const open = (folder: string) => {
    const notices: string[] = []
    const cache = openDefinitionCache(
      folder,
      (message) => notices.push(message),
      () => clock.now,
    )
    return { cache, notices }
  }

  it('are found again by the same configuration alone, also by another process', async () => {
    const folder = join(temporaryFolder(), 'deep', 'cache')
    const { cache, notices } = open(folder)
    const mine = config('My server/ö', 'http://127.0.0.1/a')
    expect(await cache.read(mine)).toBeUndefined()
    await cache.write(mine, server)
    clock.now = 1700
    const other = open(folder).cache
    for (const one of [cache, other]) expect(await one.read({ ...mine })).toEqual({ ...server, ageMs: 700 })
    for (const one of [
      config(mine.name, 'http://127.0.0.1/b'),
      config('other'),
      { ...mine, transport: nobody.transport, name: 'x' },
    ])
      expect(await cache.read(one)).toBeUndefined()
    await other.write(mine, { ...server, instructions: 'Be rude.' })
    expect((await cache.read(mine))?.instructions).toBe('Be rude.')
    await cache.write(config('n'.repeat(60)), server)
    const names = readdirSync(folder).sort()
    expect(names.map((name) => name.replace(/[0-9a-f]{24}/, '<hash>'))).toEqual([
      ...['My_server_-<hash>.json', 'key', `${'n'.repeat(40)}-<hash>.json`],
    ])
    const modes = names.map((name) => (statSync(join(folder, name)).mode & 0o777).toString(8))
    expect([(statSync(folder).mode & 0o777).toString(8), modes, notices]).toEqual([
      '700',
      ['600', '600', '600'],
      [],
    ])
    expect(readFileSync(join(folder, 'key'))).toHaveLength(32)
  })

  it('are not used if they are broken, of another version or of another key', async () => {
    const folder = temporaryFolder()
    const { cache } = open(folder)
    await cache.write(nobody, server)
    const path = join(folder, readdirSync(folder).find((name) => name.endsWith('.json')) ?? '')
    const stored = JSON.parse(readFileSync(path, 'utf8'))
    expect(stored).toEqual({ version: 2, at: clock.now, server })
    const found: unknown[] = []
    for (const text of [
      ...['{', 'null', JSON.stringify({ ...stored, version: 1 }), JSON.stringify({ ...stored, server: {} })],
      ...[JSON.stringify({ version: 2, at: 0 }), JSON.stringify(stored)],
    ]) {
      writeFileSync(path, text)
      found.push((await cache.read(nobody))?.tools)
    }
    expect(found).toEqual([undefined, undefined, undefined, undefined, undefined, server.tools])
    writeFileSync(join(folder, 'key'), 'x'.repeat(32))
    expect(await open(folder).cache.read(nobody)).toBeUndefined()
    expect(await cache.read(nobody)).toBeDefined()
  })

  it('that cannot be stored are reported, and leave nothing behind', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'key'), 'short')
    const short = open(folder)
    await short.cache.write(nobody, server)
    expect(short.notices).toEqual([
      `cannot store definitions for the next start: Error: ${join(folder, 'key')} is broken; delete it`,
    ])
    const none = open(join(folder, 'key', 'below'))
    await none.cache.write(nobody, server)
    expect(none.notices).toEqual(['cannot store definitions for the next start: ENOTDIR'])
    const other = temporaryFolder()
    mkdirSync(join(other, 'key'))
    const taken = open(other)
    await taken.cache.write(nobody, server)
    expect(taken.notices).toEqual(['cannot store definitions for the next start: EISDIR'])
    const third = temporaryFolder()
    const { cache, notices } = open(third)
    await cache.write(nobody, server)
    const [name = ''] = readdirSync(third).filter((one) => one.endsWith('.json'))
    rmSync(join(third, name))
    mkdirSync(join(third, name))
    await cache.write(nobody, server)
    expect([notices, readdirSync(third).sort()]).toEqual([
      ['cannot store definitions for the next start: EISDIR'],
      [name, 'key'].sort(),
    ])
  })

  it('lie where the environment says, if that is a path', () => {
    const own = join(homedir(), '.cache', 'toolshelf', 'definitions')
    expect(
      [undefined, '', 'relative', '/var/x'].map((XDG_CACHE_HOME) => defaultCacheFolder({ XDG_CACHE_HOME })),
    ).toEqual([...[own, own, own, join('/var/x', 'toolshelf', 'definitions')]])
  })

  it('are read once and remembered, and describe the server as it was', async () => {
    const reads: string[] = []
    const cache = rememberReads({
      async read({ name }) {
        reads.push(name)
        return name === 'known' ? { ...server, ageMs: 1 } : undefined
      },
      write: async () => void reads.push('write'),
    })
    const servers = [config('known'), config('new'), config('off', undefined, { disabled: true })]
    const [known, ...others] = await readCachedServers(servers, cache)
    expect(known).toEqual({
      ...{ name: 'known', state: 'pending', config: servers[0] },
      ...{ instructions: 'Be kind.', capabilities: { tools: {} } },
    })
    expect(others.map(({ config: _, ...rest }) => rest)).toEqual([
      { name: 'new', state: 'pending', instructions: undefined, capabilities: {} },
      { name: 'off', state: 'disabled', instructions: undefined, capabilities: {} },
    ])
    for (const one of servers) await cache.read(one)
    await cache.write(nobody, server)
    expect(reads).toEqual(['known', 'new', 'off', 'write'])
  })
})

it('definitions in a store are found by all who share it, and a store that fails is reported', async () => {
  const shared = createMemoryStore()
  onTestFinished(() => shared.close())
  const notices: string[] = []
  const ttls: unknown[] = []
  const open = (now = 0) => {
    const store = faultyStore(shared)
    const set: typeof store.set = (key, value, options) => {
      ttls.push([key.replace(/[0-9a-f]{24}/, '<hash>'), options])
      return store.set(key, value, options)
    }
    const cache = openStoredDefinitions(
      { ...store, set },
      (message) => notices.push(message),
      () => now,
    )
    return { store, cache }
  }
  const [one, two] = [open(100), open(900)]
  expect(await one.cache.read(nobody)).toBeUndefined()
  await one.cache.write(nobody, server)
  expect(await two.cache.read(nobody)).toEqual({ ...server, ageMs: 800 })
  expect(await two.cache.read(config('other'))).toBeUndefined()
  expect(await one.cache.read(nobody)).toMatchObject({ ageMs: 0 })
  expect(ttls).toEqual([
    ['definitions-key', { ifVersion: null }],
    ['definitions/nobody-<hash>', { ttlMs: 2_592_000_000 }],
    ['definitions-key', { ifVersion: null }],
  ])
  const key = Buffer.from((await shared.get('definitions-key'))?.value ?? '', 'base64')
  expect(key).toHaveLength(32)
  two.store.leaves()
  await two.cache.write(nobody, server)
  expect([await two.cache.read(nobody), notices]).toEqual([
    undefined,
    ['cannot store definitions for the next start: the store is unreachable'],
  ])
})
