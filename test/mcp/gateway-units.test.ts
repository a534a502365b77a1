// The gateway's and the host's books, without servers: what is loaded, who subscribes, who owns an address, which rules
// match, what may always be loaded, which references a configuration has.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are what is read
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { PoolTool } from '../../src/index.ts'
import { bindWorkspace, expand, idleRules, isAllowed, variablesIn } from '../../src/mcp/config/index.ts'
import { respell } from '../../src/mcp/config/references.ts'
import { createLoadedTools } from '../../src/mcp/gateway/loaded-tools.ts'
import { createRelisting } from '../../src/mcp/gateway/relisting.ts'
import { createSubscriptions } from '../../src/mcp/gateway/subscriptions.ts'
import { refuseMarks } from '../../src/mcp/host/index.ts'
import { ownerAmong, type PossibleOwner } from '../../src/mcp/lists/resource-owner.ts'

describe('loaded tools', () => {
  const tool = (name: string, characters = 0) => ({ name, json: 'x'.repeat(characters) }) as PoolTool
  const open = (more = {}) => {
    const clock = { now: 0 }
    const limits = { tools: 2, tokens: 1e9, maxTools: 3, maxTokens: 1e9, unusedMs: 100, ...more }
    return { clock, loaded: createLoadedTools(limits, () => clock.now) }
  }

  it('give way to new ones when unused, above the first limit', () => {
    const { clock, loaded } = open()
    expect(loaded.add([tool('a'), tool('b')])).toEqual({ hasAdded: true, dropped: [] })
    clock.now = 99
    expect(loaded.add([tool('c')])).toEqual({ hasAdded: true, dropped: [] })
    clock.now = 100
    expect(loaded.add([tool('c')])).toEqual({ hasAdded: false, dropped: [] })
    expect(loaded.add([tool('d')])).toEqual({ hasAdded: true, dropped: ['a', 'b'] })
    expect([loaded.names(), loaded.has('a'), loaded.has('d')]).toEqual([['c', 'd'], false, true])
  })

  it('give way above the second limit however often they are used, the oldest first, never those just found', () => {
    const { clock, loaded } = open()
    loaded.add([tool('a'), tool('b'), tool('c')])
    clock.now = 1
    loaded.use(tool('a'))
    expect(loaded.add([tool('d')]).dropped).toEqual(['b'])
    expect(loaded.add(['e', 'f', 'g', 'h'].map((name) => tool(name))).dropped).toEqual(['c', 'a', 'd'])
    expect(loaded.names()).toEqual(['e', 'f', 'g', 'h'])
  })

  it('count by tokens too', () => {
    const { loaded } = open({ maxTools: 99, maxTokens: 1000 })
    loaded.add([tool('a', 2500)])
    expect(loaded.add([tool('b', 2500)]).dropped).toEqual(['a'])
    const unused = open({ tools: 99, tokens: 1000 })
    unused.loaded.add([tool('a', 2500)])
    unused.clock.now = 100
    expect(unused.loaded.add([tool('b', 2500)]).dropped).toEqual(['a'])
  })

  it('that were dropped return when they are called, and strangers do not', () => {
    const { loaded } = open({ maxTools: 1, tools: 1 })
    loaded.add([tool('a')])
    loaded.add([tool('b')])
    expect([loaded.use(tool('x')), loaded.use(tool('b')), loaded.use(tool('a'))]).toEqual([
      false,
      false,
      true,
    ])
    expect(loaded.names()).toEqual(['a'])
    for (let at = 0; at < 1001; at++) loaded.add([tool(`t${at}`)])
    expect([loaded.use(tool('a')), loaded.use(tool('t5'))]).toEqual([false, true])
  })
})

