// Sends single requests of the load bench and reads each response to its end.
import { Agent, request } from 'node:http'

const agent = new Agent({ keepAlive: true, maxSockets: 4096 })

export type Answered = {
  readonly status: number
  readonly text: string
  readonly headers: { readonly [name: string]: unknown }
}

/** Sends a request of the Messages API and reads the whole answer; `onHead` is called with its first byte. */
export function post(
  url: string,
  body: string,
  headers: Record<string, string> = {},
  onHead: () => void = () => {},
): Promise<Answered> {
  const all = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-api-key': 'bench',
    ...headers,
  }
  return ask(`${url}/v1/messages`, 'POST', all, body, onHead)
}

export function get(url: string): Promise<Answered> {
  return ask(url, 'GET', {}, undefined, () => {})
}

function ask(
  url: string,
  method: string,
  headers: Record<string, string | number>,
  body: string | undefined,
  onHead: () => void,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, agent, headers }, (incoming) => {
      onHead()
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.once('error', reject)
      incoming.once('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          text: Buffer.concat(chunks).toString(),
          headers: incoming.headers,
        }),
      )
    })
    outgoing.once('error', (error: NodeJS.ErrnoException) => {
      const isStale = outgoing.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')
      if (isStale) resolve(ask(url, method, headers, body, onHead))
      else reject(error)
    })
    outgoing.end(body)
  })
}
