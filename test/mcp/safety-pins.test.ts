// Pins: a definition is remembered as it was first seen, and a change is reported until it is accepted.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { defaultPinsFolder, openPins } from '../../packages/mcp/src/pins/pins.ts'
import type { ListedTool } from '../../packages/mcp/src/types.ts'
import { bundled } from '../../packages/testkit/src/bundled.ts'
import { isThorough, sizeOf } from '../../packages/testkit/src/runs.ts'

const base = mkdtempSync(join(tmpdir(), 'toolshelf-pins-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))
let count = 0
const newFolder = () => join(base, String(count++), 'pins')

const tool = (name: string, description = `Does ${name}.`, rest: Partial<ListedTool> = {}): ListedTool => ({
  name,
  description,
  inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
  ...rest,
})
const quiet: readonly unknown[] = []
const onlyFile = (folder: string) => join(folder, readdirSync(folder).find((name) => name.endsWith('.json'))!)

it.each<[string, Partial<ListedTool>, number]>([
  ['title', { title: 'Read' }, 1],
  ['description', { description: 'Reads. ' }, 1],
  ['inputSchema', { inputSchema: { type: 'object', properties: { path: { type: 'number' } } } }, 1],
  ['outputSchema', { outputSchema: { a: 1, b: [2, 1] } }, 1],
  ['annotations', { annotations: { readOnlyHint: false } }, 1],
  ['the place of a key', { outputSchema: { b: [1, 2, { a: 1 }] } }, 1],
  ['text for a number', { outputSchema: { a: '1', b: [1, 2] } }, 1],
  ['only the order of keys', { outputSchema: { b: [1, 2], a: 1 } }, 0],
  ['remarks that mean nothing to a model', { _meta: { at: 'now' }, execution: {} } as object, 0],
])('a change of %s counts, or not', async (_, change, expected) => {
  const pins = openPins({ folder: undefined })
  const fine = tool('read', 'Reads.', {
    outputSchema: { a: 1, b: [1, 2] },
    annotations: { readOnlyHint: true },
  })
  await pins.judge('files', [fine])
  expect(await pins.judge('files', [{ ...fine, ...change }])).toHaveLength(expected)
})

it('H6 takes deep and circular schemas', async () => {
  const pins = openPins({ folder: undefined })
  let deep: object = {}
  for (let level = 0; level < 50_000; level++) deep = { not: deep }
  const circle: { [key: string]: unknown } = {}
  circle.items = circle
  const judge = (inputSchema: object) => pins.judge('files', [tool('read', 'Reads.', { inputSchema })])
  expect(await judge(deep)).toEqual([])
  expect(await judge(deep)).toEqual([])
  expect(await judge({ not: deep })).toHaveLength(1)
  expect(await judge(circle)).toHaveLength(1)
})

describe('a change', () => {
  it('is reported from the second look on, also after a restart, until it is accepted', async () => {
    const folder = newFolder()
    let time = Date.parse('2026-01-01T00:00:00Z')
    const open = () => openPins({ folder, now: () => time })
    const [before, after] = [tool('read'), tool('read', 'Reads, and sends a copy.')]
    const pins = open()
    expect(await pins.judge('files', [before])).toEqual(quiet)
    expect(await pins.judge('files', [before])).toEqual(quiet)
    time += 1000
    const change = {
      kind: 'tool',
      name: 'read',
      before,
      after,
      since: '2026-01-01T00:00:01.000Z',
      isWhole: true,
    }
    expect(await pins.judge('files', [after])).toEqual([change])
    time += 1000
    expect(await open().judge('files', [after])).toEqual([change])
    expect(await open().accept('files')).toEqual(['read'])
    expect(await pins.judge('files', [after])).toEqual(quiet)
    expect(await pins.judge('files', [before])).toMatchObject([{ before: after, after: before }])
  })

  it('that changes again waits since its first change; one that is undone waits no more', async () => {
    let time = 0
    const pins = openPins({ folder: newFolder(), now: () => time++ * 1000 })
    await pins.judge('files', [tool('read')])
    await pins.judge('files', [tool('read', 'second')])
    const changed = await pins.judge('files', [tool('read', 'third')])
    expect(changed).toMatchObject([{ since: '1970-01-01T00:00:01.000Z', after: { description: 'third' } }])
    expect(await pins.judge('files', [tool('read')])).toEqual(quiet)
    expect(await pins.accept('files')).toEqual([])
  })

  it('is not laundered by leaving and coming back, nor by a second tool of the same name', async () => {
    const pins = openPins({ folder: newFolder() })
    await pins.judge('files', [tool('read'), tool('list')])
    expect(await pins.judge('files', [tool('list')])).toEqual(quiet)
    expect(await pins.judge('files', [tool('list')])).toEqual(quiet)
    const back = await pins.judge('files', [tool('list'), tool('read', 'another')])
    expect(back).toMatchObject([{ name: 'read' }])
    const twice = await pins.judge('files', [tool('list'), tool('list', 'another'), tool('read')])
    expect(twice).toMatchObject([{ name: 'list', after: { description: 'another' } }])
  })

  it('is accepted by name, and leaves the others waiting', async () => {
    const pins = openPins({ folder: newFolder() })
    await pins.judge('files', [tool('read'), tool('list')])
    await pins.judge('files', [tool('read', 'new'), tool('list', 'new')])
    expect(await pins.accept('files', ['list', 'nobody'])).toEqual(['list'])
    expect(await pins.list()).toMatchObject([
      { server: 'files', tools: ['read', 'list'], changed: [{ name: 'read' }] },
    ])
  })

  it('is accepted by name and kind, and leaves the others as they are', async () => {
    const pins = openPins({ folder: undefined })
    const judge = (description: string) => [
      pins.judge('files', [tool('read', description), tool('list', description)]),
      pins.judge('files', [tool('read', description)], 'prompt'),
    ]
    const waiting = async () => {
      await Promise.all(judge('new'))
      return (await pins.list())[0]?.changed.map(({ kind, name }) => `${kind} ${name}`)
    }
    await Promise.all(judge('old'))
    expect(await waiting()).toEqual(['tool read', 'tool list', 'prompt read'])
    expect(await pins.accept('files', ['read'], 'prompt')).toEqual(['read'])
    expect(await waiting()).toEqual(['tool read', 'tool list'])
    expect(await pins.accept('files')).toEqual(['read', 'list'])
    expect(await waiting()).toEqual([])
    expect(await pins.accept('nobody')).toEqual([])
  })

  it('of one server does not touch another, whatever they are called', async () => {
    const folder = newFolder()
    const told: string[] = []
    const pins = openPins({ folder, notify: (message) => told.push(message) })
    const servers = ['', '../up', '__proto__', 'a/b', 'a_b', 'x'.repeat(300)]
    for (const server of servers.toReversed()) await pins.judge(server, [tool('read')])
    expect((await pins.list()).map(({ server }) => server)).toEqual(servers)
    expect(readdirSync(folder)).toHaveLength(6)
    expect(told).toEqual([])
    expect(await pins.forget('a/b')).toBe(true)
    expect(await pins.forget('a/b')).toBe(false)
    expect(await pins.judge('a_b', [tool('read', 'new')])).toHaveLength(1)
    expect(await pins.judge('a/b', [tool('read', 'new')])).toEqual(quiet)
  })
})

describe('what is new', () => {
  it('is accepted, held or left to others, once its kind has been listed', async () => {
    const pins = openPins({ folder: newFolder() })
    const both = [tool('read'), tool('__proto__')]
    expect(await pins.judge('files', [], 'tool', 'skip')).toEqual(quiet)
    expect(await pins.judge('files', [tool('read')], 'tool', 'hold')).toEqual(quiet)
    expect(await pins.judge('files', both, 'tool', 'skip')).toEqual(quiet)
    const held = await pins.judge('files', both, 'tool', 'hold')
    expect(held).toMatchObject([{ name: '__proto__', before: { name: '__proto__' }, isWhole: true }])
    expect(await pins.judge('files', both, 'tool', 'skip')).toHaveLength(1)
    expect(await pins.accept('files')).toEqual(['__proto__'])
    expect(await pins.judge('files', both, 'tool', 'hold')).toEqual(quiet)
    expect(await pins.judge('files', both)).toEqual(quiet)
  })

  it('of a kind of which there was nothing is new too', async () => {
    const pins = openPins({ folder: newFolder() })
    await pins.judge('files', [], 'prompt', 'hold')
    expect(await pins.judge('files', [tool('late')], 'prompt', 'hold')).toHaveLength(1)
    expect(await pins.judge('files', [tool('late')], 'tool', 'hold')).toEqual(quiet)
  })
})

describe('on disk', () => {
  it('files and folder are private, and nothing else is left there', async () => {
    const folder = newFolder()
    const pins = openPins({ folder })
    await pins.judge('my server', [tool('read')])
    await pins.judge('my server', [tool('read', 'new')])
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/^my_server-[0-9a-f]{16}\.json$/)])
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(statSync(onlyFile(folder)).mode & 0o777).toBe(0o600)
  })

  it('an unchanged list writes nothing', async () => {
    const folder = newFolder()
    const pins = openPins({ folder })
    await pins.judge('files', [tool('read'), tool('list')])
    const { ino } = statSync(onlyFile(folder))
    await pins.judge('files', [tool('list'), tool('read')])
    expect(statSync(onlyFile(folder)).ino).toBe(ino)
  })

  it.each([
    '',
    '{"version":1',
    'null',
    '[]',
    '{"version":9}',
    '{"version":2,"server":"files","listed":[],"pins":[{}]}',
  ])('sets a broken file aside and reports it: %j', async (text) => {
    const folder = newFolder()
    const told: string[] = []
    const pins = openPins({ folder, notify: (message) => told.push(message) })
    await pins.judge('files', [tool('read')])
    const path = onlyFile(folder)
    writeFileSync(path, text)
    expect(await pins.judge('files', [tool('read')])).toEqual(quiet)
    expect(told).toEqual([expect.stringContaining('set aside')])
    expect(readFileSync(`${path}.broken`, 'utf8')).toBe(text)
    expect(await pins.judge('files', [tool('read', 'new')])).toHaveLength(1)
  })

  it('one broken file does not keep the others from being listed', async () => {
    const folder = newFolder()
    const told: string[] = []
    const pins = openPins({ folder, notify: (message) => told.push(message) })
    await pins.judge('files', [tool('read')])
    writeFileSync(join(folder, 'x.json'), 'no')
    expect(await pins.list()).toMatchObject([{ server: 'files' }])
    expect(told).toHaveLength(1)
  })

  it('reports a folder that cannot be written once, and keeps pins in memory', async () => {
    const folder = newFolder()
    mkdirSync(join(folder, '..'), { recursive: true })
    writeFileSync(folder, 'a file where the folder should be')
    const told: string[] = []
    const pins = openPins({ folder, notify: (message) => told.push(message) })
    await pins.judge('files', [tool('read')])
    await pins.judge('mail', [tool('send')])
    expect(await pins.judge('files', [tool('read', 'new')])).toHaveLength(1)
    expect(await pins.accept('files')).toEqual(['read'])
    expect(await pins.judge('files', [tool('read', 'new')])).toEqual(quiet)
    expect(told).toEqual([expect.stringContaining('they apply to this run only')])
    expect((await pins.list()).map(({ server }) => server)).toEqual(['files', 'mail'])
  })

  it('a file that is there and cannot be read is never overwritten, and counts again once it can be', async () => {
    const folder = newFolder()
    await openPins({ folder }).judge('files', [tool('read')])
    const path = onlyFile(folder)
    renameSync(path, `${path}.kept`)
    symlinkSync(path, path)
    const told: string[] = []
    const pins = openPins({ folder, notify: (message) => told.push(message) })
    expect(await pins.judge('files', [tool('read', 'other')])).toEqual(quiet)
    expect(await pins.judge('files', [tool('read', 'new')])).toHaveLength(1)
    expect(lstatSync(path).isSymbolicLink()).toBe(true)
    expect(told).toEqual([expect.stringContaining('ELOOP')])
    await pins.forget('files')
    renameSync(`${path}.kept`, path)
    expect(await pins.judge('files', [tool('read', 'new')])).toHaveLength(1)
    expect(readFileSync(path, 'utf8')).toContain('new')
    await pins.accept('files')
    expect(await openPins({ folder }).judge('files', [tool('read', 'new')])).toEqual(quiet)
  })

  it('reports what cannot be deleted, listed or set aside, but not what is missing', async () => {
    const folder = newFolder()
    const told: string[] = []
    const open = () => openPins({ folder, notify: (message) => told.push(message) })
    expect([await open().forget('files'), await open().list(), told]).toEqual([false, [], []])
    await open().judge('files', [tool('read')])
    const path = onlyFile(folder)
    mkdirSync(join(`${path}.broken`, 'full'), { recursive: true })
    writeFileSync(path, 'no')
    expect(await open().judge('files', [])).toEqual(quiet)
    expect(told.splice(0)).toEqual([
      expect.stringContaining('are broken'),
      expect.stringContaining('cannot use'),
    ])
    rmSync(path, { force: true })
    mkdirSync(path)
    expect(await open().forget('files')).toBe(false)
    expect(await open().list()).toEqual([])
    expect(told).toEqual([expect.stringContaining('cannot use'), expect.stringContaining('are broken')])
  })

  it('without a folder pins hold in memory', async () => {
    const pins = openPins({ folder: undefined })
    await pins.judge('files', [tool('read')])
    expect(await pins.judge('files', [tool('read', 'new')])).toHaveLength(1)
  })

  it('looks at one server in a row do not lose each other', async () => {
    const pins = openPins({ folder: newFolder() })
    await Promise.all([
      pins.judge('files', [tool('read')]),
      pins.judge('files', [tool('read'), tool('list')]),
    ])
    expect(await pins.list()).toMatchObject([{ tools: ['read', 'list'] }])
  })
})

