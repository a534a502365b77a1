// What a stored login is: its parts, its name and its text, wherever it is kept.
import { createHash } from 'node:crypto'

/** A login as it is stored. Its parts are the SDK's own, whose types stay out of the package's. */
export type Credentials = {
  readonly server: string
  readonly url: string
  readonly tokens: {
    readonly access_token: string
    readonly refresh_token?: string | undefined
    readonly id_token?: string | undefined
  }
  readonly client: { readonly client_id: string; readonly client_secret?: string | undefined }
  readonly discovery: { readonly authorizationServerUrl: string }
}

/** Where the login to one server is kept. */
export type CredentialFile = {
  /** Undefined if there are none. An unreadable file is set aside and reported. */
  read(): Promise<Credentials | undefined>
  write(credentials: Omit<Credentials, 'server' | 'url'>): Promise<void>
  remove(): Promise<void>
  /** Runs the work while no other process holds the lock of this file. */
  alone<Value>(work: () => Promise<Value>): Promise<Value>
}

export function credentialName(server: string, url: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([server, url]))
    .digest('hex')
    .slice(0, 24)
  return `${readable(server)}-${hash}`
}

export function readable(server: string): string {
  return server.replace(/[^A-Za-z0-9-]+/g, '_').slice(0, 40)
}

export function parseCredentials(text: string): Credentials | undefined {
  try {
    return readCredentials(JSON.parse(text))
  } catch {
    return undefined
  }
}

/**
 * Returns a login as it was stored; undefined if the value is none.
 */
export function readCredentials(value: unknown): Credentials | undefined {
  const found = value as Partial<Credentials> | null | undefined
  const texts = [
    found?.server,
    found?.url,
    found?.tokens?.access_token,
    found?.client?.client_id,
    found?.discovery?.authorizationServerUrl,
  ]
  return texts.every((text) => typeof text === 'string') ? (found as Credentials) : undefined
}
