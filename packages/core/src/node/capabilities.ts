// Loads a capability table from a file or a URL (G3).
// Implements G3.
import { readFile } from 'node:fs/promises'
import { proxiedFetch } from './proxied-fetch.ts'

const MAX_BYTES = 1_000_000

/** Loads a capability table from a JSON file, for `keepCapabilitiesFresh` and `shelf.refreshCapabilities`. */
export function capabilitiesFromFile(path: string): () => Promise<unknown> {
  return async () => JSON.parse(await readFile(path, 'utf8'))
}

/** Loads a capability table as JSON from a URL, within 10 seconds and 1 MB. */
export function capabilitiesFromUrl(
  url: string,
  fetchUrl: typeof fetch = proxiedFetch,
): () => Promise<unknown> {
  return async () => {
    const response = await fetchUrl(url, { signal: AbortSignal.timeout(10_000) })
    if (!response.ok) throw new Error(`${url} answered ${response.status}`)
    const text = await response.text()
    if (text.length > MAX_BYTES) throw new Error(`${url} answered with ${text.length} characters`)
    return JSON.parse(text)
  }
}
