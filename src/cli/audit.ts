// The readers of a command's events: the file of `--audit`, and OpenTelemetry.

import type { TraceRecord } from '../core/index.ts'
import type { ServerConfig } from '../mcp/index.ts'
import { createTextRedactor, isHarmless, isSecretName } from '../mcp/redact/index.ts'
import { createTraceStream, openAuditFile, type TraceStream } from '../node/index.ts'
import type { AuditSettings } from './audit-options.ts'
import { loadTelemetry } from './telemetry.ts'
import { version } from './version.ts'

/** The events of a command, and the secrets that its audit file hides. */
export type Audit = {
  readonly stream: TraceStream
  /** Hides the secrets of these servers too, from now on. */
  readonly setServers: (servers: readonly ServerConfig[]) => void
  /** Writes and sends what has happened so far, within limits. */
  readonly close: () => Promise<void>
}

/** Opens what reads the events of a command; undefined if nothing does. */
export function openAudit(
  settings: AuditSettings | undefined,
  {
    secrets = [],
    notify,
  }: { readonly secrets?: readonly string[]; readonly notify: (message: string) => void },
): Audit | undefined {
  const known = [...secrets, ...secretsIn(process.env)]
  let servers: readonly ServerConfig[] = []
  let redactor: ((text: string) => string) | undefined
  const redact = (text: string) => {
    redactor ??= createTextRedactor(servers, known)
    return redactor(text)
  }
  const file = settings && openAuditFile(settings.file, { hasContent: settings.hasContent, notify, redact })
  const telemetry = loadTelemetry({ version: version(), environment: process.env, redact, notify })
  if (!file && !telemetry) return undefined
  const read = (record: TraceRecord) => {
    file?.write(record)
    telemetry?.read(record)
  }
  return {
    stream: createTraceStream(read, { hasSpans: telemetry !== undefined }),
    async close() {
      file?.close()
      await telemetry?.close()
    },
    setServers(next) {
      // Events of servers that have just left may still come.
      servers = [...servers.slice(-next.length - MOST_LEFT), ...next]
      redactor = undefined
    },
  }
}

/** Configurations of servers that have left whose secrets are still hidden. */
const MOST_LEFT = 100
/** Hiding shorter values would garble other texts. */
const SHORTEST_SECRET = 8

/** The values of environment variables whose names say that they are secret. */
function secretsIn(environment: NodeJS.ProcessEnv): string[] {
  return Object.entries(environment).flatMap(([name, value = '']) =>
    isSecretName(name) && value.length >= SHORTEST_SECRET && !isHarmless(value) ? [value] : [],
  )
}
