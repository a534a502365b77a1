// Chooses the way of each request of `fetch`, also of those that follow a redirect: directly, or through a proxy.
// Implements H12.
import { isIP } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import type { buildConnector, Dispatcher } from 'undici'
import Agent from 'undici/lib/dispatcher/agent.js'
import { type HttpProxy, nameProxy, proxyFor } from './proxies.ts'
import { openTunnel } from './proxy-agents.ts'

const direct = new Agent()
const tunnelled = new Agent({ connect: connectThroughTunnel })

/** What `fetch` hands its requests to. */
export const proxyDispatcher = {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const url = options.origin === undefined ? undefined : new URL(options.origin)
    const proxy = url && proxyFor(url)
    if (!proxy) return direct.dispatch(options, handler)
    const named = namingErrors(url, handler)
    if (url.protocol === 'https:') return tunnelled.dispatch(options, named)
    return direct.dispatch(askedOf(proxy, url, options), named)
  },
}

/** Asks the proxy for the whole URL, as it is done for plain HTTP: many allow tunnels to port 443 alone. */
function askedOf(
  proxy: HttpProxy,
  url: URL,
  options: Dispatcher.DispatchOptions,
): Dispatcher.DispatchOptions {
  const { headers } = options
  const given = Array.isArray(headers) ? (headers as string[]) : Object.entries(headers ?? {}).flat(2)
  const names = new Set(given.filter((_, index) => index % 2 === 0).map((name) => String(name).toLowerCase()))
  const added = [
    ...(names.has('host') ? [] : ['host', url.host]),
    ...(proxy.authorization === undefined ? [] : ['proxy-authorization', proxy.authorization]),
  ]
  return {
    ...options,
    origin: proxy.url.origin,
    path: `${url.origin}${options.path}`,
    headers: [...given.map(String), ...added],
  }
}

function connectThroughTunnel(
  { hostname, port, servername }: buildConnector.Options,
  callback: buildConnector.Callback,
): void {
  const host = hostname.replace(/^\[|\]$/g, '')
  const target = { host, port: port || 443 }
  const name = servername || (isIP(host) === 0 ? host : undefined)
  openTunnel(target).then(
    (socket) => {
      const secured = connectSecurely({
        socket,
        ALPNProtocols: ['http/1.1'],
        ...(name ? { servername: name } : {}),
      })
      secured.once('secureConnect', () => callback(null, secured))
      secured.once('error', (error) => callback(error, null))
    },
    (error: Error) => callback(error, null),
  )
}

/** Node's `fetch` speaks to dispatchers in two ways: in the older one up to version 22. */
function namingErrors(url: URL, handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  const named = (error: Error) => nameProxy(url, error) as Error
  return Object.create(handler, {
    onError: { value: (error: Error) => handler.onError?.(named(error)) },
    onResponseError: {
      value: (controller: Dispatcher.DispatchController, error: Error) =>
        handler.onResponseError?.(controller, named(error)),
    },
  })
}
