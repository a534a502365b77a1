// Where events go, what is hidden in them, and when telemetry is on.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createEventRedactor, isTelemetryOn, loadTelemetry, openAudit } from '../../src/cli/audit.ts'
import { auditIn, eventFile } from '../../src/cli/options.ts'
import { enter } from '../support/cli-here.ts'
import { inputOf, outcomeOf } from './support/input.ts'

/** Runs something with only these variables. */
async function within<Value>(
  environment: { [name: string]: string },
  work: () => Value | Promise<Value>,
  folder = process.cwd(),
): Promise<Value> {
  const leave = enter(folder, environment)
  try {
    return await work()
  } finally {
    leave()
  }
}

test('events are written where the options say', async () => {
  const read = (options: Parameters<typeof inputOf>[0]) =>
    within({ HOME: '/home/ada', XDG_STATE_HOME: '/state' }, () => outcomeOf(() => auditIn(inputOf(options))))
  const own = join('/state', 'toolshelf', 'events.jsonl')
  expect([
    await read({}),
    await read({ audit: true }),
    await read({ audit: 'x' }),
    await read({ audit: 'x', 'audit-content': true }),
    await read({ 'audit-content': true }),
    await read({ audit: '' }),
  ]).toEqual([
    undefined,
    { file: own, hasContent: false },
    { file: 'x', hasContent: false },
    { file: 'x', hasContent: true },
    'UsageError: --audit-content requires --audit.',
    'UsageError: --audit needs the name of a file.',
  ])
  for (const state of [{}, { XDG_STATE_HOME: 'relative' }] as { [name: string]: string }[])
    expect(await within({ HOME: '/home/ada', ...state }, () => eventFile())).toBe(
      join('/home/ada', '.local', 'state', 'toolshelf', 'events.jsonl'),
    )
  const homeless = () => {
    throw new Error('ENOENT')
  }
  expect(await within({}, () => outcomeOf(() => eventFile(homeless)))).toBe(
    'CommandError: there is no home folder; name a file for events.',
  )
})

test('secrets of the environment, of servers and of those that have just left are hidden', async () => {
  const environment = { MY_TOKEN: 'k7Qp2mZx', SHORT_TOKEN: 'k7Qp2mZ', PLAIN: 'p9Rt3nYw', OTHER_TOKEN: 'true' }
  const { redact, setServers } = await within(environment, () => createEventRedactor(['w5Xc8vBn']))
  const texts = 'k7Qp2mZx p9Rt3nYw w5Xc8vBn true s1Aa2Bb3'
  expect(redact(texts)).toBe('[hidden] p9Rt3nYw [hidden] true s1Aa2Bb3')
  const server = (name: string, token: string) => ({
    ...{ name, source: 'x' },
    transport: { kind: 'stdio', command: 'run', args: [], env: { API_TOKEN: token }, cwd: undefined },
  })
  setServers([server('a', 's1Aa2Bb3')] as never)
  expect(redact(texts)).toContain('true [hidden]')
  setServers([server('b', 's4Cc5Dd6')] as never)
  expect(redact('s1Aa2Bb3 s4Cc5Dd6')).toBe('[hidden] [hidden]')
  for (let index = 0; index < 103; index++) setServers([])
  expect(redact('s1Aa2Bb3 s4Cc5Dd6')).toBe('[hidden] [hidden]')
  const tokens = Array.from({ length: 103 }, (_, index) => `s7Ee8Ff9${1000 + index}`)
  for (const token of tokens) setServers([server('c', token)] as never)
  expect(redact(`s1Aa2Bb3 ${tokens.slice(0, 2).join(' ')}`)).toBe(`s1Aa2Bb3 ${tokens[0]} [hidden]`)
})

test('telemetry is on if a collector is named and nobody switched it off', () => {
  const url = 'http://127.0.0.1:1'
  expect(
    [
      {},
      { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
      { OTEL_EXPORTER_OTLP_ENDPOINT: url },
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url },
      { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: url },
      { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: 'TRUE' },
      { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SDK_DISABLED: 'false' },
    ].map(isTelemetryOn),
  ).toEqual([false, false, true, true, true, false, true])
})

/** The lines that an inspector reads from a feed. */
async function linesOf(audit: ReturnType<typeof openAudit>): Promise<string> {
  const lines: string[] = []
  const signal = new AbortController().signal
  for await (const batch of audit!.feed!.read({ signal, isFollowing: false }))
    if ('lines' in batch) lines.push(...batch.lines)
  return lines.join('\n')
}

