// Passes a command's events to their readers: the file of `--audit`, the inspector, and OpenTelemetry if the environment
// names a collector.
import { resolve } from 'node:path'
import type { TraceRecord } from '@toolshelf/core/internal'
import { createTraceStream, openAuditFile } from '@toolshelf/core/internal/node'
import { createEventRing, createFileFeed } from '@toolshelf/inspector'
import type { ServerConfig } from '@toolshelf/mcp'
import { createTextRedactor, isSecretName } from '@toolshelf/mcp/internal'
import type { Telemetry, TelemetryOptions } from '@toolshelf/server/internal/otel'
import type { AuditSettings } from './options.ts'
import { version } from './version.ts'

/** The events of a command, and the secrets that are hidden in them. */
export type Audit = NonNullable<ReturnType<typeof openAudit>>

type AuditOptions = {
  readonly secrets?: readonly string[]
  /** Keeps the newest events in memory if there is no file. */
  readonly isInspected?: boolean
  readonly notify: (message: string) => void
}

/** Opens what reads the events of a command; undefined if nothing does. */
export function openAudit(
  settings: AuditSettings | undefined,
  { secrets, isInspected = false, notify }: AuditOptions,
) {
  const { redact, setServers } = createEventRedactor(secrets)
  const file = settings && openAuditFile(settings.file, { hasContent: settings.hasContent, notify, redact })
  const ring = !settings && isInspected ? createEventRing({ redact }) : undefined
  const telemetry = loadTelemetry({ version: version(), environment: process.env, redact, notify })
  if (!file && !ring && !telemetry) return undefined
  const read = (record: TraceRecord) => {
    file?.write(record)
    telemetry?.read(record)
  }
  return {
    stream: createTraceStream(file || telemetry ? read : undefined, {
      keep: ring?.addStamped,
      hasSpans: telemetry !== undefined,
    }),
    /** Where the inspector reads them: the file, or the memory of the process; undefined without either. */
    feed: settings ? createFileFeed([resolve(settings.file)]) : ring,
    redact,
    setServers,
    /** Writes and sends what has happened so far, within limits. */
    async close() {
      file?.close()
      await telemetry?.close()
    },
  }
}

/** Hides secrets of servers and of the environment; built again only after the servers have changed. */
export function createEventRedactor(secrets: readonly string[] = []) {
  const known = [...secrets, ...secretsIn(process.env)]
  let servers: readonly ServerConfig[] = []
  let redact: ((text: string) => string) | undefined
  return {
    redact(text: string) {
      redact ??= createTextRedactor(servers, known)
      return redact(text)
    },
    /** Hides the secrets of these servers too, from now on. */
    setServers(next: readonly ServerConfig[]) {
      // Events of servers that have just left may still come.
      servers = [...servers.slice(-next.length - MAX_LEFT), ...next]
      redact = undefined
    },
  }
}

/** Configurations of servers that have left whose secrets are still hidden. */
const MAX_LEFT = 100
/** Hiding shorter values would garble other texts. */
const MIN_SECRET_LENGTH = 8

/** The values of environment variables whose names say that they are secret. */
function secretsIn(environment: NodeJS.ProcessEnv): string[] {
  return Object.entries(environment).flatMap(([name, value = '']) =>
    isSecretName(name) && value.length >= MIN_SECRET_LENGTH ? [value] : [],
  )
}

const ENDPOINTS = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
]
/** Records that wait until the packages are loaded. */
const MAX_WAITING = 1000

export function isTelemetryOn(environment: TelemetryOptions['environment']): boolean {
  if (environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false
  return ENDPOINTS.some((name) => (environment[name] ?? '') !== '')
}

/** Ends the process once the command has ended: attempts to reach a collector would keep it alive for seconds. */
function endSoon(): void {
  setInterval(() => process.exitCode !== undefined && process.exit(), 50).unref()
}

/** Loads the exporter in the background; undefined if the environment does not ask for it. */
function loadTelemetry(options: TelemetryOptions): Telemetry | undefined {
  if (!isTelemetryOn(options.environment)) return undefined
  let waiting: TraceRecord[] = []
  let opened: Telemetry | undefined
  const loaded = import('@toolshelf/server/internal/otel').then(
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
