// Deletes a server's logins, and revokes the tokens at the server if possible.
import {
  assertSecureTokenEndpoint,
  type OAuthDiscoveryState,
  type OAuthMetadata,
  selectClientAuthMethod,
} from '@modelcontextprotocol/client'
import type { StateStore } from '@toolshelf/core/internal'
import { briefFetch, describeOAuthError } from './authorize.ts'
import { type Credentials, loggedInAddresses, openCredentials } from './credentials.ts'

type LogoutOptions = {
  readonly folder: string
  /** Where logins are stored instead of the folder. */
  readonly store?: StateStore | undefined
  readonly server: string
  readonly notify: (message: string) => void
}

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
