// Finds the one server that a URI without a server's name can mean, and refuses to guess: a server must never answer for
// what is another's.

/** A server that has resources, or may have some. */
export type PossibleOwner = {
  readonly server: string
  /** It is connected, so that its lists are known. */
  readonly isKnown: boolean
  readonly uris: readonly string[]
  readonly templates: readonly string[]
}

/** The server, or undefined where none or more than one can be meant. */
export function ownerAmong(servers: readonly PossibleOwner[], uri: string): string | undefined {
  const listing = servers.filter(({ uris, templates }) => uris.includes(uri) || templates.includes(uri))
  const [only, ...others] = listing.length > 0 || servers.length > 1 ? listing : servers.filter(covers(uri))
  if (!only || others.length > 0) return undefined
  const isContested = servers.some((one) => one !== only && (!one.isKnown || covers(uri)(one)))
  return isContested ? undefined : only.server
}

/** True when the URI begins like one of a server's templates. */
function covers(uri: string): (owner: PossibleOwner) => boolean {
  return ({ templates }) =>
    templates.some((template) => {
      const start = template.split('{')[0] ?? ''
      return start !== '' && uri.startsWith(start)
    })
}
