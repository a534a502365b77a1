// Explains why a connection failed, in messages that users can act on.
// Implements H9.
import { existsSync } from 'node:fs'
import { TimeoutError } from '../../node/index.ts'
import type { ServerConfig } from '../types.ts'
import { isAnswer } from './call-error.ts'
import { errorLineOf } from './error-line.ts'

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
  if (error instanceof TimeoutError) return failed('timed out', message ?? '')
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

/** Adds the line of stderr that names the error to a reason. */
export function withErrorLine(reason: string, stderr: string): string {
  const words = errorLineOf(stderr).slice(0, 300)
  return words && !reason.includes(words) ? `${reason}. It said: ${words}` : reason
}
