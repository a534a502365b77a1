// What a process passes to the inspector (the source of events, the servers that it may show and use), and how input is read.
import type { Shelf, TraceListener } from '@toolshelf/core'
import type { Authenticator, UsageMeter, User } from '@toolshelf/core/internal'
import type { McpHost, ServerConfig } from '@toolshelf/mcp'
import type { GatewaySettings, Pins } from '@toolshelf/mcp/internal'
import type { About } from '../api.ts'
import type { EventFeed } from '../events/files.ts'

/** A server of a folder that the user has not trusted: it is shown and never started. */
export type ShownServer = {
  readonly name: string
  /** The configuration it came from. */
  readonly source: string
  /** What it would run or connect to, one per line. */
  readonly does: string
}

/** The servers that a reader sees. */
export type InspectedServers = {
  /** The host as the reader's clients have it. */
  readonly host: McpHost
  /** The tools that the reader's clients can search. */
  readonly shelf: Shelf
  readonly onChange: GatewaySettings['onChange']
  /** Definitions as they were accepted, of all servers: only for a reader who sees everything. */
  readonly pins?: Pins | undefined
  readonly untrusted?: readonly ShownServer[] | undefined
  /** What only the holder of the key that the process printed may use. */
  readonly manage?: ServerManagement | undefined
}

/** What starts and stops servers, accepts changes and saves hints. */
export type ServerManagement = {
  /** The configurations in use, with their secrets, which are hidden in everything that the inspector sends. */
  readonly configs: () => readonly ServerConfig[]
  /** Files that hints may be saved in: the user's own configuration. */
  readonly editable?: readonly string[] | undefined
  /** Logs the user in to a remote server, in a browser of this machine. */
  readonly login?: ((config: ServerConfig) => Promise<unknown>) | undefined
}

/** Servers of a reader who may manage them. */
export type ManagedServers = InspectedServers & { readonly manage: ServerManagement }

/** What is shown of `InspectedServers`. */
export type ShownServers = Omit<InspectedServers, 'host'> & { readonly host: Pick<McpHost, 'status'> }

/** Options of `createInspector`. */
export type InspectorOptions = {
  readonly version: string
  readonly source: About['source']
  readonly feed: EventFeed
  /** How to record events: a command to copy. */
  readonly advice: string
  /**
   * Returns what a user sees of the servers; without a user, what the holder of the printed key sees. Without servers, the
   * page shows events alone.
   */
  readonly servers?: ((user: User | undefined) => InspectedServers) | undefined
  /** Finds the users of keys, of whom operators may open the page. */
  readonly users?: Pick<Authenticator, 'authenticate'> | undefined
  /** Counts the requests and searches of users who have a limit. */
  readonly usage?: UsageMeter | undefined
  /** Receives an event for each request that a limit refuses. */
  readonly trace?: TraceListener | undefined
  /** Hides secrets in exports. */
  readonly redact: (text: string) => string
  /** The folder that exports write as `~`. */
  readonly home?: string | undefined
  /** The key that the process printed when it started; its holder may do everything. It must be random and long. */
  readonly key: string
  /** Where the page is: `/`, or a path that ends in a slash. */
  readonly path: string
  /** The address that the process listens on. */
  readonly address: string
  /** Additional host names that requests may use. */
  readonly hosts?: readonly string[] | undefined
  /** The page's files. */
  readonly page: () => Promise<PageFiles>
}

/** The bundled page. */
export type PageFiles = { readonly script: string; readonly style: string }

/** Thrown to answer a request with an error. */
export class InspectorFailure extends Error {
  readonly status: number
  /** Seconds after which the reader may try again. */
  readonly retryAfter: number | undefined

  constructor(status: number, message: string, retryAfter?: number) {
    super(message)
    this.status = status
    this.retryAfter = retryAfter
  }
}

/** Returns the value; throws unless it is text of at most this many characters. */
export function readText(value: unknown, name: string, max: number): string {
  if (typeof value !== 'string') throw new InspectorFailure(400, `"${name}" must be text`)
  if (value.length > max)
    throw new InspectorFailure(400, `"${name}" has ${value.length} characters; at most ${max} are allowed`)
  return value
}

/** Returns the value or undefined; throws unless it is text of at most this many characters. */
export function readOptionalText(value: unknown, name: string, max: number): string | undefined {
  return value === undefined || value === null ? undefined : readText(value, name, max)
}

/** Returns the value; throws unless it is a list of short texts. */
export function readNames(value: unknown, name: string, max = 10_000): readonly string[] {
  if (!Array.isArray(value) || value.length > max)
    throw new InspectorFailure(400, `"${name}" must be a list of at most ${max} names`)
  return value.map((one) => readText(one, name, MAX_NAME_LENGTH))
}

/** Characters of the longest name. */
export const MAX_NAME_LENGTH = 1000
