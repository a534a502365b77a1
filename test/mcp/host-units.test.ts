// The parts of a host without servers: which questions are passed on, what is read of lists, which changes are held back,
// and what is put on the shelf. Each is one log from start to end, with the clock in the test's hands.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { readListedTools } from '../../src/mcp/host/definitions.ts'
import { createPublisher } from '../../src/mcp/host/publisher.ts'
import { createServerQuestions } from '../../src/mcp/host/questions.ts'
import { createServerLists, freshUntil } from '../../src/mcp/host/server-lists.ts'
import type { ListedTool, QuestionHandler, ServerConfig } from '../../src/mcp/index.ts'
import { callContext } from '../../src/mcp/protocol/index.ts'
import type { Loose } from '../support/talk.ts'
import { httpServer } from './support/servers.ts'
import { messageOf, signal } from './support/session.ts'
import { tool } from './support/small-servers.ts'

const toFake = ['setTimeout', 'clearTimeout', 'Date'] as const
beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 0, 1), toFake: [...toFake] }))
afterEach(() => void vi.useRealTimers())

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
const written = (lines: readonly unknown[]) =>
  `${lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')}\n`
const file = (name: string) => `./parts/${name}.txt`
const config = (name = 'shop', more: Partial<ServerConfig> = {}): ServerConfig =>
  httpServer(name, 'http://127.0.0.1/mcp', more)

