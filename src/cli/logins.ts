// The stored logins of remote servers, for every command that connects.
import type { ServerConfig } from '../mcp/index.ts'

/** A server with a key in its configuration needs no login. */
export function storedLogins(notify: (message: string) => void) {
  return async ({ name, transport }: ServerConfig) => {
    if (transport.kind === 'stdio') return undefined
    if (Object.keys(transport.headers).some((header) => header.toLowerCase() === 'authorization'))
      return undefined
    const { createOAuth } = await import('../mcp/oauth/authorize.ts')
    const { defaultTokenFolder } = await import('../mcp/oauth/credentials.ts')
    return createOAuth({ folder: defaultTokenFolder(), server: name, url: transport.url, notify })
  }
}
