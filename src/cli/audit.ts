// The events of a command: `--audit` writes them to a file, and the inspector shows them.

import { resolve } from 'node:path'
import { createEventRing, createFileFeed, type EventFeed } from '../inspector/events/index.ts'
import type { ServerConfig } from '../mcp/index.ts'
import { createTextRedactor, isHarmless, isSecretName } from '../mcp/redact/index.ts'
import { createTraceStream, openAuditFile, type TraceStream } from '../node/index.ts'
import type { AuditSettings } from './audit-options.ts'

/** The events of a command, and the secrets that are hidden in them. */
export type Audit = {
  readonly stream: TraceStream
  /** Where the inspector reads them: the file, or the memory of the process. */
  readonly feed: EventFeed
  /** Hides the secrets of the servers and of the environment. */
  readonly redact: (text: string) => string
  /** Hides the secrets of these servers too, from now on. */
  readonly setServers: (servers: readonly ServerConfig[]) => void
}

export type AuditOptions = {
  readonly secrets?: readonly string[]
  /** Keeps the newest events in memory if there is no file. */
  readonly isInspected?: boolean
  readonly notify: (message: string) => void
}

/** Opens the events of a command; undefined if neither a file nor the inspector reads them. */
export function openAudit(
  settings: AuditSettings | undefined,
  { secrets, isInspected = false, notify }: AuditOptions,
): Audit | undefined {
  if (!settings && !isInspected) return undefined
  const { redact, setServers } = createEventRedactor(secrets)
  if (!settings) {
    const ring = createEventRing({ redact })
    return { stream: createTraceStream(ring.add), feed: ring, redact, setServers }
  }
  const { file, hasContent } = settings
  const write = openAuditFile(file, { hasContent, notify, redact })
  return { stream: createTraceStream(write), feed: createFileFeed([resolve(file)]), redact, setServers }
}

/** Hides secrets of servers and of the environment; built again only after the servers have changed. */
export function createEventRedactor(secrets: readonly string[] = []): Pick<Audit, 'redact' | 'setServers'> {
  const known = [...secrets, ...secretsIn(process.env)]
  let servers: readonly ServerConfig[] = []
  let redact: ((text: string) => string) | undefined
  return {
    redact(text) {
      redact ??= createTextRedactor(servers, known)
      return redact(text)
    },
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
