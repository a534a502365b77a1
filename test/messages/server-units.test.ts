// Parts of the Messages gateway's server without a server: who is let in, how bodies are read, how answers, streams and failures
// are written, and what is reported of them.
import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough, Readable } from 'node:stream'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { Trace } from '../../src/core/index.ts'
import type { Fields } from '../../src/lib/index.ts'
import { reasonIn, refuseForNow, refuseRequest } from '../../src/messages/errors.ts'
import { createHiddenThoughts } from '../../src/messages/hidden-thoughts.ts'
import { chatApi, messagesApi } from '../../src/messages/inbound/index.ts'
import type { HttpAnswer, MessagesRequest, StreamEvent } from '../../src/messages/index.ts'
import { parseModeSetting } from '../../src/messages/index.ts'
import { createMeter } from '../../src/messages/meter.ts'
import { refuseInvalid, refuseThreads, refuseUnconvertible } from '../../src/messages/refusals.ts'
import { reportTools } from '../../src/messages/report-tools.ts'
import { RefusedMidway } from '../../src/messages/rounds.ts'
import { flowOf, readBody } from '../../src/messages/server/body.ts'
import { openEventStream } from '../../src/messages/server/event-stream.ts'
import { createRequestGuard } from '../../src/messages/server/guard.ts'
import { createBodyMemory } from '../../src/messages/server/held-bytes.ts'
import { createServerPages } from '../../src/messages/server/pages.ts'
import { createRequestReader } from '../../src/messages/server/read-request.ts'
import { reportAnswer } from '../../src/messages/server/report-answer.ts'
import type { RequestContext } from '../../src/messages/server/request-context.ts'
import { sendAnswer, sendFailure, sendMessage } from '../../src/messages/server/respond.ts'
import { keepItem, UpstreamError } from '../../src/messages/upstream/index.ts'
import { assistant, deferred, text, tool, use, user } from '../oracle/requests.ts'

const json = JSON.stringify
const file = (name: string) => `./conversations/${name}.txt`
const written = (lines: readonly unknown[]) =>
  `${lines
    .map((line) => (typeof line === 'string' ? line : json(line)))
    .join('\n')
    .replace(/req_toolshelf_[0-9a-f]{20}\b/g, 'req_…')}\n`
const answerOf = (error: unknown): string => {
  const { answer } = error as { answer?: HttpAnswer }
  return answer ? json(answer) : `throws ${(error as Error).message}`
}
const attempt = (act: () => unknown): string => {
  try {
    return json(act()) ?? 'nothing'
  } catch (error) {
    return answerOf(error)
  }
}

it('requests are let in by their host, origin and key, and most of their headers are passed on', async () => {
  const keys = [
    { secret: 'secret-1', mayChoose: true },
    { secret: 'secret-2', setting: parseModeSetting('off')! },
  ]
  const open = (more: object) =>
    createRequestGuard({
      address: '127.0.0.1',
      keys,
      hosts: ['other.example'],
      ...more,
    })
  const guard = open({})
  const client = ({ headers, key }: Fields) => json({ headers, key })
  const lines: string[] = []
  const incoming = (headers: Fields) =>
    ({
      headers: { host: 'localhost:1', ...headers },
      rawHeaders: Object.entries(headers).flat(),
    }) as unknown as IncomingMessage
  const write = async (headers: Fields, one = guard) =>
    lines.push(`${json(headers)} → ${await one.admit(incoming(headers)).then(client, answerOf)}`)
  const key = { 'x-toolshelf-key': 'secret-1' }
  await write({ ...key, host: `evil.example${'x'.repeat(200)}:80` })
  await write({ ...key, host: 'OTHER.example:80' })
  await write({ ...key, host: undefined })
  for (const origin of ['http://localhost:3', 'https://evil.example', 'null']) await write({ ...key, origin })
  await write({ 'x-api-key': 'secret-1', authorization: 'Bearer own' })
  await write({ 'x-api-key': 'own', authorization: 'bearer secret-2' })
  await write({ 'x-api-key': 'own', authorization: 'own', ...key })
  await write({ authorization: 'x Bearer secret-2' })
  await write({})
  await write({
    ...{
      ...key,
      'x-kept': ['a', 'b'],
      cookie: 'c',
      'content-length': '5',
      expect: 'x',
      'x-toolshelf-mode': 'off',
    },
    ...{
      'x-http-method': 'PUT',
      'x-original-url': '/',
      'x-rewrite-url': '/',
      te: 'x',
      connection: 'close, X-Inner',
      'x-inner': '1',
    },
  })
  await write({ 'x-api-key': 'own', origin: 'http://127.0.0.1' }, open({ keys: [] }))
  await write({ 'x-api-key': 'secret-2' })
  await write({})
  await expect(
    written(lines)
      .replace(/in \d+ s/g, 'in … s')
      .replace(/"retry-after":"\d+"/g, '"retry-after":"…"'),
  ).toMatchFileSnapshot(file('guard'))
})

