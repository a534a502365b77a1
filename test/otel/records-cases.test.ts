// Every kind of record as the spans and metrics that a collector gets, whole: names, times, parents and attributes.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Trace, TraceRecord } from '../../src/core/index.ts'
import { openTelemetry } from '../../src/otel/index.ts'
import type { Loose } from '../support/talk.ts'
import { openReceiver, type Receiver } from './receiver.ts'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

const START = Date.parse('2026-01-02T03:04:05.000Z')
const idOf = (digit: string) => digit.repeat(32)
const traceparent = `00-${idOf('e')}-00f067aa0ba902b7-01`

type Environment = { readonly [name: string]: string }

/** Telemetry that sends what it gets when it is closed; `read` takes the events of a conversation, a second apart. */
function open(url: string, environment: Environment = {}) {
  const given = {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_BSP_SCHEDULE_DELAY: '3600000',
    OTEL_METRIC_EXPORT_INTERVAL: '3600000',
    ...environment,
  }
  for (const [name, value] of Object.entries(given)) vi.stubEnv(name, value)
  const told: string[] = []
  const telemetry = openTelemetry({
    version: '1.2.3',
    environment: given,
    redact: (text) => text.replaceAll('s3cret', '[hidden]'),
    notify: (message) => void told.push(message),
  })
  let sequence = 0
  const read = (conversation: string | undefined, ...events: Trace[]) => {
    for (const event of events) {
      const time = new Date(START + 1000 * ++sequence).toISOString()
      const record = {
        ...event,
        version: 1,
        time,
        processId: 1,
        sequence,
        ...(conversation && { conversation }),
      }
      telemetry.read(record as TraceRecord)
    }
  }
  return { told, read, close: telemetry.close }
}

/** Opens telemetry, reads the events of conversations by their ids, and returns what arrived. */
async function sent(
  events: readonly (readonly [string | undefined, ...Trace[]])[],
  environment: Environment = {},
) {
  const receiver = await openReceiver()
  const { read, close, told } = open(receiver.url, environment)
  for (const [conversation, ...some] of events) read(conversation, ...some)
  expect(await close()).toBe(true)
  expect([receiver.wrong, told]).toEqual([[], []])
  return receiver
}

/** Spans as lines; an id that was drawn has the number of its first place. */
function shownSpans({ spans }: Receiver): string {
  const drawn: string[] = spans.map(({ spanId }) => spanId)
  const named = (id: string | undefined) => (id && drawn.includes(id) ? `#${drawn.indexOf(id) + 1}` : id)
  const seconds = (nanos: string) => (Number(BigInt(nanos) / 1_000_000n) - START) / 1000
  return spans
    .map((span) => {
      const given = /^(?:a1b2|b1b2|c1b2)/.test(span.spanId) ? ` = ${span.spanId}` : ''
      const head = `${named(span.spanId)}${given} ${span.name} (kind ${span.kind}) in ${span.traceId[0]} below ${named(span.parentSpanId)}`
      const times = `  from ${seconds(span.startTimeUnixNano)} to ${seconds(span.endTimeUnixNano)}`
      const status = `  status ${JSON.stringify(span.status)}`
      return [head, times, status, ...shownAttributes(span.attributes)].join('\n')
    })
    .join('\n\n')
}

