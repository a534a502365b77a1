// The limits and clocks of hosts and sessions, without servers: how much is read, how long is waited, how often is tried, and
// what of a server's words is kept and passed on.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { watchHealth } from '../../src/mcp/host/health.ts'
import { createLifecycle } from '../../src/mcp/host/lifecycle.ts'
import { createNotifications } from '../../src/mcp/host/notifications.ts'
import { withPacedProgress } from '../../src/mcp/host/progress.ts'
import { createBackoff, createTimers, defaultTimeouts } from '../../src/mcp/host/timers.ts'
import { boundedFetch } from '../../src/mcp/session/index.ts'
import { listPages } from '../../src/mcp/session/listing.ts'
import { createModern } from '../../src/mcp/session/modern.ts'
import { readOutput } from '../../src/mcp/session/output.ts'
import { SilenceError } from '../../src/mcp/session/silence.ts'
import { createTail } from '../../src/mcp/session/tail.ts'
import { createThrottle } from '../../src/mcp/session/throttle.ts'
import { createTimeouts } from '../../src/mcp/session/timeouts.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
const messageOf = (work: Promise<unknown>) => work.then(String, (error: Error) => `! ${error.message}`)

describe('H6 output that nobody asked for', () => {
  it('costs nothing up to 4 MB and 100 ms of our time, then a pause until it is paid back', () => {
    let now = 1000
    const open = () => createThrottle(() => now)
    expect(open().spend(4_000_000, 100)).toBe(0)
    expect(open().spend(4_000_256, 0)).toBe(1)
    expect(open().spend(0, 101)).toBeCloseTo(10)
    expect(open().spend(4_025_600, 101)).toBe(100)
    expect(open().spend(1e9, 0)).toBe(5000)
    const throttle = open()
    throttle.spend(4_000_000, 0)
    now += 10
    expect(throttle.spend(2560, 0)).toBe(0)
    expect(throttle.spend(256, 0)).toBe(1)
    now += 1e9
    expect(throttle.spend(4_000_256, 0)).toBe(1)
  })
})

