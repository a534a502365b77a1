// Creates the HTTP server of a gateway: plain, or with TLS.
import { createServer as createPlain, type RequestListener, type Server, type ServerOptions } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { TlsSource } from './tls-files.ts'

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