it('bodies are read within their limits, known length or not', async () => {
  const lines: string[] = []
  for (const headers of [
    {},
    { 'content-length': '10' },
    { 'content-length': '0' },
    { 'content-length': '21' },
    { 'content-encoding': 'gzip' },
    { 'content-encoding': 'identity' },
  ])
    for (const chunks of [
      ['01234', '56789'],
      [],
      ['0123456789', '0123456789'],
      ['0123456789', '01234567890'],
    ]) {
      if (headers['content-length'] === '10' && chunks.join('').length !== 10) continue
      for (const isPooled of [true, false]) {
        const memory = createBodyMemory(1_000)
        const held = memory.hold('me')
        const incoming = Object.assign(Readable.from(chunks.map((chunk) => Buffer.from(chunk))), { headers })
        const taken: number[] = []
        const take = (length: number) => {
          taken.push(length)
          return Buffer.alloc(length)
        }
        const pool = isPooled ? { take, giveBack: () => {} } : undefined
        const read = await readBody(incoming as never, { maxBytes: 20, held }, pool as never).then(
          String,
          answerOf,
        )
        lines.push(
          `${json(headers)} ${json(chunks)} ${isPooled} → ${read}, ${memory.bytes} held, took ${taken}`,
        )
      }
    }
  for (const isEarly of [true, false]) {
    const memory = createBodyMemory(1_000)
    const incoming = Object.assign(new PassThrough(), { headers: { 'content-length': '10' } })
    const flow = flowOf(incoming as never, { maxBytes: 20, held: memory.hold('me') })
    const target = new PassThrough()
    incoming.write('01234')
    if (isEarly) flow.into(target)
    incoming.end('56789')
    const whole = await flow.whole
    if (!isEarly) flow.into(target)
    let sent = ''
    for await (const chunk of target) sent += chunk
    lines.push(`flow ${isEarly}: ${flow.size} ${Buffer.concat(whole)} ${sent}, ${memory.bytes} held`)
    flow.drop()
    lines.push(`dropped, ${memory.bytes} held`)
  }
  const late = Object.assign(new PassThrough(), { headers: {} })
  const flow = flowOf(late as never, { maxBytes: 20, held: createBodyMemory(1_000).hold('me') })
  flow.drop()
  late.end('01234')
  lines.push(`after a drop: ${(await flow.whole).length} chunks, ${flow.size}`)
  await expect(written(lines)).toMatchFileSnapshot(file('bodies'))
})

it('bodies are held up to the limit, and to three quarters of it for one client', () => {
  const memory = createBodyMemory(4_000_000)
  const [one, two, other] = [memory.hold('me'), memory.hold('me'), memory.hold('you')]
  one.add(2_000_000)
  two.add(1_000_000)
  expect(attempt(() => two.add(1))).toContain(
    'requests of one client being answered take the limit of 3 MB; try again in 5 seconds',
  )
  other.add(1_000_000)
  expect(attempt(() => other.add(1))).toContain(
    'the bodies of all requests being answered take the limit of 4 MB',
  )
  one.release()
  two.add(1_000_000)
  two.add(1_000_000)
  expect(attempt(() => two.add(1))).toContain('4 MB')
  for (const held of [one, two, other]) held.release()
  expect(memory.bytes).toBe(0)
  const again = memory.hold('me')
  again.add(3_000_000)
  expect(memory.bytes).toBe(3_000_000)
})

