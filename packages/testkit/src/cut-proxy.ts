// A TCP proxy that makes a server unreachable.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type CutProxy = {
  readonly port: number
  /** Breaks all connections and refuses new ones, until `open`. */
  cut(): void
  open(): void
  close(): Promise<void>
}

/** Starts a proxy in front of a port of this machine. */
export async function startCutProxy(target: number): Promise<CutProxy> {
  const sockets = new Set<Socket>()
  let isCut = false

  function keep(socket: Socket): void {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  }

  const server = createServer((near) => {
    keep(near)
    if (isCut) return void near.destroy()
    const far = connect(target, '127.0.0.1')
    keep(far)
    near.pipe(far).pipe(near)
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
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
