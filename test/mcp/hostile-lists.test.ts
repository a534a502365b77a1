// Lists that are too long, never end or never rest, and definitions that are wrong, cyclic, huge or oddly named: each
// costs only itself.
import { describe, expect, it } from 'vitest'
import type { ServerConfig } from '../../src/mcp/index.ts'
import { listPages } from '../../src/mcp/session/listing.ts'
import { isThorough, sizeOf } from '../support/runs.ts'
import {
  expectWholeNeighbour,
  found,
  type Open,
  openHost,
  shareHost,
  stateOf,
  statusOf,
  textOf,
  toolsOf,
  untilState,
} from './support/host.ts'
import { piped } from './support/piped.ts'
import { until } from './support/processes.ts'
import { here } from './support/server-here.ts'
import { local } from './support/servers.ts'
import { neighbour } from './support/small-servers.ts'

async function connected(config: ServerConfig): Promise<Open> {
  const all = openHost([config, neighbour()])
  await untilState(all.host, 'bad', 'connected')
  return all
}

/** Under which names the model sees the tools of a server, by their own names. */
const shownNames = ({ shelf }: Open, name = 'bad') =>
  new Map(
    [...shelf.partition().immediate, ...shelf.partition().deferred]
      .filter(({ server }) => server === name)
      .map(({ original, name }) => [original, name]),
  )

describe('H6 lists without measure', () => {
  const small = shareHost(() => [
    ...['same-cursor', 'odd-cursor', 'paged'].map((kind) => here(kind, `lists ${kind}`)),
    piped('long-cursor', 'lists long-cursor'),
    ...(isThorough ? [local('new-cursor', 'lists new-cursor', { connectTimeoutMs: 10_000 })] : []),
    neighbour(),
  ])

  const MANY = sizeOf({ quick: 1100, full: 10_000 })

  it('thousands of tools in pages of 500 are all there, and found (H4)', async () => {
    const all = await connected(piped('bad', `lists many ${MANY}`, { maxTools: MANY }))
    expect(toolsOf(all.host, 'bad')).toHaveLength(MANY)
    expect(new Set(toolsOf(all.host, 'bad')).size).toBe(MANY)
    expect(await found(all.shelf, 'item number 1051')).toContain('mcp__bad__item_1051')
    expect(textOf(await all.host.call('bad', `item_${MANY - 1}`, {}))).toBe(`item_${MANY - 1}`)
    await expectWholeNeighbour(all)
  })

  it('thousands of tools of which all but one are hidden do not make every look at them long', async () => {
    const all = await connected(here('bad', `lists many ${MANY}`, { allow: ['item_7'] }))
    for (let look = 0; look < sizeOf({ quick: 200, full: 1000 }); look += 1)
      expect(toolsOf(all.host, 'bad')).toEqual(['item_7'])
    expect(statusOf(all.host, 'bad').hidden).toHaveLength(MANY - 1)
    await expect(all.host.call('bad', 'item_8', {})).rejects.toThrow('not allowed')
  })

  it('a cursor that comes again ends the list; its tools are there once', async () => {
    const all = small()
    await untilState(all.host, 'same-cursor', 'connected')
    expect(toolsOf(all.host, 'same-cursor')).toEqual(['again'])
    await expectWholeNeighbour(all)
  })

  it('stops reading endless pages after the thousandth, and reports that the rest was left out', async () => {
    let page = 0
    const ask = async () => ({ tools: [{ name: `t${page}` }], nextCursor: String(page++) })
    const { entries, isCut } = await listPages(ask, 'tools', 60_000)
    expect([entries.length, isCut]).toEqual([1000, true])
  })

  // A thousand requests take more than a CPU second.
  it.runIf(isThorough)('pages without end end: with a bounded list, or a reason', async () => {
    const all = small()
    await expectWholeNeighbour(all)
    await until(() => stateOf(all.host, 'new-cursor') !== 'pending', 'it is not pending')
    const { state, reason, problems, tools } = statusOf(all.host, 'new-cursor')
    if (state === 'failed') expect(reason).toMatch(/page|list/)
    else expect(problems.map(({ message }) => message).join()).toMatch(/page|list/)
    expect(tools.length).toBeLessThanOrEqual(50_000)
    await expectWholeNeighbour(all)
  })

  it('cursors that are long and never end are not all kept', async () => {
    const all = small()
    await untilState(all.host, 'long-cursor', 'connected')
    expect(toolsOf(all.host, 'long-cursor').length).toBeLessThan(10)
    expect(statusOf(all.host, 'long-cursor').problems).toMatchObject([
      { message: expect.stringMatching(/too long or endless|too large/) },
    ])
    await expectWholeNeighbour(all)
  })

  it('of 20 MB in one page takes as much as fits, and reports that the rest was left out', async () => {
    const page = Array.from({ length: 20 }, (_, index) => ({
      name: `t${index}`,
      description: 'x'.repeat(1e6),
    }))
    const { entries, isCut } = await listPages(async () => ({ tools: page }), 'tools', 10_000)
    expect([entries.length, isCut]).toEqual([15, true])
  })

  it('a cursor of the wrong type costs nothing that was listed', async () => {
    const all = small()
    await all.host.settled()
    expect(toolsOf(all.host, 'odd-cursor')).toEqual(['single'])
    await expectWholeNeighbour(all)
  })

  it('three pages in their order (H4)', async () => {
    const { host } = small()
    await untilState(host, 'paged', 'connected')
    expect(toolsOf(host, 'paged')).toEqual(['item_0', 'item_1', 'item_2', 'item_3', 'item_4'])
  })
})

