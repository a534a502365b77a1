// Where events go, what is hidden in them, and when telemetry is on.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  auditIn,
  createEventRedactor,
  eventFile,
  isTelemetryOn,
  openAudit,
} from '../../src/cli/events/index.ts'
import { enter } from '../support/cli-here.ts'
import { inputOf, outcomeOf } from './support/input.ts'

/** Runs something with only these variables. */
async function within<Value>(environment: { [name: string]: string }, work: () => Value): Promise<Value> {
  const leave = enter(process.cwd(), environment)
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
    expect(await within({ HOME: '/home/ada', ...state }, eventFile)).toBe(
      join('/home/ada', '.local', 'state', 'toolshelf', 'events.jsonl'),
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
  for (let index = 0; index < 103; index++) setServers([server('c', `s7Ee8Ff9${index}`)] as never)
  expect(redact('s1Aa2Bb3')).toBe('s1Aa2Bb3')
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

test('events are kept in memory for the inspector where there is no file, and for nobody where none asks', async () => {
  const opened = await within({}, () =>
    [false, true].map((isInspected) => openAudit(undefined, { isInspected, notify: () => {} })),
  )
  expect([opened[0], opened[1]?.feed !== undefined]).toEqual([undefined, true])
  opened[1]?.stream.trace?.({ type: 'warning', message: 'm' } as never)
  const lines: string[] = []
  const signal = new AbortController().signal
  for await (const batch of opened[1]!.feed!.read({ signal, isFollowing: false }))
    if ('lines' in batch) lines.push(...batch.lines)
  expect(lines.join()).toContain('"message":"m"')
  await opened[1]?.close()
})
