// A real identity provider on loopback: `oidc-provider` with resource indicators, dynamic registration and JWT access
// tokens. Its login page asks nobody: whoever is named in `logIn` is logged in.
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished, vi } from 'vitest'

export type IdentityProvider = {
  readonly issuer: string
  /** Requests so far, by path. */
  asked(path: string): number
  /** The user that the login page logs in. */
  logIn(user: string): void
  /** A token of a registered client, `service` or `another`, for a resource and scopes. */
  token(resource: string, scope?: string, client?: string): Promise<string>
  /** Signs with a new key from now on, and lists only that one. */
  rotate(): Promise<void>
  /** Answers nothing any more, until it is up again. */
  goDown(): Promise<void>
  comeUp(): Promise<void>
}

export const SCOPES = ['tools:read', 'tools:write']
const SECRET = 'a secret of the service in tests'
/** Seconds that access tokens are valid. */
export const TOKEN_SECONDS = 600

export async function startIdentityProvider(): Promise<IdentityProvider> {
  for (const method of ['warn', 'info'] as const) {
    const spy = vi.spyOn(console, method).mockImplementation(() => {})
    onTestFinished(() => spy.mockRestore())
  }
  const { default: Provider } = await import('oidc-provider')
  const counts = new Map<string, number>()
  let user = 'ann'
  let port = 0
  let keys = 0
  let provider: InstanceType<typeof Provider>
  let answer: (request: IncomingMessage, response: ServerResponse) => void

  async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt, params, session } = await provider.interactionDetails(request, response)
    if (prompt.name === 'login')
      return provider.interactionFinished(request, response, { login: { accountId: user } })
    const grant = new provider.Grant({
      accountId: session?.accountId ?? '',
      clientId: params.client_id ?? '',
    })
    grant.addOIDCScope(params.scope ?? '')
    grant.addResourceScope(params.resource ?? '', params.scope ?? '')
    const consent = { grantId: await grant.save() }
    return provider.interactionFinished(request, response, { consent })
  }

  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1')
    counts.set(pathname, (counts.get(pathname) ?? 0) + 1)
    if (!pathname.startsWith('/interaction/')) return answer(request, response)
    interact(request, response).catch((error: Error) => response.writeHead(500).end(error.message))
  })
  const up = async () => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  }
  await up()
  onTestFinished(() => stop(server))
  const issuer = `http://127.0.0.1:${port}`

  async function rotate(): Promise<void> {
    provider = new Provider(issuer, configuration(`key-${++keys}`))
    answer = provider.callback()
  }
  await rotate()

  return {
    issuer,
    asked: (path) => counts.get(path) ?? 0,
    logIn(name) {
      user = name
    },
    async token(resource, scope = SCOPES.join(' '), client = 'service') {
      const body = new URLSearchParams({ grant_type: 'client_credentials', resource, scope })
      const authorization = `Basic ${btoa(`${client}:${encodeURIComponent(SECRET)}`)}`
      const response = await fetch(`${issuer}/token`, { method: 'POST', body, headers: { authorization } })
      const { access_token: token, ...rest } = (await response.json()) as { access_token?: string }
      if (token === undefined) throw new Error(`no token: ${JSON.stringify(rest)}`)
      return token
    },
    rotate,
    goDown: () => stop(server),
    comeUp: up,
  }
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise<void>((resolve) => server.close(() => resolve()))
}

function configuration(kid: string): object {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'ES256' }] },
    clients: ['service', 'another'].map((name) => ({
      client_id: name,
      client_secret: SECRET,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    })),
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    cookies: { keys: ['cookies of tests'] },
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    scopes: ['openid', 'offline_access', ...SCOPES],
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, ClientCredentials: 600 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_: unknown, audience: string) => ({
          scope: SCOPES.join(' '),
          audience,
          accessTokenTTL: TOKEN_SECONDS,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  }
}

/** A browser: follows redirects with cookies until one leads to `redirectUrl`, and returns that one. */
export async function browseTo(address: URL, redirectUrl: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let next = address
  for (let steps = 0; steps < 10; steps++) {
    if (next.href.startsWith(redirectUrl)) return next
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(next, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (!location) throw new Error(`${next.href} answered ${response.status}: ${await response.text()}`)
    await response.body?.cancel()
    next = new URL(location, next)
  }
  throw new Error('the login page redirects endlessly')
}