describe('H9 questions of a server', () => {
  function open(given: Partial<ServerConfig> = {}, hasOtherwise = true) {
    const lines: unknown[] = []
    const handler = (name: string, more: Partial<QuestionHandler> = {}): QuestionHandler => ({
      ask: async (method, params, abort, key) => {
        lines.push(`${name} is asked ${method} ${JSON.stringify(params)} ${abort?.aborted} ${key}`)
        return { by: name }
      },
      ...more,
    })
    const otherwise = hasOtherwise ? handler('otherwise') : undefined
    const questions = createServerQuestions({
      config: config('shop', given),
      otherwise,
      shown: (text) => text.replaceAll('secret', '[hidden]'),
      notify: (message) => lines.push(`! ${message}`),
    })
    /** A call that waits for `end`, or for `fail` with an error. */
    const begin = (questionHandler?: QuestionHandler, isGivenUp = false) => {
      const { promise, resolve } = signal<Error | undefined>()
      let inside: (work: () => unknown) => unknown = () => {}
      let given: QuestionHandler | undefined
      const over = questions
        .during(
          questionHandler,
          () => isGivenUp,
          async (own) => {
            given = own
            const store = callContext.getStore()!
            inside = (work) => callContext.run(store, work)
            const error = await promise
            if (error) throw error
            return 'done'
          },
        )
        .catch((error: Loose) => error)
      return {
        questionHandler: () => given as QuestionHandler,
        inside: <Value>(work: () => Value) => inside(work) as Value,
        context: () => inside(() => callContext.getStore()) as { answered(): void },
        end: (error?: Error) => {
          resolve(error)
          return over
        },
      }
    }
    const say = async (what: string, work: () => unknown) => {
      const outcome = await Promise.resolve()
        .then(work)
        .then(
          (value) => JSON.stringify(value) ?? 'nothing',
          (error: Error) => `refused: ${error.message}`,
        )
      lines.push(`${what} → ${outcome}`)
    }
    const named = (client: object | undefined, ...known: QuestionHandler[]) =>
      client === undefined
        ? 'nobody'
        : (known.findIndex((one) => (one.client ?? one) === client) ?? 'another')
    return { questions, lines, handler, otherwise, begin, say, named }
  }

  const form = { message: 'Your secret?', requestedSchema: { type: 'object', title: 'a\u200bb' } }

  it('H9 are passed on under its name, clean, as far as they can be shown', async () => {
    const { lines, handler, begin, say } = open()
    const table: [method: string, params: Loose][] = [
      ['elicitation/create', form],
      ['elicitation/create', { mode: 'form', url: 'ftp://ignored' }],
      ['elicitation/create', { mode: 'url', message: 'Open', url: 'HTTPS://User@Shop.example:443/a b' }],
      ['elicitation/create', { mode: 'url', url: 'http://shop.example/' }],
      ['elicitation/create', { mode: 'url', url: 'ftp://shop.example' }],
      ['elicitation/create', { mode: 'url', url: 'no address' }],
      ['elicitation/create', { mode: 'url', url: 7 }],
      ['elicitation/create', { mode: 'url' }],
      ['sampling/createMessage', { messages: [], systemPrompt: 'Be secret.' }],
      ['sampling/createMessage', { systemPrompt: 5, message: 'x'.repeat(20_001) }],
      ['roots/list', { any: 'secret' }],
      ['anything/else', {}],
    ]
    for (const [method, params] of table) {
      const call = begin(handler('client'))
      const { questionHandler } = call
      await say('it asks', () => questionHandler().ask(method, params, AbortSignal.abort(), 'key'))
      await call.end()
    }
    const { questionHandler, end } = begin(handler('client'))
    const lengths = async (params: Loose) =>
      messageOf(questionHandler().ask('elicitation/create', params)).then((text) => text.slice(0, 60))
    const page = (length: number) => `https://shop.example/${'x'.repeat(length - 21)}`
    const outcomes = [
      await lengths({ message: 'x'.repeat(20_000) }),
      await lengths({ message: 'x'.repeat(20_001) }),
      await lengths({ mode: 'url', url: page(8000) }),
      await lengths({ mode: 'url', url: page(8001) }),
    ]
    await end()
    const shown = lines.map((line) => String(line).replace(/x{100,}/g, (text) => `x*${text.length}`))
    await expect(written([...shown, ...outcomes])).toMatchFileSnapshot(file('host-questions'))
  })

  it('H9 are as many as the limits allow: in a call, in a minute, and for roots', async () => {
    const { questions, lines, handler, begin } = open()
    const ask = async (count: number, method = 'elicitation/create') => {
      const { questionHandler, end } = begin(handler('client'))
      const outcomes = await Promise.all(
        Array.from({ length: count }, () => messageOf(questionHandler().ask(method, {}))),
      )
      await end()
      return [...new Set(outcomes)].map(
        (one) => `${one} ×${outcomes.filter((other) => other === one).length}`,
      )
    }
    const inCall = '! no more than 10 questions in one call of "shop" are passed on'
    const inMinute = '! no more than 30 questions in a minute of "shop" are passed on'
    expect(await ask(11)).toEqual(['[object Object] ×10', `${inCall} ×1`])
    expect(await ask(10, 'sampling/createMessage')).toEqual(['[object Object] ×10'])
    await pass(59_999)
    expect(await ask(10)).toEqual(['[object Object] ×10'])
    expect(await ask(2)).toEqual([`${inMinute} ×2`])
    await pass(1)
    expect(await ask(10)).toEqual(['[object Object] ×10'])
    expect(await ask(10)).toEqual(['[object Object] ×10'])
    expect(await ask(1)).toEqual([`${inMinute} ×1`])
    expect(lines.filter((line) => String(line).startsWith('!'))).toEqual([
      '! server "shop" asked more than 10 questions in one call; the rest is refused.',
    ])
    const tooMany = '! too many requests for roots; try again later'
    expect(await ask(201, 'roots/list')).toEqual(['[object Object] ×200', `${tooMany} ×1`])
    await pass(199)
    expect(await messageOf(questions.answer('roots/list', {}))).toBe(tooMany)
    await pass(1)
    expect(await questions.answer('roots/list', {})).toEqual({ by: 'otherwise' })
    expect(await messageOf(questions.answer('roots/list', {}))).toBe(tooMany)
  })

  it('H9 that the configuration denies are refused, and not offered', async () => {
    const { questions, lines, handler, begin, say } = open({ elicitation: 'deny', sampling: 'ask' })
    const able = { elicitation: {}, sampling: {}, roots: {} }
    const { questionHandler, end } = begin(handler('client', { capabilities: able, client: form }))
    expect(questions.allowed(able)).toEqual({ sampling: {}, roots: {} })
    expect(questionHandler()).toEqual({
      client: form,
      capabilities: { sampling: {}, roots: {} },
      ask: expect.any(Function),
    })
    await say('elicitation', () => questionHandler().ask('elicitation/create', form))
    await say('sampling', () => questionHandler().ask('sampling/createMessage', {}))
    const pages = { code: -32042, data: { elicitations: [] } }
    lines.push((questions.review(pages) as Error).message)
    const plain = { code: -32000, data: { elicitations: [] } }
    expect(questions.review(plain)).toBe(plain)
    await end()
    expect(lines).toEqual([
      'elicitation → refused: "shop" may not use elicitation: it is set to "deny" in test',
      'client is asked sampling/createMessage {"systemPrompt":"This request comes from the MCP server \\"shop\\"."} undefined undefined',
      'sampling → {"by":"client"}',
      '"shop" asks to open a page: "elicitation" is "deny" in test',
    ])
    const bare = begin(handler('client'))
    expect(Object.keys(bare.questionHandler())).toEqual(['ask'])
    await bare.end()
    expect(open({ sampling: 'deny' }).questions.allowed(able)).toEqual({ elicitation: {}, roots: {} })
    const lonely = open({}, false).begin()
    expect(lonely.questionHandler()).toBeUndefined()
    await lonely.end()
  })

  it('H9 reach the client whose call they belong to, and nobody where that is not clear', async () => {
    const { questions, lines, handler, otherwise, begin, say, named } = open()
    const [ada, bob] = [handler('ada'), handler('bob')]
    const twin = handler('twin', { client: ada })
    const ask = (method = 'elicitation/create') => questions.answer(method, form)
    const owner = () => lines.push(`owner ${named(questions.owner(), ada, bob, otherwise!)}`)
    await say('nobody calls: a question', () => ask())
    await say('nobody calls: roots', () => ask('roots/list'))
    const own = begin()
    await say('a call without a handler', () => ask())
    owner()
    await own.end()
    const first = begin(ada)
    await say('one calls', () => ask())
    const other = begin(twin)
    await say('the same client calls twice', () => ask())
    const second = begin(bob)
    await say('two clients call', () => ask())
    await say('two clients call: roots', () => ask('roots/list'))
    owner()
    await say('in the call of one', () => second.inside(() => ask()))
    second.inside(owner)
    await other.end()
    await second.end()
    await say('the other has ended', () => ask())
    owner()
    await pass(29_999)
    owner()
    await pass(1)
    owner()
    await say('in a call that has ended', () => second.inside(() => ask()))
    second.inside(owner)
    await first.end()
    owner()
    const third = begin(bob)
    lines.push('the other ended before')
    owner()
    await third.end()
    await expect(written(lines)).toMatchFileSnapshot(file('host-clients'))
  })

  it('H9 about a call that was given up reach nobody else for half a minute', async () => {
    const { questions, lines, handler, begin, say } = open()
    const [ada, bob] = [handler('ada'), handler('bob')]
    const ask = (method = 'elicitation/create') => questions.answer(method, form)
    const given = begin(ada, true)
    lines.push(String(await given.end(new Error('given up'))))
    await say('after it: a question', () => ask())
    await say('after it: roots', () => ask('roots/list'))
    const other = begin(bob)
    await say('another client calls', () => ask())
    await say('another client calls: roots', () => ask('roots/list'))
    const same = begin(ada)
    await other.end()
    await say('the same client calls', () => ask())
    await same.end()
    given.context().answered()
    await say('the server has answered: roots', () => ask('roots/list'))
    const late = begin(ada, true)
    await late.end(new Error('given up'))
    await pass(29_999)
    await say('29.999 s: roots', () => ask('roots/list'))
    await pass(1)
    await say('30 s: roots', () => ask('roots/list'))
    const answered = begin(ada, false)
    await answered.end(new Error('answered'))
    await say('a call that failed: roots', () => ask('roots/list'))
    const host = begin(undefined, true)
    await host.end(new Error('given up'))
    await say('a call of the host was given up: roots', () => ask('roots/list'))
    const lonely = open({}, false)
    await lonely.begin(undefined, true).end(new Error('given up'))
    await lonely.say('nobody is there', () => lonely.questions.answer('roots/list', {}))
    await expect(written([...lines, ...lonely.lines])).toMatchFileSnapshot(file('host-given-up'))
  })

  it('H9 whose message may be a late one are those of nobody, for a hundred clients', async () => {
    const { questions, handler, begin, named } = open()
    const [ada, bob] = [handler('ada'), handler('bob')]
    const call = begin(ada)
    await begin(bob).end()
    expect(questions.owner()).toBeUndefined()
    for (let at = 0; at < 98; at++) await begin(handler(`client ${at}`)).end()
    await begin(ada).end()
    expect(questions.owner()).toBeUndefined()
    await call.end()
    const later = begin(ada)
    expect(named(questions.owner(), ada, bob)).toBe(0)
    await later.end()
  })

  it('H9 that an error asks are named and counted; outside of a call they are left out', async () => {
    const { questions, lines, handler, begin } = open()
    const page = (path: string, more: object = {}) => ({
      url: `https://shop.example/${path}`,
      message: 'Open secret',
      ...more,
    })
    const error = (data: unknown) => Object.assign(new Error('needs pages'), { code: -32042, data })
    const inCall = async (data: unknown) => {
      const found = await begin(handler('client')).end(error(data))
      lines.push(found.data ?? 'no data')
    }
    await inCall({ elicitations: [page('a', { id: 1 }), page('b', { url: 'ftp://x' }), null], more: true })
    await inCall({ elicitations: 'none' })
    await inCall(undefined)
    lines.push((questions.review(error({ elicitations: [page('a')], more: 1 })) as Loose).data)
    const many = (name: string) =>
      inCall({ elicitations: Array.from({ length: 11 }, (_, at) => page(`${name}${at}`)) })
    await many('c')
    await many('d')
    await many('e')
    await many('c')
    await expect(written(lines)).toMatchFileSnapshot(file('host-pages'))
  })
})