describe('H6 lists that never rest', () => {
  const storm = shareHost(() => [piped('bad', 'lists storm'), neighbour()])
  const stormy = async () => {
    await untilState(storm().host, 'bad', 'connected')
    return storm()
  }

  it('changing all the time: followed, but ever less often; what stays can be called', async () => {
    const all = await connected(piped('bad', 'lists changing'))
    const first = toolsOf(all.host, 'bad').find((name) => name.startsWith('age_'))
    await until(() => !toolsOf(all.host, 'bad').includes(first!), 'the list was read again')
    expect(shownNames(all).has(first!)).toBe(false)
    expect(textOf(await all.host.call('bad', 'steady', {}))).toBe('steady')
    await expectWholeNeighbour(all)
  })

  it('a storm of list_changed does not become a storm of lists', async () => {
    const all = await stormy()
    for (let time = 0; time < 3; time += 1) await expectWholeNeighbour(all)
    const before = all.events.filter((event) => event.type === 'tools' && event.server === 'bad').length
    expect(before).toBeLessThan(10)
    expect(textOf(await all.host.call('bad', 'steady', {}))).toBe('steady')
  })

  it('the same list again does not change the shelf: the pool stays the same object', async () => {
    const all = await stormy()
    await expectWholeNeighbour(all)
    const { pool } = all.shelf.partition()
    await all.host.refresh('bad')
    expect(all.shelf.partition().pool).toBe(pool)
  })
})

/** Only a process can write what JSON.stringify cannot. */
const definedBy = (kind: string) => (kind === 'abyss' ? local : here)(kind, `definitions ${kind}`)

/** A server for each of these kinds of definitions, and the neighbour. */
function shareDefinitions(...kinds: readonly string[]) {
  const shared = shareHost(() => [...kinds.map(definedBy), neighbour()])
  return async (kind: string): Promise<Open> => {
    await untilState(shared().host, kind, 'connected')
    return shared()
  }
}

describe('H6 definitions that are wrong', () => {
  const definitions = shareDefinitions('shapes', 'cyclic', 'deep', 'abyss', 'huge', 'large')

  it('shapes: what has a name is mended and callable, what has none is dropped, both are reported', async () => {
    const all = await definitions('shapes')
    const names = [
      ...['good', 'null_schema', 'no_schema', 'text_schema', 'list_schema', 'no_type', 'wrong_type'],
      ...['odd_properties', 'number_description', 'odd_fields'],
    ]
    expect(toolsOf(all.host, 'shapes')).toEqual(names)
    for (const name of names) {
      expect(textOf(await all.host.call('shapes', name, {}))).toBe(`called ${name}`)
    }
    const { problems } = statusOf(all.host, 'shapes')
    expect(problems.filter(({ kind }) => kind === 'dropped')).toHaveLength(8)
    for (const name of ['null_schema', 'no_schema', 'no_type', 'wrong_type', 'number_description']) {
      expect(problems, name).toContainEqual(expect.objectContaining({ tool: name, kind: 'repaired' }))
    }
    await expectWholeNeighbour(all)
  })

  it('shapes: what the model is sent is an object schema, and a repaired one keeps its properties', async () => {
    const all = await definitions('shapes')
    const { deferred } = all.shelf.partition()
    const shaped = deferred.filter(({ server }) => server === 'shapes')
    expect(shaped).toHaveLength(10)
    for (const { definition } of shaped) expect(definition.input_schema).toMatchObject({ type: 'object' })
    expect(shaped.find(({ original }) => original === 'no_type')?.definition.input_schema).toMatchObject({
      properties: { path: { type: 'string' } },
      required: ['path'],
    })
  })

  it.each(['self', 'ring', 'tree', 'into', 'dangling', 'remote'])(
    'cyclic: the tool %s is found, checked and called',
    async (name) => {
      const all = await definitions('cyclic')
      expect(await found(all.shelf, `select:mcp__cyclic__${name}`)).toEqual([`mcp__cyclic__${name}`])
      const result = await all.host.run({ id: 'toolu_1', name: `mcp__cyclic__${name}`, input: {} })
      expect(JSON.stringify(result.content)).toContain(`called ${name}`)
      await expectWholeNeighbour(all)
    },
  )

  it.each([
    ['deep', 'well'],
    ['abyss', 'abyss'],
  ])('%s: a schema nested deeper than any stack costs at most its own tool', async (kind, deep) => {
    const all = await definitions(kind)
    expect(textOf(await all.host.call(kind, 'good', {}))).toBe('called good')
    expect(await found(all.shelf, `select:mcp__${kind}__good`)).toEqual([`mcp__${kind}__good`])
    const isDropped = statusOf(all.host, kind).problems.some(({ tool }) => tool === deep)
    expect(toolsOf(all.host, kind).includes(deep) || isDropped).toBe(true)
    await expectWholeNeighbour(all)
  })

  it('drops a definition of 3 MB, and reports it by a readable name', async () => {
    const all = await definitions('huge')
    expect(toolsOf(all.host, 'huge')).toEqual(['good'])
    const { problems } = statusOf(all.host, 'huge')
    expect(problems).toHaveLength(3)
    for (const { message } of problems) expect(message).toBe('its definition is too large')
    expect(JSON.stringify(problems).length).toBeLessThan(1000)
    await expectWholeNeighbour(all)
  })

  it('a schema and a description of 1 MB: reported, searchable, cut for the model (H5)', async () => {
    const all = await definitions('large')
    const { problems } = statusOf(all.host, 'large')
    const large = problems.filter(({ kind }) => kind === 'large').map(({ tool }) => tool)
    expect(large).toEqual(['large_schema', 'large_description'])
    const shown = all.shelf.partition().deferred.find(({ original }) => original === 'large_description')
    expect(String(shown?.definition.description).length).toBeLessThan(2100)
    expect(textOf(await all.host.call('large', 'large_schema', {}))).toBe('called large_schema')
    await expectWholeNeighbour(all)
  })
})

