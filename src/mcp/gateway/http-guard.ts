// Decides which HTTP requests to accept: known hosts and origins only, and clients that have the key.
import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server'
import { createWrongKeys, isSecret, LOOPBACK } from '../../node/index.ts'

export type GuardOptions = {
  /** The host that the gateway listens on. */
  readonly address: string
  readonly key: string | undefined
  /** Additional host names under which clients may reach it. */
  readonly hosts: readonly string[]
  readonly notify: ((message: string) => void) | undefined
}

/** Each check returns a refusal, or undefined if the request may proceed. */
export type Guard = {
  checkHost(request: Request): Response | undefined
  /** @param hasSession - A client that knows a session is not blocked by wrong keys of others at its address. */
  checkKey(request: Request, network: string, hasSession: boolean): Response | undefined
}

export function createGuard({ address, key, hosts, notify }: GuardOptions): Guard {
  const wrongKeys = createWrongKeys({ notify })
  const names = [...localhostAllowedHostnames(), address, ...hosts]
  const isAnyHost = !LOOPBACK.has(address) && hosts.length === 0
  return {
    checkHost: (request) =>
      (isAnyHost ? undefined : hostHeaderValidationResponse(request, names)) ??
      originValidationResponse(request, [...localhostAllowedOrigins(), ...hosts]),
    checkKey(request, network, hasSession) {
      if (!key) return undefined
      const given = request.headers.get('authorization')
      const seconds = hasSession || given === null ? 0 : wrongKeys.waitSeconds(network)
      if (seconds > 0)
        return refusal(429, `too many wrong keys from this address; try again in ${seconds} s`, seconds)
      if (isSecret(given, `Bearer ${key}`)) return undefined
      if (given !== null) wrongKeys.add(network)
      return refusal(401, 'missing or wrong key; send "Authorization: Bearer <key>"')
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
