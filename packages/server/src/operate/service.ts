// What a gateway needs as a service: HTTP, with TLS files that reload, readiness, and reloads at SIGHUP.
import { readFileSync, statSync, unwatchFile, watchFile } from 'node:fs'
import { createServer as createPlain, type RequestListener, type Server, type ServerOptions } from 'node:http'
import { createServer as createSecure, type Server as HttpsServer } from 'node:https'
import { resolve } from 'node:path'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import type { StateStore } from '@toolshelf/core/internal'
import { OptionError, withTimeout } from '@toolshelf/core/internal/node'

/** Longer than clients and load balancers keep a connection: closing one just as it is reused would fail a request. */
const KEEP_ALIVE_MS = 75_000

/** Creates an HTTP/1.1 server; with `tls` it serves only HTTPS. */
export function createHttpServer(
  tls: TlsSource | undefined,
  limits: ServerOptions,
  listener: RequestListener,
): Server {
  const options = { keepAliveTimeout: KEEP_ALIVE_MS, ...limits }
  if (!tls) return createPlain(options, listener)
  const server = createSecure({ ...options, ...tls.options }, listener)
  tls.attach(server)
  return server
}

/** Paths of the certificate and its key, as PEM. */
export type TlsFiles = {
  /** The certificate, followed by those of intermediate authorities. */
  readonly cert: string
  readonly key: string
  /** Authorities of client certificates; if set, clients need a certificate. */
  readonly ca?: string | undefined
}

/** Certificates in use; `close` stops watching their files. */
type TlsSource = ReturnType<typeof openTlsFiles>

type TlsSourceOptions = {
  readonly notify?: ((message: string) => void) | undefined
  /** Milliseconds between two checks of the files. Default: 1,000. */
  readonly intervalMs?: number
}

/** Reads the files; throws an `OptionError` if they cannot be used. */
export function openTlsFiles(files: TlsFiles, { notify, intervalMs = 1000 }: TlsSourceOptions = {}) {
  let inUse = readFiles(files)
  const servers = new Set<HttpsServer>()
  const paths = namesIn(files).map((file) => resolve(file))

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
    /** Sets the server's certificates, now and whenever they change. */
    attach: (server: HttpsServer) => void servers.add(server),
    /** Rereads the files; keeps the current certificates if the new ones cannot be used. */
    reload,
    close() {
      for (const path of paths) unwatchFile(path, reload)
      servers.clear()
    },
  }
}

function namesIn({ cert, key, ca }: TlsFiles): string[] {
  return [cert, key, ...(ca === undefined ? [] : [ca])]
}

function readFiles(files: TlsFiles): SecureContextOptions {
  const { cert, key, ca } = files
  const read = {
    cert: readPem('cert', cert),
    key: readPem('key', key),
    ...(ca === undefined ? {} : { ca: readPem('ca', ca) }),
    minVersion: 'TLSv1.2',
  } as const
  try {
    createSecureContext(read)
  } catch (error) {
    throw new OptionError(
      'tls',
      `${namesIn(files).join(', ')}: ${(error as Error).message}`,
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

export type ReadinessCheck = {
  /** The public reason if the check fails, such as `store unreachable`. */
  readonly reason: string
  /** Resolves if the condition holds; otherwise rejects or times out. Its error is not shown. */
  readonly check: () => Promise<unknown>
}

/** The answer to `GET /ready`. */
export type ReadinessReport = {
  /** All that load balancers and Kubernetes read. */
  readonly httpStatus: 200 | 503
  readonly body: { readonly status: 'ready' | 'not ready'; readonly reasons: readonly string[] }
}

/** Decides whether a gateway is ready. */
export type Readiness = ReturnType<typeof createReadiness>

type ReadinessOptions = {
  readonly checks: readonly ReadinessCheck[]
  /** Milliseconds that a check may take. Default: 2,000. */
  readonly timeoutMs?: number
  /** Milliseconds for which a result is reused, so that anonymous requests cannot load the store. Default: 1,000. */
  readonly reuseMs?: number
}

export function createReadiness({ checks, timeoutMs = 2000, reuseMs = 1000 }: ReadinessOptions) {
  let isDraining = false
  let last: { readonly at: number; readonly reasons: Promise<readonly string[]> } | undefined

  async function failing(): Promise<readonly string[]> {
    const reasons = await Promise.all(
      checks.map(async ({ reason, check }) =>
        withTimeout(check(), timeoutMs, reason).then(
          () => [],
          () => [reason],
        ),
      ),
    )
    return reasons.flat()
  }

  return {
    /** Reports not ready from now on, because the process is about to end. */
    drain() {
      isDraining = true
    },
    isDraining: () => isDraining,
    async report() {
      if (isDraining) return reportOf(['draining'])
      if (!last || performance.now() - last.at >= reuseMs)
        last = { at: performance.now(), reasons: failing() }
      const reasons = await last.reasons
      return reportOf(isDraining ? ['draining'] : reasons)
    },
  }
}

function reportOf(reasons: readonly string[]): ReadinessReport {
  return reasons.length === 0
    ? { httpStatus: 200, body: { status: 'ready', reasons } }
    : { httpStatus: 503, body: { status: 'not ready', reasons } }
}

type StoreCheckOptions = {
  /**
   * Milliseconds without an answer after which the gateway is not ready. It tolerates shorter outages, because much works
   * without the store and all replicas would be unready at once. Default: 30,000.
   */
  readonly toleranceMs?: number
  /** The clock in milliseconds; replaceable in tests. */
  readonly now?: () => number
}

const TOLERANCE_MS = 30_000

/** Creates a check that fails if the store has not answered for a while; at the start it must answer once. */
export function createStoreCheck(
  store: Pick<StateStore, 'ping'>,
  { toleranceMs = TOLERANCE_MS, now = () => performance.now() }: StoreCheckOptions = {},
): ReadinessCheck {
  let answeredAt = Number.NEGATIVE_INFINITY
  return {
    reason: 'store unreachable',
    async check() {
      try {
        await store.ping()
        answeredAt = now()
      } catch (error) {
        if (now() - answeredAt > toleranceMs) throw error
      }
    },
  }
}

/**
 * Creates an empty list of reloads.
 *
 * @param notify - Called with failures, for the operator.
 */
export function createReloads(notify: (message: string) => void) {
  const all = new Set<() => unknown>()
  let running: Promise<void> = Promise.resolve()

  async function reloadAll(): Promise<void> {
    for (const reload of all) {
      try {
        await reload()
      } catch (error) {
        notify((error as Error).message)
      }
    }
  }

  return {
    /** Calls the function at every reload until the returned function is called. */
    onReload(reload: () => unknown) {
      all.add(reload)
      return () => void all.delete(reload)
    },
    /** Calls all functions, one after another; reports a failure and continues with the rest. */
    reload() {
      running = running.then(reloadAll)
      return running
    },
  }
}
