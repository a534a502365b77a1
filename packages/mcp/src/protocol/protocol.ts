// What the rooms of MCP share of the protocol: errors and their reasons, for people and for models, `_meta`, visibility, the
// current call.
// Implements H9.
import { AsyncLocalStorage } from 'node:async_hooks'
import { existsSync } from 'node:fs'
import type { Fields } from '@toolshelf/core/internal'
import type { ListedTool, ServerConfig } from '../types.ts'

/** Says how to give a server's requests a token, for messages; `scope` names the permissions that are missing. */
export type LoginHint = (server: string, scope?: string) => string

/** The hint for hosts whose caller supplies the tokens. */
const nameAuthorize: LoginHint = (_server, scope) =>
  `supply a token${scope === undefined ? '' : ` with the scope "${scope}"`} through the option "authorize"`

/** The start of the message about a process that ended by itself. */
export const PROCESS_ENDED_PREFIX = 'the process '

/** Why a connection failed. */
export type ConnectionFailure = {
  /** For people: with what to do, and in the server's own words where it has any. */
  readonly reason: string
  /** For models: what kind of failure it was, without a word of the server's (H9). */
  readonly category: string
}

/** Returns a failure that is ours to explain, to everybody in the same words. */
export function ourFailure(reason: string): ConnectionFailure {
  return { reason, category: reason }
}

/** The server did not answer while it was connected to. */
export class LateServer extends Error {}

/** Returns why a connection failed. */
export function connectionFailure(
  error: unknown,
  ending: string | undefined,
  { name, transport }: ServerConfig,
  loginHint = nameAuthorize,
): ConnectionFailure {
  const { code, status, message, isForUser } = error as {
    readonly code?: unknown
    readonly status?: number
    readonly message?: string
    /** The message says already what users should do. */
    readonly isForUser?: boolean
  }
  const failed = (category: string, reason: string): ConnectionFailure => ({ category, reason })
  if (code === 'ENOENT' && transport.kind === 'stdio' && transport.cwd && !existsSync(transport.cwd))
    return failed(
      'its folder does not exist',
      `its folder "${transport.cwd}" does not exist; create it, or correct "cwd"`,
    )
  if (code === 'ENOENT' && transport.kind === 'stdio')
    return failed(
      'its command was not found',
      `the command "${transport.command}" was not found; install it, or write its full path`,
    )
  if (code === 'EACCES' && transport.kind === 'stdio')
    return failed(
      'its command is not executable',
      `the command "${transport.command}" is not executable; check its permissions`,
    )
  if (isUnauthorized(error))
    return ourFailure(isForUser && message ? message : `needs a login: ${loginHint(name)}`)
  if (ending !== undefined)
    return failed(`failed to start: it ${ending}`, `${PROCESS_ENDED_PREFIX}${ending} before it was ready`)
  if (error instanceof LateServer) return failed('timed out', message ?? '')
  if (transport.kind !== 'stdio' && status !== undefined)
    return failed(
      `HTTP ${status}`,
      `${hostOf(transport.url)} answered with HTTP ${status}${status === 403 ? '; check its key' : ''}`,
    )
  if (transport.kind !== 'stdio')
    return failed(
      isAnswer(error) ? 'failed to start' : 'cannot be reached',
      `${hostOf(transport.url)}: ${causeOf(error)}`,
    )
  return failed('failed to start', message ?? String(error))
}

function hostOf(url: string): string {
  try {
    return new URL(url).host
  } catch {
    return url
  }
}

/** Returns the message of an error's cause, because `fetch failed` says nothing. */
function causeOf(error: unknown): string {
  const { message, code, cause } = error as { message?: string; code?: string; cause?: unknown }
  return cause ? causeOf(cause) : message || code || String(error)
}

function isUnauthorized(error: unknown): boolean {
  const { name, status } = error as { name?: string; status?: number }
  return name === 'UnauthorizedError' || status === 401
}

/**
 * Returns the message about missing permissions. Omits a scope with shell syntax: the server chooses it, and users and
 * models run commands they read.
 */
export function missingRights(server: string, scope = '', loginHint = nameAuthorize): string {
  const isHarmless = /^[\w.:/,+ -]{1,500}$/.test(scope)
  return `It needs more permissions: ${loginHint(server, isHarmless ? scope : undefined)}`
}

export function withErrorLine(reason: string, stderr: string): string {
  const words = errorLineOf(stderr).slice(0, 300)
  return words && !reason.includes(words) ? `${reason}. It said: ${words}` : reason
}

/** The end of `error:`, `TypeError: `, `mod.MyError [E_X]: `, `docker: Error response from daemon: ` and the like. */
const NAMED =
  /^(?:\S{1,200}: )?(?:Uncaught )?(?:[\w$.]{0,200}(?:Error|Exception)|error|ERROR|fatal|panic)(?:\s?\[[^\]]{0,100}\])?(?: [^:]{0,80})?: ?\S/
