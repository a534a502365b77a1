// Sends single requests of the load bench and reads each response to its end.
import { Agent, request } from 'node:http'

const agent = new Agent({ keepAlive: true, maxSockets: 4096 })

/** Sends a request of the Messages API and reads the whole answer. */
export function post(url: string, body: string, headers: Record<string, string> = {}): Promise<void> {
  const all = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-api-key': 'bench',
    ...headers,
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(`${url}/v1/messages`, { method: 'POST', agent, headers: all }, (incoming) => {
      incoming.once('error', reject)
      incoming.once('end', resolve)
      incoming.resume()
    })
    outgoing.once('error', (error: NodeJS.ErrnoException) => {
      const isStale = outgoing.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')
      if (isStale) resolve(post(url, body, headers))
      else reject(error)
    })
    outgoing.end(body)
  })
}