/** A response that keeps what is written to it. */
function outgoingOf(more: object = {}) {
  const log: string[] = []
  const outgoing = Object.assign(new EventEmitter(), {
    ...{
      headersSent: false,
      destroyed: false,
      writableEnded: false,
      writableNeedDrain: false,
      isFull: false,
    },
    req: { complete: true },
    writeHead(status: number, headers: Fields) {
      outgoing.headersSent = true
      log.push(`head ${status} ${json(headers)}`)
    },
    write(part: string) {
      log.push(`write ${part}`)
      return !outgoing.isFull
    },
    end(part?: string) {
      outgoing.writableEnded = true
      log.push(`end ${part ?? ''}`)
    },
    ...more,
  })
  return { outgoing, log, response: outgoing as unknown as ServerResponse }
}

async function* streamOf(events: readonly Fields[]) {
  for (const event of events) yield event as StreamEvent
}

const message = { type: 'message_start', message: { id: 'msg_1', role: 'assistant', content: [], usage: {} } }

it('answers, messages and failures are written once, in the words of the client’s API', async () => {
  const lines: string[] = []
  const answer = { status: 201, headers: { 'x-own': '1' }, body: 'é' }
  const incoming = Object.assign(new EventEmitter(), {
    complete: false,
    resume: () => lines.push('resumed'),
  })
  for (const more of [{}, { destroyed: true }, { req: incoming }]) {
    const { response, log } = outgoingOf(more)
    sendAnswer(response, answer, { 'x-more': '2' })
    incoming.emit('end')
    lines.push(...log, '')
  }
  const writer = () => messagesApi.read({ model: 'm', messages: [] }).reply()
  const error = (type: string) => ({ type: 'error', error: { type, message: 'no' } })
  for (const type of [
    undefined,
    'invalid_request_error',
    'authentication_error',
    'permission_error',
    'not_found_error',
    'rate_limit_error',
    'overloaded_error',
    'odd',
  ]) {
    const { response, log } = outgoingOf()
    const seen: unknown[] = []
    const events = type ? [message, error(type), message] : [message, { type: 'message_stop' }]
    const options = { writer: writer(), api: messagesApi, onError: (event: StreamEvent) => seen.push(event) }
    await sendMessage(response, streamOf(events), () => ({ 'x-more': '2' }), options)
    lines.push(...log, json(seen))
  }
  const failures = [
    refuseRequest(418, 'api_error', 'refused', 'some_code'),
    refuseForNow('later', 7),
    refuseForNow('less', 7, 429),
    new RefusedMidway({ status: 529, headers: {}, body: '{}' }),
    new UpstreamError('upstream'),
    new Error('ours'),
    Object.assign(new Error('theirs'), { code: 'ECONNRESET' }),
    { code: 5 },
    'text',
    undefined,
  ]
  for (const failure of failures) {
    const { response, log } = outgoingOf()
    const { status } = sendFailure(response, failure, { api: chatApi, writer: undefined }, { 'x-more': '2' })
    lines.push(`${status} ${log.join(' ')}`)
  }
  for (const more of [{ headersSent: true }, { headersSent: true, writableEnded: true }])
    for (const given of [writer(), undefined]) {
      const { response, log } = outgoingOf(more)
      sendFailure(response, new Error('ours'), { api: messagesApi, writer: given })
      lines.push(log.join(' '))
    }
  for (const body of [
    '{"error":{"message":"m"}}',
    '{"error":"text"}',
    '{}',
    'x'.repeat(400),
    `{"a":"${'x'.repeat(400)}"}`,
  ])
    lines.push(reasonIn(body))
  await expect(written(lines)).toMatchFileSnapshot(file('answers'))
})

