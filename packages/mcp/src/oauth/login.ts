// Logs the user in to a remote server: discovers the authorization server, opens the browser and receives the redirect.
// Stores nothing before the login is complete, so that a cancelled login leaves the previous one unchanged.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type AuthProvider,
  assertSecureTokenEndpoint,
  auth,
  computeScopeUnion,
  discoverOAuthServerInfo,
  extractWWWAuthenticateParams,
  IssuerMismatchError,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthMetadata,
  RegistrationRejectedError,
  type StoredOAuthClientInformation,
  StreamableHTTPClientTransport,
  selectClientAuthMethod,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { hasCode, oneLine, type StateStore } from '@toolshelf/core/internal'
import { isSecret, OptionError } from '@toolshelf/core/internal/node'
import { createRedactor } from '../redact.ts'
import { openServerSession, type ServerSessionOptions } from '../session/session.ts'
import type { ServerConfig } from '../types.ts'
import { briefFetch, createOAuth, describeOAuthError } from './authorize.ts'
import { type CredentialFile, type Credentials, loggedInAddresses, openCredentials } from './credentials.ts'

/** Options of `login`. */
export type LoginOptions = {
  readonly config: ServerConfig
  readonly folder: string
  readonly store?: StateStore | undefined
  /** Where to store the login instead of both. */
  readonly file?: CredentialFile | undefined
  readonly clientInfo: { readonly name: string; readonly version: string }
  readonly print: (text: string) => void
  readonly notify: (message: string) => void
  /** Opens the browser; resolves to false if there is none. Without it, the user opens the URL. */
  readonly openBrowser?: (url: string) => Promise<boolean>
  /** Port of the redirect URL. Default: any free one. */
  readonly port?: number
  /** A client ID registered by the server's owner; by default, Toolshelf registers itself. */
  readonly client?: { readonly id: string; readonly secret?: string }
  /** Scopes to request in addition to what the server demands. */
  readonly scope?: string
  /** Milliseconds until the login is abandoned. Default: five minutes. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

type LoginResult = {
  readonly tools: number
  /** False if the server is open to everyone and has no login. */
  readonly isLoggedIn: boolean
}

/** Logs in to a server; rejects if the login fails or is cancelled. */
export async function login(options: LoginOptions): Promise<LoginResult> {
  const { config, folder, store, notify } = options
  const { name: server, transport } = config
  if (transport.kind === 'stdio') throw new Error(`"${server}" runs on this machine and needs no login`)
  const credentials = { folder, store, server, url: transport.url, notify }
  try {
    const asked = await connectWithoutToken(options)
    if (asked.tools !== undefined && !(await hasLogin(transport.url)))
      return { tools: asked.tools, isLoggedIn: false }
    await authorize(options, new URL(transport.url), asked, options.file ?? openCredentials(credentials))
  } catch (error) {
    throw hasCode(error, 'OPTION') ? error : (rejectedRegistration(error) ?? new Error(explain(error)))
  }
  try {
    const { file } = options
    const provider = createOAuth(file ? { server, file, command: 'toolshelf login' } : credentials)
    return { tools: await countTools(options, provider), isLoggedIn: true }
  } catch (error) {
    throw new Error(`the login is stored, but the server then failed: ${explain(error)}`)
  }
}

type Asked = { readonly tools?: number; readonly scope?: string; readonly resourceMetadataUrl?: URL }

/** Connects without a token: the server either accepts it or says which login it requires. */
async function connectWithoutToken(options: LoginOptions): Promise<Asked> {
  let asked: Asked | undefined
  const listener: AuthProvider = {
    token: async () => undefined,
    async onUnauthorized({ response }) {
      asked = extractWWWAuthenticateParams(response)
      throw new UnauthorizedError()
    },
  }
  try {
    return { tools: await countTools(options, listener) }
  } catch (error) {
    if (asked) return asked
    throw error
  }
}

/** Returns whether a server has a login: some let everyone list their tools and require it only for calls. */
async function hasLogin(url: string): Promise<boolean> {
  try {
    const found = await discoverOAuthServerInfo(url, { fetchFn: briefFetch })
    return found.authorizationServerMetadata !== undefined
  } catch {
    // The server accepts us; its login metadata is not needed.
    return false
  }
}