const notify = () => {}
const call = { type: 'call', id: 'c', name: 'n', content: { text: 'w5Xc8vBn said' } } as never

test('events are kept in memory for the inspector if there is no file, and only if it runs', async () => {
  const secrets = ['w5Xc8vBn']
  const opened = await within({}, () =>
    [{}, { isInspected: false }, { isInspected: true }].map((more) =>
      openAudit(undefined, { secrets, notify, ...more }),
    ),
  )
  expect(opened.slice(0, 2)).toEqual([undefined, undefined])
  const audit = opened[2]!
  audit.stream.trace({ type: 'warning', message: 'm w5Xc8vBn' } as never)
  expect(Object.keys(audit.stream.open('run').trace)).toEqual([])
  expect(await linesOf(audit)).toContain('"message":"m [hidden]"')
  await audit.close()
})

test('events are written to the file, which the inspector finds from any folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'events-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const record = (file: string, hasContent: boolean) =>
    within(
      {},
      async () => {
        const audit = openAudit({ file, hasContent }, { secrets: ['w5Xc8vBn'], isInspected: true, notify })
        audit!.stream.trace(call)
        await audit!.close()
        return audit
      },
      folder,
    )
  const [bare, whole] = [await record('bare', false), await record('whole', true)]
  expect(readFileSync(join(folder, 'bare'), 'utf8')).not.toContain('said')
  expect(readFileSync(join(folder, 'whole'), 'utf8')).toContain('[hidden] said')
  expect([await linesOf(bare), await linesOf(whole)]).toEqual(
    ['bare', 'whole'].map((file) => readFileSync(join(folder, file), 'utf8').trimEnd()),
  )
})

test('telemetry makes spans of calls, without a file and an inspector', async () => {
  const read: unknown[] = []
  const exporter = {
    read: ({ type }: { readonly type: string }) => void read.push(type),
    close: async () => read.push('closed') > 0,
  }
  const audit = await within({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }, () =>
    openAudit(undefined, {
      notify,
      loadExporter: async () => ({ openTelemetry: () => exporter }),
    }),
  )
  const { id, trace } = audit!.stream.open('run')
  expect([trace.traceId, audit!.feed]).toEqual([id, undefined])
  audit!.stream.trace(call)
  await audit!.close()
  expect(read).toEqual(['opened', 'call', 'closed'])
})

test('records wait until telemetry is loaded, up to a limit', async () => {
  const on = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }
  const told: string[] = []
  const options = { version: '1', redact: String, notify: (message: string) => void told.push(message) }
  const read: number[] = []
  const openTelemetry = () => ({
    read: ({ sequence }: { readonly sequence: number }) => void read.push(sequence),
    close: async () => {
      read.push(-1)
      return true
    },
  })
  const load = async () => ({ openTelemetry })
  expect(loadTelemetry({ ...options, environment: {} }, load)).toBe(undefined)
  const loaded = loadTelemetry({ ...options, environment: on }, load)!
  for (let sequence = 1; sequence <= 1001; sequence++) loaded.read({ sequence } as never)
  expect(read).toEqual([])
  expect([await loaded.close(), read.length, read.at(-2)]).toEqual([true, 1001, 1000])
  loaded.read({ sequence: 2000 } as never)
  expect(read.slice(-2)).toEqual([-1, 2000])
  const failed = loadTelemetry({ ...options, environment: on }, () =>
    Promise.reject(new Error('no package')),
  )!
  failed.read({ sequence: 3000 } as never)
  expect([await failed.close(), told]).toEqual([true, ['OpenTelemetry cannot be loaded: no package']])
})

test('a collector that does not answer keeps the process only until the command has ended', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => {}) as never)
  const before = process.exitCode
  onTestFinished(() => {
    process.exitCode = before
    exit.mockRestore()
    vi.useRealTimers()
  })
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }
  const close = async (isDone: boolean) => {
    const openTelemetry = () => ({ read: () => {}, close: async () => isDone })
    const options = { version: '1', redact: String, notify, environment }
    return loadTelemetry(options, async () => ({ openTelemetry }))!.close()
  }
  process.exitCode = undefined
  expect([await close(true), vi.getTimerCount()]).toEqual([true, 0])
  expect([await close(false), vi.getTimerCount()]).toEqual([false, 1])
  vi.advanceTimersByTime(100)
  expect(exit).not.toHaveBeenCalled()
  process.exitCode = 0
  vi.advanceTimersByTime(50)
  expect(exit).toHaveBeenCalledTimes(1)
})