describe('a list that has changed', () => {
  afterEach(() => void vi.useRealTimers())
  const open = () => {
    vi.useFakeTimers()
    const state = { version: '1', sent: 0 }
    const relisting = createRelisting(
      () => state.version,
      async () => {
        state.sent++
      },
    )
    const announce = () => {
      const told = { isOver: false }
      void relisting.announce().then(() => {
        told.isOver = true
      })
      return told
    }
    return { state, relisting, announce }
  }

  it('is announced once', async () => {
    const { state, relisting } = open()
    await relisting.notify()
    await relisting.notify()
    expect(state.sent).toBe(1)
    state.version = '2'
    relisting.listed()
    await relisting.notify()
    expect(state.sent).toBe(1)
  })

  it('is waited for until the client has fetched it and had time to read', async () => {
    const { state, relisting, announce } = open()
    const told = announce()
    await vi.advanceTimersByTimeAsync(200)
    expect([state.sent, told.isOver]).toEqual([1, false])
    relisting.listed()
    await vi.advanceTimersByTimeAsync(199)
    expect(told.isOver).toBe(false)
    await vi.advanceTimersByTimeAsync(2)
    expect(told.isOver).toBe(true)
    state.version = '2'
    const quick = announce()
    relisting.listed()
    await vi.advanceTimersByTimeAsync(49)
    expect(quick.isOver).toBe(false)
    await vi.advanceTimersByTimeAsync(2)
    expect(quick.isOver).toBe(true)
    state.version = '3'
    const slow = announce()
    await vi.advanceTimersByTimeAsync(4000)
    relisting.listed()
    await vi.advanceTimersByTimeAsync(1001)
    expect(slow.isOver).toBe(true)
  })

  it('is not waited for again where the client never fetched it, until it does', async () => {
    const { state, relisting, announce } = open()
    const first = announce()
    await vi.advanceTimersByTimeAsync(4999)
    expect(first.isOver).toBe(false)
    await vi.advanceTimersByTimeAsync(2)
    expect(first.isOver).toBe(true)
    state.version = '2'
    const second = announce()
    await vi.advanceTimersByTimeAsync(0)
    expect([second.isOver, state.sent]).toEqual([true, 2])
    relisting.listed()
    state.version = '3'
    const third = announce()
    await vi.advanceTimersByTimeAsync(100)
    expect([third.isOver, state.sent]).toEqual([false, 3])
  })
})

