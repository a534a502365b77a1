// What one server may take: tools always loaded on its own word, tools in all, and the size of a client's list.
import { describe, expect, it } from 'vitest'
import { mcp, quietShelf } from '../../packages/testkit/src/talk.ts'
import { openDesk, openGateway } from './support/gateway.ts'
import { openHost, statusOf, toolsOf, untilState } from './support/host.ts'
import { until } from './support/processes.ts'
import { here } from './support/server-here.ts'
import { listed, tool } from './support/small-servers.ts'

const marked = { _meta: { 'anthropic/alwaysLoad': true } }
const loud = (name: string, count: number, more: object = {}) =>
  Array.from({ length: count }, (_, index) => tool(`${name}_${index}`, { ...marked, ...more }))

describe('H9 always loaded on the word of a server', () => {
  it('H9 at most 10 tools; the others are found by a search, and the user is warned', async () => {
    const { names, search, notices, host } = await openDesk([listed('loud', loud('shout', 50)).config])
    expect(await names()).toHaveLength(11)
    expect(await search('shout_49')).toContain('- loud__shout_49')
    const told = /40 of its tools ask to be always loaded beyond the limit.*"alwaysLoad" at the server/
    expect(notices.join('\n')).toMatch(told)
    expect(host.status()[0]?.problems).toMatchObject([
      { tool: 'all', kind: 'limited', message: expect.stringMatching(told) },
    ])
  })

  it('H9 and at most 5,000 tokens', async () => {
    const { names } = await openDesk([
      listed('loud', loud('shout', 9, { description: 'x'.repeat(5800) })).config,
    ])
    expect(await names()).toEqual(['ToolSearch', 'loud__shout_0', 'loud__shout_1'])
  })

  it('H9 30 tools of all servers, in the order of the configuration, whoever comes first', async () => {
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => listed(name, undefined))
    const open = openGateway([a!.config, b!.config, c!.config, d!.config])
    const { names } = await open.connect()
    for (const [server, name] of [
      [d, 'd'],
      [c, 'c'],
      [b, 'b'],
    ] as const) {
      server!.write(loud(name, 10))
      await untilState(open.host, name, 'connected')
    }
    expect((await names()).slice(1).map((name) => name[0])).toEqual([...'bbbbbbbbbbccccccccccdddddddddd'])
    a!.write(loud('a', 10))
    await untilState(open.host, 'a', 'connected')
    expect((await names()).slice(1).map((name) => name[0])).toEqual([...'aaaaaaaaaabbbbbbbbbbcccccccccc'])
  })

  it('H9 the word of a person counts more: alwaysLoad false takes none of them, true takes all', async () => {
    const [none, all] = [false, true].map((alwaysLoad) => listed('loud', loud('shout', 50), { alwaysLoad }))
    const silent = await openDesk([none!.config])
    expect(await silent.names()).toEqual(['ToolSearch'])
    expect(await silent.search('shout_7')).toContain('- loud__shout_7')
    expect(silent.notices).toEqual([])
    expect(await (await openDesk([all!.config])).names()).toHaveLength(51)
  })

  it('H9 what a person names does not count against the budget', async () => {
    const tools = { shout_40: { alwaysLoad: true }, shout_3: { alwaysLoad: false } }
    const { names } = await openDesk([listed('loud', loud('shout', 50), { tools }).config])
    const shown = await names()
    expect(shown).toHaveLength(12)
    expect(shown).toContain('loud__shout_40')
    expect(shown).not.toContain('loud__shout_3')
  })

  it('D2 in the library a tool that says true is loaded, whatever its server says', () => {
    const tools = [mcp('loud', 'shout', marked)]
    const { immediate } = quietShelf({ tools, servers: { loud: { alwaysLoad: false } } }).partition()
    expect(immediate.map(({ name }) => name)).toEqual(['mcp__loud__shout'])
  })
})