it('a stream begins early and pings while it is silent, until it is closed', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const writer = () => messagesApi.read({ model: 'm', messages: [], stream: true }).reply()
  const open = (more: object = {}) => {
    const { outgoing, response, log } = outgoingOf(more)
    const stream = openEventStream(response, {
      headWaitMs: 10,
      silenceMs: 100,
      headers: () => ({ 'x-early': '1' }),
      writer: writer(),
    })
    return { outgoing, log, stream }
  }
  const lines: unknown[] = []
  const silent = open()
  for (const ms of [9, 1, 90, 100, 100]) {
    vi.advanceTimersByTime(ms)
    lines.push(`${ms}: ${silent.log.splice(0).join(' ')}`)
  }
  silent.outgoing.writableNeedDrain = true
  vi.advanceTimersByTime(100)
  lines.push(silent.log)
  Object.assign(silent.outgoing, { writableNeedDrain: false, writableEnded: true })
  vi.advanceTimersByTime(100)
  Object.assign(silent.outgoing, { writableEnded: false, destroyed: true })
  vi.advanceTimersByTime(100)
  silent.outgoing.destroyed = false
  silent.stream.close()
  vi.advanceTimersByTime(1000)
  lines.push(silent.log)

  const quick = open()
  const errors: unknown[] = []
  let go = () => {}
  async function* slow() {
    yield message as StreamEvent
    await new Promise<void>((resolve) => {
      go = resolve
    })
    yield { type: 'error', error: { type: 'api_error' } } as StreamEvent
  }
  const sent = quick.stream.send(slow(), { 'x-late': '2' }, (event) => errors.push(event))
  await vi.advanceTimersByTimeAsync(50)
  lines.push(quick.log.splice(0))
  await vi.advanceTimersByTimeAsync(50)
  lines.push(quick.log.splice(0))
  await vi.advanceTimersByTimeAsync(100)
  lines.push(quick.log.splice(0))
  go()
  await sent
  quick.stream.close()
  lines.push(quick.log, errors)

  const full = open({ isFull: true })
  let isOver = false
  const waiting = full.stream
    .send(streamOf([message, message]), {}, () => {})
    .then(() => {
      isOver = true
    })
  await vi.advanceTimersByTimeAsync(1)
  lines.push(full.log.length, isOver)
  full.outgoing.isFull = false
  full.outgoing.emit('drain')
  await waiting
  full.stream.close()
  lines.push(full.log.length, isOver)

  const gone = open({ isFull: true })
  const cut = gone.stream.send(streamOf([message, message]), {}, () => {})
  await vi.advanceTimersByTimeAsync(1)
  gone.outgoing.destroyed = true
  gone.outgoing.emit('close')
  await cut
  gone.stream.close()
  const empty = open()
  await empty.stream.send(streamOf([]), { 'x-late': '2' }, () => {})
  empty.stream.close()
  lines.push(gone.log, empty.log)
  expect(vi.getTimerCount()).toBe(0)
  await expect(written(lines)).toMatchFileSnapshot(file('event-stream'))
})

it('what the API itself would refuse, or this gateway cannot do, is refused with a reason', async () => {
  const request = (more: Fields) =>
    ({ model: 'm', max_tokens: 5, messages: [user(text('hi'))], ...more }) as unknown as MessagesRequest
  const call = (beta: string) => ({
    headers: { 'anthropic-beta': beta },
    signal: new AbortController().signal,
  })
  const change = {
    role: 'system',
    content: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'a' } }],
  }
  const lines = [
    ...[undefined, null, 'x', {}].map((thread) => attempt(() => refuseThreads(request({ thread })))),
    ...(['messages', 'chat', 'responses'] as const).map((api) =>
      attempt(() => refuseUnconvertible('n', { api }).answer),
    ),
    attempt(() => refuseUnconvertible('n', { api: 'chat', remedy: 'Send one' }).answer),
    ...[{}, { unknown: 1 }, { messages: [] }, { tools: [deferred('a')] }].map((more) =>
      attempt(() => refuseInvalid(request(more), call(''))),
    ),
    ...['', 'mid-conversation-tool-changes-2026-07-01'].map((beta) =>
      attempt(() =>
        refuseInvalid(
          request({ tools: [tool('a'), tool('b')], messages: [user(text('hi')), change] }),
          call(beta),
        ),
      ),
    ),
  ]
  await expect(written(lines)).toMatchFileSnapshot(file('refused'))
})