describe('subscriptions', () => {
  type Listener = (event: object) => void
  function open(answer: () => Promise<unknown> = async () => ({})) {
    const sent: string[] = []
    const listeners = new Set<Listener>()
    const host = {
      status: () => ['s', 't'].map((name) => ({ name })),
      request: async (server: string, method: string, { uri }: { uri: string }) => {
        sent.push(`${server} ${method} ${uri}`)
        return answer()
      },
      listen(listener: Listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    }
    const state = (server: string, name: string) => {
      for (const listener of listeners) listener({ type: 'state', server, status: { state: name } })
    }
    return { sent, listeners, state, subscriptions: createSubscriptions(host as never) }
  }
  const [one, two] = [{}, {}]
  const a = { server: 's', uri: 'a' }

  it('are made once for all clients, and ended by the last', async () => {
    const { sent, subscriptions } = open()
    await subscriptions.add(one, a)
    await subscriptions.add(two, a)
    await subscriptions.add(two, a)
    expect(sent).toEqual(['s resources/subscribe a'])
    await subscriptions.remove(one, a)
    expect([subscriptions.isWanted(one, a), subscriptions.isWanted(two, a)]).toEqual([false, true])
    expect(subscriptions.isWanted(two, { server: 't', uri: 'a' })).toBe(false)
    await subscriptions.remove(one, a)
    subscriptions.leave(one)
    expect(sent).toHaveLength(1)
    subscriptions.leave(two)
    expect(sent.slice(1)).toEqual(['s resources/unsubscribe a'])
    expect(subscriptions.isWanted(two, a)).toBe(false)
  })

  it('are made again at a server that was away, and only there', async () => {
    const { sent, state, listeners, subscriptions } = open()
    await subscriptions.add(one, a)
    await subscriptions.add(one, { server: 't', uri: 'b' })
    state('s', 'connected')
    expect(sent).toHaveLength(2)
    state('s', 'failed')
    expect(sent).toHaveLength(2)
    state('s', 'connected')
    state('s', 'connected')
    expect(sent.slice(2)).toEqual(['s resources/subscribe a'])
    for (const listener of listeners) listener({ type: 'tools', server: 's', status: { state: 'failed' } })
    state('s', 'connected')
    expect(sent).toHaveLength(3)
    subscriptions.close()
    expect(listeners.size).toBe(0)
  })

  it('that the server refuses are forgotten, and there are limits', async () => {
    const { subscriptions } = open(async () => Promise.reject(new Error('no')))
    await expect(subscriptions.add(one, a)).rejects.toThrow('no')
    expect(subscriptions.isWanted(one, a)).toBe(false)
    const many = open().subscriptions
    await expect(many.add(one, { server: 's', uri: 'x'.repeat(10_001) })).rejects.toThrow('10001 characters')
    await many.add(two, { server: 's', uri: 'x'.repeat(10_000) })
    for (let at = 0; at < 1000; at++) await many.add(one, { server: 's', uri: `${at}` })
    await many.add(one, { server: 's', uri: '7' })
    await expect(many.add(one, { server: 's', uri: 'more' })).rejects.toThrow(
      'can subscribe to 1000 resources',
    )
  })
})

describe('the owner of an address', () => {
  const owner = (server: string, more: Partial<PossibleOwner> = {}): PossibleOwner => ({
    ...{ server, isKnown: true, uris: [], templates: [] },
    ...more,
  })
  const listing = owner('a', { uris: ['x://1'] })
  const covering = owner('b', { templates: ['x://{id}'] })

  it.each<[string, PossibleOwner[], string | undefined]>([
    ['lists it', [listing, owner('c')], 'a'],
    ['lists its template', [owner('a', { templates: ['x://1'] }), owner('c')], 'a'],
    ['is the only one, and covers it', [covering], 'b'],
    ['is the only one, and does not', [owner('b', { templates: ['{any}', 'y://{id}'] })], undefined],
    ['covers it among others', [covering, owner('c')], undefined],
    ['lists it where another may cover it', [listing, covering], undefined],
    ['lists it where another is not known', [listing, owner('c', { isKnown: false })], undefined],
    ['lists it as another does', [listing, owner('c', { uris: ['x://1'] })], undefined],
    ['lists it and is not known itself', [{ ...listing, isKnown: false }, owner('c')], 'a'],
    ['is nobody', [], undefined],
  ])('%s', (_, servers, expected) => {
    expect(ownerAmong(servers, 'x://1')).toBe(expected)
  })
})

it('rules let tools through, and those that match none are named', () => {
  const allowed = (allow: string[], deny: string[]) =>
    ['read', 'write'].filter((tool) => isAllowed(tool, { allow, deny }))
  expect([allowed([], []), allowed(['re*'], []), allowed([], ['re*']), allowed(['*'], ['*d'])]).toEqual([
    ['read', 'write'],
    ['read'],
    ['write'],
    ['write'],
  ])
  const status = (names: string[], hidden: string[] = []) => ({
    ...{ tools: names.map((name) => ({ name })), hidden },
    config: {
      allow: ['read_file', 'raed_*'],
      deny: ['secret', 'gone_*'],
      tools: { write_fil: {}, secret: {} },
    },
  })
  expect(idleRules(status(['read_file', 'write_file'], ['secret']) as never)).toEqual([
    '"allow" "raed_*"',
    '"deny" "gone_*"',
    '"tools" "write_fil"; did you mean "write_file"?',
  ])
  expect(idleRules(status([]) as never)).toEqual([])
})

describe('tools that ask to be always loaded', () => {
  const limits = { toolsPerServer: 2, tokensPerServer: 1e6, tools: 3, tokens: 1e6, totalCharacters: 1e6 }
  const tool = (name: string, mark: unknown = true, more = {}) => ({
    ...{
      name,
      inputSchema: { type: 'object' },
      ...(mark === null ? {} : { _meta: { 'anthropic/alwaysLoad': mark } }),
    },
    ...more,
  })
  const server = (name: string, tools: object[], more = {}) => ({
    config: { name, tools: {}, ...more },
    tools,
  })
  const refused = (servers: object[], more = {}) =>
    [...refuseMarks(servers as never, { ...limits, ...more })].map(
      ([name, { tools, reason }]) => `${name}: ${[...tools]}${reason === undefined ? '' : ' over'}`,
    )

  it('are limited by server and in all, in the order of the configuration', () => {
    const three = ['a', 'b', 'c'].map((name) => tool(name))
    expect(refused([server('s', three.slice(0, 2))])).toEqual(['s: '])
    expect(refused([server('s', three), server('t', three)])).toEqual(['s: c over', 't: b,c over'])
    const [{ reason } = { reason: undefined }] = refuseMarks([server('s', three)] as never, limits).values()
    expect(reason).toMatch(/^1 of its tools ask to be always loaded beyond the limit/)
  })

  it('are limited by tokens and characters, to the last', () => {
    const [a, b] = [tool('a'), tool('b')]
    const characters = JSON.stringify(a).length
    expect(refused([server('s', [a, b])], { totalCharacters: 2 * characters })).toEqual(['s: '])
    expect(refused([server('s', [a, b])], { totalCharacters: 2 * characters - 1 })).toEqual(['s: b over'])
    expect(refused([server('s', [a, b])], { tokensPerServer: 1 })).toEqual(['s: a,b over'])
    expect(refused([server('s', [a, b])], { tokens: 1 })).toEqual(['s: a,b over'])
  })

  it('are those that a person or the server marked, and the person has the last word', () => {
    const three = ['a', 'b', 'c'].map((name) => tool(name))
    expect(refused([server('s', three, { alwaysLoad: true })])).toEqual(['s: '])
    expect(refused([server('s', three, { alwaysLoad: false })])).toEqual(['s: a,b,c'])
    expect(refused([server('s', three, { tools: { a: { alwaysLoad: false } } })])).toEqual(['s: '])
    expect(refused([server('s', three, { tools: { a: { alwaysLoad: true } } })])).toEqual(['s: '])
    expect(
      refused([server('s', [tool('a', false), tool('b', 'yes'), tool('c', null)], { alwaysLoad: false })]),
    ).toEqual(['s: '])
    const unmarked = [tool('a', null), tool('b', false)]
    expect(refused([server('s', unmarked, { alwaysLoad: true })], { totalCharacters: 1 })).toEqual([
      's: a over',
    ])
    expect(refused([server('s', [{ name: 'a', _meta: null }])], { totalCharacters: 1 })).toEqual(['s: '])
  })
})

describe('references in a configuration', () => {
  it('are expanded, with defaults, and those of others stay', () => {
    const environment = { A: '1', EMPTY: '' }
    const textOf = (text: string) => expand(text, environment).text
    const texts = [
      '${A}-${A}',
      '${EMPTY}',
      '$${A}',
      '${B:-x}',
      '${B:-${A}}',
      '${B:-}',
      '$A',
      '${1}',
      '${toString}',
    ]
    expect(texts.map(textOf)).toEqual(['1-1', '', '${A}', 'x', '1', '', '$A', '${1}', '${toString}'])
    expect(expand('${A} ${B} ${C:-${D}} ${file:/x} ${E:-${input:y}}', environment)).toEqual({
      text: '1 ${B} ${D} ${file:/x} ${input:y}',
      missing: ['B', 'D'],
      used: [['A', '1']],
      foreign: ['${file:…}', '${input:…}'],
    })
    expect(expand('${B:-${A}}', environment).used).toEqual([['A', '1']])
    expect(variablesIn('${A} ${B:-${C}} ${A} $${D} ${workspaceFolder}')).toEqual(['A', 'B', 'C'])
    expect(
      bindWorkspace('${workspaceFolder} ${workspaceFolderBasename} $${workspaceFolder} ${A}', '/x/y'),
    ).toBe('/x/y y $${workspaceFolder} ${A}')
  })

  it('of other clients are spelled as ours', () => {
    const spell = (text: string, spelling: 'common' | 'gemini' | 'opencode' = 'common') =>
      respell(text, spelling, '/home/me', (input) => `INPUT_${input}`)
    expect(spell('${env:A} ${input:x} ${userHome}${/}${pathSeparator}')).toBe('${A} ${INPUT_x} /home/me//')
    expect([spell('$A_1 $a', 'gemini'), spell('$A')]).toEqual(['${A_1} $a', '$A'])
    expect([spell('{env:A} {file:~/x}', 'opencode'), spell('{env:A}')]).toEqual([
      '${A} ${file:~/x}',
      '{env:A}',
    ])
  })
})
