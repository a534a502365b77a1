// Decides which HTTP requests to accept: only known hosts and origins, and only clients with a valid key.
import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server'
import { type AccessRefusal, type Authenticator, isRefusal, type User } from '@toolshelf/core/internal'
import { isSecret } from '@toolshelf/core/internal/node'
import { createHostAccess } from '@toolshelf/server/internal'
import type { McpHttpOptions } from './http.ts'

type GuardOptions = Required<Pick<McpHttpOptions, 'address' | 'hosts'>> & {
  /** The operator's key, whose holder sees everything. */
  readonly key: string | undefined
  readonly users: Authenticator | undefined
}

/** Checks HTTP requests. */
export type Guard = ReturnType<typeof createGuard>

export function createGuard({ address, key, users, hosts }: GuardOptions) {
  const access = createHostAccess(address, hosts)
  const names = [...localhostAllowedHostnames(), address, ...hosts]
  const isOpen = !users && !key

  async function userOf(authorization: string | null): Promise<User | AccessRefusal | undefined> {
    if (isOpen || (key && isSecret(authorization, `Bearer ${key}`))) return undefined
    return users ? users.authenticate(bearerIn(authorization)) : WRONG_KEY
  }

  return {
    /** Returns a refusal, or undefined if the request may proceed. */
    checkHost: (request: Request) =>
      (access.isAnyHost ? undefined : hostHeaderValidationResponse(request, names)) ??
      originValidationResponse(request, [...localhostAllowedOrigins(), ...hosts]),
    /** Checks the key of a request. */
    async admit(request: Request) {
      const user = await userOf(request.headers.get('authorization'))
      return user && isRefusal(user) ? refusal(user.status, user.message, user) : { user }
    },
  }
}

const WRONG_KEY: AccessRefusal = {
  status: 401,
  message: 'missing or wrong key; send "Authorization: Bearer <key>"',
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
  const { retryAfter = status === 429 || status === 503 ? RETRY_AFTER_SECONDS : undefined } = details
  if (retryAfter !== undefined) headers.set('retry-after', String(retryAfter))
  const code = status === 400 ? -32600 : -32000
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status, headers })
}
