// A TCP proxy that delays what passes, to make a server slow or unreachable.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type SlowProxy = {
  readonly port: number
  /** Milliseconds that each piece is delayed, in both directions. */
  delay(ms: number): void
  /** Breaks all connections and refuses new ones, until `open`. */
  cut(): void
  open(): void
  close(): Promise<void>
}

/** Starts a proxy in front of a port of this machine. */
export async function startSlowProxy(target: number): Promise<SlowProxy> {
  const sockets = new Set<Socket>()
  let delayMs = 0
  let isCut = false

  function keep(socket: Socket): void {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  }

  /** Pieces stay in order, because all wait equally long, or longer than those in front of them. */
  function pass(from: Socket, to: Socket): void {
    let last = 0
    from.on('data', (piece) => {
      const at = Math.max(last, performance.now() + delayMs)
      last = at
      const wait = at - performance.now()
      if (wait <= 0) to.write(piece)
      else setTimeout(() => to.destroyed || to.write(piece), wait)
    })
    from.on('close', () => to.destroy())
  }

  const server = createServer((near) => {
    keep(near)
    if (isCut) return void near.destroy()
    const far = connect(target, '127.0.0.1')
    keep(far)
    pass(near, far)
    pass(far, near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    delay: (ms) => {
      delayMs = ms
    },
    cut() {
      isCut = true
      destroyAll()
    },
    open: () => {
      isCut = false
    },
    async close() {
      destroyAll()
      server.close()
      await once(server, 'close')
    },
  }
}