describe('H6 the tools that a server lists', () => {
  const read = async (entries: readonly unknown[], more: Loose = {}) => {
    const { config: given = {}, ...options } = more
    return readListedTools(entries, {
      config: { allow: [], deny: [], ...given },
      clean: (entry: unknown) => entry,
      ...options,
    })
  }

  it('H6 are used as far as they are right', async () => {
    const deep: Loose = {}
    let at = deep
    for (let depth = 0; depth < 20_000; depth++) {
      at.a = {}
      at = at.a
    }
    const header = { properties: { a: { type: 'object', 'x-mcp-header': 'A' } } }
    const entries = [
      tool('right'),
      tool('right', { description: 'again' }),
      undefined,
      null,
      'text',
      { name: '' },
      { name: 5 },
      { name: 'x'.repeat(300), execution: { taskSupport: 'required' } },
      { name: 'task', execution: { taskSupport: 'optional' }, inputSchema: { type: 'object' } },
      { name: 'deep', inputSchema: deep },
      { name: 'bare' },
      { name: 'null', description: null, inputSchema: null, outputSchema: null },
      { name: 'list', description: 5, inputSchema: [], outputSchema: 'text' },
      { name: 'untyped', inputSchema: { properties: {} }, outputSchema: {} },
      { name: 'string', inputSchema: { type: 'string', x: 1 }, outputSchema: [] },
      { name: 'header', inputSchema: { type: 'object', ...header } },
    ]
    const lines: unknown[] = []
    for (const mirrorsArguments of [undefined, true]) {
      const { tools, problems, listed } = await read(entries, { mirrorsArguments })
      const names = listed.map((entry) => (entry as ListedTool).name)
      lines.push(...tools, ...problems, `stored: ${names.join()}`)
      expect(tools[0]).toBe(entries[0])
    }
    await expect(written(lines)).toMatchFileSnapshot(file('host-definitions'))
  })

  it('H6 that are too deep to be searched for secrets are dropped for that reason, by their name', async () => {
    const inputSchema = Array.from({ length: 1001 }).reduce<object>((inner) => ({ inner }), {})
    const clean = () => ({ name: 'shown' })
    expect((await read([{ ...tool('deep'), inputSchema }], { clean })).problems).toEqual([
      { tool: 'shown', kind: 'dropped', message: 'its definition is nested too deeply' },
    ])
  })

  it('H6 are used up to the limits of their number and size', async () => {
    const sized = (name: string, characters: number) => {
      const empty = JSON.stringify({ name, inputSchema: { type: 'object', a: '' } }).length
      return { name, inputSchema: { type: 'object', a: 'x'.repeat(characters - empty) } }
    }
    const [most, over] = [sized('a', 2_000_000), sized('b', 2_000_001)]
    const large = await read([most, over, sized('c', 1_999_000), sized('d', 1001), sized('e', 1000)])
    expect(large.tools.map(({ name }) => name)).toEqual(['a', 'c', 'd', 'e'])
    expect(large.listed.map((entry) => (entry as ListedTool).name)).toEqual(['a', 'c', 'e'])
    expect(large.problems).toEqual([
      { tool: 'a', kind: 'large', message: expect.stringMatching(/takes about \d{6} tokens each/) },
      { tool: 'b', kind: 'dropped', message: 'its definition is too large' },
      { tool: 'c', kind: 'large', message: expect.anything() },
    ])
    const small = await read([sized('f', 40_000), sized('g', 90_000)])
    expect(small.problems.map((problem) => problem.tool)).toEqual(['g'])
    const numbered = ['a', 'hidden', 'b', 'c', 'd'].map((name) => tool(name))
    const some = await read(numbered, { config: { deny: ['hidden'], maxTools: 2 } })
    expect(some.tools.map(({ name }) => name)).toEqual(['a', 'hidden', 'b'])
    expect(some.problems).toEqual([
      {
        tool: 'all',
        kind: 'limited',
        message:
          'it lists 4 tools, and only the first 2 are used; choose with "allow", or raise "maxTools" at the server',
      },
    ])
    expect((await read(numbered, { config: { maxTools: 5 } })).problems).toEqual([])
    const wrong = await read(Array.from({ length: 201 }, () => ({})))
    expect(wrong.problems).toHaveLength(200)
    expect(wrong.problems[1]).toEqual({ tool: 'number 2', kind: 'dropped', message: 'it has no name' })
  })
})

