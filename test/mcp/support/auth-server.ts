// A remote MCP server behind OAuth, with its authorization server, both on loopback. The login page asks nobody: it
// redirects at once. Refresh tokens rotate, and one that is used twice ends the whole login, as careful servers do.
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { onTestFinished } from 'vitest'

export type AuthOptions = {
  readonly rotates?: boolean
  readonly registers?: boolean
  readonly revokes?: boolean
  /** Sent back as `iss`, and promised in the metadata. */
  readonly namesIssuer?: boolean
  /** Answers the login page instead of granting. */
  readonly refuses?: boolean
  /** Lets everyone in. */
  readonly isOpen?: boolean
  /** Says nothing of where to log in. */
  readonly isBare?: boolean
  /** Replaces fields of the authorization server's metadata. */
  readonly metadata?: object
  /** Sent back as `iss` in place of the issuer. */
  readonly issuerSent?: string
  /** Fails for those who are logged in. */
  readonly isBroken?: boolean
  /** Offers no tools at all. */
  readonly isEmpty?: boolean
}

export type AuthServer = {
  readonly url: string
  readonly issuer: string
  /** Every secret that was ever given away. */
  readonly secrets: ReadonlySet<string>
  /** Requests to the authorization server, by path. */
  readonly asked: (path: string) => readonly URLSearchParams[]
  /** Headers of each request to the MCP server. */
  readonly knocks: readonly IncomingMessage['headers'][]
  readonly foreignHeaders: readonly string[]
  /** Every access token given so far is refused from now on. */
  expire(): void
  /** So is every refresh token. */
  revoke(): void
  /** What the token endpoint does to refreshes from now on, with the refresh token at hand. */
  breakRefresh(reply: ((token: string, response: ServerResponse) => void) | undefined): void
}

type Grant = {
  readonly id: number
  readonly client: string
  readonly challenge: string
  readonly redirect: string
}