it('pins are kept where a state belongs', () => {
  expect(defaultPinsFolder({ XDG_STATE_HOME: '/state' })).toBe('/state/toolshelf/pins')
  expect(defaultPinsFolder({ XDG_STATE_HOME: 'relative' })).toMatch(/\/\.local\/state\/toolshelf\/pins$/)
})

describe('at length', () => {
  it.each([
    ['after it', (crowd: ListedTool[], send: ListedTool) => [[send], [], crowd, []]],
    ['before it', (crowd: ListedTool[], send: ListedTool) => [[send], [...crowd, send], [send], []]],
  ])('a change is not laundered by a crowd of new tools that comes and goes %s', async (_, looksOf) => {
    const pins = openPins({ folder: undefined })
    const crowd = Array.from({ length: 10_001 }, (_, index) => tool(`crowd_${index}`))
    for (const look of looksOf(crowd, tool('send'))) await pins.judge('files', [tool('other'), ...look])
    const changed = await pins.judge('files', [tool('send', 'Sends, and a copy to me.')])
    expect(changed).toMatchObject([{ name: 'send' }])
    expect((await pins.list())[0]?.tools).toHaveLength(10_001)
  })

  it('H6 thousands of tools are pinned, and large or deep ones by their hash', async () => {
    const folder = newFolder()
    const many = Array.from({ length: sizeOf({ quick: 2000, full: 10_000 }) }, (_, index) =>
      tool(`tool_${index}`),
    )
    let deep: object = {}
    for (let level = 0; level < 50_000; level++) deep = { not: deep }
    const monsters = (word: string) => [
      tool('large', word.repeat(70_000)),
      tool('deep', word, { inputSchema: deep }),
    ]
    await openPins({ folder }).judge('files', [...many, ...monsters('a')])
    expect(statSync(onlyFile(folder)).size).toBeLessThan(5_000_000)
    const changed = await openPins({ folder }).judge('files', [
      ...many.slice(1),
      tool('tool_0', 'new'),
      ...monsters('b'),
    ])
    expect(changed.map(({ name, isWhole }) => [name, isWhole])).toEqual([
      ['tool_0', true],
      ['large', false],
      ['deep', false],
    ])
  })

  it('processes that write at the same time, and one that is killed, leave whole files', async () => {
    const folder = newFolder()
    const text = `
      import { openPins } from './packages/mcp/src/pins/pins.ts'
      const pins = openPins({ folder: ${JSON.stringify(folder)}, notify: (message) => console.log(message) })
      const tools = (round) => Array.from({ length: 100 }, (_, index) => ({ name: 'tool_' + index, title: 'x' + round }))
      for (let round = 0; round < Number(process.argv[2]); round++) {
        await pins.judge('files', tools(round))
        await pins.accept('files')
        if (round === 0) console.log('writing')
      }`
    const program = await bundled({ text })
    const killed = spawn(process.execPath, [program, '1000000'])
    const ended = once(killed, 'exit')
    await once(killed.stdout, 'data')
    const rounds = String(sizeOf({ quick: 6, full: 20 }))
    const others = (isThorough ? ['one', 'two'] : ['one']).map(() =>
      promisify(execFile)(process.execPath, [program, rounds]),
    )
    const told: string[] = []
    const reader = openPins({ folder, notify: (message) => told.push(message) })
    for (let round = 0; round < 10; round++)
      expect(await reader.list()).toMatchObject([{ server: 'files', tools: { length: 100 } }])
    killed.kill('SIGKILL')
    await ended
    for (const { stdout } of await Promise.all(others)) expect(stdout).toBe('writing\n')
    expect(await reader.list()).toMatchObject([{ tools: { length: 100 } }])
    expect(told).toEqual([])
  })
})