describe('H4 prompts, resources and templates of a server', () => {
  const everything = { prompts: {}, resources: {} }
  type Answer = (field: string) => { entries: readonly unknown[]; ttlMs?: number } | Promise<never>

  function open() {
    const lines: unknown[] = []
    const state = { answer: ((field) => ({ entries: [{ name: field }] })) as Answer }
    const lists = createServerLists({
      clean: (entries) => entries.filter((entry) => entry !== 'secret'),
      onChange: (list) => lines.push(`changed: ${list}`),
    })
    const sessionOf = (capabilities: object) =>
      ({
        capabilities,
        list: async (method: string, field: string, timeout: number) => {
          lines.push(`${method} ${field} ${timeout}`)
          return { isCut: false, ttlMs: undefined, ...(await state.answer(field)) }
        },
      }) as never
    const refresh = async (
      why: 'connected' | 'accessed' | 'prompts' | 'resources',
      of: object = everything,
    ) => {
      lines.push(`— ${why}`)
      await lists.refresh(sessionOf(of), why)
      const { hasListed, ...known } = lists.known()
      lines.push(`${hasListed} ${JSON.stringify(known)}`)
    }
    return { lines, state, lists, refresh, sessionOf }
  }

  it('H4 are listed when it connects, when it says that they changed, and when they are no longer fresh', async () => {
    const { lines, state, lists, refresh } = open()
    lines.push(lists.known())
    await refresh('connected')
    await refresh('connected')
    await refresh('accessed')
    state.answer = (field) => ({ entries: [{ name: `new ${field}` }, 'secret'], ttlMs: 1000 })
    await refresh('prompts')
    await refresh('resources')
    await refresh('connected')
    await pass(999)
    await refresh('accessed')
    await pass(1)
    await refresh('accessed')
    await pass(1000)
    await refresh('connected', { prompts: {} })
    await refresh('connected', {})
    lines.push(lists.kept())
    await expect(written(lines)).toMatchFileSnapshot(file('host-lists'))
  })

  it('H4 that cannot be listed stay as they were, and are asked for again after half a minute', async () => {
    const { lines, state, refresh } = open()
    state.answer = (field) =>
      field === 'prompts' ? Promise.reject(new Error('no')) : { entries: [], ttlMs: 60_000 }
    await refresh('accessed')
    await refresh('accessed')
    await pass(29_999)
    await refresh('accessed')
    await pass(1)
    await refresh('accessed')
    state.answer = (field) => ({ entries: [field] })
    await refresh('connected')
    state.answer = () => Promise.reject(new Error('no'))
    await refresh('prompts')
    await expect(written(lines)).toMatchFileSnapshot(file('host-lists-failing'))
  })

  it('H4 of an earlier run count until they are listed anew', async () => {
    const { lines, lists, refresh } = open()
    const soon = Date.now() + 1000
    const kept = {
      prompts: { entries: ['old'], freshUntil: soon },
      resources: { entries: [{ name: 'resources' }], freshUntil: 0 },
      resourceTemplates: { entries: 'none', freshUntil: 0 } as never,
    }
    lists.restore(undefined)
    lists.restore(kept)
    lists.restore({ prompts: { entries: ['older'], freshUntil: 0 } })
    lines.push(lists.known(), lists.kept())
    await refresh('connected')
    await pass(1000)
    await refresh('connected')
    await expect(written(lines)).toMatchFileSnapshot(file('host-lists-restored'))
  })

  it('H4 are asked for once at a time: who asks meanwhile shares the next answer', async () => {
    const { lines, state, lists, sessionOf } = open()
    const gates: (() => void)[] = []
    state.answer = (field) =>
      new Promise<never>((resolve) =>
        gates.push(() => resolve({ entries: [`${field} ${gates.length}`] } as never)),
      )
    const session = sessionOf(everything)
    const done: string[] = []
    const ask = (name: string, why: 'prompts' | 'accessed') =>
      void lists.refresh(session, why).then(() => done.push(name))
    ask('first', 'prompts')
    ask('second', 'prompts')
    ask('third', 'prompts')
    await pass(0)
    expect(gates).toHaveLength(1)
    gates[0]!()
    await pass(0)
    expect([done, gates.length]).toEqual([['first'], 2])
    ask('fourth', 'prompts')
    gates[1]!()
    await pass(0)
    expect([done, gates.length]).toEqual([['first', 'second', 'third'], 3])
    gates[2]!()
    await pass(0)
    expect(done.at(-1)).toBe('fourth')
    const before = gates.length
    lists.refresh(session, 'accessed')
    ask('fifth', 'accessed')
    await pass(0)
    for (const gate of gates.slice(before)) gate()
    await pass(0)
    expect([done.at(-1), gates.length - before]).toEqual(['fifth', 2])
    expect(lines.filter((line) => line === 'prompts/list prompts 10000')).toHaveLength(3)
  })

  it('H6 are kept up to two million characters; what cannot be written is left out', async () => {
    const { state, lists, sessionOf } = open()
    const deep: Loose = {}
    for (let at = deep, depth = 0; depth < 20_000; depth++) at = at.a = {}
    const entries = ['x'.repeat(999_998), deep, undefined, 'y'.repeat(999_998), 'z', '']
    state.answer = (field) => (field === 'prompts' ? { entries } : { entries: [] })
    await lists.refresh(sessionOf({ prompts: {} }), 'prompts')
    expect(lists.known().prompts?.map((entry) => String(entry)[0])).toEqual(['x', 'u', 'y'])
  })

  it('H4 stay fresh for as long as the server says, a week at most', () => {
    const now = Date.now()
    const week = 7 * 24 * 3_600_000
    const times = [undefined, Number.NaN, -1, 0, 1, week, week + 1].map((ttlMs) => freshUntil(ttlMs))
    expect(times).toEqual([0, 0, 0, 0, now + 1, now + week, now + week])
  })
})

