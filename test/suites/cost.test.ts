// Laws of cost: a turn visits only what is new, and what follows from the tools is computed once for each list of tools.
// Everything is cached by the identity of objects, so what copies one fails here, where nothing else would notice. Visits are
// counted by proxies and by the functions that a host injects; no clock is read.
import { describe, expect, it } from 'vitest'
import {
  BOUND_MODEL,
  builtIn,
  type Loose,
  MODEL,
  mcp,
  OLD_MODEL,
  quietShelf,
} from '../../packages/testkit/src/talk.ts'
import {
  explainBreak,
  foldHistory,
  rankers,
  type Shelf,
  type ShelfOptions,
  type Tool,
  type Trace,
} from '../doors.ts'

const POST = 'mcp__slack__post'
const schema = { type: 'object', properties: { text: { type: 'string' } } }
const servers = ['slack', 'github', 'mail', 'wiki', 'calendar']
const tools: readonly Tool[] = [
  builtIn('Bash'),
  builtIn('Read'),
  builtIn('WebFetch', { shouldDefer: true }),
  ...servers.flatMap((server) =>
    ['post', 'list', 'search'].map((name) => mcp(server, name, { input_schema: schema })),
  ),
]

/** Counts every look into an object and everything inside it. */
class Counter {
  visits = 0
  #known = new WeakMap<object, object>()

  watch<Value>(value: Value): Value {
    if (typeof value !== 'object' || value === null) return value
    const known = this.#known.get(value)
    if (known) return known as Value
    const look = () => void this.visits++
    const seen = new Proxy(value, {
      get: (target, key) => {
        look()
        return this.watch(Reflect.get(target, key))
      },
      has: (target, key) => {
        look()
        return Reflect.has(target, key)
      },
      ownKeys: (target) => {
        look()
        return Reflect.ownKeys(target)
      },
    })
    this.#known.set(value, seen)
    // What is watched already stays as it is.
    this.#known.set(seen, seen)
    return seen as Value
  }

  /** The visits that a piece of work makes. */
  async during(work: () => unknown): Promise<number> {
    const before = this.visits
    await work()
    return this.visits - before
  }
}

/** A host whose messages are counted; its last turn is new, all others are old. */
class CountedTalk {
  readonly messages: Loose[] = []
  readonly old = new Counter()
  readonly shelf: Shelf
  readonly model: string
  last: Loose
  #fresh: Loose[] = []
  #calls = 0

  constructor(options: ShelfOptions = {}, model = MODEL) {
    this.shelf = quietShelf({ tools, ...options })
    this.model = model
    this.#fresh.push({ role: 'user', content: [{ type: 'text', text: 'start' }] })
  }

  /** The next request. What was sent before it is old, and watched; what is new is not. */
  async prepare(): Promise<number> {
    const given = [...this.messages, ...this.#fresh]
    const visits = await this.old.during(async () => {
      this.last = await this.shelf.prepare({ model: this.model, max_tokens: 100, messages: given })
    })
    this.messages.splice(0, this.messages.length, ...given)
    this.#fresh = []
    return visits
  }

  /** One turn: the model calls a tool, or searches, and thinks before it. */
  async turn(name = 'Bash', input: Loose = {}): Promise<number> {
    const call = { type: 'tool_use', id: `toolu_${++this.#calls}`, name, input }
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'unbound' }
    const result = (await this.shelf.answer(call)) ?? this.shelf.result(call, 'fine')
    this.#fresh.push(
      this.old.watch({ role: 'assistant', content: [thinking, { type: 'text', text: 'So.' }, call] }),
      this.old.watch({ role: 'user', content: [result] }),
    )
    return this.prepare()
  }

  async turns(count: number): Promise<number[]> {
    const visits: number[] = []
    for (let turn = 0; turn < count; turn++) {
      const isSearch = turn % 4 === 1
      const query = `select:mcp__${servers[(turn >> 2) % servers.length]}__post`
      visits.push(await (isSearch ? this.turn('ToolSearch', { query }) : this.turn()))
    }
    return visits
  }
}

