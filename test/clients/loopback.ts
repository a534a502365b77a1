// An HTTP server of a test, on a free port of loopback.
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Loopback = { readonly url: string; close(): Promise<void> }

export async function listenHere(answer: RequestListener): Promise<Loopback> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