async function authorize(
  options: LoginOptions,
  serverUrl: URL,
  asked: Asked,
  file: CredentialFile,
): Promise<void> {
  const { port, timeoutMs, signal } = options
  const state = randomBytes(32).toString('base64url')
  const callback = await listenForCallback({ state, port, timeoutMs, signal })
  try {
    const provider = createLoginProvider(options, callback.url, state, file)
    const fetchFn: typeof fetch = (input, init) => briefFetch(input, { signal, ...init })
    const scope = computeScopeUnion(asked.scope, options.scope)
    await auth(provider, { serverUrl, fetchFn, scope, resourceMetadataUrl: asked.resourceMetadataUrl })
    const answer = await callback.answer
    const transport = new StreamableHTTPClientTransport(serverUrl, { authProvider: provider, fetch: fetchFn })
    await transport.finishAuth(answer)
  } finally {
    callback.close()
  }
}

type Draft = {
  client?: StoredOAuthClientInformation
  discovery?: OAuthDiscoveryState
  verifier?: string
}

function createLoginProvider(
  { client: given, config, openBrowser, print }: LoginOptions,
  redirectUrl: string,
  state: string,
  file: CredentialFile,
): OAuthClientProvider {
  const draft: Draft = {}
  return {
    redirectUrl,
    clientMetadata: {
      client_name: 'Toolshelf',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    state: () => state,
    clientInformation(context) {
      const metadata = draft.discovery?.authorizationServerMetadata
      if (given) draft.client = { client_id: given.id, client_secret: given.secret, issuer: context?.issuer }
      else if (metadata && !metadata.registration_endpoint) throw noRegistration(metadata.issuer, redirectUrl)
      return draft.client
    },
    saveClientInformation(client) {
      draft.client = client
    },
    discoveryState: () => draft.discovery,
    saveDiscoveryState(discovery) {
      draft.discovery = discovery
    },
    codeVerifier: () => draft.verifier ?? '',
    saveCodeVerifier(verifier) {
      draft.verifier = verifier
    },
    tokens: () => undefined,
    async saveTokens(tokens) {
      // The SDK has saved both by now: it needed them to get here.
      const { client, discovery } = draft as Required<Draft>
      await file.alone(() => file.write({ tokens, client, discovery }))
    },
    async redirectToAuthorization({ href, protocol, hostname }) {
      if (protocol !== 'https:' && !(protocol === 'http:' && LOOPBACK.includes(hostname)))
        throw new Error(`its login page ${oneLine(href, 80)} is not https and was not opened`)
      print(`Open this address to log in to "${config.name}":\n\n  ${href}\n`)
      if (openBrowser && !(await openBrowser(href))) print('No browser could be started: open it yourself.')
    },
  }
}

const LOOPBACK: readonly string[] = ['127.0.0.1', '[::1]', 'localhost']

function noRegistration(issuer: string, redirectUrl: string): OptionError {
  const { port } = new URL(redirectUrl)
  return new OptionError(
    'client',
    `${oneLine(issuer, 80)} does not let clients register themselves. Register one there with the redirect URL ${redirectUrl}, then log in again with its id and the same port`,
    `set the options "client" and "port" (${port})`,
  )
}

function rejectedRegistration(error: unknown): OptionError | undefined {
  if (!(error instanceof RegistrationRejectedError)) return undefined
  return new OptionError(
    'client',
    `it does not let Toolshelf register itself (HTTP ${error.status}). If it wants a key, put the key in its "headers"; if it gave you a client ID, log in with that`,
    'set the option "client"',
  )
}

async function countTools(
  { config, clientInfo, signal }: LoginOptions,
  provider: AuthProvider,
): Promise<number> {
  const session = await openServerSession({
    config,
    clientInfo,
    capabilities: {},
    isKnownLegacy: false,
    authProvider: provider as unknown as ServerSessionOptions['authProvider'],
    limits: undefined,
    redact: createRedactor(config).text,
    signal: signal ?? new AbortController().signal,
    onNotification: () => {},
    onRequest: async (method) => {
      throw new Error(`${method} is not answered during a login`)
    },
    onEnd: () => {},
  })
  try {
    return session.capabilities.tools
      ? (await session.list('tools/list', 'tools', config.connectTimeoutMs)).entries.length
      : 0
  } finally {
    await session.close()
  }
}

/** Shortens an error to one line; does not show text that may come from an attacker. */
function explain(error: unknown): string {
  if (error instanceof IssuerMismatchError)
    return 'the issuer that its authorization server names is not the expected one; nothing was stored'
  return describeOAuthError(error)
}

type CallbackOptions = Pick<LoginOptions, 'port' | 'timeoutMs' | 'signal'> & { readonly state: string }

/** Starts a local server that receives the browser's redirect after a login: it takes one answer and closes. */
export async function listenForCallback({
  state,
  port = 0,
  timeoutMs = FIVE_MINUTES_MS,
  signal,
}: CallbackOptions) {
  const { promise: answer, resolve, reject } = withResolvers<URLSearchParams>()
  // Prevents an unhandled rejection if nobody waits any more.
  answer.catch(() => {})
  let isAnswered = false
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (request.method !== 'GET' || pathname !== PATH) return show(response, 404, 'Not found.')
    if (isAnswered) return show(response, 410, 'This login is already over.')
    if (!isSecret(searchParams.get('state') ?? '', state))
      return show(response, 400, 'This answer does not belong to the current login.')
    isAnswered = true
    const isGranted = searchParams.has('code')
    show(
      response,
      200,
      `The login was ${isGranted ? 'granted' : 'refused'}. You can close this window.`,
      () => resolve(searchParams),
    )
  })
  server.on('error', reject)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE'
      ? new OptionError('port', `port ${port} is in use`, 'set the option "port" to another')
      : new Error(error.message)
  })
  const timer = setTimeout(() => reject(new Error('the login timed out; run it again')), timeoutMs)
  const cancel = () => reject(new Error('the login was cancelled'))
  signal?.addEventListener('abort', cancel)
  if (signal?.aborted) cancel()
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`,
    /** The parameters of the one answer with the expected state. */
    answer,
    close() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cancel)
      server.close()
      server.closeAllConnections()
    },
  }
}

const PATH = '/callback'
const FIVE_MINUTES_MS = 300_000

/** Shows fixed texts only, nothing from the request. */
function show(response: ServerResponse, status: number, text: string, onShown?: () => void): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  })
  response.end(`<!doctype html><title>Toolshelf</title><p>${text}</p>`, onShown)
}

function withResolvers<Value>() {
  let resolve: (value: Value) => void = () => {}
  let reject: (error: Error) => void = () => {}
  const promise = new Promise<Value>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { promise, resolve, reject }
}

type LogoutOptions = Pick<LoginOptions, 'folder' | 'store' | 'notify'> & { readonly server: string }

/** Deletes all logins of a server, even if the server could not be reached; returns how many there were. */
export async function logout({ folder, store, server, notify }: LogoutOptions): Promise<number> {
  const addresses = await loggedInAddresses(folder, server, store)
  for (const url of addresses) {
    const file = openCredentials({ folder, store, server, url, notify })
    await file.alone(async () => {
      const stored = await file.read()
      if (stored) await revoke(stored).catch((error) => notify(notRevoked(error, stored)))
      await file.remove()
    })
  }
  return addresses.length
}

function notRevoked(error: unknown, stored: Credentials): string {
  const { host } = new URL(stored.discovery.authorizationServerUrl)
  return `the login is forgotten here, but ${host} may still accept it: ${describeOAuthError(error, stored)}`
}

async function revoke({ tokens, client, discovery }: Credentials): Promise<void> {
  const metadata = (discovery as OAuthDiscoveryState).authorizationServerMetadata
  const endpoint = (metadata as OAuthMetadata | undefined)?.revocation_endpoint
  if (endpoint === undefined) throw new Error('it does not support revocation')
  const url = assertSecureTokenEndpoint(endpoint)
  const method = selectClientAuthMethod(client, metadata?.token_endpoint_auth_methods_supported ?? [])
  const secret = client.client_secret ?? ''
  const headers =
    method === 'client_secret_basic' ? { authorization: basic(client.client_id, secret) } : undefined
  for (const kind of ['refresh_token', 'access_token'] as const) {
    const token = tokens[kind]
    if (!token) continue
    const body = new URLSearchParams({ token, token_type_hint: kind })
    if (method !== 'client_secret_basic') body.set('client_id', client.client_id)
    if (method === 'client_secret_post') body.set('client_secret', secret)
    const response = await briefFetch(url, { method: 'POST', body, headers, redirect: 'error' })
    if (!response.ok) throw new Error(`it answered with HTTP ${response.status}`)
  }
}

function basic(id: string, secret: string): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
}
