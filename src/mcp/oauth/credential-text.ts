// Defines a stored login: its parts, its name and its text, wherever it is stored.
import { createHash } from 'node:crypto'

/** A login as stored. Its parts have the SDK's types, which are not exported. */
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

/** The stored login to one server. */
export type CredentialFile = {
  /** Returns the login; undefined if there is none. Sets an unreadable file aside and reports it. */
  read(): Promise<Credentials | undefined>
  write(credentials: Omit<Credentials, 'server' | 'url'>): Promise<void>
  remove(): Promise<void>
  /** Runs the work while no other process holds the lock of this file. */
  alone<Value>(work: () => Promise<Value>): Promise<Value>
}

/** Returns the name of a login's file: a readable part, and a hash of server and URL. */
export function credentialName(server: string, url: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([server, url]))
    .digest('hex')
    .slice(0, 24)
  return `${safeFileName(server)}-${hash}`
}

/** Returns the part of a server's name that is safe in a file name. */
export function safeFileName(server: string): string {
  return server.replace(/[^A-Za-z0-9-]+/g, '_').slice(0, 40)
}

/** Parses a stored login; returns undefined if the text is not one. */
export function parseCredentials(text: string): Credentials | undefined {
  try {
    return readCredentials(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** Returns the value as a login; undefined if it is not one. */
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
