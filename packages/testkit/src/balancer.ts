// A small HTTP balancer: a session stays at the server that opened it, unless a test names another; other requests go to the
// next server.
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type BalancerOptions = {
  /** Asked often; a server that does not answer it with status 200 gets no new requests. */
  readonly healthPath?: string
}

export type Balancer = {
  readonly url: string
  /** Index of the server that each request went to, in order. */
  readonly chosen: readonly number[]
  /** Sends the requests from now on to this server. */
  only(index: number): void
  /** Sends the requests from now on to each server in turn; after `only` or to leave one out. */
  rotate(indexes?: readonly number[]): void
  /** Chooses the server by the request; undefined for the next in turn. */
  choose(rule: ((request: IncomingMessage, body: string) => number | undefined) | undefined): void
  /** Whether a server has said that it takes requests. */
  isReady(index: number): boolean
  /** Whether a server has said that it takes no more, and has answered all it had; streams of notifications do not count. */
  isLeft(index: number): boolean
  close(): Promise<void>
}

/** Milliseconds between two looks at a server. */
const HEALTH_MS = 100
/** Milliseconds for an answer. */
const CHECK_TIMEOUT_MS = 500

/** The last health answer of a server; `late` if it has not answered in time. */
type Health = 'ready' | 'late' | 'not ready'

const IDLE_MS = 600_000

/** Starts a balancer in front of servers, given by the URLs that clients would use. */
export async function startBalancer(
  urls: readonly string[],
  { healthPath }: BalancerOptions = {},
): Promise<Balancer> {
  const targets = urls.map((url) => new URL(url))
  const chosen: number[] = []
  let turn = targets.map((_, index) => index)
  let rule: Parameters<Balancer['choose']>[0]
  let next = 0
  const healths = targets.map((): Health => 'ready')
  const waiting = targets.map(() => 0)
  /** The server of each session. */
  const sessions = new Map<unknown, number>()

  async function look(index: number): Promise<void> {
    const target = targets[index]
    const health = await fetch(new URL(healthPath ?? '/', target), {
      signal: AbortSignal.timeout(CHECK_TIMEOUT_MS),
    }).then(
      (response) => (response.ok ? 'ready' : 'not ready'),
      ({ name }: Error) => (name === 'TimeoutError' ? 'late' : 'not ready'),
    )
    if (health !== 'late' || healths[index] === 'ready') healths[index] = health
  }

  const looking = setInterval(() => {
    if (healthPath) for (const index of targets.keys()) void look(index)
  }, HEALTH_MS)

  /** The next in turn of those that are ready, or at least not known to be otherwise. */
  function nextInTurn(tried: readonly number[]): number {
    const rest = turn.filter((index) => !tried.includes(index))
    const best = (['ready', 'late', 'not ready'] as const)
      .map((health) => rest.filter((index) => healths[index] === health))
      .find((some) => some.length > 0)
    return best?.[next++ % best.length] ?? turn[next++ % turn.length] ?? 0
  }

  function pick(incoming: IncomingMessage, body: Buffer, tried: readonly number[]): number {
    const own = tried.length === 0 ? sessions.get(incoming.headers['mcp-session-id']) : undefined
    const isOwnInTurn = own !== undefined && turn.includes(own)
    const index = rule?.(incoming, body.toString()) ?? (isOwnInTurn ? own : nextInTurn(tried))
    chosen.push(index)
    return index
  }

  function pass(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    body: Buffer,
    tried: readonly number[] = [],
  ): void {
    const index = pick(incoming, body, tried)
    const target = targets[index]
    if (!target) return void outgoing.writeHead(502).end()
    const headers = { ...incoming.headers, host: target.host, 'x-forwarded-for': '127.0.0.1' }
    const options = { method: incoming.method, headers, path: incoming.url, agent: false }
    const sent = request(target, options, (answer) => {
      const session = answer.headers['mcp-session-id']
      if (session !== undefined) sessions.set(session, index)
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
      answer.on('error', () => outgoing.destroy())
    })
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isRefused = error.code === 'ECONNREFUSED'
      if (isRefused) healths[index] = 'not ready'
      // A server that does not listen has seen nothing of the request.
      if (isRefused && tried.length + 1 < targets.length)
        return pass(incoming, outgoing, body, [...tried, index])
      if (outgoing.headersSent) outgoing.destroy()
      else outgoing.writeHead(502).end(`server ${index}: ${error.message}`)
    })
    if (incoming.method === 'POST') waiting[index]!++
    let isOver = false
    const over = () => {
      if (incoming.method === 'POST' && !isOver) waiting[index]!--
      isOver = true
    }
    sent.on('close', over)
    outgoing.on('close', () => {
      sent.destroy()
      over()
    })
    sent.end(body)
  }

  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    pass(incoming, outgoing, Buffer.concat(chunks))
  })
  // A client may use a connection in the very moment in which it is closed for being idle.
  server.keepAliveTimeout = IDLE_MS
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}${targets[0]?.pathname ?? '/'}`,
    chosen,
    only: (index) => {
      turn = [index]
    },
    rotate: (indexes = targets.map((_, index) => index)) => {
      turn = [...indexes]
    },
    choose: (given) => {
      rule = given
    },
    isReady: (index) => healths[index] === 'ready',
    isLeft: (index) => healths[index] === 'not ready' && waiting[index] === 0,
    async close() {
      clearInterval(looking)
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