describe('the tools on the shelf', () => {
  const limits = { toolsPerServer: 2, tokensPerServer: 1000, tools: 3, tokens: 2000, totalCharacters: 10_000 }
  const marked = (name: string, more: object = {}) =>
    tool(name, { _meta: { 'anthropic/alwaysLoad': true }, ...more }) as ListedTool

  function open(...servers: ServerConfig[]) {
    const lines: unknown[] = []
    const shelved = new Map<string, readonly unknown[]>()
    const shelf = {
      readAhead: (one: ListedTool) => lines.push(`reads ${one.name}`),
      remove: (which: object) => lines.push(`removes ${JSON.stringify(which)}`),
      replace(server: string, tools: readonly Loose[]) {
        const isSame = (one: unknown) => shelved.get(server)?.includes(one)
        lines.push(`${server}:`, ...tools.map((one) => (isSame(one) ? `  same ${one.name}` : one)))
        shelved.set(server, tools)
      },
    }
    const publisher = createPublisher(servers, {
      shelf: shelf as never,
      limits,
      notify: (message) => lines.push(`! ${message}`),
      onTools: (server) => lines.push(`tools of ${server}`),
    })
    return { lines, publisher }
  }

  it('are the same objects while they are unchanged, and marked as far as the limits allow', async () => {
    const given = { tools: { hinted: { hint: 'buy', alwaysLoad: false, resultBudget: 5 } } }
    const [a, b] = [config('a', given), config('b')]
    const { lines, publisher } = open(a, b)
    const publish = async (server: ServerConfig, ...tools: ListedTool[]) => {
      lines.push(`— ${server.name}`)
      await publisher.publish(server, tools)
      lines.push(publisher.problems('a'), publisher.problems('b'))
    }
    const bare = { name: 'bare', annotations: null, _meta: null } as never
    const rich = tool('hinted', { annotations: { readOnlyHint: true }, _meta: { x: 1 } })
    await publish(a, rich, bare, tool('toString'))
    await publish(a, { ...rich }, bare, tool('toString'))
    await publish(a, tool('hinted'), tool('toString'))
    await publish(b, ...['x', 'y', 'z'].map((name) => marked(name)))
    await publish(a, ...['u', 'v'].map((name) => marked(name)))
    await publish(a)
    await publish(config('a'), tool('late'))
    await publish(config('stranger'), tool('late'))
    lines.push('— arranged')
    const renewed = config('b', { deny: ['y'] })
    const moved = httpServer('a', 'http://127.0.0.1/elsewhere')
    await publisher.publish(a, [tool('gone')])
    await publisher.arrange([renewed, moved, config('c')])
    await publish(renewed, marked('x'))
    await publish(moved, tool('new'))
    await publisher.arrange([moved])
    lines.push(publisher.problems('b'))
    await publisher.arrange([moved, renewed])
    await expect(written(lines)).toMatchFileSnapshot(file('host-shelf'))
  })

  it('are put there one after another; a shelf that fails once is used again', async () => {
    const { lines, publisher } = open(config('a'))
    const [own] = [config('b')]
    await publisher.arrange([own])
    const broken = {
      name: 'broken',
      toJSON: () => {
        throw new Error('no text')
      },
    } as never
    const [failed] = await Promise.allSettled([
      publisher.publish(own, [broken]),
      publisher.publish(own, [tool('one')]),
      publisher.publish(own, [tool('two')]),
    ])
    expect(failed).toMatchObject({ status: 'rejected' })
    expect(lines.filter((line) => String(line).startsWith('reads'))).toEqual(['reads one', 'reads two'])
  })
})
