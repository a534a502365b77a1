// Loads TLS certificates from files, and reloads them when the files change, so that they can be renewed without a
// restart.
import { readFileSync, statSync, unwatchFile, watchFile } from 'node:fs'
import type { Server as HttpsServer } from 'node:https'
import { resolve } from 'node:path'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { OptionError } from '../node/index.ts'

/** Paths of the certificate and its key, as PEM. */
export type TlsFiles = {
  /** The certificate, followed by those of intermediate authorities. */
  readonly cert: string
  /** The private key of the certificate. */
  readonly key: string
  /** Authorities of client certificates; if set, clients need a certificate. */
  readonly ca?: string | undefined
}

/** Certificates in use; `close` stops watching their files. */
export type TlsSource = {
  readonly options: SecureContextOptions & {
    readonly requestCert: boolean
    readonly rejectUnauthorized: boolean
  }
  /** Sets the server's certificates, now and whenever they change. */
  attach(server: HttpsServer): void
  /** Rereads the files; keeps the current certificates if the new ones cannot be used. */
  reload(): void
  close(): void
}

/** Options of `openTlsFiles`. */
export type TlsSourceOptions = {
  readonly notify?: ((message: string) => void) | undefined
  /** Milliseconds between two checks of the files. Default: 1,000. */
  readonly intervalMs?: number
}

/** Reads the files; throws an `OptionError` if they cannot be used. */
export function openTlsFiles(
  files: TlsFiles,
  { notify, intervalMs = 1000 }: TlsSourceOptions = {},
): TlsSource {
  let inUse = readFiles(files)
  const servers = new Set<HttpsServer>()
  const paths = [files.cert, files.key, ...(files.ca === undefined ? [] : [files.ca])].map((file) =>
    resolve(file),
  )

  function reload(): void {
    let next: SecureContextOptions
    try {
      next = readFiles(files)
    } catch (error) {
      notify?.(`${(error as OptionError).problem}; the certificate in use stays.`)
      return
    }
    if (isSame(inUse, next)) return
    inUse = next
    for (const server of servers) server.setSecureContext(next)
    notify?.(`using the new certificate in ${files.cert}.`)
  }

  // Polls, because `watch` would miss a symbolic link that Kubernetes points to another folder.
  for (const path of paths) watchFile(path, { interval: intervalMs, persistent: false }, reload)
  return {
    get options() {
      const isMutual = files.ca !== undefined
      return { ...inUse, requestCert: isMutual, rejectUnauthorized: isMutual }
    },
    attach: (server) => void servers.add(server),
    reload,
    close() {
      for (const path of paths) unwatchFile(path, reload)
      servers.clear()
    },
  }
}

function readFiles({ cert, key, ca }: TlsFiles): SecureContextOptions {
  const read = {
    cert: readPem('cert', cert),
    key: readPem('key', key),
    ...(ca === undefined ? {} : { ca: readPem('ca', ca) }),
    minVersion: 'TLSv1.2',
  } as const
  try {
    createSecureContext(read)
  } catch (error) {
    const files = [cert, key, ...(ca === undefined ? [] : [ca])].join(', ')
    throw new OptionError(
      'tls',
      `${files}: ${(error as Error).message}`,
      'use a certificate and its private key, both as PEM',
    )
  }
  return read
}

/** Far more than a long chain of certificates takes. */
const MAX_PEM_BYTES = 1_000_000

function readPem(option: keyof TlsFiles, file: string): string {
  try {
    const found = statSync(file)
    if (!found.isFile() || found.size > MAX_PEM_BYTES)
      throw new Error(`it is not a file of at most ${MAX_PEM_BYTES / 1_000_000} MB`)
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new OptionError(
      'tls',
      `cannot read the TLS ${option} file ${file}: ${(error as Error).message}`,
      'name a file that exists',
    )
  }
}

function isSame(one: SecureContextOptions, other: SecureContextOptions): boolean {
  return one.cert === other.cert && one.key === other.key && one.ca === other.ca
}
