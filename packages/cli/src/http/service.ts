// What the HTTP servers of both gateways share: their options, the pages for operators, and a graceful end.
import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TraceListener } from '@toolshelf/core'
import type { Authenticator } from '@toolshelf/core/internal'
import {
  createReadiness,
  type InspectorHandler,
  listen,
  openTlsFiles,
  type ReadinessCheck,
  type TlsFiles,
  watchProcess,
} from '@toolshelf/server/internal'

export type HttpServiceOptions = {
  /** The port; 0 for any free one. */
  readonly port: number
  /** The address to listen on; any other than loopback needs a key or users. Default: `127.0.0.1`. */
  readonly address?: string
  /** Additional host names under which clients may reach it. */
  readonly hosts?: readonly string[]
  /** Finds the user of each request without one of the operator's keys: what they see, their limits and events. */
  readonly users?: Authenticator | undefined
  /** Receives an event for each request that a limit refuses. */
  readonly trace?: TraceListener | undefined
  /** Maximum bytes of a request's body. Default: 32 MB. */
  readonly maxBodyBytes?: number
  /** Called with problems of the certificate's files. */
  readonly notify?: (message: string) => void
  /** Handles requests below `/inspect`; checks their hosts, origins and keys itself. They are not reported. */
  readonly inspector?: InspectorHandler | undefined
  /** Files of a certificate and its key: serves HTTPS, and reloads them when they change. */
  readonly tls?: TlsFiles
  /** Lets anyone read `/metrics`; otherwise they need a key, if there is one. Default: false. */
  readonly hasOpenMetrics?: boolean
  /** Conditions, besides the gateway's own, for `/ready` to report ready. */
  readonly readinessChecks?: readonly ReadinessCheck[]
}

/** A gateway that listens for HTTP clients. */
export type HttpService = {
  /** The URL at which it listens. */
  readonly url: string
  /** Returns the number of requests in progress, without streams of notifications. */
  activeRequests(): number
  /** Reloads the files of the certificate. */
  reloadTls(): void
  /**
   * Shuts down gracefully: `/ready` fails at once; after `delayMs` it takes no more work and finishes what is in progress,
   * for up to `timeoutMs`, and closes.
   */
  drain(timeoutMs: number, delayMs?: number): Promise<void>
  /** Closes at once, and aborts what is in progress. */
  close(): Promise<void>
}

export const MAX_BODY_BYTES = 32_000_000
/** The status to count when the client disconnects before the response. */
export const UNANSWERED = 499

/** Health, readiness and metrics of a server. */
export type ServicePages = ReturnType<typeof openService>['pages']

/** Opens what a server needs to be operated: certificates, readiness and metrics. */
export function openService(
  { tls: files, notify, readinessChecks = [] }: HttpServiceOptions,
  metrics: { readonly text: () => string },
  ownChecks: readonly ReadinessCheck[] = [],
) {
  const tls = files && openTlsFiles(files, { notify })
  const readiness = createReadiness({ checks: [...ownChecks, ...readinessChecks] })
  const processMetrics = watchProcess()
  const closing = new AbortController()
  const release = () => {
    closing.abort()
    tls?.close()
    processMetrics.close()
  }
  return {
    tls,
    readiness,
    release,
    pages: {
      async ready() {
        const { httpStatus, body } = await readiness.report()
        const headers = { 'content-type': 'application/json' }
        return { status: httpStatus, headers, body: JSON.stringify(body) }
      },
      async metrics() {
        const body = `${metrics.text()}${await processMetrics.text()}`
        return { status: 200, headers: { 'content-type': 'text/plain; version=0.0.4' }, body }
      },
    },
    /** Returns the URL; releases everything if the server cannot listen. */
    listen: (server: Server, port: number, address: string) =>
      listen(server, port, address).catch((error: unknown) => {
        release()
        throw error
      }),
    /** Fails `/ready` from now on, and waits unless the server closes meanwhile. */
    async beginDrain(delayMs: number) {
      readiness.drain()
      if (delayMs > 0) await sleep(delayMs, undefined, { signal: closing.signal }).catch(() => {})
    },
  }
}
