// The stored logins of remote servers, for every command that connects.
import type { ServerConfig } from '../../mcp/index.ts'
import type { StateStore } from '../../store/index.ts'

/**
 * Opens the logins in the user's folder, or in the store that replicas share. A server with a key in its configuration
 * needs none.
 */
export function storedLogins(notify: (message: string) => void, store?: StateStore) {
  return async ({ name, transport }: ServerConfig) => {
    if (transport.kind === 'stdio') return undefined
    if (Object.keys(transport.headers).some((header) => header.toLowerCase() === 'authorization'))
      return undefined
    const { createOAuth } = await import('../../mcp/oauth/authorize.ts')
    const { defaultTokenFolder } = await import('../../mcp/oauth/credentials.ts')
    return createOAuth({ folder: defaultTokenFolder(), store, server: name, url: transport.url, notify })
  }
}

/** Returns what to do about a server that needs a login, or more permissions. */
export function loginHint(server: string, scope?: string): string {
  return `run "toolshelf login ${server}${scope === undefined ? '' : ` --scope "${scope}"`}"`
}

/** Returns the options of a host that uses the stored logins of the user. */
export function withStoredLogins(notify: (message: string) => void) {
  return { authorize: storedLogins(notify), loginHint }
}