export async function startAuthServer(options: AuthOptions = {}): Promise<AuthServer> {
  const { rotates = true, registers = true, revokes = true, namesIssuer = false } = options
  const secrets = new Set<string>()
  const log: { path: string; parameters: URLSearchParams }[] = []
  const knocks: IncomingMessage['headers'][] = []
  const foreignHeaders: string[] = []
  const clients = new Map<string, { redirects: readonly string[]; secret?: string }>()
  const codes = new Map<string, Grant>()
  const access = new Map<string, Grant>()
  const refresh = new Map<string, Grant>()
  const spent = new Map<string, Grant>()
  let broken: ((token: string, response: ServerResponse) => void) | undefined
  clients.set('by-hand', { redirects: [], secret: 'secret-by-hand' })
  secrets.add('secret-by-hand')

  const make = (kind: string) => {
    const secret = `${kind}-${randomBytes(12).toString('hex')}`
    secrets.add(secret)
    return secret
  }
  const json = (response: ServerResponse, status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  const end = ({ id }: Grant) => {
    for (const tokens of [access, refresh])
      for (const [token, own] of tokens) if (own.id === id) tokens.delete(token)
  }

  function grantTokens(response: ServerResponse, grant: Grant, used?: string) {
    const token = make('access')
    access.set(token, grant)
    const isNew = used === undefined || rotates
    const next = isNew ? make('refresh') : undefined
    if (next) refresh.set(next, grant)
    if (used !== undefined && rotates) {
      refresh.delete(used)
      spent.set(used, grant)
    }
    json(response, 200, {
      access_token: token,
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'tools',
      ...(next ? { refresh_token: next } : {}),
    })
  }

  function isClient(request: IncomingMessage, parameters: URLSearchParams): boolean {
    const [id, secret] = request.headers.authorization
      ? Buffer.from(request.headers.authorization.slice(6), 'base64').toString().split(':')
      : [parameters.get('client_id') ?? '', parameters.get('client_secret') ?? undefined]
    const client = clients.get(id ?? '')
    return client !== undefined && client.secret === secret
  }

  const routes: Record<
    string,
    (request: IncomingMessage, response: ServerResponse, parameters: URLSearchParams, body: string) => void
  > = {
    '/.well-known/oauth-authorization-server': (_, response) =>
      json(response, 200, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
        ...(registers ? { registration_endpoint: `${issuer}/register` } : {}),
        ...(revokes ? { revocation_endpoint: `${issuer}/revoke` } : {}),
        ...(namesIssuer ? { authorization_response_iss_parameter_supported: true } : {}),
        ...options.metadata,
      }),
    '/register': (_, response, __, body) => {
      const metadata = JSON.parse(body)
      const id = `client-${clients.size}`
      clients.set(id, { redirects: metadata.redirect_uris })
      json(response, 201, { ...metadata, client_id: id })
    },
    '/authorize': (_, response, parameters) => {
      const [client, redirect] = [parameters.get('client_id') ?? '', parameters.get('redirect_uri') ?? '']
      const known = clients.get(client)
      if (!known || (known.redirects.length > 0 && !known.redirects.includes(redirect)))
        return response.writeHead(400).end('unknown client')
      const target = new URL(redirect)
      target.searchParams.set('state', parameters.get('state') ?? '')
      if (namesIssuer) target.searchParams.set('iss', options.issuerSent ?? issuer)
      if (options.refuses) target.searchParams.set('error', 'access_denied')
      else {
        const code = make('code')
        const challenge = parameters.get('code_challenge') ?? ''
        codes.set(code, { id: codes.size, client, challenge, redirect })
        target.searchParams.set('code', code)
      }
      response.writeHead(302, { location: target.href }).end()
    },
    '/token': (request, response, parameters) => {
      if (!isClient(request, parameters)) return json(response, 401, { error: 'invalid_client' })
      const invalid = () => json(response, 400, { error: 'invalid_grant' })
      if (parameters.get('grant_type') === 'authorization_code') {
        const code = parameters.get('code') ?? ''
        const grant = codes.get(code)
        codes.delete(code)
        const challenge = createHash('sha256')
          .update(parameters.get('code_verifier') ?? '')
          .digest('base64url')
        if (!grant || grant.challenge !== challenge || grant.redirect !== parameters.get('redirect_uri'))
          return invalid()
        return grantTokens(response, grant)
      }
      const used = parameters.get('refresh_token') ?? ''
      if (broken) return broken(used, response)
      const reused = spent.get(used)
      if (reused) end(reused)
      const grant = refresh.get(used)
      return grant ? grantTokens(response, grant, used) : invalid()
    },
    '/revoke': (request, response, parameters) => {
      if (!isClient(request, parameters)) return json(response, 401, { error: 'invalid_client' })
      const token = parameters.get('token') ?? ''
      const grant = refresh.get(token) ?? access.get(token)
      if (grant) end(grant)
      response.writeHead(200).end()
    },
  }

  const issuer = await listen(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
    const body = (await read(request)).toString()
    const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded')
    const parameters = isForm ? new URLSearchParams(body) : searchParams
    if (isForm) for (const [name, value] of parameters) if (name === 'code_verifier') secrets.add(value)
    log.push({ path: pathname, parameters })
    foreignHeaders.push(...Object.keys(request.headers).filter((name) => name.startsWith('x-')))
    const route = routes[pathname]
    if (route) route(request, response, parameters, body)
    else response.writeHead(404).end()
  })

  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'protected', version: '1.0.0' })
    for (const name of options.isEmpty ? [] : ['whoami', 'ping'])
      server.registerTool(name, { description: name }, async () => ({
        content: [{ type: 'text', text: name }],
      }))
    return server
  })
  onTestFinished(() => handler.close())
  const resource = await listen(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (pathname === '/.well-known/oauth-protected-resource/mcp' && !options.isBare)
      return json(response, 200, { resource: `${resource}/mcp`, authorization_servers: [issuer] })
    if (pathname !== '/mcp') return response.writeHead(404).end()
    const body = await read(request)
    knocks.push(request.headers)
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
    if (!options.isOpen && !access.has(token)) {
      const metadata = `${resource}/.well-known/oauth-protected-resource/mcp`
      const challenge = `Bearer resource_metadata="${metadata}", scope="tools"`
      return response.writeHead(401, options.isBare ? {} : { 'www-authenticate': challenge }).end()
    }
    if (options.isBroken) return response.writeHead(500).end('out of order')
    await send(response, await handler.fetch(asRequest(request, resource, body)))
  })

  return {
    url: `${resource}/mcp`,
    issuer,
    secrets,
    knocks,
    foreignHeaders,
    asked: (path) => log.filter((entry) => entry.path === path).map(({ parameters }) => parameters),
    expire: () => access.clear(),
    revoke: () => refresh.clear(),
    breakRefresh(reply) {
      broken = reply
    },
  }
}

/** Follows the redirect of the login page, as a browser does. */
export async function browse(url: string): Promise<boolean> {
  await fetch(url)
  return true
}

async function listen(
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<unknown>,
): Promise<string> {
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function asRequest(request: IncomingMessage, base: string, body: Buffer): Request {
  const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
    name,
    String(value),
  ])
  const isEmpty = request.method === 'GET' || request.method === 'DELETE'
  return new Request(new URL(request.url ?? '/', base), {
    method: request.method ?? 'GET',
    headers,
    ...(isEmpty ? {} : { body: new Uint8Array(body) }),
  })
}

async function send(response: ServerResponse, answer: Response): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  response.on('error', () => {})
  if (answer.body) for await (const chunk of answer.body) response.write(chunk)
  response.end()
}
