// Reads and writes the login of one user to a remote server, stored among the user's encrypted credentials.
import type { CredentialStore } from '../../users/credentials/index.ts'
import type { User } from '../../users/index.ts'
import { type CredentialFile, createOAuth, readCredentials } from '../oauth/index.ts'
import type { AuthProvider, ServerConfig } from '../types.ts'
import { shellWord } from './fill.ts'

/** Returns a provider that authorizes a user's requests; undefined for a server that needs no login. */
export function storedLogin(
  { name, transport }: ServerConfig,
  { id, uid }: Pick<User, 'id' | 'uid'>,
  credentials: CredentialStore,
): AuthProvider | undefined {
  if (transport.kind === 'stdio') return undefined
  if (Object.keys(transport.headers).some((header) => header.toLowerCase() === 'authorization'))
    return undefined
  return createOAuth({
    server: name,
    file: loginFile(credentials, uid, { server: name, url: transport.url }, true),
    command: `toolshelf login ${shellWord(name)} --user ${shellWord(id)}`,
  })
}

/** Opens the stored login of a user, by their `uid`, to a server. */
export function loginFile(
  credentials: CredentialStore,
  user: string,
  { server, url }: { readonly server: string; readonly url: string },
  isQuiet = false,
): CredentialFile {
  return {
    async read() {
      const found = readCredentials((await credentials.read(user, server))?.login)
      // Ignores a login for another URL.
      return found?.server === server && found.url === url ? found : undefined
    },
    write: (login) =>
      credentials.update(
        user,
        server,
        (before) => ({ values: before?.values ?? {}, login: { server, url, ...login } }),
        { isQuiet },
      ),
    remove: () =>
      credentials.update(user, server, (before) => {
        if (!before || Object.keys(before.values).length === 0) return undefined
        return { values: before.values }
      }),
    alone: (work) => credentials.alone(user, server, work),
  }
}