function shownAttributes(attributes: Loose): string[] {
  return Object.entries(attributes).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`)
}

function shownMetrics({ metrics }: Receiver): string {
  return metrics
    .flatMap(({ name, unit, points }) =>
      points.map(({ attributes, count, sum, asInt, asDouble, explicitBounds }: Loose) =>
        [
          `${name} in ${unit}: ${JSON.stringify({ count, sum, value: asInt ?? asDouble })}`,
          ...(explicitBounds ? [`  buckets: ${explicitBounds.join(' ')}`] : []),
          ...shownAttributes(attributes),
        ].join('\n'),
      ),
    )
    .join('\n\n')
}

const opened = (kind: string): Trace => ({ type: 'opened', kind }) as Trace
const call = (id: string, more: object = {}): Trace =>
  ({ type: 'call', id, name: 'send', content: { to: 's3cret' }, ...more }) as Trace
const result = (id: string, more: object = {}): Trace =>
  ({ type: 'result', id, name: 'send', outcome: 'done', size: 9, content: ['text'], ...more }) as Trace
const sampled = (more: object = {}): Trace => ({ type: 'sampled', model: 'm', api: 'messages', ...more })
const searched = (more: object = {}): Trace => ({
  ...{ type: 'searched', query: 'a need', found: ['send', 's3cret'], scores: [1, null], matched: 4 },
  ...{ ranker: 'hybrid', searchable: 9, refused: 0, unsearched: [], ...more },
})
const answered = (more: object = {}): Trace => ({
  ...{ type: 'answered', status: 200, milliseconds: 90, model: 'm', mode: 'shelve', why: 'x' },
  ...{ toolsGiven: 9, toolsVisible: 2, searches: 1, loaded: [], rounds: 2, api: 'messages', ...more },
})
const turn = (reason: string, more: object = {}): Trace => ({
  type: 'turn',
  reason,
  milliseconds: 60,
  ...more,
})
const usage = { input: 10, cacheRead: 80, cacheWrite: 5, cacheWrite1h: 3, output: 7 }

const gateway = [
  idOf('a'),
  opened('mcp'),
  call('a1b2c3d4e5f60718', { traceparent }),
  result('a1b2c3d4e5f60718', { server: 'mail', milliseconds: 20 }),
  call('second', { spanId: 'b1b2c3d4e5f60718' }),
  result('second', { outcome: 'failed', name: `s3cret${'x'.repeat(120)}` }),
  // The call was forgotten with its result.
  result('second', { outcome: 'refused' }),
  result('xa1b2c3d4e5f60718x', { outcome: 'stopped' }),
] as const
const agent = [
  idOf('b'),
  opened('chat'),
  sampled({ usage, stopReason: 'end_turn', milliseconds: 50, spanId: 'c1b2c3d4e5f60718' }),
  call('one', { server: 'mail' }),
  result('one', { server: 'mail', milliseconds: 30 }),
  turn('done'),
  sampled({ model: `s3cret${'m'.repeat(120)}`, api: 'chat', error: `s3cret ${'e'.repeat(600)}` }),
  turn('failed', { error: 'too long' }),
  turn('limit'),
  turn('stopped', { error: 'by the user' }),
] as const
const run = [idOf('c'), opened('run'), searched(), turn('done')] as const
const served = [
  idOf('d'),
  opened('serve'),
  searched(),
  sampled({ api: 'responses', usage, milliseconds: 40 }),
  answered({ traceparent, wire: 'native', tokensWithout: 900, tokensWith: 300 }),
  answered({ api: 'chat', model: undefined, tokensWithout: 900, status: 499 }),
  sampled(),
  answered({ api: 'responses', status: 500 }),
  answered({ api: 'other', status: 503, error: 's3cret' }),
] as const
const library = [
  idOf('f'),
  searched(),
  result('a', { milliseconds: 5 }),
  { type: 'loaded', names: [], by: 'search' },
] as const
const prefixes = [
  undefined,
  { type: 'prefix', isKept: true, causes: [], left: 0 },
  { type: 'prefix', isKept: false, causes: [{ kind: 'tools' }, { kind: 'model' }], left: 0 },
  sampled(),
] as unknown as readonly [undefined, ...Trace[]]

describe('records', () => {
  it.each<[string, ...(readonly [string | undefined, ...Trace[]])[]]>([
    ['gateway', gateway],
    ['agent', agent, run],
    ['served', served],
    ['library', library, prefixes],
  ])('of %s are these spans', async (name, ...conversations) => {
    await expect(shownSpans(await sent(conversations))).toMatchFileSnapshot(`records/${name}.txt`)
  })

  it('are these metrics', async () => {
    const receiver = await sent([gateway, agent, run, served, library, prefixes])
    await expect(shownMetrics(receiver)).toMatchFileSnapshot('records/metrics.txt')
  })

  it('have content only where the standard variable is true, and not all of a long one', async () => {
    const name = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'
    const content = `${'x'.repeat(15_995)}s3cret${'y'.repeat(4000)}`
    const events = [idOf('f'), searched(), call('a'), result('a', { content }), result('b')]
    const { spans } = await sent([events as never], { [name]: 'true' })
    const [search, long, unknown] = spans.map(({ attributes }) => attributes)
    expect(search['toolshelf.search.query']).toBe('a need')
    expect(long['gen_ai.tool.call.arguments']).toBe('{"to":"[hidden]"}')
    // No half of a secret remains where it was cut.
    expect(long['gen_ai.tool.call.result']).toBe(`"${'x'.repeat(15_995)}[hi…`)
    expect(unknown['gen_ai.tool.call.arguments']).toBe('null')
    const without = await sent([events as never], { [name]: 'false' })
    expect(without.spans).toHaveLength(3)
    expect(JSON.stringify(without.spans)).not.toMatch(/a need|xxx/)
  })

  it('of a request wait for it, up to a hundred', async () => {
    const { spans } = await sent([
      [idOf('d'), opened('serve'), ...Array.from({ length: 101 }, () => searched()), answered(), answered()],
    ])
    expect(spans).toHaveLength(102)
  })
})