const wires = ['reference', 'addition', 'append', 'bridge', 'hosted'] as const
const setups: readonly (readonly [string, ShelfOptions, string])[] = [
  ...wires.map((wire) => [`wire ${wire}`, { wire }, MODEL] as const),
  ['additions by value', { wire: 'addition', additions: 'value' }, MODEL],
  ['staged', { strategy: 'staged' }, MODEL],
  ['names in front', { announce: 'prepend' }, MODEL],
  ['tombstones', { tombstones: true }, MODEL],
  ['a model that binds thinking', {}, BOUND_MODEL],
  ['a closed gate', { toolSearch: false }, MODEL],
  ['an old model', {}, OLD_MODEL],
  ['a listener', { trace: () => {} }, MODEL],
  ['auto', { toolSearch: 'auto:1' }, MODEL],
  ['a breakpoint of ours', { cacheControl: { type: 'ephemeral' } }, MODEL],
]

describe.each(setups)('L4 with %s', (_, options, model) => {
  it('L4 a turn costs the same visits after 40 turns as after 8', async () => {
    const talk = new CountedTalk(options, model)
    await talk.prepare()
    const visits = await talk.turns(40)
    // The turns of one period: three calls and a search.
    const early = visits.slice(8, 12).reduce((sum, one) => sum + one, 0)
    const late = visits.slice(36, 40).reduce((sum, one) => sum + one, 0)
    expect(early).toBeGreaterThan(0)
    expect(late).toBeLessThanOrEqual(early * 1.1)
  })

  it('L4 a request that is prepared again visits less than one turn', async () => {
    const talk = new CountedTalk(options, model)
    await talk.prepare()
    const visits = await talk.turns(24)
    expect(await talk.prepare()).toBeLessThanOrEqual(Math.max(...visits.slice(-4)))
  })

  it('L4 what was sent is sent again as the same objects', async () => {
    const talk = new CountedTalk(options, model)
    await talk.prepare()
    await talk.turns(12)
    const before = talk.last
    await talk.turn()
    const same = (one: readonly unknown[], other: readonly unknown[]) =>
      other.filter((item, index) => item !== one[index]).length
    // A list of names in front of all messages is written anew.
    const given = options.announce === 'prepend' ? 1 : 0
    // The last two messages may change their form while their turn goes on.
    expect(same(talk.last.request.messages, before.request.messages.slice(0, -2))).toBeLessThanOrEqual(given)
    // Our own tools are written anew: few, and of a fixed size.
    expect(same(talk.last.request.tools, before.request.tools)).toBeLessThanOrEqual(3)
    expect(same(talk.last.history, before.history)).toBe(0)
  })

  it('L4 a message that needs no change is sent as it is, and not as a copy', async () => {
    const talk = new CountedTalk(options, model)
    await talk.prepare()
    await talk.turns(6)
    const sent = new Set<unknown>(talk.last.request.messages)
    const same = talk.messages.filter((message) => sent.has(message)).length
    // A model that binds thinking is not sent that of others; searches are written in other words.
    const isChanged = model === BOUND_MODEL
    expect(same).toBeGreaterThanOrEqual(isChanged ? 5 : 10)
  })

  it('L4 the history holds the very messages of the host', async () => {
    const talk = new CountedTalk(options, model)
    await talk.prepare()
    await talk.turns(6)
    const held = new Set<unknown>(talk.last.history)
    expect(talk.messages.filter((message) => !held.has(message))).toEqual([])
  })
})

