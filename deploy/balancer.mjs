// A small balancer for trying several gateways on one machine: `node deploy/balancer.mjs <port> <url> <url>…`. It sends requests
// to the gateways in turn, those of a session to the gateway that opened it, asks each for /ready, and tries another one if
// a connection cannot be made.
import http from 'node:http'

/** Milliseconds between two questions for /ready. */
const CHECK_MS = 300
/** Most sessions whose gateway is remembered; the oldest make room. */
const MAX_SESSIONS = 10_000
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'te', 'trailer'])

/** Starts the balancer on loopback; resolves with its URL and how to end it. */
export async function startBalancer(port, urls) {
  const gateways = urls.map((url) => ({ url: new URL(url), isReady: false }))
  /** The gateway of each session, by the id that it answered with. */
  const sessions = new Map()
  let turn = 0

  async function check(gateway) {
    const answer = await fetch(new URL('/ready', gateway.url), { signal: AbortSignal.timeout(2000) }).catch(
      () => {},
    )
    gateway.isReady = answer?.status === 200
  }
  const checkAll = () => Promise.all(gateways.map(check))
  const timer = setInterval(checkAll, CHECK_MS)
  await checkAll()

  /** The gateway of the session, then those that are ready, each request beginning with another one. */
  function inTurn({ 'mcp-session-id': session }) {
    turn++
    const turned = gateways.map((_, index) => gateways[(index + turn) % gateways.length])
    const own = sessions.get(session)
    const rank = (gateway) => (gateway === own ? 0 : gateway.isReady ? 1 : 2)
    return turned.sort((a, b) => rank(a) - rank(b))
  }

  function remember(session, gateway) {
    sessions.delete(session)
    sessions.set(session, gateway)
    for (const oldest of sessions.keys()) if (sessions.size > MAX_SESSIONS) sessions.delete(oldest)
  }

  function forward(incoming, outgoing, [gateway, ...others]) {
    if (!gateway) return outgoing.writeHead(502).end('no gateway answers\n')
    const kept = Object.entries(incoming.headers).filter(([name]) => !HOP_BY_HOP.has(name))
    const headers = { ...Object.fromEntries(kept), 'x-forwarded-for': incoming.socket.remoteAddress ?? '' }
    const { hostname, port: to } = gateway.url
    const request = http.request({
      hostname,
      port: to,
      method: incoming.method,
      path: incoming.url,
      headers,
      agent: false,
    })
    let isConnected = false
    // The body is sent only over a connection that stands, so that it can go elsewhere if there is none.
    request.once('socket', (socket) => {
      socket.once('connect', () => {
        isConnected = true
        incoming.pipe(request)
      })
    })
    request.once('response', (response) => {
      const session = response.headers['mcp-session-id']
      if (session !== undefined) remember(session, gateway)
      const answered = Object.entries(response.headers).filter(([name]) => !HOP_BY_HOP.has(name))
      outgoing.writeHead(response.statusCode ?? 502, Object.fromEntries(answered))
      outgoing.flushHeaders()
      response.pipe(outgoing)
      response.once('error', () => outgoing.destroy())
    })
    request.once('error', () => {
      gateway.isReady = false
      if (!isConnected) return forward(incoming, outgoing, others)
      if (outgoing.headersSent) outgoing.destroy()
      else outgoing.writeHead(502).end('the gateway went away\n')
    })
    outgoing.once('close', () => request.destroy())
  }

  const server = http.createServer((incoming, outgoing) =>
    forward(incoming, outgoing, inTurn(incoming.headers)),
  )
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    ready: () => gateways.filter(({ isReady }) => isReady).length,
    close() {
      clearInterval(timer)
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

if (process.argv[1] === import.meta.filename) {
  const [port, ...urls] = process.argv.slice(2)
  if (!port || urls.length === 0) {
    console.error('usage: node deploy/balancer.mjs <port> <url of a gateway>…')
    process.exit(2)
  }
  console.error(`balancer: ready at ${(await startBalancer(Number(port), urls)).url}`)
}
