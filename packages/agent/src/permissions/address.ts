// Compares the addresses of Fetch calls with rules: by origin and path, as servers understand them.
import { matchesAny } from '@toolshelf/core/internal'

/** An address: as it is, and what a server may make of it. */
export type Address = {
  /** Origin, path and query, without user and final dots. */
  readonly text: string
  /** Origin and path, also with everything decoded; for rules that forbid. */
  readonly meanings: readonly string[]
}

/** Reads the URL of a call; anything that is not a URL is only itself. */
export function readAddress(url: string): Address {
  if (!URL.canParse(url)) return { text: url, meanings: [url] }
  const { pathname, search } = new URL(url)
  const origin = originOf(url)
  const decoded = origin + new URL(clean(pathname), 'http://x').pathname
  return {
    text: origin + pathname + search,
    meanings: [origin + pathname + search, origin + pathname, decoded],
  }
}

/** Returns whether an allow rule's pattern covers an address. What a server may read in another way, it does not cover. */
export function coversAddress(pattern: string, { text }: Address): boolean {
  const isClear = !/%(2f|5c|25)|\/\//i.test(text.replace(/^[^/]*\/\//, '').replace(/\?.*/s, ''))
  return isClear && matchesAny([normalPattern(pattern)], text)
}

/** Returns whether the pattern of a deny or ask rule names an address, in any case. */
export function namesAddress(pattern: string, { meanings }: Address): boolean {
  const wanted = normalPattern(pattern).toLowerCase()
  return meanings.some((one) => matchesAny([wanted], one.toLowerCase()))
}

/** Writes a pattern like an address, if its origin has no `*`. */
function normalPattern(pattern: string): string {
  const [, origin = '', rest = ''] = /^(https?:\/\/[^/*]+)(\/.*)?$/is.exec(pattern) ?? []
  if (!URL.canParse(origin)) return pattern
  const { pathname, search } = new URL(origin + rest)
  return originOf(origin) + pathname + search
}

function originOf(url: string): string {
  const { protocol, hostname, port } = new URL(url)
  return `${protocol}//${hostname.replace(/\.+$/, '')}${port === '' ? '' : `:${port}`}`
}

const MAX_DECODED = 5

/** Decodes a path as often as a chain of servers might, and writes each run of slashes as one. */
function clean(path: string): string {
  let decoded = path
  for (let round = 0; round < MAX_DECODED && decoded.includes('%'); round++)
    decoded = decoded.replace(/%([0-7][0-9a-f])/gi, (_, code) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
  return decoded.replace(/[\\/]+/g, '/')
}