it('tools and answers are reported to whoever listens, tools only when they change', async () => {
  const events: unknown[] = []
  const trace = (event: Trace) => void events.push(event)
  const ids = [
    [tool('a'), deferred('mcp__mail__send')],
    [tool('a'), deferred('mcp__mail__send')],
    [tool('a')],
    [],
  ].map((tools) => {
    const id = reportTools(trace, tools)
    events.push('—')
    return id
  })
  expect(ids[0]).toBe(ids[1])
  expect(new Set(ids).size).toBe(3)
  const figures = { tokensWithout: 9, tokensWith: 4, dollarsWithout: 0.5, dollarsWith: 0.25 }
  const outcome = {
    ...{
      mode: 'shelve',
      wire: 'append',
      why: 'asked for',
      toolsGiven: 8,
      toolsVisible: 3,
      loaded: ['a'],
      searches: 2,
      rounds: 3,
      pool: 'p',
    },
    figures: () => figures,
  }
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const play = (about: Fields, isHeard = true) => {
    const gateway = {
      openTrace: isHeard
        ? (start: unknown) => {
            events.push({ opened: start })
            return trace
          }
        : undefined,
    }
    const context = { incoming: { headers: {} }, api: chatApi, ...about } as unknown as RequestContext
    reportAnswer(gateway as never, context, 200, 5)
    events.push('—')
  }
  play({ model: 'm' }, false)
  play({})
  play({
    model: 'm',
    user: 'ada',
    error: 'no',
    incoming: { headers: { traceparent, 'user-agent': 'curl/1' } },
  })
  play({ model: 'm', incoming: { headers: { traceparent: ['a', 'b'] } } })
  play({ outcome, incoming: { headers: { traceparent: 'odd' } } })
  play({ model: 'm', outcome: { ...outcome, trace, figures: () => undefined } })
  await expect(written(events)).toMatchFileSnapshot(file('reported'))
})

it('health and readiness are open to all, metrics only if the operator says so', async () => {
  const report = async () => ({ httpStatus: 503, body: { status: 'not ready' } })
  const paths = ['/health', '/ready', '/metrics', '/v1/models']
  for (const hasOpenMetrics of [true, false]) {
    const pages = createServerPages({
      readiness: { report } as never,
      metrics: { text: () => 'own\n' } as never,
      processMetrics: { text: async () => 'process\n' } as never,
      hasOpenMetrics,
    })
    expect(paths.map(pages.isOpen)).toEqual([true, true, hasOpenMetrics, false])
    expect(await pages.ready()).toEqual({
      status: 503,
      headers: { 'content-type': 'application/json' },
      body: '{"status":"not ready"}',
    })
    expect(await pages.metrics()).toEqual({
      status: 200,
      headers: { 'content-type': 'text/plain; version=0.0.4' },
      body: 'own\nprocess\n',
    })
  }
})

