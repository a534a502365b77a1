// A gateway over HTTP, the official client, and requests that no client would make.
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import { type McpHttpOptions, serveMcpGatewayOnHttp } from '../../../packages/cli/src/http/mcp/http.ts'
import type { ServerConfig } from '../../../packages/mcp/src/types.ts'
import {
  type ClientOptions,
  connectWith,
  type Desk,
  type Open,
  type OpenOptions,
  openGateway,
} from './gateway.ts'

export type HttpDesk = Desk & { readonly transport: StreamableHTTPClientTransport }

export type OpenHttp = Omit<Open, 'connect'> & {
  readonly url: string
  close(): Promise<void>
  connect(
    options?: ClientOptions & {
      readonly key?: string
      readonly headers?: { readonly [name: string]: string }
    },
  ): Promise<HttpDesk>
  /** A request as it is written here, on a connection of its own. */
  send(given: Sent): Promise<Answer>
  /** How many clients the gateway says it has. */
  clients(): Promise<number>
}

export type Sent = {
  readonly method?: string
  readonly path?: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string | object
}

export type Answer = {
  readonly status: number
  readonly text: string
  readonly headers: IncomingMessage['headers']
}

const ACCEPTED = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

export const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}

export async function openHttp(
  servers: readonly ServerConfig[],
  { http = {}, ...options }: OpenOptions & { readonly http?: Partial<McpHttpOptions> } = {},
): Promise<OpenHttp> {
  const { atEnd = onTestFinished } = options
  const { connect: _, ...open } = openGateway(servers, options)
  const served = await serveMcpGatewayOnHttp(open.gateway, { port: 0, ...http })
  atEnd(() => served.close())
  await open.host.settled()
  const send = (given: Sent) => sendTo(served.url, given)
  return {
    ...open,
    url: served.url,
    close: served.close,
    async connect({ key, headers = {}, ...client } = {}) {
      const requestInit = { headers: { ...headers, ...(key ? { authorization: `Bearer ${key}` } : {}) } }
      const transport = new StreamableHTTPClientTransport(new URL(served.url), { requestInit })
      return { ...(await connectWith(transport, client)), transport }
    },
    send,
    clients: async () => JSON.parse((await send({ method: 'GET', path: '/health' })).text).clients,
  }
}

/** Sends a request as it is written here, on a connection of its own. */
export async function sendTo(
  url: string,
  { method = 'POST', path = '/mcp', headers = {}, body = '' }: Sent,
): Promise<Answer> {
  const written = typeof body === 'string' ? body : JSON.stringify(body)
  const options = { method, path, headers: { ...ACCEPTED, ...headers }, agent: false } as const
  return new Promise((resolve, reject) => {
    const sent = request(url, options, async (response) => {
      const read = await text(response).catch(() => '')
      resolve({ status: response.statusCode ?? 0, text: read, headers: response.headers })
    })
    sent.on('error', reject)
    sent.end(written)
  })
}
