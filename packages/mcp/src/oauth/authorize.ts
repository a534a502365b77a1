// Authorizes requests to a remote server with a stored login, and refreshes its tokens. Never opens a browser: if the
// user has to log in, the error says which command to run.
import {
  type OAuthDiscoveryState,
  OAuthError,
  OAuthErrorCode,
  refreshAuthorization,
  type StoredOAuthTokens,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { oneLine, replaceLiterals } from '@toolshelf/core/internal'
import { boundedFetch } from '../session/bounded-fetch.ts'
import type { AuthProvider } from '../types.ts'
import {
  type CredentialFile,
  type CredentialOptions,
  type Credentials,
  openCredentials,
} from './credentials.ts'

/** A login that is stored elsewhere than in a file. */
type KeptLogin = {
  readonly server: string
  readonly file: CredentialFile
  /** The command that logs in, for messages. */
  readonly command: string
}

/** Where the login of a server is stored. */
type OAuthOptions = CredentialOptions | KeptLogin

/**
 * Supplies the tokens of a remote server from its stored login, and refreshes them. Replaces the SDK's own flow, which
 * refreshes once per failed request: servers that rotate tokens treat that as theft.
 *
 * @example
 * const authorize = ({ name, transport }: ServerConfig) =>
 *   transport.kind === 'stdio'
 *     ? undefined
 *     : createOAuth({ folder: '/var/lib/agent/logins', server: name, url: transport.url, notify: console.warn })
 * const host = createMcpHost({ shelf, servers, authorize })
 */
export function createOAuth(options: OAuthOptions): AuthProvider {
  const { server } = options
  const file = 'file' in options ? options.file : openCredentials(options)
  const command = 'file' in options ? options.command : undefined
  let sent: string | undefined
  let renewedAt = 0
  let renewal: Promise<void> | undefined

  async function renew(): Promise<void> {
    if (!(await file.read())) throw needsLogin(server, undefined, command)
    await file.alone(async () => {
      const stored = await file.read()
      if (!stored) throw needsLogin(server, undefined, command)
      // Another process has refreshed the tokens, or the user has logged in meanwhile.
      if (stored.tokens.access_token !== sent) return
      const tokens = await refresh(stored, command).catch(async (error: unknown) => {
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
      // Some of several concurrent requests are refused late: they only need to be sent again.
      if (Date.now() - renewedAt < JUST_RENEWED_MS) return
      renewal ??= renew().finally(() => {
        renewal = undefined
      })
      await renewal
      renewedAt = Date.now()
    },
  }
}

const JUST_RENEWED_MS = 5_000

async function refresh(stored: Credentials, command: string | undefined): Promise<StoredOAuthTokens> {
  const { server, tokens, client, discovery } = stored
  const { authorizationServerUrl, authorizationServerMetadata, resourceMetadata } =
    discovery as OAuthDiscoveryState
  if (!tokens.refresh_token) throw needsLogin(server, 'the last one has expired', command)
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
    if (isRefusal(error))
      throw needsLogin(server, `the last one is no longer accepted: ${error.code}`, command)
    const { host } = new URL(authorizationServerUrl)
    throw new Error(`its login could not be renewed at ${host}: ${describeOAuthError(error, stored)}`)
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

/** A login is needed; the message says why, and what to run. */
class LoginNeededError extends UnauthorizedError {
  /** `reasonFor` shows the message as it is. */
  readonly isForUser = true
}

function needsLogin(server: string, why?: string, command = `toolshelf login ${server}`): LoginNeededError {
  return new LoginNeededError(`needs a login${why ? ` (${why})` : ''}: run "${command}"`)
}

const MAX_REQUEST_MS = 20_000
const fetchUpTo = boundedFetch(32_000_000)

/** Fetches with a timeout, so that a response that never comes or ends does not block others that wait for the same tokens. */
export const briefFetch: typeof fetch = (input, init) => {
  const bound = AbortSignal.timeout(MAX_REQUEST_MS)
  return fetchUpTo(input, { ...init, signal: init?.signal ? AbortSignal.any([init.signal, bound]) : bound })
}

/**
 * Returns the error on one line, without secrets that a server may have sent back.
 * @internal
 */
export function describeOAuthError(error: unknown, stored?: Credentials): string {
  const { message, cause } = error as { message?: string; cause?: { code?: string; message?: string } }
  const { tokens, client } = stored ?? {}
  const secrets = [
    tokens?.access_token,
    tokens?.refresh_token,
    tokens?.id_token,
    client?.client_secret,
  ].flatMap((secret) => secret ?? [])
  const text =
    (message === 'fetch failed' ? (cause?.code ?? cause?.message) : undefined) ?? message ?? String(error)
  return oneLine(
    replaceLiterals(text, secrets, () => '[hidden]'),
    400,
  )
}
