// The events of a shelf: what the option `trace` receives, per conversation, and what it never receives.
import { describe, expect, it } from 'vitest'
import { rankers, type Trace } from '../packages/core/src/index.ts'
import { builtIn, exampleTools, type Loose, mcp, quietShelf, Talk } from '../packages/testkit/src/talk.ts'

const SEND = 'mcp__slack__send_message'

function listening(options: Loose = {}) {
  const events: Trace[] = []
  const shelf = quietShelf({
    tools: exampleTools,
    trace: (event: Trace) => void events.push(event),
    ...options,
  })
  const of = (type: Trace['type']) => events.filter((event): event is Loose => event.type === type)
  return { shelf, events, of }
}

describe('a prepared request', () => {
  it('counts how much of the tools the model sees, and a search loads more', async () => {
    const { shelf, of } = listening()
    const talk = new Talk(shelf).user('write to #dev')
    await talk.prepare()
    const [{ tools: before }] = of('decision')
    expect(before.total).toBe(exampleTools.length)
    expect(before.visible).toBeLessThan(before.total)
    expect(before.tokensWith).toBeLessThan(before.tokensWithout)
    const search = talk.call('ToolSearch', { query: `select:${SEND}` })
    talk.assistant([search])
    await talk.user([await shelf.run(search, { execute: () => '' })]).prepare()
    expect(of('loaded')).toEqual([{ type: 'loaded', names: [SEND], by: 'search' }])
    const [, { tools: after }] = of('decision')
    expect(after.visible).toBe(before.visible + 1)
    expect(after.tokensWith).toBeGreaterThan(before.tokensWith)
    expect(after.tokensWithout).toBe(before.tokensWithout)
  })

  it('K2 keeps the prefix, or says what broke it without its text', async () => {
    const { shelf, of } = listening()
    const messages = [{ role: 'user', content: 'hello' }] as const
    const prepare = (system: string) => shelf.prepare({ model: 'claude-opus-4-6', system, messages })
    await prepare('Be brief.')
    expect(of('prefix')).toEqual([])
    await prepare('Be brief.')
    shelf.add(builtIn('Fresh'))
    await prepare('A private text.')
    const [kept, broken] = of('prefix')
    expect(kept).toEqual({ type: 'prefix', isKept: true, causes: [], left: 0 })
    const { content, ...rest } = broken
    const causes = [{ kind: 'tool-added', name: 'Fresh' }, { kind: 'system' }]
    expect(rest).toEqual({ type: 'prefix', isKept: false, causes, left: 0 })
    expect(content).toMatchObject([
      { before: undefined, after: { name: 'Fresh' } },
      { before: 'Be brief.', after: 'A private text.' },
    ])
  })
})

describe('the pool', () => {
  const namesIn = (events: readonly Loose[]) =>
    events.flatMap(({ immediate, deferred }) => [...immediate, ...deferred])

  it('is described once, by server, and each request says what of it is loaded', async () => {
    const { shelf, of } = listening()
    const talk = new Talk(shelf).user('write to #dev')
    await talk.prepare()
    const search = talk.call('ToolSearch', { query: `select:${SEND}` })
    talk.assistant([search])
    await talk.user([await shelf.run(search, { execute: () => '' })]).prepare()
    const [pool, ...more] = of('pool')
    expect(more).toEqual([])
    expect(pool).toMatchObject({ total: exampleTools.length, parts: of('tools').map(({ id }) => id) })
    expect(namesIn(of('tools')).sort()).toEqual(
      shelf
        .tools()
        .map(({ name }) => name)
        .sort(),
    )
    const slack = of('tools').find(({ server }) => server === 'slack')
    expect(slack.deferred).toContain(SEND)
    expect(slack.tokens).toHaveLength(slack.immediate.length + slack.deferred.length)
    expect(of('decision').map(({ pool: id, loaded }) => [id, loaded])).toEqual([
      [pool.id, []],
      [pool.id, [SEND]],
    ])
  })
})

describe('a search', () => {
  it.each([
    [`select:${SEND}`, 'select'],
    [SEND, 'name'],
    ['mcp__slack__', 'prefix'],
  ])('for %s was answered by %s, without scores', async (query, ranker) => {
    const { shelf, of } = listening()
    await shelf.search({ query })
    const [event] = of('searched')
    expect(event).toMatchObject({ query, ranker, scores: event.found.map(() => null) })
    expect(event.found).toContain(SEND)
  })

  it.each(['classic', 'lexical', 'hybrid'] as const)('names the ranker %s and its scores', async (name) => {
    const { shelf, of } = listening({ rank: rankers[name] })
    const { tools } = await shelf.search({ query: 'send message' })
    const { hits } = await rankers[name](shelf.partition().deferred, 'send message', 5)
    expect(of('searched')[0]).toMatchObject({
      ranker: name,
      found: tools.map(({ name: found }) => found),
      scores: hits.slice(0, tools.length).map(({ score }) => score),
    })
  })
})

describe('a call', () => {
  const call = { id: 'toolu_1', name: 'Weather', input: { city: 'Oslo' } }
  const tools = [builtIn('Weather'), mcp('slack', 'post')]

  it('that fails or is refused says so', async () => {
    const { shelf, of } = listening({ tools })
    const failing = () => {
      throw new Error('rain')
    }
    await shelf.run(call, { execute: failing })
    await shelf.run({ ...call, name: 'Wether' }, { execute: failing })
    expect(of('result').map(({ outcome }) => outcome)).toEqual(['failed', 'refused'])
    expect(of('call')).toHaveLength(1)
  })
})

describe('a conversation', () => {
  it('of its own has a listener of its own, which may throw', async () => {
    const { shelf, events } = listening()
    const own: Trace[] = []
    const fork = shelf.fork({
      isSubAgent: false,
      trace(event) {
        own.push(event)
        throw new Error('a broken listener')
      },
    })
    await new Talk(fork).user('hello').prepare()
    await fork.search({ query: 'send message' })
    const shared = new Set(['tools', 'pool'])
    const types = own.map(({ type }) => type).filter((type) => !shared.has(type))
    expect(types).toEqual(['announced', 'decision', 'searched'])
    expect(events).toEqual([])
    await shelf.search({ query: 'send message' })
    expect(events).toHaveLength(1)
  })

  it('says nothing of its words in the events of the shelf', async () => {
    const { shelf, events } = listening()
    const secret = 'the words of a person'
    const request = { model: 'claude-opus-4-6', messages: [{ role: 'user', content: secret }] }
    for (const system of ['one', secret]) await shelf.prepare({ ...request, system } as Loose)
    expect(events.length).toBeGreaterThan(2)
    const plain = events.map((event) => ({ ...event, content: undefined }))
    expect(JSON.stringify(plain)).not.toContain(secret)
  })
})