describe('H6 a request', () => {
  const request =
    (script: (options: { onprogress: (step: object) => void; signal: AbortSignal }) => void) =>
    (options: object) =>
      new Promise<string>((resolve, reject) => {
        const { signal, onprogress } = options as { onprogress: (step: object) => void; signal: AbortSignal }
        signal.addEventListener('abort', () => reject(new Error('aborted')))
        script({ signal, onprogress })
        setTimeout(() => resolve('answered'), 250)
      })

  it('that gets no answer and no progress in time is cancelled; each progress restarts the time', async () => {
    const { limit } = createTimeouts()
    const quiet = messageOf(
      limit(
        { timeoutMs: 200 },
        request(() => {}),
      ),
    )
    const seen: object[] = []
    const lively = messageOf(
      limit(
        { timeoutMs: 200, onProgress: (step) => seen.push(step) },
        request(({ onprogress }) => setTimeout(() => onprogress({ progress: 1 }), 100)),
      ),
    )
    const patient = messageOf(
      limit(
        { timeoutMs: 251 },
        request(() => {}),
      ),
    )
    await pass(300)
    expect([await quiet, await lively, await patient]).toEqual([
      '! it did not answer in time',
      'answered',
      'answered',
    ])
    expect(seen).toEqual([{ progress: 1 }])
  })

  it('does not time out while the server waits for an answer of ours, and has all its time again after it', async () => {
    const { limit, during } = createTimeouts()
    const over = vi.fn()
    void messageOf(limit({ timeoutMs: 100 }, () => new Promise((_, reject) => setTimeout(reject, 1e6)))).then(
      over,
    )
    const given = (options: { signal?: AbortSignal }) =>
      new Promise((_, reject) =>
        options.signal?.addEventListener('abort', () => reject(new Error('aborted'))),
      )
    const waiting = messageOf(limit({ timeoutMs: 100 }, given as never))
    const ended = vi.fn()
    void waiting.then(ended)
    const answered = during(() => new Promise((resolve) => setTimeout(() => resolve('yes'), 550)))
    await pass(550)
    expect(await answered).toBe('yes')
    await pass(99)
    expect(ended).not.toHaveBeenCalled()
    await pass(1)
    expect(await waiting).toBe('! it did not answer in time')
    await expect(during(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    const next = messageOf(limit({ timeoutMs: 100 }, given as never))
    await pass(100)
    expect(await next).toBe('! it did not answer in time')
  })

  it('that its caller gives up fails as that says, not as silence', async () => {
    const { limit } = createTimeouts()
    const controller = new AbortController()
    const given = messageOf(
      limit(
        { timeoutMs: 200, signal: controller.signal },
        request(() => {}),
      ),
    )
    controller.abort()
    expect(await given).toBe('! aborted')
    expect(await messageOf(limit({ timeoutMs: 200 }, () => Promise.reject(new Error('refused'))))).toBe(
      '! refused',
    )
    expect(vi.getTimerCount()).toBe(1)
  })
})

describe('the last words of a process', () => {
  const tailOf = (...chunks: string[]) => {
    const tail = createTail((text) => text.replaceAll('secret', '[hidden]'))
    for (const chunk of chunks) tail.add(Buffer.from(chunk))
    return tail.text()
  }

  it('are its last 20 lines, clean, without secrets', () => {
    expect(tailOf('\n one', '\ntwo sec', 'ret\u0007\n')).toBe('one\ntwo [hidden]')
    const lines = Array.from({ length: 25 }, (_, index) => `line ${index}`)
    expect(tailOf(lines.join('\n'))).toBe(lines.slice(5).join('\n'))
    expect(tailOf()).toBe('')
  })

  it('keep the line that names the error', () => {
    const lines = Array.from({ length: 25 }, (_, index) => `    at ${index}`)
    expect(tailOf(['Error: x', ...lines].join('\n'))).toBe(['Error: x', '…', ...lines.slice(7)].join('\n'))
  })

  it('are its last 8,192 characters, and no secret is cut in half', () => {
    expect(tailOf('x'.repeat(9000))).toBe('x'.repeat(8192))
    expect(tailOf('ab'.repeat(9000), 'c')).toBe(`${'ab'.repeat(9000)}c`.slice(-8192))
    const long = `secret${'y'.repeat(16_384 - 3)}`
    expect(tailOf(long)).toBe('y'.repeat(8192))
    expect(tailOf(long.slice(0, 9000), long.slice(9000))).toBe('y'.repeat(8192))
    // What is shown of a text that was cut lies behind the margin.
    expect(tailOf(`${'z'.repeat(20_000)}\nend`)).toBe(`${'z'.repeat(8188)}\nend`)
  })
})

describe('the result of a call', () => {
  const text = (value: unknown) => ({
    type: 'text',
    text: typeof value === 'string' ? value : JSON.stringify(value),
  })
  it.each<[given: object, content: object[]]>([
    [{}, []],
    [{ content: 'plain' }, [text('plain')]],
    [{ content: { type: 'text', text: 'one' } }, [text('one')]],
    ...[
      { type: 'text', text: 'a', annotations: {} },
      { type: 'image', data: 'AA', mimeType: 'image/png' },
      { type: 'audio', data: 'AA', mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'a://b', name: 'b' },
      { type: 'resource', resource: { uri: 'a://b', text: 'x' } },
    ].map((block): [object, object[]] => [{ content: [block] }, [block]]),
    ...[
      { type: 'text' },
      { type: 'image', data: 'AA' },
      { type: 'audio', mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'a://b' },
      { type: 'resource', resource: null },
      { type: 'resource', resource: { uri: 7 } },
      { type: 'video', data: 'AA' },
      null,
      'a text',
    ].map((block): [object, object[]] => [{ content: [block] }, [text(block)]]),
  ])('%j has the blocks %j', (given, content) => {
    expect(readOutput(given as never)).toEqual({ content })
  })

  it('keeps what else it has, and an error only where it says so', () => {
    expect(readOutput({ structuredContent: { a: 1 }, isError: true, resultType: 'complete', x: 2 })).toEqual({
      ...{ content: [], structuredContent: { a: 1 }, isError: true, x: 2 },
    })
    expect(readOutput({ isError: 'yes' })).toEqual({ content: [] })
    expect(readOutput({ isError: false })).toEqual({ content: [], isError: false })
  })
})

describe('H6 lists', () => {
  const list = (pages: readonly object[], timeout = 1000) => {
    const asked: unknown[] = []
    const ask = async (params: unknown) => {
      asked.push(params)
      return (pages[asked.length - 1] ?? {}) as never
    }
    return { asked, listed: listPages(ask, 'tools', timeout) }
  }

  it('are fresh for the shortest time of their pages, if all have one', async () => {
    const ttlOf = async (...ttls: unknown[]) => {
      const pages = ttls.map((ttlMs, index) => ({
        tools: [index],
        ttlMs,
        ...(index < ttls.length - 1 ? { nextCursor: `${index}` } : {}),
      }))
      return (await list(pages).listed).ttlMs
    }
    expect(await ttlOf(5)).toBe(5)
    expect(await ttlOf(0)).toBe(0)
    expect(await ttlOf(5, 3, 4)).toBe(3)
    expect(await ttlOf(undefined, 3)).toBeUndefined()
    expect(await ttlOf(3, undefined)).toBeUndefined()
    expect(await ttlOf(-1)).toBeUndefined()
    expect(await ttlOf('5')).toBeUndefined()
  })

  it('end where a page names none or one that was there; a page without a list is an error', async () => {
    const looped = list([
      { tools: [1], nextCursor: 'a' },
      { tools: [2], nextCursor: 'b' },
      { tools: [3], nextCursor: 'a' },
    ])
    expect(await looped.listed).toEqual({ entries: [1, 2, 3], isCut: false, ttlMs: undefined })
    expect(looped.asked).toEqual([undefined, { cursor: 'a' }, { cursor: 'b' }])
    expect((await list([{ tools: [], nextCursor: 7 }]).listed).isCut).toBe(false)
    await expect(list([{ tools: {} }]).listed).rejects.toThrow('its answer has no list "tools"')
  })

  it('are cut at 1,000 pages, and given up when their time is over', async () => {
    const endless = (wait: number) => {
      let page = 0
      const ask = async () => {
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
        return { tools: [page], nextCursor: String(page++) }
      }
      return { pages: () => page, listed: listPages(ask, 'tools', 1000) }
    }
    const many = await endless(0).listed
    expect([many.entries.length, many.isCut]).toEqual([1000, true])
    const slow = endless(300)
    const failed = messageOf(slow.listed)
    await pass(1000)
    expect(await failed).toBe('! it did not list its tools within 1 s')
    const before = slow.pages()
    await pass(1000)
    expect(slow.pages()).toBeLessThanOrEqual(before + 1)
  })

  it('are cut at 50,000 entries and at 16 million characters, to the last', async () => {
    const some = (count: number) => Array.from({ length: count }, () => 1)
    const cut = async (...pages: unknown[][]) => {
      const { entries, isCut } = await list(
        pages.map((tools, index) => ({
          tools,
          ...(index < pages.length - 1 ? { nextCursor: `${index}` } : {}),
        })),
        1e6,
      ).listed
      return [entries.length, isCut]
    }
    vi.useRealTimers()
    expect(await cut(some(50_000))).toEqual([50_000, false])
    expect(await cut(some(50_001))).toEqual([50_000, true])
    const half = 'x'.repeat(7_999_998)
    expect(await cut([half, half])).toEqual([2, false])
    expect(await cut([half, `${half}x`])).toEqual([1, true])
    const cyclic: { self?: unknown } = {}
    cyclic.self = cyclic
    expect(await cut(Array.from({ length: 9 }, () => cyclic))).toEqual([8, true])
    expect(await cut([undefined])).toEqual([1, false])
  })
})

describe('H6 a fetch', () => {
  const dataUrl = (type: string, text: string) => `data:${type},${encodeURIComponent(text)}`
  const read = async (longest: number, type: string, text: string) =>
    messageOf((await boundedFetch(longest)(dataUrl(type, text))).text())

  it('fails at a body, or an event of a stream, that is too long', async () => {
    vi.useRealTimers()
    expect(await read(10, 'text/plain', '0123456789')).toBe('0123456789')
    expect(await read(10, 'text/plain', '0123456789a')).toMatch(/^! /)
    expect(await read(2_000_000, 'text/plain', 'x'.repeat(2_000_001))).toContain(
      'a message of more than 2 MB',
    )
    for (const end of ['\n\n', '\r\n\r\n', '\r\r']) {
      const event = `data: 1${end}`
      expect(await read(event.length, 'text/event-stream', event.repeat(20))).toBe(event.repeat(20))
      expect(
        await read(event.length, 'text/event-stream', `${event}${'x'.repeat(event.length + 1)}`),
      ).toMatch(/^! /)
    }
    expect(await read(16, 'text/event-stream', `data: 1\ndata: 2\n`)).toBe('data: 1\ndata: 2\n')
    expect(await read(15, 'text/event-stream', `data: 1\ndata: 2\n`)).toMatch(/^! /)
  })

  it('opens a stream that ends at once less and less often', async () => {
    const pauses: number[] = []
    let now = 0
    const bounded = boundedFetch(1000, {
      now: () => now,
      sleep: async (ms) => {
        pauses.push(ms)
        now += ms
      },
    })
    const open = (init: RequestInit = { headers: { accept: 'text/event-stream' } }) =>
      bounded(dataUrl('text/plain', ''), init)
    for (let i = 0; i < 9; i++) await open()
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
    now += 9999
    await open()
    expect(pauses.at(-1)).toBe(60_000)
    now += 10_000
    await open()
    expect(pauses).toHaveLength(9)
    await open({ method: 'POST', headers: { accept: 'text/event-stream' } })
    await open({ headers: { accept: 'application/json' } })
    await open({})
    expect(pauses).toHaveLength(9)
  })
})

describe('the newer protocol', () => {
  function open({ capabilities = {} }: { capabilities?: object } = {}) {
    const log: string[] = []
    const client = {
      getServerCapabilities: () => capabilities,
      listen: async ({ resourceSubscriptions: [uri] }: { resourceSubscriptions: string[] }) => {
        log.push(`listen ${uri}`)
        return { close: async () => void log.push(`close ${uri}`) }
      },
    }
    return { log, modern: createModern(client as never) }
  }
  const questionHandler = {
    capabilities: { elicitation: {} },
    ask: async (method: string, params: object, _: unknown, key: unknown) => ({ method, params, key }),
  }

  it('sends a call again with the answers until it has a result, at most 20 times', async () => {
    const { modern } = open()
    const sent: unknown[] = []
    const questions = [
      {
        resultType: 'input_required',
        inputRequests: { a: { method: 'm', params: { p: 1 } }, b: { method: 'n' } },
        requestState: 's',
      },
      { resultType: 'input_required' },
      { content: [] },
    ]
    const send = async (added: object) => {
      sent.push(added)
      return questions[sent.length - 1] as never
    }
    const meta = { 'x.example/y': 1 }
    expect(await modern.inRounds(send, { questionHandler, meta } as never)).toEqual({ content: [] })
    const _meta = { 'x.example/y': 1, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }
    expect(sent).toEqual([
      { _meta },
      {
        inputResponses: {
          a: { method: 'm', params: { p: 1 }, key: 'a' },
          b: { method: 'n', params: {}, key: 'b' },
        },
        requestState: 's',
        _meta,
      },
      { inputResponses: {}, _meta },
    ])
    let rounds = 0
    const ask = async () => {
      rounds++
      return { resultType: 'input_required' } as never
    }
    await expect(modern.inRounds(ask, {} as never)).rejects.toThrow(
      'it asked 20 questions without giving an answer',
    )
    expect(rounds).toBe(20)
    const unasked = async () =>
      ({ resultType: 'input_required', inputRequests: { a: { method: 'm' } } }) as never
    await expect(modern.inRounds(unasked, {} as never)).rejects.toThrow(
      'it asks for m, but no client can answer',
    )
  })

  it('subscribes by listening, once, and names the log level in each request', async () => {
    const { modern, log } = open({ capabilities: { logging: {} } })
    const levelOf = async () => {
      let meta: unknown
      await modern.inRounds(async (added) => {
        meta = added._meta
        return {}
      }, {} as never)
      return meta
    }
    expect(await levelOf()).toEqual({ 'io.modelcontextprotocol/logLevel': 'info' })
    expect(await modern.instead('logging/setLevel', { level: 'error' })).toEqual({})
    expect(await levelOf()).toEqual({ 'io.modelcontextprotocol/logLevel': 'error' })
    for (let i = 0; i < 2; i++) expect(await modern.instead('resources/subscribe', { uri: 'a' })).toEqual({})
    for (let i = 0; i < 2; i++)
      expect(await modern.instead('resources/unsubscribe', { uri: 'a' })).toEqual({})
    await modern.instead('resources/subscribe', { uri: 'a' })
    expect(log).toEqual(['listen a', 'close a', 'listen a'])
    expect(modern.instead('resources/read', { uri: 'a' })).toBeUndefined()
  })
})

describe('timers', () => {
  it('run once, unless they are cancelled or replaced by one of the same name', async () => {
    const timers = createTimers()
    const ran: string[] = []
    const start = (label: string, ms: number, name?: string) => timers.start(() => ran.push(label), ms, name)
    start('a', 10)
    start('b', 10)
    start('old', 10, 'named')
    start('new', 20, 'named')
    start('cancelled', 10, 'other')
    timers.cancel('other')
    timers.cancel('none')
    await pass(19)
    expect(ran).toEqual(['a', 'b'])
    await pass(1)
    expect(ran).toEqual(['a', 'b', 'new'])
    start('c', 10)
    start('d', 10, 'named')
    timers.clear()
    await pass(100)
    expect(ran).toHaveLength(3)
  })

  it('H4 attempts come after ever longer times, and soon again after a connection that lasted', async () => {
    const backoff = createBackoff(1000, 8000)
    const delays = (count: number) =>
      Array.from({ length: count }, () => {
        const delay = backoff.nextDelay()
        return [1000, 2000, 4000, 8000].find((one) => delay >= one * 0.75 && delay < one * 1.25)
      })
    expect(delays(5)).toEqual([1000, 2000, 4000, 8000, 8000])
    backoff.connected()
    await pass(80_000)
    backoff.disconnected()
    expect(delays(1)).toEqual([8000])
    backoff.connected()
    await pass(80_001)
    backoff.disconnected()
    expect(delays(2)).toEqual([1000, 2000])
  })
})

describe('H4 the states of a connection', () => {
  const session = {} as never
  const transitions = [
    { type: 'connect', opening: Promise.resolve(session) },
    { type: 'opened', session },
    { type: 'failed' },
    { type: 'stopped' },
    { type: 'close' },
  ] as const
  const [connect, opened, failed, stopped, close] = transitions

  it.each([
    ['idle', [], ['connecting', 'idle', 'idle', 'idle', 'closed']],
    ['connecting', [connect], ['connecting', 'ready', 'failed', 'connecting', 'closed']],
    ['ready', [connect, opened], ['ready', 'ready', 'failed', 'idle', 'closed']],
    ['failed', [connect, failed], ['connecting', 'failed', 'failed', 'failed', 'closed']],
    ['closed', [close], ['closed', 'closed', 'closed', 'closed', 'closed']],
    ['idle again', [connect, opened, stopped], ['connecting', 'idle', 'idle', 'idle', 'closed']],
  ] as const)('%s leads only where the table says', (_, path, expected) => {
    const found = transitions.map((transition) => {
      const lifecycle = createLifecycle()
      for (const step of path) expect(lifecycle.apply(step)).toBe(true)
      const before = lifecycle.phase()
      const isApplied = lifecycle.apply(transition)
      const { state } = lifecycle.phase()
      expect(isApplied).toBe(before !== lifecycle.phase())
      expect(lifecycle.session() !== undefined).toBe(state === 'ready')
      expect([lifecycle.isClosed(), lifecycle.signal.aborted]).toEqual([
        state === 'closed',
        state === 'closed',
      ])
      return state
    })
    expect(found).toEqual(expected)
  })

  it('keep the attempt while it lasts', () => {
    const lifecycle = createLifecycle()
    lifecycle.apply(connect)
    lifecycle.apply(opened)
    expect(lifecycle.phase()).toEqual({ state: 'ready', opening: connect.opening, session })
    const stopping = Promise.resolve()
    lifecycle.apply({ type: 'stopped', stopping })
    expect(lifecycle.phase()).toEqual({ state: 'idle', stopping })
    lifecycle.apply(close)
    expect(lifecycle.signal.reason).toEqual(new Error('the host was closed'))
  })
})

describe('H4 the health of a server', () => {
  function watch(answers: readonly (Error | undefined)[], more: { isLegacy?: boolean } = {}) {
    const log: string[] = []
    const state = { isBusy: false, isOver: false }
    const session = {
      isLegacy: more.isLegacy ?? true,
      request: async (method: string, _: unknown, { timeoutMs }: { timeoutMs: number }) => {
        log.push(`${method} ${timeoutMs}`)
        const answer = answers[log.length - 1]
        if (answer) throw answer
        return {}
      },
      close: async () => void log.push('close'),
    }
    watchHealth({
      ...{
        session: session as never,
        times: { ...defaultTimeouts, healthIntervalMs: 100, pingTimeoutMs: 10 },
      },
      later: (task, ms) => setTimeout(task, ms),
      isBusy: () => state.isBusy,
      isOver: () => state.isOver,
      onSilence: () => log.push('silent'),
    })
    return { log, state }
  }
  const silence = new Error('no answer', { cause: new SilenceError(10) })

  it('is asked for now and then; two silences in a row end the session', async () => {
    const { log } = watch([undefined, silence, new Error('the database did not answer'), silence, silence])
    await pass(99)
    expect(log).toEqual([])
    await pass(401)
    expect(log).toEqual([...Array.from({ length: 5 }, () => 'ping 10'), 'close', 'silent'])
    await pass(1000)
    expect(log).toHaveLength(7)
  })

  it('is not asked for while a call runs, after the end, or in the newer protocol', async () => {
    const { log, state } = watch([])
    state.isBusy = true
    await pass(250)
    expect(log).toEqual([])
    state.isBusy = false
    await pass(100)
    expect(log).toEqual(['ping 10'])
    state.isOver = true
    await pass(500)
    expect(log).toEqual(['ping 10'])
    const newer = watch([], { isLegacy: false })
    await pass(500)
    expect(newer.log).toEqual([])
  })
})

describe('H6 notifications of a server', () => {
  function open(isKept = true) {
    const delivered: unknown[] = []
    const notifications = createNotifications({
      refreshMs: 500,
      later: (task, ms) => setTimeout(task, ms),
      relist(list) {
        delivered.push(`relist ${list}`)
        return isKept
      },
      deliver: (method, params, client) =>
        delivered.push([method.replace('notifications/', ''), params, client]),
    })
    const hear = (method: string, params = {}, client?: object) =>
      notifications.hear(`notifications/${method}`, params, client)
    return { delivered, hear }
  }

  it('of changed lists are one reading for all that come together, less and less often', async () => {
    const { delivered, hear } = open()
    hear('tools/list_changed')
    hear('tools/list_changed')
    hear('prompts/list_changed')
    await pass(99)
    expect(delivered).toEqual([])
    await pass(1)
    expect(delivered.splice(0)).toEqual(['relist tools', 'relist prompts'])
    for (const gap of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
      hear('tools/list_changed')
      await pass(gap - 1)
      expect(delivered).toEqual([])
      await pass(1)
      expect(delivered.splice(0)).toEqual(['relist tools'])
    }
    await pass(120_000)
    hear('tools/list_changed')
    await pass(100)
    expect(delivered).toEqual(['relist tools'])
  })

  it('take the time from the clock that they are given', () => {
    let time = 0
    let tasks: (() => void)[] = []
    const waits: number[] = []
    const notifications = createNotifications({
      refreshMs: 500,
      now: () => time,
      later(task, ms) {
        tasks.push(task)
        waits.push(ms)
      },
      relist: () => true,
      deliver: () => {},
    })
    const change = () => {
      notifications.hear('notifications/tools/list_changed', {}, undefined)
      for (const task of tasks) task()
      tasks = []
    }
    change()
    change()
    time = 60_000
    change()
    expect(waits).toEqual([100, 1000, 100])
  })

  it('of lists that are not kept are passed on', async () => {
    const { delivered, hear } = open(false)
    hear('resources/list_changed')
    await pass(100)
    expect(delivered).toEqual(['relist resources', ['resources/list_changed', {}, undefined]])
  })

  it('of a resource: the first at once, the last of those that follow soon, and of 1,000 at a time', async () => {
    const { delivered, hear } = open()
    const update = (uri: string) => hear('resources/updated', { uri, more: 1 })
    update('a')
    update('a')
    update('a')
    expect(delivered).toEqual([['resources/updated', { uri: 'a' }, undefined]])
    await pass(199)
    expect(delivered).toHaveLength(1)
    await pass(1)
    expect(delivered).toHaveLength(2)
    await pass(200)
    expect(delivered).toHaveLength(2)
    delivered.length = 0
    for (let i = 0; i < 1001; i++) update(`${i}`)
    expect(delivered).toHaveLength(1000)
  })

  it('that are logs are dropped above 100 at once and 10 a second, and their number is reported', async () => {
    const { delivered, hear } = open()
    const client = {}
    const log = () => hear('message', { level: 'info', logger: 'l', data: 1 }, client)
    for (let i = 0; i < 103; i++) log()
    expect(delivered.splice(0)).toHaveLength(100)
    await pass(99)
    log()
    expect(delivered).toEqual([])
    await pass(1)
    log()
    expect(delivered).toEqual([
      [
        'message',
        { level: 'warning', logger: 'l', data: 'dropped 4 log messages: too many at once' },
        client,
      ],
      ['message', { level: 'info', logger: 'l', data: 1 }, client],
    ])
    delivered.length = 0
    await pass(100_000)
    for (let i = 0; i < 101; i++) log()
    expect(delivered).toHaveLength(100)
    hear('other', { x: 1 }, client)
    expect(delivered.at(-1)).toEqual(['other', { x: 1 }, client])
  })
})

describe('H6 progress of a call', () => {
  it('is passed on at once up to 50, then the newest now and then, and the last at the end', async () => {
    const seen: object[] = []
    const done = withPacedProgress(
      { onProgress: (step: object) => void seen.push(step), timeoutMs: 5 } as never,
      (message) => `<${message}>`,
      async ({ onProgress, ...rest }) => {
        expect(rest).toEqual({ timeoutMs: 5 })
        for (let progress = 1; progress <= 55; progress++) onProgress?.({ progress, message: 'm' } as never)
        await new Promise((resolve) => setTimeout(resolve, 250))
        for (let progress = 56; progress <= 60; progress++) onProgress?.({ progress })
        return 'done'
      },
    )
    await pass(0)
    expect(seen).toHaveLength(50)
    expect(seen[0]).toEqual({ progress: 1, message: '<m>' })
    await pass(200)
    expect(seen.slice(50)).toEqual([{ progress: 55, message: '<m>' }])
    await pass(50)
    expect(await done).toBe('done')
    expect(seen.slice(51)).toEqual([{ progress: 56 }, { progress: 60 }])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is passed on ten times a second after the first 50, the delayed ones included', async () => {
    let count = 0
    const onProgress = () => void count++
    const done = withPacedProgress({ onProgress }, String, async ({ onProgress: report }) => {
      for (let progress = 0; progress < 1000; progress++) {
        report?.({ progress })
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    })
    await pass(10_000)
    await done
    expect(count).toBeGreaterThanOrEqual(148)
    expect(count).toBeLessThanOrEqual(151)
  })

  it('that nobody wants is not asked for, and a listener that fails costs no result', async () => {
    const plain = await withPacedProgress({} as never, String, async (options) => Object.keys(options))
    expect(plain).toEqual([])
    let count = 0
    const onProgress = () => {
      if (++count > 50) throw new Error('no')
    }
    const result = withPacedProgress({ onProgress } as never, String, async ({ onProgress: report }) => {
      for (let progress = 0; progress < 52; progress++) report?.({ progress })
      return 'done'
    })
    expect(await result).toBe('done')
    expect(count).toBe(51)
  })
})
