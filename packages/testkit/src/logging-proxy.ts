// An HTTP proxy that logs what it is asked, and leads every host to a server of this machine.
import { createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export type LoggingProxy = {
  /** Variables that name it, for http and https. */
  readonly environment: { readonly HTTP_PROXY: string; readonly HTTPS_PROXY: string }
  readonly port: number
  /** `GET http://host/path` and `CONNECT host:443`, in their order. */
  readonly log: readonly string[]
  /** Leads requests for a host, of plain HTTP or through a tunnel, to the server of a URL. */
  lead(host: string, url: string | URL): void
}

/** Starts a proxy; with credentials, it answers 407 to all who do not send them. */
export async function startLoggingProxy(credentials?: string): Promise<LoggingProxy> {
  const log: string[] = []
  const places = new Map<string, number>()
  const sockets = new Set<Socket>()
  const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`
  const isAllowed = ({ headers }: IncomingMessage) => !expected || headers['proxy-authorization'] === expected

  const server = createServer((incoming, outgoing) => {
    log.push(`${incoming.method} ${incoming.url}`)
    const url = URL.canParse(incoming.url ?? '') ? new URL(incoming.url ?? '') : undefined
    const port = url && places.get(url.hostname)
    if (!isAllowed(incoming)) return void outgoing.writeHead(407).end()
    if (!url || port === undefined) return void outgoing.writeHead(502).end()
    const { 'proxy-authorization': _, ...headers } = incoming.headers
    const path = url.pathname + url.search
    const onward = request({ port, host: '127.0.0.1', method: incoming.method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  server.on('connect', (incoming: IncomingMessage, socket: Socket) => {
    log.push(`CONNECT ${incoming.url}`)
    const port = places.get(incoming.url?.split(':')[0] ?? '')
    socket.on('error', () => {})
    if (!isAllowed(incoming)) return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    if (port === undefined) return void socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(onward).pipe(socket)
    })
    onward.on('error', () => socket.destroy())
    sockets.add(onward)
  })
  server.on('connection', (socket: Socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const user = credentials ? `${credentials.split(':').map(encodeURIComponent).join(':')}@` : ''
  const url = `http://${user}127.0.0.1:${port}`
  return {
    environment: { HTTP_PROXY: url, HTTPS_PROXY: url },
    port,
    log,
    lead: (host, place) => void places.set(host, Number(new URL(place).port)),
  }
}
