// `--audit`: writes the events of a command to a file.

import type { ServerConfig } from '../mcp/index.ts'
import { createTextRedactor, isHarmless, isSecretName } from '../mcp/redact/index.ts'
import { createTraceStream, openAuditFile, type TraceStream } from '../node/index.ts'
import type { AuditSettings } from './audit-options.ts'

/** The events of a command, and the secrets that its audit file hides. */
export type Audit = {
  readonly stream: TraceStream
  /** Hides the secrets of these servers too, from now on. */
  readonly setServers: (servers: readonly ServerConfig[]) => void
  /** Writes what has happened so far, and closes the file. */
  readonly close: () => void
}

/** Opens the audit file of a command; undefined without one. */
export function openAudit(
  settings: AuditSettings | undefined,
  {
    secrets = [],
    notify,
  }: { readonly secrets?: readonly string[]; readonly notify: (message: string) => void },
): Audit | undefined {
  if (!settings) return undefined
  const known = [...secrets, ...secretsIn(process.env)]
  let servers: readonly ServerConfig[] = []
  let redact: ((text: string) => string) | undefined
  const file = openAuditFile(settings.file, {
    hasContent: settings.hasContent,
    notify,
    redact(text) {
      redact ??= createTextRedactor(servers, known)
      return redact(text)
    },
  })
  return {
    stream: createTraceStream(file.write),
    close: file.close,
    setServers(next) {
      // Events of servers that have just left may still come.
      servers = [...servers.slice(-next.length - MOST_LEFT), ...next]
      redact = undefined
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