describe('traces are chosen', () => {
  const parent = (flags: string) => `00-${idOf('e')}-00f067aa0ba902b7${flags}`
  /** A request without a parent, one whose parent is exported, and one whose parent is not. */
  const requests = [
    [idOf('a'), opened('serve'), sampled(), answered()],
    [idOf('b'), opened('serve'), sampled(), answered({ traceparent: parent('-01') })],
    [idOf('c'), opened('serve'), sampled(), answered({ traceparent: parent('-00') })],
    [idOf('d'), opened('serve'), sampled(), answered({ traceparent: parent('') })],
  ] as const

  it.each<[sampler: string, share: string, conversations: string]>([
    ['', '', 'abd'],
    ['nonsense', '', 'abd'],
    ['xalways_off', '', 'abd'],
    ['always_offx', '', 'abd'],
    ['always_on', '', 'abcd'],
    ['always_off', '', ''],
    ['traceidratio', '1', 'abcd'],
    ['traceidratio', '0', ''],
    ['traceidratio', '2', 'abcd'],
    ['traceidratio', '-1', 'abcd'],
    ['traceidratio', 'half', 'abcd'],
    ['parentbased_traceidratio', '0', 'bd'],
    ['parentbased_traceidratio', '1', 'abd'],
    ['parentbased_always_off', '', 'bd'],
  ])('by the sampler "%s" with "%s": %s', async (sampler, share, conversations) => {
    const { spans } = await sent(requests, {
      ...(sampler && { OTEL_TRACES_SAMPLER: sampler }),
      ...(share && { OTEL_TRACES_SAMPLER_ARG: share }),
    })
    const ids = spans.map(({ attributes }) => attributes['gen_ai.conversation.id'][0])
    expect(ids.join('')).toBe([...conversations].map((id) => id + id).join(''))
  })

  it('are not exported if the environment turns them off, nor are metrics', async () => {
    const none = await sent([agent], { OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' })
    expect([none.spans, none.metrics, none.headers]).toEqual([[], [], []])
    const spans = await sent([agent], { OTEL_METRICS_EXPORTER: 'none' })
    expect([spans.spans.length, spans.metrics.length]).toEqual([7, 0])
  })
})

describe('a collector', () => {
  /** Answers requests with these statuses, the last again and again; 0 is no answer. */
  async function answering(...statuses: number[]) {
    const server = createServer((request, response) => {
      request.resume()
      const status = (statuses.length > 1 ? statuses.shift() : statuses[0]) ?? 0
      if (status > 0) request.on('end', () => response.writeHead(status).end('{}'))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  it('that does not answer is abandoned after two seconds, with a notice', async () => {
    const { read, close, told } = open(await answering(0), { OTEL_METRICS_EXPORTER: 'none' })
    read(...library)
    const start = globalThis.setTimeout
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms = 0) =>
      start(run, ms === 2000 ? 0 : ms)) as never)
    expect(await close()).toBe(false)
    expect(told).toEqual(['events do not reach the OpenTelemetry collector: no answer within 2 s'])
  })

  it('that refuses what it gets is reported once, for spans and metrics together', async () => {
    const { read, close, told } = open(await answering(400))
    read(...library)
    expect(await close()).toBe(true)
    expect(told).toHaveLength(1)
  })
})
