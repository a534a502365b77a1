// A small HTTP balancer without sticky sessions: each request goes to the next server, or to the one that a test names.
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
  close(): Promise<void>
}

/** Milliseconds between two looks at a server. */
const HEALTH_MS = 100
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
  const unhealthy = new Set<number>()

  async function look(index: number): Promise<void> {
    const target = targets[index]
    const isHealthy = await fetch(new URL(healthPath ?? '/', target), {
      signal: AbortSignal.timeout(1000),
    }).then(
      (response) => response.ok,
      () => false,
    )
    if (isHealthy) unhealthy.delete(index)
    else unhealthy.add(index)
  }

  const looking = setInterval(() => {
    if (healthPath) for (const index of targets.keys()) void look(index)
  }, HEALTH_MS)

  function nextInTurn(): number {
    const healthy = turn.filter((index) => !unhealthy.has(index))
    const all = healthy.length > 0 ? healthy : turn
    return all[next++ % all.length] ?? 0
  }

  function pick(incoming: IncomingMessage, body: Buffer): number {
    const wanted = rule?.(incoming, body.toString())
    const index = wanted ?? nextInTurn()
    chosen.push(index)
    return index
  }

  function pass(incoming: IncomingMessage, outgoing: ServerResponse, body: Buffer, attempts: number): void {
    const target = targets[pick(incoming, body)]
    if (!target) return void outgoing.writeHead(502).end()
    const headers = { ...incoming.headers, host: target.host, 'x-forwarded-for': '127.0.0.1' }
    const options = { method: incoming.method, headers, path: incoming.url, agent: false }
    const sent = request(target, options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
      answer.on('error', () => outgoing.destroy())
    })
    sent.on('error', (error: NodeJS.ErrnoException) => {
      // A server that does not listen has seen nothing of the request.
      if (error.code === 'ECONNREFUSED' && attempts > 1) return pass(incoming, outgoing, body, attempts - 1)
      if (outgoing.headersSent) outgoing.destroy()
      else outgoing.writeHead(502).end()
    })
    outgoing.on('close', () => sent.destroy())
    sent.end(body)
  }

  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    pass(incoming, outgoing, Buffer.concat(chunks), targets.length)
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
    async close() {
      clearInterval(looking)
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