describe('L4 between requests', () => {
  async function talked(options: ShelfOptions = {}): Promise<CountedTalk> {
    const talk = new CountedTalk(options)
    await talk.prepare()
    await talk.turns(24)
    return talk
  }
  const call = { type: 'tool_use', id: 'toolu_x', name: POST, input: { text: 'x' } }
  const search = { ...call, name: 'ToolSearch', input: { query: 'list mail' } }

  it.each<[string, (talk: CountedTalk) => unknown]>([
    ['a check', ({ shelf }) => shelf.check(call)],
    ['a check against the history', ({ shelf, messages }) => shelf.check(call, messages)],
    ['a search', ({ shelf }) => shelf.answer(search)],
    ['a hosted search', ({ shelf }) => shelf.search({ query: 'list mail' })],
    ['a result', ({ shelf }) => shelf.result(call, 'fine')],
    ['the state', ({ shelf }) => shelf.state()],
    ['a fork', ({ shelf }) => shelf.fork().tools()],
    ['a run', ({ shelf, messages }) => shelf.run(call, { messages, execute: () => 'fine' })],
    ['a run of a search', ({ shelf, messages }) => shelf.run(search, { messages, execute: () => 'fine' })],
  ])('L4 %s looks at no message that was sent', async (_, work) => {
    const talk = await talked()
    const last = await talk.old.during(() => foldHistory(talk.messages.slice(-2), 'ToolSearch'))
    // The newest message may have gained blocks: it alone is looked at.
    expect(await talk.old.during(() => work(talk))).toBeLessThanOrEqual(last)
  })

  it('L4 a new server costs a turn nothing of the history', async () => {
    const talk = await talked()
    const usual = Math.max(...(await talk.turns(4)))
    talk.shelf.add(mcp('late', 'tool'))
    expect(await talk.turn()).toBeLessThanOrEqual(usual)
  })

  it('L4 a message that is replaced is read again, with those behind it: the counter can fail', async () => {
    const talk = await talked()
    const usual = Math.max(...(await talk.turns(4)))
    talk.messages[0] = { role: 'user', content: 'another start' }
    expect(await talk.turn()).toBeGreaterThan(usual * 4)
  })

  it('L5 a sub-agent does not look into the conversation that started it', async () => {
    const talk = await talked()
    const fork = talk.shelf.fork()
    const task = [{ role: 'user', content: 'a task' }]
    const visits = await talk.old.during(() => fork.prepare({ model: MODEL, max_tokens: 1, messages: task }))
    expect(visits).toBe(0)
    const usual = Math.max(...(await talk.turns(4)))
    expect(await talk.turn()).toBeLessThanOrEqual(usual)
  })
})

/** Tools that count how often their description is read, and every look into their schema. */
function watchedTools(given: readonly Tool[] = tools) {
  const counter = new Counter()
  const watched = given.map((tool) =>
    Object.defineProperty(
      { ...tool, input_schema: counter.watch(structuredClone(tool.input_schema)) },
      'description',
      {
        enumerable: true,
        get: () => {
          counter.visits++
          return tool.description
        },
      },
    ),
  )
  return { counter, watched: watched as readonly Tool[] }
}

/** The same without the descriptions: a host may replace those of an object that it has handed in. */
const watchedSchemas = (counter: Counter): readonly Tool[] =>
  tools.map((tool) => ({ ...tool, input_schema: counter.watch(structuredClone(tool.input_schema)) }))

const start = { model: MODEL, max_tokens: 100, messages: [{ role: 'user' as const, content: 'start' }] }