it('thinking that a client did not ask for is hidden, and put back in front of its calls', async () => {
  const kept = (id: string) => keepItem({ type: 'reasoning', id })
  const own = { type: 'thinking', thinking: 'Hm.', signature: 'theirs' }
  const eventsOf = (blocks: readonly Fields[]) => [
    message,
    ...blocks.flatMap((content_block, index) => [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_delta', index, delta: { type: 'text_delta', text: '' } },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: {} },
    { type: 'message_stop' },
  ]
  const lines: unknown[] = []
  const thoughts = createHiddenThoughts()
  const hide = async (...blocks: Fields[]) => {
    const shown: unknown[] = []
    for await (const event of thoughts.hide(streamOf(eventsOf(blocks)), 'me')) shown.push(event)
    lines.push(...shown, '—')
  }
  const request = { model: 'm', messages: [user(text('hi'))] } as unknown as MessagesRequest
  expect(thoughts.restore(request, 'me')).toBe(request)
  await hide(kept('a'), text('A'), kept('b'), use('toolu_1', 'read'), use('toolu_2', 'read'))
  await hide(own, text('B'), use('toolu_3', 'read'))
  await hide(kept('c'), text('C'))
  await hide(text('D'), kept('d'), use('toolu_4', 'read'))
  expect(thoughts.restore(request, 'me')).toBe(request)
  const messages = [
    assistant(text('A'), use('toolu_1', 'read'), use('toolu_2', 'read')),
    { ...assistant(text('A'), use('toolu_1', 'read')), role: 'user' },
    assistant(kept('e'), use('toolu_1', 'read')),
    assistant(text('B'), use('toolu_3', 'read')),
    assistant(text('D'), use('toolu_4', 'read')),
    assistant(use('toolu_2', 'read'), use('toolu_1', 'read')),
    { role: 'assistant', content: 'text' },
  ]
  const whole = { ...request, messages } as unknown as MessagesRequest
  expect(thoughts.restore(whole, 'you')).toBe(whole)
  lines.push(...thoughts.restore(whole, 'me').messages)
  const small = createHiddenThoughts(60)
  for (const thinking of ['x', 'x'.repeat(60)]) {
    const block = { ...kept('a'), signature: String(kept('a').signature).slice(0, 40), thinking }
    for await (const _ of small.hide(streamOf(eventsOf([block, use('toolu_1', 'read')])), 'me'));
    lines.push(small.restore(whole, 'me') === whole)
  }
  await expect(written(lines)).toMatchFileSnapshot(file('hidden-thoughts'))
})

it('a request is measured by what was sent for it and what the upstream counted', async () => {
  const model = 'claude-sonnet-4-5'
  const lines: unknown[] = []
  const marked = user(text('hi', { cache_control: { type: 'ephemeral' } }))
  for (const messages of [
    [user(text('hi'))],
    [marked],
    [marked, assistant(text('ho')), user(text('hi'))],
    [user(text('hi')), assistant(text('ho')), user(text('hi'))],
  ])
    for (const tools of [[tool('a'), deferred('b')], undefined]) {
      const request = {
        model,
        max_tokens: 5,
        messages,
        ...(tools ? { tools } : {}),
      } as unknown as MessagesRequest
      const meter = createMeter(request, undefined)
      lines.push(String(json(meter.figures())))
      meter.reported({ input_tokens: 1 })
      lines.push(String(json(meter.figures())))
      meter.sent({ ...request, tools: [tool('a')] })
      lines.push(String(json(meter.figures())))
      meter.reported({ input_tokens: 100, output_tokens: 1, cache_read_input_tokens: 30 })
      meter.reported({ input_tokens: null, output_tokens: 7 })
      lines.push(meter.figures())
      expect(meter.figures()).toBe(meter.figures())
      meter.sent(request)
      meter.reported({ input_tokens: 200, output_tokens: 9, cache_creation_input_tokens: 50 })
      lines.push(meter.figures())
    }
  await expect(written(lines)).toMatchFileSnapshot(file('measured'))
})

it('bodies are read as JSON reads them, or refused', async () => {
  let turns = 0
  const slice = { isOver: () => ++turns % 2 === 0, next: async () => {} }
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
  const bodies = [
    ...[
      '{}',
      ' { } ',
      '{"a":1,"b":[1,2],"c":{"d":null}}',
      '{"tools":[],"messages":[ ],"input":[]}',
      '{"messages":[{"a":1},{"b":2}]}',
    ],
    ...[
      '{"messages":[{"a":1},5,{"b":2}]}',
      '{"messages":{"a":1},"tools":"x"}',
      '{"__proto__":{"a":1},"b":1}',
      '\ufeff{"a":1}',
    ],
    ...[
      '{"a":1,"a":2}',
      '{"messages":[{"a":1},{"b":2}],"messages":[{"c":1}]}',
      '{"\\u0061":1}',
      `{"a":${deep(50)}}`,
    ],
    ...[
      '',
      ' ',
      '[]',
      '5',
      'null',
      '{',
      '{"a"}',
      '{"a":1,}',
      '{"a":1}x',
      '{"a":1} {"b":2}',
      '{"messages":[{"a":1},]}',
      '{"messages":[{"a":1} {"b":1}]}',
    ],
    ...['{"messages":[{"a":}]}', `{"a":${deep(10_000)}}`, '{"a":tru}', '{a:1}'],
  ]
  const reader = createRequestReader()
  for (const body of [...bodies, ...bodies]) {
    const read = reader.read(Buffer.from(body), 'me', slice)
    let expected: unknown
    try {
      expected = JSON.parse(body.replace(/^\ufeff/, ''))
    } catch {
      expected = undefined
    }
    const isObject = typeof expected === 'object' && expected !== null && !Array.isArray(expected)
    if (isObject && body.length < 10_000) expect(await read).toEqual(expected)
    else await expect(read).rejects.toMatchObject({ answer: { status: 400 } })
  }
  await expect(reader.read(Buffer.from([0x7b, 0xff, 0x7d]), 'me', slice)).rejects.toMatchObject({
    answer: { status: 400 },
  })
  const large = `{"messages":[{"role":"user","content":"${'x'.repeat(300_000)}"},{"a":1}],"x":{"y":"${'z'.repeat(300_000)}"}}`
  for (const [body, count] of [
    [large, 2],
    ['{"x":{"a":1},"messages":[{"a":1},5]}', 0],
  ] as const) {
    let referred = 0
    const value = await reader.read(Buffer.from(body), 'me', slice, () => referred++)
    expect([value, referred]).toEqual([JSON.parse(body), count])
  }
})