const NPM = /^npm (?:error|ERR!) (?!code |errno |syscall |path |dest |A complete log)(?=.*\w.* )/
const TRACEBACK = /^(?:Exception Group )?Traceback \(most recent call last\):/
/** Frames, lines without words, and what follows an error. */
const NOISE = /^\s+at |^\W*$|^Node\.js v|^npm notice|^npm (?:error|ERR!)\s*$|complete log of this run/

/** Returns the index of the line that names the error, or else of the last one that says something; -1 if none does. */
function errorLineIndex(lines: readonly string[]): number {
  const plain = lines.map(withoutGroupMarks)
  const traceback = plain.findLastIndex((line) => TRACEBACK.test(line))
  const raised =
    traceback === -1 ? -1 : plain.findIndex((line, index) => index > traceback && /^\S/.test(line))
  if (raised !== -1) return raised
  const named = plain.findLastIndex((line) => NAMED.test(line))
  if (named !== -1) return named
  const npm = plain.findIndex((line) => NPM.test(line))
  if (npm !== -1) return npm
  const outer = plain.findLastIndex((line) => /^\S/.test(line) && !NOISE.test(line))
  return outer === -1 ? plain.findLastIndex((line) => !NOISE.test(line)) : outer
}

/** Returns the text of that line; an error that goes on in brackets, such as a list of issues, is joined to it. */
function errorLineOf(text: string): string {
  const lines = text.split('\n')
  const index = errorLineIndex(lines)
  const line = withoutGroupMarks(lines[index] ?? '').trim()
  if (!/[[{]$/.test(line)) return line
  const rest = lines.slice(index + 1)
  const end = rest.findIndex((next) => /^\s+at |^Node\.js v|^\S/.test(next))
  const body = rest.slice(0, end === -1 ? rest.length : end + 1).filter((next) => !/^\s+at /.test(next))
  return [line, ...body].map((part) => part.trim()).join(' ')
}

/**
 * Cuts lines to the last `max`. If the line that names the error came earlier, it stays: it is put in front, and a
 * line with "…" stands for what is missing between.
 */
export function lastLinesWithError(lines: readonly string[], max: number): readonly string[] {
  const index = errorLineIndex(lines)
  const error = lines[index]
  if (error === undefined || index >= lines.length - max) return lines.slice(-max)
  return [error, '…', ...lines.slice(2 - max)]
}

/** Python draws `  | ` in front of the tracebacks of an exception group. */
function withoutGroupMarks(line: string): string {
  return line.replace(/^\s{0,80}[+|][+|\s]{0,80}(?=\S)/, (marks) => marks.replace(/^[\s+|]*[+|] ?/, ''))
}

/** A failed call. The message is for the model and the user; `cause` has the server's own error. */
export class CallError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause })
  }
}

/** Returns whether the request never reached the server, so that it may be sent again. */
export function isUndelivered(error: unknown): boolean {
  const { status, cause } = error as { status?: number; cause?: { code?: string } }
  return status === 404 || cause?.code === 'ECONNREFUSED'
}

/** Returns whether the server has answered with a protocol error. If not, it may still be working. */
export function isAnswer(error: unknown): boolean {
  return typeof (error as { code?: unknown }).code === 'number'
}

/**
 * Returns the message of a failed call for the model. What the server answered is its own; all else is in our words (H9), and
 * the person reads the server's in its status.
 */
export function failureMessage(
  server: string,
  error: unknown,
  message: string,
  { isOpen, wasOpen, category }: { isOpen: boolean; wasOpen: boolean; category: string | undefined },
): string {
  const { code, status } = error as { code?: unknown; status?: number }
  const unsure = 'Whether the call took effect is not known.'
  if (status !== undefined) return `the server "${server}" answered with HTTP ${status}. ${unsure}`
  // A pipe may break before the process is known to have ended.
  if (typeof code === 'string' && isOpen) {
    const failed = /^E[A-Z]+$/.test(code) ? 'cannot be reached' : 'did not answer as it should'
    return `the server "${server}" ${failed} (${code}). ${unsure}`
  }
  // A connection that breaks is a TypeError of `fetch`, a reply that ends early a SyntaxError.
  if (isOpen && (error instanceof TypeError || error instanceof SyntaxError))
    return `the server "${server}" did not answer. ${unsure}`
  if (isOpen || !category) return message
  if (!wasOpen) return `the server "${server}" is not running: ${category}`
  return `the server "${server}" ended during the call: ${category}. ${unsure}`
}

/** The session could not be opened; the message is for users, the category for models. */
export class SessionError extends Error {
  readonly category: string
  readonly stderr: string
  /** The server's process ended by itself before it was ready. */
  readonly hasEnded: boolean
  constructor(
    { reason, category }: ConnectionFailure,
    options: { stderr: string; ending?: string | undefined; cause: unknown },
  ) {
    super(reason, { cause: options.cause })
    this.category = category
    this.stderr = options.stderr
    this.hasEnded = options.ending !== undefined && !isSpawnError(options.cause)
  }
}

