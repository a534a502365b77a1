// Fetches the signing keys of one identity provider through its discovery document, caches them, and fetches them again
// when a token names an unknown key. While the provider cannot be reached, the cached keys stay in use.
import type { JSONWebKeySet } from 'jose'
import { fieldsOf } from '../../lib/index.ts'
import { isOnLoopback, isSafeUrl } from './settings.ts'

/** The signing keys of an identity provider. */
export type IssuerKeys = {
  /** Returns the cached keys; fetches them first if there are none or they are too old. Rejects if that fails. */
  current(): Promise<JSONWebKeySet>
  /**
   * Returns other keys than `tried`, because a token names none of those: the cached ones if they have changed
   * meanwhile, else newly fetched ones. Returns undefined if they were fetched a moment ago; rejects if the provider
   * cannot be reached.
   */
  renewed(tried: JSONWebKeySet): Promise<JSONWebKeySet | undefined>
}

/** Options of `createIssuerKeys`. */
export type IssuerKeysOptions = {
  readonly issuer: string
  readonly fetch: typeof fetch
  /** The clock in milliseconds. */
  readonly now: () => number
  /** Called with messages for the operator. */
  readonly notify: (message: string) => void
}

/** Milliseconds after which keys are fetched again in the background, so that a withdrawn key stops working. */
const FRESH_MS = 10 * 60_000
/** Milliseconds for which keys are used although their provider cannot be reached. */
const MAX_AGE_MS = 24 * 3_600_000
/** Milliseconds between two attempts, because anyone can send tokens that name any key. */
const COOL_DOWN_MS = 10_000
const TIMEOUT_MS = 5_000
const MAX_BYTES = 1_000_000
const MAX_KEYS = 200

/** The provider's keys cannot be fetched now, which is not the sender's fault. */
export class IssuerUnreachable extends Error {
  override readonly name = 'IssuerUnreachable'
}

/** Creates the cache of an issuer's keys. */
export function createIssuerKeys({ issuer, fetch, now, notify }: IssuerKeysOptions): IssuerKeys {
  let keys: JSONWebKeySet | undefined
  let fetchedAt = Number.NEGATIVE_INFINITY
  let triedAt = Number.NEGATIVE_INFINITY
  let failure: IssuerUnreachable | undefined
  let underWay: Promise<JSONWebKeySet> | undefined

  function load(): Promise<JSONWebKeySet> {
    underWay ??= fetchKeys(issuer, fetch)
      .then(
        (found) => {
          keys = found
          fetchedAt = now()
          failure = undefined
          return found
        },
        (error: Error) => {
          if (!failure) notify(`cannot fetch the keys of ${issuer}: ${error.message}`)
          failure = new IssuerUnreachable(`the keys of ${issuer} cannot be fetched now`)
          throw failure
        },
      )
      .finally(() => {
        triedAt = now()
        underWay = undefined
      })
    return underWay
  }

  const isCoolingDown = () => now() - triedAt < COOL_DOWN_MS

  return {
    async current() {
      const age = now() - fetchedAt
      if (keys && age < MAX_AGE_MS) {
        if (age > FRESH_MS && !isCoolingDown()) load().catch(() => {})
        return keys
      }
      if (failure && isCoolingDown()) throw failure
      return load()
    },
    async renewed(tried) {
      if (keys !== tried) return keys
      if (underWay || !isCoolingDown()) return load()
      if (failure) throw failure
      return undefined
    },
  }
}

async function fetchKeys(issuer: string, fetch: typeof globalThis.fetch): Promise<JSONWebKeySet> {
  const address = await findKeysAddress(issuer, fetch)
  const isAllowed = isSafeUrl(address) && (!isOnLoopback(address) || isOnLoopback(issuer))
  if (!isAllowed) throw new Error('its "jwks_uri" is not an https URL')
  const { keys } = fieldsOf(await fetchJson(address, fetch))
  if (!Array.isArray(keys) || keys.length > MAX_KEYS)
    throw new Error(`its "jwks_uri" does not return a list of at most ${MAX_KEYS} keys`)
  // Skips symmetric keys: one in a public document verifies nothing.
  return { keys: keys.filter((key) => typeof fieldsOf(key).kty === 'string' && fieldsOf(key).kty !== 'oct') }
}

/** Returns the URL of the keys from the discovery document of OpenID Connect, or that of RFC 8414. */
async function findKeysAddress(issuer: string, fetch: typeof globalThis.fetch): Promise<string> {
  let reason: unknown
  for (const address of discoveryAddresses(issuer)) {
    try {
      const { issuer: named, jwks_uri: keys } = fieldsOf(await fetchJson(address, fetch))
      if (named !== issuer) throw new Error('its discovery document names another issuer')
      if (typeof keys !== 'string') throw new Error('its discovery document has no "jwks_uri"')
      return keys
    } catch (error) {
      reason ??= error
    }
  }
  throw reason
}

function discoveryAddresses(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ]
}

async function fetchJson(address: string, fetch: typeof globalThis.fetch): Promise<unknown> {
  const response = await fetch(address, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error: Error) => {
    const { code, message = error.message } = (error.cause ?? {}) as NodeJS.ErrnoException
    throw new Error(`${address}: ${code ?? message}`)
  })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`${address} answered ${response.status}`)
  }
  const text = await readBounded(response, address)
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`${address} did not answer with JSON`)
  }
}

async function readBounded({ body }: Response, address: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error(`${address} answered with more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
