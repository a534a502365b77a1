// Finds the only server that a URI without a server name can belong to. Never guesses: a server must not answer for
// another server's resource.

/** A server that has resources, or may have some. */
export type PossibleOwner = {
  readonly server: string
  /** Whether the server is connected, so that its lists are known. */
  readonly isKnown: boolean
  readonly uris: readonly string[]
  readonly templates: readonly string[]
}

/** Returns the server, or undefined if none or more than one matches. */
export function ownerAmong(servers: readonly PossibleOwner[], uri: string): string | undefined {
  const listing = servers.filter(({ uris, templates }) => uris.includes(uri) || templates.includes(uri))
  const [only, ...others] = listing.length > 0 || servers.length > 1 ? listing : servers.filter(covers(uri))
  if (!only || others.length > 0) return undefined
  const isContested = servers.some((one) => one !== only && (!one.isKnown || covers(uri)(one)))
  return isContested ? undefined : only.server
}

/** Whether the URI starts like one of a server's templates. */
function covers(uri: string): (owner: PossibleOwner) => boolean {
  return ({ templates }) =>
    templates.some((template) => {
      const start = template.split('{')[0] ?? ''
      return start !== '' && uri.startsWith(start)
    })
}
