// Reads and writes routes in the URL fragment, such as `#/conversations/<id>/<turn>?compare=3`, so that reloading keeps them.
import { useEffect, useState } from 'preact/hooks'

/** All of `PageName`, in the order of the navigation. */
export const PAGE_NAMES = ['conversations', 'search', 'costs', 'servers'] as const
/** A page of the inspector. */
export type PageName = (typeof PAGE_NAMES)[number]

/** A place in the page. */
export type Route = {
  readonly page: PageName
  /** What follows the page, decoded. */
  readonly parts: readonly string[]
  readonly query: URLSearchParams
}

/** Parses a fragment. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  const [page, ...parts] = path.split('/').filter((part) => part !== '')
  const known = PAGE_NAMES.find((name) => name === page)
  return { page: known ?? 'conversations', parts: parts.map(decoded), query: new URLSearchParams(query) }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Returns the address of a place; parameters without a value are left out. */
export function linkTo(
  page: PageName,
  parts: readonly (string | number)[] = [],
  query: { readonly [name: string]: string | undefined } = {},
): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, value]],
  )
  const path = [page, ...parts.map((part) => encodeURIComponent(String(part)))].join('/')
  return `#/${path}${given.length > 0 ? `?${new URLSearchParams(given)}` : ''}`
}

/** Opens a link. */
export function goTo(link: string, { isReplaced = false } = {}): void {
  if (!isReplaced) location.hash = link
  else {
    history.replaceState(null, '', link)
    dispatchEvent(new HashChangeEvent('hashchange'))
  }
}

/** Returns the current route; the component is drawn again when it changes. */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const update = () => setHash(location.hash)
    addEventListener('hashchange', update)
    return () => removeEventListener('hashchange', update)
  }, [])
  return parseRoute(hash)
}
