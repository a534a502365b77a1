// OpenTelemetry: spans and metrics by the conventions, in front of a collector that takes nothing else.
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ConversationKind, Trace } from '../../packages/core/src/events.ts'
import { createTraceStream } from '../../packages/core/src/node/trace-stream.ts'
import { openTelemetry } from '../../packages/server/src/otel/telemetry.ts'
import { openReceiver } from './receiver.ts'

const ID = '0af7651916cd43dd8448eb211c80319c'
const PARENT = '00f067aa0ba902b7'
const traceparent = `00-${ID}-${PARENT}-01`
const usage = { input: 10, cacheRead: 80, cacheWrite: 5, cacheWrite1h: 0, output: 7 }
const sampled: Trace = {
  type: 'sampled',
  model: 'm',
  api: 'messages',
  usage,
  stopReason: 'end_turn',
  milliseconds: 50,
}
const searched: Trace = {
  ...{
    type: 'searched',
    query: 'a private need',
    found: ['send'],
    scores: [1],
    matched: 1,
    ranker: 'hybrid',
  },
  ...{ searchable: 9, refused: 0, unsearched: [] },
}
const call: Trace = {
  type: 'call',
  id: 'a1b2c3d4e5f60718',
  name: 'send',
  server: 'mail',
  traceparent,
  content: { to: 'me' },
}
const result = (outcome: 'done' | 'failed' = 'done'): Trace => ({
  ...{ type: 'result', id: 'a1b2c3d4e5f60718', name: 'send', server: 'mail', outcome, size: 9 },
  ...{ milliseconds: 20, content: 'a private result' },
})
const answered: Trace = {
  ...{
    type: 'answered',
    status: 200,
    milliseconds: 90,
    model: 'm',
    mode: 'shelve',
    wire: 'native',
    why: 'x',
  },
  ...{
    toolsGiven: 9,
    toolsVisible: 2,
    searches: 1,
    loaded: ['send'],
    rounds: 2,
    api: 'messages',
    traceparent,
  },
  ...{ tokensWithout: 900, tokensWith: 300 },
}

afterEach(() => void vi.unstubAllEnvs())

function opened(url: string, more: { readonly [name: string]: string } = {}) {
  const given = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: '100', ...more }
  for (const [name, value] of Object.entries(given)) vi.stubEnv(name, value)
  const told: string[] = []
  const notify = (message: string) => void told.push(message)
  const redact = (text: string) => text.replaceAll('s3cret', '[hidden]')
  const telemetry = openTelemetry({ version: '1.2.3', environment: process.env, redact, notify })
  const stream = createTraceStream(telemetry.read, { hasSpans: true })
  const report = (kind: ConversationKind, ...events: Trace[]) => {
    const { id, trace } = stream.open(kind)
    for (const event of events) trace(event)
    return id
  }
  return { told, report, close: telemetry.close }
}

