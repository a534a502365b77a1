// Exports a command's events to OpenTelemetry if the standard environment variables name a collector. Loads the packages only then.
import type { TraceRecord } from '../../core/index.ts'
import type { Telemetry, TelemetryOptions } from '../../otel/index.ts'

const ENDPOINTS = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
]
/** Records that wait until the packages are loaded. */
const MAX_WAITING = 1000

/** Returns whether the environment asks for an export. */
export function isTelemetryOn(environment: TelemetryOptions['environment']): boolean {
  if (environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false
  return ENDPOINTS.some((name) => (environment[name] ?? '') !== '')
}

/** Ends the process once the command has ended: attempts to reach a collector would keep it alive for seconds. */
function endSoon(): void {
  setInterval(() => process.exitCode !== undefined && process.exit(), 50).unref()
}

/** The exports of `otel` that are used here. */
export type TelemetryModule = { readonly openTelemetry: (options: TelemetryOptions) => Telemetry }

/**
 * Loads the exporter in the background; undefined if the environment does not ask for it. `load` is replaceable in tests.
 */
export function loadTelemetry(
  options: TelemetryOptions,
  load: () => Promise<TelemetryModule> = () => import('../../otel/index.ts'),
): Telemetry | undefined {
  if (!isTelemetryOn(options.environment)) return undefined
  let waiting: TraceRecord[] = []
  let opened: Telemetry | undefined
  const loaded = load().then(
    ({ openTelemetry }) => {
      opened = openTelemetry(options)
      for (const record of waiting) opened.read(record)
      waiting = []
    },
    (error: Error) => options.notify(`OpenTelemetry cannot be loaded: ${error.message}`),
  )
  return {
    read(record) {
      if (opened) opened.read(record)
      else if (waiting.length < MAX_WAITING) waiting.push(record)
    },
    async close() {
      await loaded
      const isDone = (await opened?.close()) ?? true
      if (!isDone) endSoon()
      return isDone
    },
  }
}
