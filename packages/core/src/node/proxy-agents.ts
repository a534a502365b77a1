// Agents of `node:http` and `node:https` that keep connections alive, and use the proxies that the environment names.
// Implements H12.
import { type ClientRequest, Agent as PlainAgent, request as plain, type RequestOptions } from 'node:http'
import { Agent as SecureAgent, request as secure } from 'node:https'
import { isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectSecurely } from 'node:tls'
import { type HttpProxy, namesProxy, ProxyError, proxyFor } from './proxies.ts'

/** A host and a port. */
type Target = { readonly host: string; readonly port: number | string }

/** What Node passes to the methods of an agent. */
type AgentRequest = RequestOptions & Target

/** How Node hands an agent a request: undocumented, but unchanged for ten years, and what proxy agents rely on. */
type HandsRequest = { addRequest(request: ClientRequest, options: AgentRequest): void }

const hostOf = ({ host }: Target) => (isIP(host) === 6 ? `[${host}]` : host)

const urlOf = (protocol: string, target: Target) => new URL(`${protocol}//${hostOf(target)}:${target.port}`)

/** Sends requests through a proxy by asking it for the whole URL. */
class ProxiedPlainAgent extends PlainAgent {
  addRequest(request: ClientRequest, options: AgentRequest): void {
    const proxy = namesProxy() ? proxyFor(urlOf('http:', options)) : undefined
    const hand = (given: AgentRequest) =>
      (PlainAgent.prototype as unknown as HandsRequest).addRequest.call(this, request, given)
    if (!proxy) {
      hand(options)
      return
    }
    request.path = `${urlOf('http:', options).origin}${request.path}`
    if (proxy.authorization !== undefined) request.setHeader('proxy-authorization', proxy.authorization)
    hand({ ...options, ...placeOf(proxy), isSecureProxy: proxy.url.protocol === 'https:' } as AgentRequest)
  }

  override createConnection(options: RequestOptions, callback?: Connected): Duplex | null | undefined {
    const { host, port, isSecureProxy } = options as AgentRequest & { readonly isSecureProxy?: boolean }
    if (!isSecureProxy) return super.createConnection(options, callback)
    return connectSecurely({ host, port: Number(port), servername: host })
  }
}

type Connected = (error: Error | null, stream: Duplex) => void

/** Connects through a proxy by a tunnel, through which the proxy sees nothing but the host. */
class ProxiedSecureAgent extends SecureAgent {
  override createConnection(options: RequestOptions, callback?: Connected): Duplex | null | undefined {
    const target = options as AgentRequest
    if (!namesProxy() || !proxyFor(urlOf('https:', target))) return super.createConnection(options, callback)
    openTunnel(target).then(
      (socket) =>
        callback?.(null, super.createConnection({ ...options, socket } as RequestOptions) as Duplex),
      (error: Error) => callback?.(error, undefined as never),
    )
    return undefined
  }
}

function placeOf({ url }: HttpProxy): { readonly host: string; readonly port: number } {
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port }
}

/** Milliseconds that a proxy may take to connect. */
const TUNNEL_TIMEOUT_MS = 30_000

/** Connects to a host, for TLS, through the proxy that the environment names for it. */
export function openTunnel(target: Target): Promise<Socket> {
  const proxy = proxyFor(urlOf('https:', target))
  if (!proxy) return Promise.reject(new Error('the environment names no proxy any more'))
  const authority = `${hostOf(target)}:${target.port}`
  const headers = {
    host: authority,
    ...(proxy.authorization === undefined ? {} : { 'proxy-authorization': proxy.authorization }),
  }
  return new Promise((resolve, reject) => {
    const refuse = (status: number | undefined) =>
      reject(new ProxyError(`the proxy ${proxy.name} refuses to connect (HTTP ${status})`))
    const request = (proxy.url.protocol === 'https:' ? secure : plain)({
      ...placeOf(proxy),
      method: 'CONNECT',
      path: authority,
      headers,
      agent: false,
    })
    request.setTimeout(TUNNEL_TIMEOUT_MS, () => request.destroy(new Error('it did not answer within 30 s')))
    request.once('error', reject)
    request.once('response', (response) => {
      response.destroy()
      refuse(response.statusCode)
    })
    request.once('connect', (response, socket: Socket) => {
      request.setTimeout(0)
      if (response.statusCode === 200) return resolve(socket)
      socket.destroy()
      refuse(response.statusCode)
    })
    request.end()
  })
}

const POOL = { keepAlive: true, maxSockets: 4096 }
const agents = { 'http:': new ProxiedPlainAgent(POOL), 'https:': new ProxiedSecureAgent(POOL) }

/** Returns the agent for requests of `node:http` or `node:https`; it keeps connections alive, and uses proxies. */
export function agentFor(protocol: string): PlainAgent {
  return protocol === 'https:' ? agents['https:'] : agents['http:']
}