describe('T5 S15 what follows from the tools is computed once', () => {
  it.each(wires)('Q9 requests, checks and forks read no definition again (%s)', async (wire) => {
    const { counter, watched } = watchedTools()
    const shelf = quietShelf({ tools: watched, wire })
    expect(counter.visits).toBeGreaterThan(0)
    await shelf.prepare(start)
    await shelf.answer({ id: 'toolu_1', name: 'ToolSearch', input: { query: `select:${POST}` } })
    const visits = await counter.during(async () => {
      await shelf.prepare({ ...start, messages: [...start.messages] })
      await shelf.fork().prepare(start)
      await shelf.fork({ hide: { server: () => false, tool: ({ name }) => name === 'Read' } }).prepare(start)
    })
    expect(visits).toBe(0)
  })

  it.each(['classic', 'bm25', 'regex', 'hybrid'] as const)(
    'S15 a second search reads no tool (%s)',
    async (rank) => {
      // The hybrid ranker compares the descriptions of its few best hits, to leave out twins.
      const whole = watchedTools()
      const counter = rank === 'hybrid' ? new Counter() : whole.counter
      const watched = rank === 'hybrid' ? watchedSchemas(counter) : whole.watched
      const shelf = quietShelf({ tools: watched, rank: rankers[rank] })
      const search = async () => {
        for (const query of ['post', 'list mail', '+github list', 'mcp__wiki', `select:${POST}`, 'zzz'])
          await shelf.search({ query })
      }
      await search()
      const visits = await counter.during(async () => {
        await search()
        await shelf.fork().search({ query: 'list mail' })
      })
      expect(counter.visits).toBeGreaterThan(0)
      expect(visits).toBe(0)
    },
  )

  it('T5 a tool that joins costs only itself', async () => {
    const counter = new Counter()
    const shelf = quietShelf({ tools: watchedSchemas(counter) })
    await shelf.prepare(start)
    const late = watchedTools([mcp('late', 'tool')])
    const visits = await counter.during(async () => {
      shelf.add(late.watched)
      shelf.replace('late', late.watched)
      shelf.remove({ server: 'wiki' })
      await shelf.prepare(start)
      await shelf.search({ query: 'list late' })
    })
    expect(visits).toBe(0)
    expect(late.counter.visits).toBeGreaterThan(0)
  })

  it('T5 a tool that was read ahead is not read again', async () => {
    const counter = new Counter()
    const ahead = watchedSchemas(counter).filter(({ server }) => server === 'mail')
    const shelf = quietShelf({ tools: tools.filter(({ server }) => server !== 'mail') })
    for (const tool of ahead) shelf.readAhead(tool)
    expect(counter.visits).toBeGreaterThan(0)
    expect(await counter.during(() => shelf.replace('mail', ahead))).toBe(0)
  })

  it('V1 a schema is read once, however many calls are checked against it', async () => {
    const counter = new Counter()
    const shelf = quietShelf({ tools: watchedSchemas(counter) })
    const check = (text: unknown) => shelf.check({ id: 'toolu_1', name: POST, input: { text } })
    expect(check(5)).toBeDefined()
    expect(check('x')).toBeUndefined()
    const visits = await counter.during(() => {
      check('y')
      shelf.fork().check({ id: 'toolu_2', name: POST, input: { text: 5 } })
    })
    expect(visits).toBe(0)
  })

  it('T5 tools that stay keep their objects when others come and go', () => {
    const shelf = quietShelf({ tools })
    const entry = () => shelf.tools().find(({ name }) => name === POST)
    const [before, definition] = [entry(), entry()?.definition]
    shelf.add(mcp('late', 'tool'))
    shelf.remove({ server: 'wiki' })
    shelf.replace('mail', [mcp('mail', 'other')])
    expect(entry()).toBe(before)
    expect(entry()?.definition).toBe(definition)
    expect(Object.isFrozen(definition)).toBe(true)
  })

  it('T5 the pool is split once for all requests, conversations and forks', async () => {
    const shelf = quietShelf({ tools })
    const split = shelf.partition()
    await shelf.prepare(start)
    expect(shelf.partition()).toBe(split)
    expect(shelf.fork().partition()).toBe(split)
    expect(shelf.fork().fork({ isSubAgent: false }).tools()).toBe(split.pool.tools)
    shelf.setServer('slack', { instructions: 'be kind' })
    expect(shelf.partition()).toBe(split)
    shelf.setServer('slack', { alwaysLoad: true })
    expect(shelf.partition()).not.toBe(split)
  })

  it('S10 what a fork hides is asked once for each tool', async () => {
    const asked: string[] = []
    const hide = {
      server: () => false,
      tool: ({ name }: { name: string }) => {
        asked.push(name)
        return name.endsWith('list')
      },
    }
    const shelf = quietShelf({ tools })
    const fork = shelf.fork({ hide })
    for (let request = 0; request < 3; request++) await fork.prepare(start)
    await shelf.fork({ hide }).prepare(start)
    await fork.search({ query: 'list mail' })
    expect(asked).toHaveLength(tools.length)
    expect(fork.tools()).toBe(shelf.fork({ hide }).tools())
  })

  it('S10 the permission of each tool is asked once a request, and that of a search once', async () => {
    let asked = 0
    const isHidden = () => {
      asked++
      return false
    }
    const shelf = quietShelf({ tools, isHidden })
    await shelf.prepare(start)
    const counts: number[] = []
    for (let request = 0; request < 4; request++) {
      asked = 0
      await shelf.prepare(start)
      counts.push(asked)
    }
    expect(new Set(counts).size).toBe(1)
    // For each tool, and for the search itself.
    expect(counts[0]).toBeLessThanOrEqual(2 * tools.length + 2)
  })

  it('D5 D6 only tools whose marks are functions are asked, a bounded number of times a request', async () => {
    let asked = 0
    const critical = () => {
      asked++
      return false
    }
    const shelf = quietShelf({ tools: [...tools, builtIn('Brief', { shouldDefer: true, critical })] })
    await shelf.prepare(start)
    asked = 0
    for (let request = 0; request < 10; request++) await shelf.prepare(start)
    expect(asked).toBeLessThanOrEqual(10)
  })

  it('T5 tokens are counted once for each pool, by concurrent requests and forks too', async () => {
    const counted: number[] = []
    const countTokens = async (definitions: readonly unknown[]) => {
      counted.push(definitions.length)
      return 1e6
    }
    const shelf = quietShelf({ tools, toolSearch: 'auto', countTokens })
    await Promise.all([shelf.prepare(start), shelf.fork().prepare(start), shelf.prepare(start)])
    await shelf.fork({ isSubAgent: false }).prepare(start)
    expect(counted).toHaveLength(1)
    shelf.add(mcp('late', 'tool'))
    await shelf.prepare(start)
    await shelf.fork().prepare(start)
    expect(counted).toHaveLength(2)
  })

  it('S15 a ranker gets the same list of tools until they change', async () => {
    const lists = new Set<unknown>()
    const rank = (list: readonly unknown[]) => {
      lists.add(list)
      return { hits: [], matched: 0 }
    }
    const shelf = quietShelf({ tools, rank })
    for (const query of ['one', 'two', 'three']) await shelf.search({ query })
    await shelf.fork().search({ query: 'four' })
    expect(lists.size).toBe(1)
    shelf.add(mcp('late', 'tool'))
    await shelf.search({ query: 'five' })
    expect(lists.size).toBe(2)
  })

  it('T5 a pool is described to a listener once in a conversation', async () => {
    const events: Trace[] = []
    const shelf = quietShelf({ tools, trace: (event) => events.push(event) })
    for (let request = 0; request < 3; request++) await shelf.prepare(start)
    const pools = () => events.filter(({ type }) => type === 'pool').length
    expect(pools()).toBe(1)
    shelf.add(mcp('late', 'tool'))
    await shelf.prepare(start)
    expect(pools()).toBe(2)
  })

  it('S15 each tool is ranked by the same object in all forks', async () => {
    const shelf = quietShelf({ tools })
    const [first] = (await shelf.search({ query: `select:${POST}` })).tools
    const [second] = (await shelf.fork().search({ query: `select:${POST}` })).tools
    expect(second).toBe(first)
  })
})

