// Who may speak to the gateway: loopback, known host names, and whoever has the key.
import type { IncomingMessage } from 'node:http'
import { isSecret, LOOPBACK } from '../http.ts'
import { refuse } from './errors.ts'
import type { Setting } from './plan.ts'
import type { Headers } from './types.ts'
import { ofConnection } from './upstream/http.ts'

/** A key that clients must have. */
export type Key = {
  readonly secret: string
  /** What is done with requests of this key. */
  readonly setting?: Setting | undefined
  /** Requests may choose with `x-toolshelf-mode` although the key has a setting. */
  readonly mayChoose?: boolean | undefined
}

export type GuardOptions = {
  readonly address: string
  readonly keys: readonly Key[]
  /** Further host names under which clients may reach the gateway. */
  readonly hosts: readonly string[]
}

export type Guest = {
  /** The client's headers without what was meant for the gateway alone. */
  readonly headers: Headers
  readonly key: Key | undefined
}

/** Lets a request in, or throws a refusal. */
export function admit(incoming: IncomingMessage, { address, keys, hosts }: GuardOptions): Guest {
  const isAnyHost = !LOOPBACK.has(address) && hosts.length === 0
  const names = new Set([...LOOPBACK, address, ...hosts].map((name) => name.toLowerCase()))
  const host = hostName(incoming.headers.host ?? '')
  if (!isAnyHost && !names.has(host))
    throw refuse(
      403,
      'permission_error',
      `this gateway is not reached as "${host.slice(0, 100)}"; --allow names further hosts`,
    )
  const { origin } = incoming.headers
  if (origin !== undefined && !names.has(hostName(origin.replace(/^[a-z-]+:\/\//i, ''))))
    throw refuse(403, 'permission_error', 'pages of other origins may not use this gateway')
  const guest = unlock(headersOf(incoming), keys)
  return { ...guest, headers: forwarded(guest.headers, incoming) }
}

function unlock(headers: Headers, keys: readonly Key[]): Guest {
  const { 'x-toolshelf-key': own, ...rest } = headers
  if (keys.length === 0) return { headers: rest, key: undefined }
  const bearer = rest.authorization?.replace(/^Bearer /i, '')
  const holder = [own, rest['x-api-key'], bearer].map((secret) =>
    keys.find((key) => isSecret(secret, key.secret)),
  )
  const key = holder.find((found) => found !== undefined)
  if (!key)
    throw refuse(
      401,
      'authentication_error',
      'this gateway needs its key, as x-api-key, as a bearer token or as x-toolshelf-key',
    )
  const { 'x-api-key': _, authorization: __, ...others } = rest
  const kept = {
    ...(rest['x-api-key'] !== undefined && !holder[1] ? { 'x-api-key': rest['x-api-key'] } : {}),
    ...(rest.authorization !== undefined && !holder[2] ? { authorization: rest.authorization } : {}),
  }
  return { headers: { ...others, ...kept }, key }
}

function hostName(host: string): string {
  return host
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase()
}

/** What is not the upstream's business. */
const NOT_FORWARDED = new Set([
  ...['host', 'content-length', 'expect', 'cookie', 'origin', 'x-toolshelf-mode'],
])

function headersOf({ headers }: IncomingMessage): Headers {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]))
}

function forwarded(headers: Headers, incoming: IncomingMessage): Headers {
  const isOfConnection = ofConnection(incoming.headers)
  const kept = Object.entries(headers).filter(([name]) => !NOT_FORWARDED.has(name) && !isOfConnection(name))
  return Object.fromEntries(kept)
}