describe('H6 lists that no client could read', () => {
  const wide = (count: number, characters: number) =>
    Array.from({ length: count }, (_, index) =>
      tool(`wide_${index}`, {
        inputSchema: { type: 'object', properties: { a: { type: 'string', title: 'x'.repeat(characters) } } },
      }),
    )

  it('H6 always loaded by a person, they end where a client would: the rest is found by a search', async () => {
    const server = listed('wide', wide(50, 90_000), { alwaysLoad: true })
    const { raw, search } = await openDesk([server.config])
    const list = await raw('tools/list')
    expect(JSON.stringify(list).length).toBeLessThan(3_100_000)
    expect(list.tools.length).toBeGreaterThan(30)
    expect(await search('wide_49')).toContain('wide__wide_49(')
  })

  it('S17 a definition of 1.5 MB is listed in a short form that says so', async () => {
    const server = listed('wide', wide(1, 1_500_000), { alwaysLoad: true })
    const { raw } = await openDesk([server.config])
    const [, shown] = (await raw('tools/list')).tools
    expect(JSON.stringify(shown).length).toBeLessThan(100_000)
    expect(shown).toMatchObject({ name: 'wide__wide_0', description: expect.stringContaining('[shortened') })
  })

  it('H6 tools that cannot be used are reported once, with the first reason', async () => {
    const nested = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)
    const bad = [tool('deep', { inputSchema: nested(4000) }), { name: '' }]
    const server = listed('odd', [tool('a'), ...bad])
    const { host, notices } = openHost([server.config])
    await untilState(host, 'odd', 'connected')
    server.write([tool('b'), ...bad])
    await until(() => toolsOf(host, 'odd').includes('b'), 'the list is read again')
    expect(notices).toEqual([
      'server "odd": 2 of its tools cannot be used, first "deep": its definition is nested too deeply',
    ])
  })

  it('H6 of more than 5,000 tools the first are used; the doctor and a notice say so', async () => {
    const { host, notices } = openHost([here('bad', 'lists many 5100')])
    await untilState(host, 'bad', 'connected')
    expect(toolsOf(host, 'bad')).toHaveLength(5000)
    const told =
      /it lists 5100 tools, and only the first 5000 are used; choose with "allow", or raise "maxTools"/
    expect(statusOf(host, 'bad').problems).toMatchObject([
      { kind: 'limited', message: expect.stringMatching(told) },
    ])
    expect(notices.filter((notice) => told.test(notice))).toHaveLength(1)
  })

  it('H6 tools that rules hide do not count', async () => {
    const { host } = openHost([
      here('bad', 'lists many 1000', { deny: ['item_1*', 'item_2*'], maxTools: 800 }),
    ])
    await untilState(host, 'bad', 'connected')
    expect(toolsOf(host, 'bad')).toHaveLength(1000 - 222)
    expect(statusOf(host, 'bad').problems).toEqual([])
  })
})

describe('S17 the list of a client', () => {
  const limits = { tools: 2, tokens: 10_000, maxTools: 4, maxTokens: 20_000, unusedMs: 0 }
  const shop = () =>
    listed(
      'shop',
      [...'abcdef'].map((name) => tool(name)),
    ).config
  const select = (...names: string[]) => `select:${names.map((name) => `shop__${name}`).join()}`

  it('S17 drops what was not used for longest when a search needs the room, and says so', async () => {
    const { names, search, call, changes } = await openDesk([shop()], { loadedTools: limits })
    await search(select('a'))
    await search(select('b'))
    await call('shop__a')
    expect(await search(select('c'))).toContain(
      'No longer in your tool list, because they were not used: shop__b;',
    )
    expect(await names()).toEqual(['ToolSearch', 'shop__a', 'shop__c'])
    expect(await changes()).toBe(3)
  })

  it('S17 a call of a dropped tool still works, and puts it on the list again', async () => {
    const { names, search, call } = await openDesk([shop()], { loadedTools: limits })
    for (const name of 'abc') await search(select(name))
    expect(await names()).toEqual(['ToolSearch', 'shop__b', 'shop__c'])
    expect((await call('shop__a')).isError).toBeFalsy()
    expect(await names()).toEqual(['ToolSearch', 'shop__c', 'shop__a'])
  })

  it('S17 tools of one search stay together, whatever the limit', async () => {
    const { names, search } = await openDesk([shop()], { loadedTools: limits })
    await search(select('a', 'b', 'c', 'd', 'e'))
    expect(await names()).toHaveLength(6)
    await search(select('f'))
    expect(await names()).toEqual(['ToolSearch', 'shop__e', 'shop__f'])
  })

  it('S17 what was loaded or called lately stays, up to the hard limit', async () => {
    const { names, search } = await openDesk([shop()], { loadedTools: { ...limits, unusedMs: 600_000 } })
    for (const name of 'abcd') await search(select(name))
    expect(await names()).toHaveLength(5)
    await search(select('e'))
    expect(await names()).toEqual(['ToolSearch', 'shop__b', 'shop__c', 'shop__d', 'shop__e'])
  })

  it('S17 counts tokens as well as tools', async () => {
    const heavy = [...'abc'].map((name) => tool(name, { description: 'x'.repeat(2000) }))
    const loadedTools = { ...limits, tools: 50, tokens: 1500 }
    const { names, search } = await openDesk([listed('shop', heavy).config], { loadedTools })
    for (const name of 'abc') await search(select(name))
    expect(await names()).toEqual(['ToolSearch', 'shop__b', 'shop__c'])
  })

  it('S17 nothing is dropped without a search that needs the room: the client’s prompt stays as it is', async () => {
    const { names, search, changes } = await openDesk([shop()], { loadedTools: limits })
    await search(select('a', 'b', 'c'))
    await search(select('b'))
    expect(await names()).toHaveLength(4)
    expect(await changes()).toBe(1)
  })
})
