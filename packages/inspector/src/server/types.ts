// What a process passes to the inspector (the source of events, the servers that it may show and use), and how input is read.
import type { Shelf, TraceListener } from '@toolshelf/core'
import type { Authenticator, Fields, UsageMeter, User } from '@toolshelf/core/internal'
import type { About, HintView, PinChange, ServerView } from '../api.ts'
import type { EventFeed } from '../events/files.ts'

/** A server of a folder that the user has not trusted: it is shown and never started. */
export type ShownServer = {
  readonly name: string
  /** The configuration it came from. */
  readonly source: string
  /** What it would run or connect to, one per line. */
  readonly does: string
}

/** A server as its host reports it. */
export type InspectedServer = {
  readonly name: string
  readonly state: Exclude<ServerView['state'], 'untrusted'>
  /** Why it failed. */
  readonly reason: string | undefined
  /** The configuration it came from. */
  readonly source: string
  /** What it runs or where it is, without secrets. */
  readonly transport: string
  /** It is remote and no key is configured for it, so a login may be what it lacks. */
  readonly takesLogin: boolean
  /** The name and version that it reports. */
  readonly info: { readonly name: string; readonly version: string } | undefined
  readonly startMilliseconds: number | undefined
  /** The last lines that the process wrote to stderr. */
  readonly stderr: string
  /** What is wrong with its tools. */
  readonly problems: readonly { readonly tool: string; readonly message: string }[]
}

/** The servers that a reader sees. */
export type InspectedServers = {
  /** The servers as the reader's clients have them. */
  readonly host: {
    status(): readonly InspectedServer[]
    connect(name: string): Promise<unknown>
    disconnect(name: string): Promise<unknown>
    refresh(name: string): Promise<unknown>
  }
  /** The tools that the reader's clients can search. */
  readonly shelf: Shelf
  /** A changed definition cannot be used until it is accepted. */
  readonly isHolding: boolean
  /** Definitions as they were accepted, of all servers: only for a reader who sees everything. */
  readonly pins?: InspectedPins | undefined
  readonly untrusted?: readonly ShownServer[] | undefined
  /** What only the holder of the key that the process printed may use. */
  readonly manage?: ServerManagement | undefined
}

type InspectedPins = {
  list(): Promise<
    readonly {
      readonly server: string
      readonly tools: readonly string[]
      readonly prompts: readonly string[]
      readonly changed: readonly ChangedDefinition[]
    }[]
  >
  accept(server: string, names: readonly string[], kind: PinChange['kind']): Promise<unknown>
}

/** A definition that differs from the one that was accepted. */
export type ChangedDefinition = {
  readonly kind: PinChange['kind']
  readonly name: string
  readonly before: Fields
  readonly after: Fields
  /** False if a definition was too large to be stored. */
  readonly isWhole: boolean
}

/** What logs in to servers and saves hints; whatever it throws is shown. */
export type ServerManagement = {
  readonly canSaveHints: boolean
  /** Returns the change that a hint would make, or makes it if it is confirmed; undefined if no such server is configured. */
  readonly saveHint: (hint: ToolHint) => Promise<HintView | undefined>
  /** Logs the user in to a remote server, in a browser of this machine. */
  readonly login?: ((server: string) => Promise<unknown>) | undefined
}

/** A hint for a tool, which has the server's own name. */
export type ToolHint = {
  readonly server: string
  readonly tool: string
  readonly hint: string
  readonly isConfirmed: boolean
}

/** Servers of a reader who may manage them. */
export type ManagedServers = InspectedServers & { readonly manage: ServerManagement }

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
  /** Returns whether requests may name this host: a foreign name means DNS rebinding. */
  readonly allowsHost: (host: string) => boolean
  /** Reads the JSON of a request, within limits. */
  readonly readBody: (request: Request) => Promise<RequestBody>
  /** The page's files. */
  readonly page: () => Promise<PageFiles>
}

/** The body of a request, or why it was refused. */
type RequestBody =
  | { readonly value: unknown; readonly release: () => void }
  | { readonly status: number; readonly message: string }

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