describe('Q9 K1 the objects of one request', () => {
  it.each(['reference', 'hosted'] as const)(
    'Q9 the flag of a deferred tool is put on once (%s)',
    async (wire) => {
      const shelf = quietShelf({ tools, wire, strategy: 'staged' })
      const first = await shelf.prepare(start)
      const second = await shelf.fork().prepare(start)
      const deferred = (prepared: Loose) =>
        prepared.request.tools.filter(({ defer_loading }: Loose) => defer_loading)
      expect(deferred(first).length).toBeGreaterThan(10)
      expect(deferred(second).filter((tool: Loose) => !deferred(first).includes(tool))).toEqual([])
    },
  )

  it('Q9 a definition that needs no flag is sent as it is in the pool', async () => {
    const shelf = quietShelf({ tools, toolSearch: false })
    const { request } = await shelf.prepare(start)
    const known = new Set<unknown>(shelf.tools().map(({ definition }) => definition))
    expect((request.tools as Loose[]).filter((tool) => !known.has(tool))).toEqual([])
  })

  it('K1 K2 a request prepared again breaks nothing, and its tools are frozen for all who cache by them', async () => {
    const shelf = quietShelf({ tools })
    const [one, two] = [await shelf.prepare(start), await shelf.prepare(start)]
    expect(explainBreak(one, two)).toEqual([])
    const known = new Set(shelf.tools().map(({ name }) => name))
    const sent = (one.request.tools as Loose[]).filter(({ name }) => known.has(name))
    expect(sent.filter((tool) => !Object.isFrozen(tool))).toEqual([])
  })
})
