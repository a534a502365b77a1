// Decides which HTTP requests to accept: only known hosts and origins, and only clients with a valid key.
import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server'
import {
  createHostAccess,
  createKeyCheck,
  createWrongKeys,
  isSecret,
  type WrongKeys,
} from '../../node/index.ts'
import { type AccessRefusal, type Authenticator, isRefusal, type User } from '../../users/index.ts'

/** Options of `createGuard`. */
export type GuardOptions = {
  /** The host that the gateway listens on. */
  readonly address: string
  /** The operator's key, whose holder sees everything. */
  readonly key: string | undefined
  readonly users: Authenticator | undefined
  /** Additional host names under which clients may reach it. */
  readonly hosts: readonly string[]
  readonly notify: ((message: string) => void) | undefined
}

/** An accepted client; without a user it sees everything. */
export type AdmittedClient = { readonly user: User | undefined }

/** Checks HTTP requests. */
export type Guard = {
  /** Returns a refusal, or undefined if the request may proceed. */
  checkHost(request: Request): Response | undefined
  /**
   * Checks the key of a request.
   *
   * @param hasSession - Whether the client knows a session id, so that wrong keys from its address do not block it.
   */
  admit(request: Request, network: string, hasSession: boolean): Promise<AdmittedClient | Response>
}

/** Creates the guard of a gateway. */
export function createGuard({ address, key, users, hosts, notify }: GuardOptions): Guard {
  const access = createHostAccess(address, hosts)
  const names = [...localhostAllowedHostnames(), address, ...hosts]
  const admit = users
    ? createUserCheck(users, key, createWrongKeys({ notify }))
    : createPlainCheck(key, notify)
  return {
    checkHost: (request) =>
      (access.isAnyHost ? undefined : hostHeaderValidationResponse(request, names)) ??
      originValidationResponse(request, [...localhostAllowedOrigins(), ...hosts]),
    async admit(request, network, hasSession) {
      const outcome = await admit(request.headers.get('authorization'), network, hasSession)
      if (!('status' in outcome)) return outcome
      return refusal(outcome.status, outcome.message, outcome)
    },
  }
}

type Admit = (
  authorization: string | null,
  network: string,
  hasSession: boolean,
) => Promise<AdmittedClient | AccessRefusal>

/** Creates the check without users: there is one key, or none. */
function createPlainCheck(key: string | undefined, notify: GuardOptions['notify']): Admit {
  const keyCheck = key ? createKeyCheck(key, notify) : undefined
  return async (...client) => keyCheck?.(...client) ?? { user: undefined }
}

/**
 * Finds the user of a request. After several wrong keys from an address, accepts only recently used keys from there, because
 * behind a proxy all users share one address.
 */
function createUserCheck(users: Authenticator, key: string | undefined, wrongKeys: WrongKeys): Admit {
  return async (authorization, network, hasSession) => {
    if (key && isSecret(authorization, `Bearer ${key}`)) return { user: undefined }
    const token = bearerIn(authorization)
    const isGuessable = token !== undefined && users.isGuessable?.(token) !== false
    const isKnown = hasSession || !isGuessable || users.recall(token) !== undefined
    const seconds = isKnown ? 0 : wrongKeys.waitSeconds(network)
    if (seconds > 0) {
      const message = `too many wrong keys from this address; try again in ${seconds} s`
      return { status: 429, message, retryAfter: seconds }
    }
    const outcome = await users.authenticate(token)
    if (!isRefusal(outcome)) return { user: outcome }
    if (outcome.status === 401 && isGuessable) wrongKeys.add(network)
    return outcome
  }
}

/** Returns the token of an `Authorization` header. */
function bearerIn(authorization: string | null): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
}

/** Seconds after which a rejected client may retry. */
const RETRY_AFTER_SECONDS = 10

/** Creates the response to a refused request. */
export function refusal(status: number, message: string, details: Partial<AccessRefusal> = {}): Response {
  const headers = new Headers()
  if (status === 401 || details.challenge !== undefined)
    headers.set('www-authenticate', details.challenge ?? 'Bearer')
  if (status === 429 || status === 503)
    headers.set('retry-after', String(details.retryAfter ?? RETRY_AFTER_SECONDS))
  const code = status === 400 ? -32600 : -32000
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status, headers })
}
