// Lets the host into a remote server by a stored login, and keeps that login fresh. It never opens a browser: where a
// person is needed, the error says which command to run.
import {
  OAuthError,
  OAuthErrorCode,
  refreshAuthorization,
  type StoredOAuthTokens,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { oneLine } from '../../lib/index.ts'
import { boundedFetch } from '../session/index.ts'
import type { AuthProvider } from '../types.ts'
import { type CredentialOptions, type Credentials, openCredentials } from './credentials.ts'

/** Not the SDK's own flow: that one refreshes once per failed request, and servers that rotate tokens take it for theft. */
export function createOAuth(options: CredentialOptions): AuthProvider {
  const { server } = options
  const file = openCredentials(options)
  let sent: string | undefined
  let renewedAt = 0
  let renewal: Promise<void> | undefined

  async function renew(): Promise<void> {
    if (!(await file.read())) throw needsLogin(server)
    await file.alone(async () => {
      const stored = await file.read()
      if (!stored) throw needsLogin(server)
      // Another process was faster, or the person has logged in meanwhile.
      if (stored.tokens.access_token !== sent) return
      const tokens = await refresh(stored).catch(async (error: unknown) => {
        if (!(error instanceof UnauthorizedError)) throw error
        await file.remove()
        throw error
      })
      await file.write({ ...stored, tokens })
    })
  }

  return {
    async token() {
      sent = (await file.read())?.tokens.access_token
      return sent
    },
    async onUnauthorized() {
      // Of requests that went out together some are refused late: they only need to be sent again.
      if (Date.now() - renewedAt < LATE) return
      renewal ??= renew().finally(() => {
        renewal = undefined
      })
      await renewal
      renewedAt = Date.now()
    },
  }
}

const LATE = 5_000

async function refresh(stored: Credentials): Promise<StoredOAuthTokens> {
  const { server, tokens, client, discovery } = stored
  const { authorizationServerUrl, authorizationServerMetadata, resourceMetadata } = discovery
  if (!tokens.refresh_token) throw needsLogin(server, 'the last one has expired')
  try {
    const fresh = await refreshAuthorization(authorizationServerUrl, {
      clientInformation: client,
      refreshToken: tokens.refresh_token,
      metadata: authorizationServerMetadata,
      resource: resourceMetadata?.resource,
      fetchFn: briefFetch,
    })
    return { ...tokens, ...fresh, refresh_token: fresh.refresh_token || tokens.refresh_token }
  } catch (error) {
    if (isRefusal(error)) throw needsLogin(server, `the last one is no longer accepted: ${error.code}`)
    const { host } = new URL(authorizationServerUrl)
    throw new Error(`its login could not be renewed at ${host}: ${describe(error, stored)}`)
  }
}

const REFUSALS: readonly string[] = [
  OAuthErrorCode.InvalidGrant,
  OAuthErrorCode.InvalidClient,
  OAuthErrorCode.UnauthorizedClient,
]

function isRefusal(error: unknown): error is OAuthError {
  return error instanceof OAuthError && REFUSALS.includes(error.code)
}

/** @internal */
export function needsLogin(server: string, why?: string): UnauthorizedError {
  return new UnauthorizedError(`needs a login${why ? ` (${why})` : ''}: run "toolshelf login ${server}"`)
}

const LONGEST_REQUEST = 20_000
const fetchUpTo = boundedFetch(32_000_000)

/** An answer that never comes, or never ends, must not hold up the others who wait for the same tokens. */
export const briefFetch: typeof fetch = (input, init) => {
  const bound = AbortSignal.timeout(LONGEST_REQUEST)
  return fetchUpTo(input, { ...init, signal: init?.signal ? AbortSignal.any([init.signal, bound]) : bound })
}

/**
 * What went wrong, on one line, without the secrets that a server may have sent back.
 * @internal
 */
export function describe(error: unknown, stored?: Credentials): string {
  const { message, cause } = error as { message?: string; cause?: { code?: string } }
  const { tokens, client } = stored ?? {}
  const secrets = [tokens?.access_token, tokens?.refresh_token, tokens?.id_token, client?.client_secret]
  const text = (message === 'fetch failed' ? cause?.code : undefined) ?? message ?? String(error)
  const shown = secrets.reduce<string>(
    (rest, secret) => (secret ? rest.replaceAll(secret, '[hidden]') : rest),
    text,
  )
  return oneLine(shown, 400)
}