describe('spans', () => {
  it('a call through the MCP gateway, below the span of its client', async () => {
    const receiver = await openReceiver()
    const { report, close, told } = opened(receiver.url)
    const id = report('mcp', call, result('failed'))
    await close()
    expect([receiver.wrong, told]).toEqual([[], []])
    expect(receiver.spans).toMatchObject([
      {
        ...{
          name: 'tools/call send',
          kind: 2,
          traceId: ID,
          parentSpanId: PARENT,
          spanId: 'a1b2c3d4e5f60718',
        },
        status: { code: 2 },
        attributes: {
          ...{ 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'send', 'error.type': 'tool_error' },
          ...{ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.conversation.id': id },
        },
        resource: { 'service.name': 'toolshelf', 'service.version': '1.2.3' },
      },
    ])
    const [{ startTimeUnixNano: start, endTimeUnixNano: end }] = receiver.spans as [
      { [name: string]: string },
    ]
    expect(Number(BigInt(end ?? 0) - BigInt(start ?? 0))).toBe(20_000_000)
    expect(JSON.stringify(receiver.spans)).not.toContain('private')
  })

  it('a request of a client of serve, with its searches and samplings below it', async () => {
    const receiver = await openReceiver()
    const { report, close } = opened(receiver.url)
    report('serve', searched, sampled, answered)
    await close()
    expect(receiver.wrong).toEqual([])
    const [search, chat, request] = receiver.spans as [never, never, never]
    expect(request).toMatchObject({ name: 'POST /v1/messages', kind: 2, traceId: ID, parentSpanId: PARENT })
    const { spanId } = request as { spanId: string }
    expect(search).toMatchObject({ name: 'execute_tool ToolSearch', traceId: ID, parentSpanId: spanId })
    expect(chat).toMatchObject({
      ...{ name: 'chat m', kind: 3, parentSpanId: spanId },
      attributes: {
        ...{
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': 'anthropic',
          'gen_ai.request.model': 'm',
        },
        ...{ 'gen_ai.usage.input_tokens': 95, 'gen_ai.usage.output_tokens': 7 },
        ...{ 'gen_ai.usage.cache_read.input_tokens': 80, 'gen_ai.usage.cache_creation.input_tokens': 5 },
        'gen_ai.response.finish_reasons': ['end_turn'],
      },
    })
    expect(JSON.stringify(receiver.spans)).not.toContain('private')
  })

  it('content if the standard variable asks for it, without secrets', async () => {
    const receiver = await openReceiver()
    const { report, close } = opened(receiver.url, {
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
    })
    report('run', { ...call, content: { key: 's3cret' } } as Trace, result())
    await close()
    expect(receiver.spans).toMatchObject([
      {
        name: 'execute_tool send',
        kind: 1,
        attributes: {
          'gen_ai.tool.call.arguments': '{"key":"[hidden]"}',
          'gen_ai.tool.call.result': '"a private result"',
        },
      },
    ])
  })
})

it('a turn of an agent is the root of what happened in it', async () => {
  const receiver = await openReceiver()
  const { report, close } = opened(receiver.url)
  const turn = (reason: string): Trace => ({ type: 'turn', reason, milliseconds: 60, error: 'too long' })
  const id = report('chat', sampled, turn('done'), searched, turn('failed'))
  await close()
  expect(receiver.wrong).toEqual([])
  const [chat, first, search, second] = receiver.spans as [never, never, never, never]
  const root = { name: 'invoke_agent toolshelf', traceId: id }
  for (const span of [first, second]) expect(span).not.toHaveProperty('parentSpanId')
  expect(first).toMatchObject({ ...root, attributes: { 'gen_ai.operation.name': 'invoke_agent' } })
  expect(chat).toMatchObject({ parentSpanId: (first as { spanId: string }).spanId })
  expect(search).toMatchObject({ parentSpanId: (second as { spanId: string }).spanId })
  expect(second).toMatchObject({ ...root, status: { code: 2, message: 'too long' } })
})

it('metrics have the names, units and buckets of the conventions', async () => {
  const receiver = await openReceiver()
  const { report, close } = opened(receiver.url)
  report('serve', searched, sampled, answered)
  report('mcp', call, result())
  report('run', call, result())
  await close()
  expect(receiver.wrong).toEqual([])
  const units = new Map(receiver.metrics.map(({ name, unit }) => [name, unit]))
  expect(Object.fromEntries(units)).toEqual({
    'gen_ai.client.token.usage': '{token}',
    'gen_ai.client.operation.duration': 's',
    'mcp.server.operation.duration': 's',
    'gen_ai.execute_tool.duration': 's',
    'toolshelf.searches': '{search}',
    'toolshelf.request.tokens': '{token}',
  })
  const tokens = receiver.metrics.find(({ name }) => name === 'gen_ai.client.token.usage')
  expect(tokens?.points[0].explicitBounds.slice(0, 3)).toEqual([1, 4, 16])
  const sums = tokens?.points.map(({ attributes, sum }: never) => [attributes['gen_ai.token.type'], sum])
  expect(sums).toEqual([
    ['input', 95],
    ['output', 7],
  ])
})

describe('the environment', () => {
  it('names the service, adds attributes and headers', async () => {
    const receiver = await openReceiver()
    const { report, close } = opened(receiver.url, {
      OTEL_SERVICE_NAME: 'mine',
      OTEL_RESOURCE_ATTRIBUTES: 'team=tools',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-token=abc',
    })
    report('run', sampled)
    await close()
    expect(receiver.spans[0]?.resource).toMatchObject({ 'service.name': 'mine', team: 'tools' })
    expect(receiver.headers[0]).toMatchObject({ 'x-token': 'abc' })
  })

  it.each([
    ['OTEL_TRACES_EXPORTER', 'none'],
    ['OTEL_TRACES_SAMPLER', 'always_off'],
    ['OTEL_TRACES_SAMPLER', 'parentbased_always_off'],
  ])('%s=%s sends no spans', async (name, value) => {
    const receiver = await openReceiver()
    const { report, close } = opened(receiver.url, { [name]: value })
    report('run', sampled, { type: 'turn', reason: 'done', milliseconds: 60 })
    report('serve', sampled, { ...answered, traceparent: undefined })
    await close()
    expect(receiver.spans).toEqual([])
    expect(receiver.metrics.length).toBeGreaterThan(0)
  })
})

it('a collector that is not there is reported once, and harms nothing', async () => {
  const { report, close, told } = opened('http://127.0.0.1:9')
  report('run', sampled)
  await close()
  expect(told).toEqual([expect.stringContaining('events do not reach the OpenTelemetry collector')])
})