describe('H3 names both ways', () => {
  const definitions = shareDefinitions('names', 'twins', 'long-names', 'prototype')

  it('odd names: the model sees safe ones, the server is called by its own', async () => {
    const all = await definitions('names')
    const shown = shownNames(all, 'names')
    expect(shown.size).toBe(9)
    expect(new Set(shown.values()).size).toBe(9)
    for (const [own, name] of shown) {
      expect(name).toMatch(/^mcp__names__[A-Za-z0-9_-]+$/)
      expect(name.length).toBeLessThanOrEqual(64)
      const result = await all.host.run({ id: 'toolu_1', name, input: {} })
      expect(result.content).toEqual([{ type: 'text', text: `called ${own.toWellFormed()}` }])
    }
    await expectWholeNeighbour(all)
  })

  it('twins: keeps the first of two tools with one name, and reports it; clashing names stay apart', async () => {
    const all = await definitions('twins')
    expect(toolsOf(all.host, 'twins')).toEqual(['good', 'twin', 'my tool', 'my_tool', 'my.tool'])
    expect(statusOf(all.host, 'twins').tools[1]?.description).toBe('The first twin')
    expect(statusOf(all.host, 'twins').problems).toContainEqual(expect.objectContaining({ tool: 'twin' }))
    const shown = shownNames(all, 'twins')
    expect(shown.get('my_tool')).toBe('mcp__twins__my_tool')
    expect(new Set(shown.values()).size).toBe(5)
    for (const own of ['my tool', 'my.tool', 'my_tool']) {
      const result = await all.host.run({ id: 'toolu_1', name: shown.get(own)!, input: {} })
      expect(result.content).toEqual([{ type: 'text', text: `called ${own}` }])
    }
  })

  it('names that are the same up to the 64th character stay apart, the same way at each start', async () => {
    const first = shownNames(await definitions('long-names'), 'long-names')
    expect(new Set(first.values()).size).toBe(4)
    expect([...first.values()].every((name) => name.length <= 64)).toBe(true)
    const again = openHost([here('long-names', 'definitions long-names')])
    await untilState(again.host, 'long-names', 'connected')
    expect(shownNames(again, 'long-names')).toEqual(first)
  })

  it('two servers with the same tools keep them apart', async () => {
    const { host, shelf } = openHost([
      neighbour(),
      neighbour({ name: 'other' }),
      neighbour({ name: 'o.ther' }),
    ])
    await host.settled()
    const names = shelf.partition().deferred.map(({ name }) => name)
    expect(names).toHaveLength(6)
    expect(names).toEqual(
      expect.arrayContaining(['mcp__neighbour__add', 'mcp__other__add', 'mcp__o_ther__add']),
    )
  })

  it('names of things that every object has are names like others', async () => {
    const all = await definitions('prototype')
    for (const own of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      const result = await all.host.run({
        id: 'toolu_1',
        name: shownNames(all, 'prototype').get(own)!,
        input: {},
      })
      expect(result.content).toEqual([{ type: 'text', text: `called ${own}` }])
    }
    expect({}).not.toHaveProperty('name')
  })
})