/** Whether a process could not even be started. */
function isSpawnError(error: unknown): boolean {
  return String((error as NodeJS.ErrnoException | undefined)?.syscall).startsWith('spawn')
}

/** Keys that MCP reserves for itself (`io.modelcontextprotocol/…`, `dev.mcp/…`), in the spelling of every revision. */
const RESERVED = /^(?:[^./]+\.)?(?:modelcontextprotocol|mcp)[./]/i
const TRACE_CONTEXT: ReadonlySet<string> = new Set(['traceparent', 'tracestate', 'baggage'])
const MAX_META_LENGTH = 65_536

/** Returns whether a name belongs to MCP itself. */
export function isReservedKey(key: string): boolean {
  return RESERVED.test(key)
}

/**
 * Returns what may pass: trace context and the keys of vendors and extensions, but no progress token and no key that
 * MCP reserves. Of a `_meta` over 64 KB only the trace context passes.
 */
export function passableMeta(meta: unknown): Fields {
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) return {}
  const entries = Object.entries(meta).filter(([key]) => key !== 'progressToken' && !isReservedKey(key))
  const kept = lengthOf(entries) > MAX_META_LENGTH ? entries.filter(isShortTrace) : entries
  return Object.fromEntries(kept)
}

/** Returns the result with a `_meta` that may pass, or without one. */
export function withPassableMeta({ _meta, ...result }: Fields): Fields {
  const meta = passableMeta(_meta)
  return Object.keys(meta).length > 0 ? { ...result, _meta: meta } : result
}

function isShortTrace([key, value]: readonly [string, unknown]): boolean {
  return TRACE_CONTEXT.has(key) && typeof value === 'string' && value.length <= MAX_META_LENGTH / 8
}

/** Returns the length of the JSON; infinite for a value that is nested too deeply to be serialised. */
function lengthOf(value: unknown): number {
  try {
    return JSON.stringify(value).length
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** Returns false for a tool that only pages may call: `_meta.ui.visibility` without "model". */
export function isForModel(tool: ListedTool): boolean {
  return visibilityOf(tool)?.includes('model') ?? true
}

/** Returns false for a tool that pages may not call. */
export function isForPages(tool: ListedTool): boolean {
  return visibilityOf(tool)?.includes('app') ?? true
}

function visibilityOf({ _meta }: ListedTool): readonly unknown[] | undefined {
  const { ui } = (_meta ?? {}) as Fields
  const { visibility } = (ui ?? {}) as Fields
  return Array.isArray(visibility) ? visibility : undefined
}

/** A call of a client, from its request to its end. */
export type ClientCall = {
  /** Called when the server has answered a cancelled call: it will not ask about it any more. */
  answered(): void
}

/** Holds the call in the async context of everything that arrives in answer to it. */
export const callContext = new AsyncLocalStorage<ClientCall>()

/** Returns the call whose request is being sent, or whose answer is being read. */
export function currentCall(): ClientCall | undefined {
  return callContext.getStore()
}

const KEY = 'x-mcp-header'
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const TYPES = new Set(['string', 'integer', 'boolean'])
/** Keywords that hold values, not schemas. */
const DATA = new Set(['enum', 'const', 'default', 'examples'])
const MAX_DEPTH = 64

/** Returns what is wrong with the declarations of a schema; undefined if nothing is. */
export function headerFault(schema: unknown): string | undefined {
  const seen = new Set<string>()

  function visit(node: unknown, isReachable: boolean, depth: number): string | undefined {
    if (typeof node !== 'object' || node === null || depth > MAX_DEPTH) return undefined
    const fields = node as Fields
    const fault = Object.hasOwn(fields, KEY) ? check(fields, isReachable) : undefined
    if (fault) return fault
    for (const [key, value] of Object.entries(fields)) {
      if (DATA.has(key) || typeof value !== 'object' || value === null) continue
      const isProperties = key === 'properties' && !Array.isArray(value)
      const inner = isProperties ? Object.values(value) : [value].flat()
      for (const one of inner) {
        const found = visit(one, isReachable && isProperties, depth + 1)
        if (found) return found
      }
    }
    return undefined
  }

  function check(fields: Fields, isReachable: boolean): string | undefined {
    const name = fields[KEY]
    if (typeof name !== 'string' || !TOKEN.test(name))
      return `${JSON.stringify(name)} is not a valid header name`
    if (!isReachable) return `the header "${name}" is declared outside of an argument`
    if (!TYPES.has(String(fields.type))) return `the header "${name}" is of a type that headers cannot hold`
    if (seen.has(name.toLowerCase())) return `the header "${name}" is declared twice`
    seen.add(name.toLowerCase())
    return undefined
  }

  return visit(schema, true, 0)
}

/** The server neither answered nor reported progress in time. */
export class SilenceError extends Error {
  readonly limit: number
  constructor(limit: number) {
    super('it did not answer in time')
    this.limit = limit
  }
}

/** Whether a request of a session failed because the server was silent for too long. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof SilenceError
}
