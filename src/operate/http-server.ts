// Creates the HTTP server of a gateway: plain, or with TLS.
import { createServer as createPlain, type RequestListener, type Server, type ServerOptions } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { TlsSource } from './tls-files.ts'

/** An HTTP/1.1 server; with `tls` it speaks HTTPS alone. */
export function createHttpServer(
  tls: TlsSource | undefined,
  options: ServerOptions,
  listener: RequestListener,
): Server {
  if (!tls) return createPlain(options, listener)
  const server = createSecure({ ...options, ...tls.options }, listener)
  tls.attach(server)
  return server
}
