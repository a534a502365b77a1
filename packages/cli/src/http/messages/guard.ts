// Decides who may use the gateway: checks the host name and the client's key.
import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type AccessRefusal, type Authenticator, isRefusal, type User } from '@toolshelf/core/internal'
import { type ClientWork, createClientWork, isSecret } from '@toolshelf/core/internal/node'
import { type ModeSetting, parseModeSetting } from '@toolshelf/messages'
import { createHopByHopTest, type Headers, refuseForNow, refuseRequest } from '@toolshelf/messages/internal'
import { authorizationOf, createHostAccess, hostNameOf } from '@toolshelf/server/internal'
import type { MessagesHttpOptions } from './server.ts'

export type ClientKey = {
  readonly secret: string
  readonly setting?: ModeSetting | undefined
  /** Whether requests may override the key's setting with `x-toolshelf-mode`. */
  readonly mayChoose?: boolean | undefined
}

type RequestGuardOptions = Required<Pick<MessagesHttpOptions, 'address' | 'keys' | 'hosts'>> &
  Pick<MessagesHttpOptions, 'users' | 'usage'>

/** A client that may use the gateway. */
export type AuthenticatedClient = KnownClient & {
  /** Identifies it by its credentials, so that no client can reach another's conversations. */
  readonly owner: string
  readonly work: ClientWork
}

/** Who sends a request. */
type KnownClient = {
  /** The client's headers without those meant only for the gateway. */
  readonly headers: Headers
  readonly key: ClientKey | undefined
  /** Whose request it is; undefined where there are no users, and for holders of one of the gateway's own keys. */
  readonly user?: User | undefined
}

/** Checks the clients of requests. */
export type RequestGuard = ReturnType<typeof createRequestGuard>

export function createRequestGuard(options: RequestGuardOptions) {
  const { address, keys, users, usage, hosts } = options
  const access = createHostAccess(address, hosts)

  async function identify(headers: Headers): Promise<KnownClient> {
    const client = keys.length === 0 ? { headers, key: undefined } : unlock(headers, keys)
    if (users && !client.key) return admitUser(users, headers)
    if (keys.length > 0 && !client.key) throw refuseRequest(401, 'authentication_error', WRONG_KEY)
    return client
  }

  function checkHost(incoming: IncomingMessage): void {
    const { host = '', origin } = incoming.headers
    if (!access.allowsHost(host))
      throw refuseRequest(
        403,
        'permission_error',
        `host "${hostNameOf(host).slice(0, 100)}" is not allowed (allowed: ${[...access.names].join(', ')}); the gateway's operator can allow more hosts`,
      )
    if (origin !== undefined && !access.allowsOrigin(origin))
      throw refuseRequest(403, 'permission_error', 'web pages of other origins are not allowed')
  }

  return {
    /** Authenticates a request or throws a `RefusedRequest`. */
    async admit(incoming: IncomingMessage) {
      checkHost(incoming)
      const client = await identify(headersOf(incoming))
      const { user } = client
      const owner = ownerOf(client)
      const work = createClientWork({ client: owner, user, usage })
      return { ...client, headers: forwarded(client.headers, incoming), owner, work }
    },
  }
}

/** Finds the client's key and removes it from the headers. */
function unlock(headers: Headers, keys: readonly ClientKey[]): KnownClient {
  const { 'x-toolshelf-key': own, 'x-api-key': api, authorization, ...others } = headers
  const bearer = authorization?.replace(/^Bearer /i, '')
  const holder = [own, api, bearer].map((secret) => keys.find((key) => isSecret(secret, key.secret)))
  const kept = {
    ...(api !== undefined && !holder[1] ? { 'x-api-key': api } : {}),
    ...(authorization !== undefined && !holder[2] ? { authorization } : {}),
  }
  return { headers: { ...others, ...kept }, key: holder.find((found) => found !== undefined) }
}

function ownerOf({ headers, key, user }: KnownClient): string {
  const credentials = [user ? { user: user.uid } : key?.secret, headers['x-api-key'], headers.authorization]
  return hash('sha256', JSON.stringify(credentials), 'base64')
}

/** Headers that do not concern the upstream, and headers that some servers use to override the method or path. */
const NOT_FORWARDED = new Set([
  ...['host', 'content-length', 'expect', 'cookie', 'origin', 'x-toolshelf-mode', 'x-toolshelf-key'],
  ...['x-http-method', 'x-http-method-override', 'x-method-override'],
  ...['x-original-url', 'x-original-uri', 'x-rewrite-url', 'x-forwarded-uri', 'x-forwarded-prefix'],
])

function headersOf(incoming: IncomingMessage): Headers {
  const { headers } = incoming
  const joined: { [name: string]: string } = {}
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    joined[name] = typeof value === 'string' ? value : [value].flat().join(', ')
  }
  const authorization = authorizationOf(incoming)
  if (authorization !== undefined) joined.authorization = authorization
  return joined
}

function forwarded(headers: Headers, incoming: IncomingMessage): Headers {
  const isHopByHop = createHopByHopTest(incoming.headers)
  const kept: { [name: string]: string } = {}
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    if (value !== undefined && !NOT_FORWARDED.has(name) && !isHopByHop(name)) kept[name] = value
  }
  return kept
}

/** Returns the client of a user; throws a `RefusedRequest` if there is none. */
async function admitUser(users: Authenticator, headers: Headers): Promise<KnownClient> {
  const { token, others } = withoutUserKeys(headers)
  const user = await users.authenticate(token)
  if (isRefusal(user)) throw refuseUser(user)
  return { headers: others, user, key: keyFor(user) }
}

const WRONG_KEY = 'missing or wrong key; send it as x-api-key, as a bearer token or as x-toolshelf-key'

/** Makes a refusal in the shape of the client's API. */
export function refuseUser({ status, message, isWrongKey, retryAfter = 5 }: AccessRefusal): Error {
  if (status === 429 || status === 503) return refuseForNow(message, retryAfter, status)
  const types = { 401: 'authentication_error', 403: 'permission_error' } as const
  return refuseRequest(status, types[status], isWrongKey ? WRONG_KEY : message)
}

/** The user's mode, as a key has one. */
function keyFor({ uid, profile }: User): KnownClient['key'] {
  if (profile.mode === undefined) return undefined
  const setting = parseModeSetting(profile.mode)
  if (setting) return { secret: uid, setting }
  throw refuseRequest(
    403,
    'permission_error',
    `the profile "${profile.name}" has the mode "${profile.mode}", which does not exist; ask the operator to use auto, auto:N, pass, emulate, shelve or off`,
  )
}

const PREFIX = 'tsk_'

/** Headers that may have a key of ours, the surest first. Other keys in them are the client's own, for the upstream. */
function withoutUserKeys(headers: Headers): { readonly token: string | undefined; readonly others: Headers } {
  const { 'x-toolshelf-key': own, 'x-api-key': api, authorization, ...rest } = headers
  const bearer = authorization?.replace(/^Bearer /i, '')
  const isOurs = (text: string | undefined) => text?.trim().startsWith(PREFIX) === true
  return {
    token: (own ?? [api, bearer].find(isOurs))?.trim(),
    others: {
      ...rest,
      ...(api !== undefined && !isOurs(api) ? { 'x-api-key': api } : {}),
      ...(authorization !== undefined && !isOurs(bearer) ? { authorization } : {}),
    },
  }
}
