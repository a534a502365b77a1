// A fetch that uses the proxies that the environment names. What it needs for that is loaded only if there are any.
// Implements H12.
import { namesProxy } from './proxies.ts'

/** Fetches like the global `fetch`, through the proxy that the environment names for the URL; all our requests do. */
export const proxiedFetch: typeof fetch = async (input, init) => {
  if (!namesProxy()) return fetch(input, init)
  const { proxyDispatcher } = await import('./proxy-dispatcher.ts')
  // An option of Node's `fetch`, which the types of browsers do not know.
  return fetch(input, { dispatcher: proxyDispatcher, ...init } as RequestInit)
}
