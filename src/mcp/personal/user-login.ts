// The login of one user to a remote server, kept among the user's encrypted credentials.
import type { CredentialStore } from '../../users/credentials/index.ts'
import { type CredentialFile, createOAuth, readCredentials } from '../oauth/index.ts'
import type { AuthProvider, ServerConfig } from '../types.ts'
import { word } from './fill.ts'

/** Returns what authorizes requests of a user; undefined for a server that needs no login. */
export function storedLogin(
  { name, transport }: ServerConfig,
  user: string,
  credentials: CredentialStore,
): AuthProvider | undefined {
  if (transport.kind === 'stdio') return undefined
  if (Object.keys(transport.headers).some((header) => header.toLowerCase() === 'authorization'))
    return undefined
  return createOAuth({
    server: name,
    file: loginFile(credentials, user, { server: name, url: transport.url }, true),
    command: `toolshelf login ${word(name)} --user ${word(user)}`,
  })
}

/** Where a user's login to a server is read and written. */
export function loginFile(
  credentials: CredentialStore,
  user: string,
  { server, url }: { readonly server: string; readonly url: string },
  isQuiet = false,
): CredentialFile {
  return {
    async read() {
      const found = readCredentials((await credentials.read(user, server))?.login)
      // A login at another address is not used for this one.
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
