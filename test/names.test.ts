// H3. Names of MCP tools, and the way back from them.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mcpName, type Tool } from '../packages/core/src/index.ts'
import { splitToolName } from '../packages/core/src/names.ts'
import { buildPool } from '../packages/core/src/pool.ts'
import { type ConfigText, readConfig } from '../packages/mcp/src/config/config.ts'
import { runs } from '../packages/testkit/src/runs.ts'
import { builtIn, exampleTools, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'

const poolOf = (tools: readonly Tool[]) =>
  buildPool(tools, { descriptionLimit: 2048, reserved: ['ToolSearch'], warn: () => {} })

/** Each tool's own name and server → the name the model calls it by. */
function naming(tools: readonly Tool[]): Record<string, string> {
  const pairs = poolOf(tools).tools.map(({ name, server, original }) => [
    JSON.stringify([server, original]),
    name,
  ])
  return Object.fromEntries(pairs)
}

const key = ({ server, name }: Tool) => JSON.stringify([server, name])
const LEGAL = /^[A-Za-z0-9_-]{1,64}$/

describe('H3 the form of a name', () => {
  it.each([
    ['slack', 'send_message', 'mcp__slack__send_message'],
    ['chrome-devtools', 'take-screenshot', 'mcp__chrome-devtools__take-screenshot'],
    ['my server', 'do.it/now!', 'mcp__my_server__do_it_now_'],
    ['büro', 'öffnen', 'mcp__b_ro___ffnen'],
    ['日本', '検索', 'mcp__server____'],
    ['_my__server_', 'do__it', 'mcp__my_server__do__it'],
    [`${'a'.repeat(29)} b`, 'c', `mcp__${'a'.repeat(29)}__c`],
    ['mcp', 'x', 'mcp__mcp_server__x'],
    ['a', '😀', 'mcp__a___'],
  ])('H3 %s / %s → %s', (server, tool, name) => {
    expect(mcpName(server, tool)).toBe(name)
    expect(poolOf([mcp(server, tool)]).tools[0]?.name).toBe(name)
  })

  it('H3 64 characters stay, 65 are shortened with a hash', () => {
    const fits = 'x'.repeat(64 - 'mcp__server__'.length)
    expect(mcpName('server', fits)).toBe(`mcp__server__${fits}`)
    const long = mcpName('server', `${fits}x`)
    expect(long).toMatch(LEGAL)
    expect(long).toHaveLength(64)
    expect(long.startsWith('mcp__server__xxx')).toBe(true)
    expect(long).not.toBe(`mcp__server__${fits}`)
  })

  it('H3 the hash is stable, and distinguishes long names that begin alike', () => {
    const start = 'list_all_the_things_that_can_be_listed_in_this_place_'
    const [one, two] = [mcpName('server', `${start}one`), mcpName('server', `${start}two`)]
    expect(one).not.toBe(two)
    expect(mcpName('server', `${start}one`)).toBe(one)
    // A saved conversation holds such names: another hash would lose its loaded tools.
    expect(one).toMatchInlineSnapshot(`"mcp__server__list_all_the_things_that_can_be_listed_in__s8fj0lsg"`)
  })

  it('H3 a built-in keeps its name', () => {
    expect(poolOf([builtIn('WebFetch')]).tools[0]?.name).toBe('WebFetch')
  })
})

describe('H3 clashes', () => {
  it('H3 the one spelled exactly so keeps the plain name', () => {
    const names = naming([mcp('s', 'a.b'), mcp('s', 'a_b')])
    expect(names['["s","a_b"]']).toBe('mcp__s__a_b')
    expect(names['["s","a.b"]']).not.toBe('mcp__s__a_b')
  })

  it('H3 any tools of any servers: legal, unique, independent of order, split at the first __, and back again', () => {
    const part = fc.oneof(
      fc.constantFrom('a', 'A', 'a_b', 'a.b', 'A_B', 'a__b', '_', 'b', 'mcp', 'mcp__a__b', 'x'.repeat(40)),
      fc.string({ minLength: 1, maxLength: 70, unit: 'binary' }),
      fc.string({ minLength: 1, maxLength: 70, unit: fc.constantFrom('a', 'B', '_', '.', '-', 'é', '語') }),
    )
    const tool = fc.record({ server: part, name: part }).map(({ server, name }) => mcp(server, name))
    const tools = fc.uniqueArray(tool, { selector: key, maxLength: 12 })
    fc.assert(
      fc.property(tools, fc.constantFrom('', 'mcp__'), (given, namePrefix) => {
        const shelf = quietShelf({ tools: given, namePrefix })
        const entries = shelf.tools()
        expect(entries).toHaveLength(given.length)
        for (const entry of entries) expect(entry.name).toMatch(LEGAL)
        expect(new Set(entries.map(({ name }) => name)).size).toBe(given.length)
        const named = new Map(entries.map(({ name, tool: own }) => [key(own), name]))
        const turned = quietShelf({ tools: [...given].reverse(), namePrefix }).tools()
        expect(new Map(turned.map(({ name, tool: own }) => [key(own), name]))).toEqual(named)
        /** The first `__` splits: each server has a part of its own, without case. */
        const parts = new Map<string, string>()
        for (const { name, tool: own } of entries) {
          expect(shelf.resolve({ id: '1', name })).toMatchObject({ server: own.server, original: own.name })
          const slug = splitToolName(name)?.server ?? ''
          expect(slug).toMatch(/^(?!_)(?!.*__)[A-Za-z0-9_-]{1,30}(?<!_)$/)
          const owner = parts.get(slug.toLowerCase()) ?? own.server
          expect(owner).toBe(own.server)
          parts.set(slug.toLowerCase(), own.server ?? '')
        }
      }),
    )
  })
})

describe('H3 servers of files', () => {
  const spelled = fc.constantFrom(
    'gh',
    'GH',
    'my.db',
    'my db',
    'my_db',
    '_x',
    'x',
    'mcp',
    'mcp_server',
    '語',
    '!',
    'y'.repeat(31),
  )
  const odd = fc
    .string({ minLength: 1, maxLength: 40, unit: 'binary' })
    .filter((name) => name.trim() === name)
  const names = fc.uniqueArray(fc.oneof(spelled, odd), { maxLength: 8 })
  const fileOf = (file: string, given: readonly string[], folder?: string): ConfigText => {
    const entries = given.map((name) => [name, { command: `${file} ${name}` }] as const)
    const text = JSON.stringify({ mcpServers: Object.fromEntries(entries) })
    return { file, text, ...(folder === undefined ? {} : { folder }) }
  }
  /** What is configured → its name. */
  async function read(...files: ConfigText[]): Promise<Map<string, string>> {
    const { servers } = await readConfig(files, {})
    return new Map(
      servers.map(({ name, original = name, folder }) => [`${folder?.path ?? 'own'} ${original}`, name]),
    )
  }

  it('H3 have names that split, unique without case, whatever the order; no folder changes those of the user', async () => {
    await fc.assert(
      fc.asyncProperty(names, names, names, async (own, one, two) => {
        const files = [
          fileOf('/own.json', own),
          fileOf('/one/.mcp.json', one, '/one'),
          fileOf('/two/.mcp.json', two, '/two'),
        ] as const
        const all = await read(...files)
        const slugs = [...all.values()]
        for (const slug of slugs) expect(slug).toMatch(/^(?!_)(?!.*__)[A-Za-z0-9_-]{1,30}(?<!_)$/)
        expect(new Set(slugs.map((slug) => slug.toLowerCase())).size).toBe(slugs.length)
        expect(new Set(slugs).has('mcp')).toBe(false)
        const turned = await read(
          fileOf('/two/.mcp.json', two.toReversed(), '/two'),
          fileOf('/own.json', own.toReversed()),
          fileOf('/one/.mcp.json', one.toReversed(), '/one'),
        )
        expect(turned).toEqual(all)
        for (const [server, name] of await read(files[0])) expect(all.get(server)).toBe(name)
      }),
      { numRuns: runs(50) },
    )
  })

  it('H3 the user’s own keeps the name, and the other is told which one it has', async () => {
    const given = [fileOf('/f/.mcp.json', ['gh'], '/f'), fileOf('/own.json', ['gh'])]
    const { servers, problems } = await readConfig(given, {})
    const other = servers.find(({ folder }) => folder)
    expect(servers.find(({ folder }) => !folder)?.name).toBe('gh')
    expect(other).toMatchObject({ name: expect.stringMatching(/^gh_[a-z0-9]{8}$/), original: 'gh' })
    expect(problems).toMatchObject([
      { file: '/f/.mcp.json', server: 'gh', message: expect.stringContaining(`"${other?.name}"`) },
    ])
  })

  it('H3 the same server in both is the user’s', async () => {
    const same = { mcpServers: { gh: { command: 'x' } } }
    const text = JSON.stringify(same)
    const { servers, problems } = await readConfig(
      [
        { file: '/own.json', text },
        { file: '/f/.mcp.json', text, folder: '/f' },
      ],
      {},
    )
    expect([servers.length, servers[0]?.folder, problems]).toEqual([1, undefined, []])
  })
})

describe('H3 along a conversation', () => {
  it('H3 the model sees, searches and calls under the clean name, the host runs the original', async () => {
    const talk = new Talk(quietShelf({ tools: [mcp('my server', 'do.it'), ...exampleTools] }))
    await talk.user().search('select:mcp__my_server__do_it')
    await talk.prepare()
    expect(talk.visible).toContain('mcp__my_server__do_it')
    const call = talk.call('mcp__my_server__do_it', { x: 1 })
    expect(talk.shelf.resolve(call)).toEqual({
      name: 'mcp__my_server__do_it',
      input: { x: 1 },
      server: 'my server',
      original: 'do.it',
    })
  })

  it('H3 a tool that arrives under its full name only is the same tool', () => {
    const shelf = quietShelf({ tools: [builtIn('mcp__slack__send_message')] })
    const { name, server } = shelf.resolve({ id: '1', name: 'mcp__slack__send_message' })
    expect([name, server]).toEqual(['mcp__slack__send_message', 'slack'])
  })

  it('H3 with exactNames a long name stays, and one that no API takes is an error', () => {
    const long = `mcp__slack__${'x'.repeat(116)}`
    const shelf = quietShelf({ tools: [builtIn(long)], exactNames: true })
    expect(shelf.partition().deferredNames).toEqual(new Set([long]))
    expect(() => quietShelf({ tools: [builtIn('mcp__slack__a.b')], exactNames: true })).toThrow(
      'no back-end accepts the tool name "mcp__slack__a.b"',
    )
  })
})

it('a tool that was read ahead is the same in the pool', () => {
  const shelf = quietShelf()
  const tool = mcp('a', 'b')
  shelf.readAhead(tool)
  shelf.replace('a', [tool])
  expect(shelf.partition().deferred).toMatchObject([{ name: 'mcp__a__b', tool }])
})
