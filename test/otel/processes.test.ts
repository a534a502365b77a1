// OpenTelemetry of whole commands: what a strict collector receives, and how a command ends in front of a silent one.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { isTelemetryOn } from '../../packages/cli/src/audit.ts'
import { runHere } from '../../packages/testkit/src/cli-here.ts'
import { heardFrom } from '../../packages/testkit/src/heard.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { until } from '../mcp/support/processes.ts'
import { here } from '../mcp/support/server-here.ts'
import { binary, newPlace, type Place } from '../terminal/support.ts'
import { openReceiver } from './receiver.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = '00f067aa0ba902b7'
const traceparent = `00-${TRACE}-${PARENT}-01`

const environment = (url: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url })

/** A configuration whose server answers with the `_meta` that it got. */
function echoIn(place: Place): string {
  return place.file('toolshelf.json', { mcpServers: { echo: here('echo', 'gateway-echo').transport } })
}

function start(place: Place, ...words: string[]): ChildProcess {
  const child = spawn(process.execPath, [...binary, ...words], {
    ...{ cwd: place.folder, env: { ...place.environment } },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

const byName = (spans: readonly Loose[], name: string): Loose =>
  spans.find((span) => span.name === name) ??
  expect.fail(`no span ${name}: ${spans.map((span) => span.name)}`)

it('run: one root per turn, its samplings, searches and calls below it; servers get the call as parent', async () => {
  const receiver = await openReceiver()
  const place = newPlace(environment(receiver.url))
  const call = { call: 'mcp__echo__meta', input: {}, search: 'meta' }
  const rules = [{ when: 'go', do: [call, { say: '{{result}}' }] }]
  const script = place.file('script.json', { rules, otherwise: 'hi' })
  const allowed = ['--allow', 'mcp__echo__*']
  const words = ['run', '--script', script, '--config', echoIn(place), ...allowed, '--json', 'go']
  const { out, told } = await runHere(place, words)
  expect(receiver.wrong).toEqual([])
  expect(told).not.toContain('OpenTelemetry')
  const { spans } = receiver
  const roots = spans.filter(({ parentSpanId }) => parentSpanId === undefined)
  expect(roots.map(({ name }) => name)).toEqual(['invoke_agent toolshelf'])
  const [root] = roots as [Loose]
  for (const span of spans) expect(span.traceId).toBe(root.traceId)
  for (const name of ['execute_tool ToolSearch', 'execute_tool mcp__echo__meta'])
    expect(byName(spans, name).parentSpanId).toBe(root.spanId)
  expect(spans.filter(({ name }) => name.startsWith('chat ')).length).toBeGreaterThan(1)
  const { spanId } = byName(spans, 'execute_tool mcp__echo__meta')
  expect(out).toContain(`00-${root.traceId}-${spanId}-01`)
  expect(receiver.metrics.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['gen_ai.client.operation.duration', 'gen_ai.execute_tool.duration']),
  )
})

it('serve: a request below the span of its client, its sampling below it', async () => {
  const receiver = await openReceiver()
  const place = newPlace(environment(receiver.url))
  const child = start(place, 'serve', '--port', '0', '--upstream', 'script:demo', '--mode', 'off')
  const heard = heardFrom(child)
  await until(() => heard.told().includes('Ctrl-C'), 'it is ready')
  const url = /ready at (\S+)/.exec(heard.told())?.[1] ?? ''
  const body = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] }
  const answer = await fetch(`${url}/v1/messages`, {
    ...{ method: 'POST', headers: { traceparent }, body: JSON.stringify(body) },
  })
  expect(answer.status).toBe(200)
  await answer.text()
  child.kill('SIGTERM')
  await once(child, 'exit')
  expect(receiver.wrong).toEqual([])
  const request = byName(receiver.spans, 'POST /v1/messages')
  expect(request).toMatchObject({ traceId: TRACE, parentSpanId: PARENT })
  expect(byName(receiver.spans, 'chat m')).toMatchObject({ traceId: TRACE, parentSpanId: request.spanId })
})

it('a command ends although its collector never answers, and says so once', async () => {
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(() => void silent.close())
  const { port } = silent.address() as { port: number }
  // Without a limit of its own the command would wait for longer than the test does.
  const patient = { OTEL_EXPORTER_OTLP_TIMEOUT: '600000' }
  const place = newPlace({ ...environment(`http://127.0.0.1:${port}`), ...patient })
  const child = start(
    place,
    'run',
    '--script',
    place.file('script.json', { rules: [{ when: 'x', do: [{ say: 'y' }] }], otherwise: 'hi' }),
    'hello',
  )
  const heard = heardFrom(child)
  const [code] = await once(child, 'close')
  expect([code, heard.out()]).toEqual([0, expect.stringContaining('hi')])
  expect(heard.told().match(/do not reach the OpenTelemetry collector/g)).toHaveLength(1)
})

it.each([
  [{}, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:1' }, true],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'TRUE' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'no' }, true],
])('the export for %j is on: %s', (given, isOn) => {
  expect(isTelemetryOn(given)).toBe(isOn)
})
