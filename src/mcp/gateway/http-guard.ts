// Decides which HTTP requests to accept: known hosts and origins only, and clients that have the key.
import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server'
import { createHostAccess, createKeyCheck, isSecret } from '../../node/index.ts'
import { type Authenticator, isRefusal, type User } from '../../users/index.ts'

export type GuardOptions = {
  /** The host that the gateway listens on. */
  readonly address: string
  readonly key: string | undefined
  /** Additional host names under which clients may reach it. */
  readonly hosts: readonly string[]
  readonly notify: ((message: string) => void) | undefined
  /** Knows the users; without it, everybody who has the key is the same. */
  readonly users: Authenticator | undefined
}

/** Each check returns a refusal, or undefined if the request may proceed. */
export type Guard = {
  checkHost(request: Request): Response | undefined
  /** @param hasSession - A client that knows a session is not blocked by wrong keys of others at its address. */
  checkKey(request: Request, network: string, hasSession: boolean): Response | undefined
  /** Returns the user of the request, or a refusal. Undefined if there are no users, and for the holder of the key. */
  checkUser(request: Request): Promise<User | Response | undefined>
}

export function createGuard({ address, key, hosts, notify, users }: GuardOptions): Guard {
  const access = createHostAccess(address, hosts)
  const names = [...localhostAllowedHostnames(), address, ...hosts]
  const keyCheck = key ? createKeyCheck(key, notify) : undefined
  return {
    checkHost: (request) =>
      (access.isAnyHost ? undefined : hostHeaderValidationResponse(request, names)) ??
      originValidationResponse(request, [...localhostAllowedOrigins(), ...hosts]),
    checkKey(request, network, hasSession) {
      const refused = keyCheck?.(request.headers.get('authorization'), network, hasSession)
      return refused && refusal(refused.status, refused.message, refused.retryAfter)
    },
    async checkUser(request) {
      const authorization = request.headers.get('authorization')
      if (!users || (key && isSecret(authorization, `Bearer ${key}`))) return undefined
      const outcome = await users.authenticate(/^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1])
      if (!isRefusal(outcome)) return outcome
      const refused = refusal(outcome.status, outcome.message, outcome.retryAfter)
      if (outcome.challenge !== undefined) refused.headers.set('www-authenticate', outcome.challenge)
      return refused
    },
  }
}

/** Seconds after which a rejected client may retry. */
const RETRY_AFTER = 10

export function refusal(status: number, message: string, retryAfter = RETRY_AFTER): Response {
  const headers = new Headers(status === 401 ? { 'www-authenticate': 'Bearer' } : {})
  if (status === 429 || status === 503) headers.set('retry-after', String(retryAfter))
  const code = status === 400 ? -32600 : -32000
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status, headers })
}
