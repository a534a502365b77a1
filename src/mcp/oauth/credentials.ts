// Stores logins, in a private file per server and URL: the tokens, the client they were issued to, and where to
// refresh them. Several processes share it.
import { chmod, mkdir, readdir, rename } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { JsonFile } from '../../node/index.ts'
import type { StateStore } from '../../store/index.ts'
import { type CredentialFile, credentialName, parseCredentials, safeFileName } from './credential-text.ts'
import { openStoredCredentials, storedAddresses } from './stored-credentials.ts'

/** Options of `openCredentials`. */
export type CredentialOptions = {
  readonly folder: string
  /** Stores logins in a store that replicas share, instead of the folder. */
  readonly store?: StateStore | undefined
  readonly server: string
  readonly url: string
  readonly notify: (message: string) => void
  /** The clock in milliseconds; replaceable in tests. */
  readonly now?: () => number
}

export type { CredentialFile, Credentials } from './credential-text.ts'

/** Returns `$XDG_STATE_HOME/toolshelf/tokens`, else `~/.local/state/toolshelf/tokens`. */
export function defaultTokenFolder(
  environment: { readonly [name: string]: string | undefined } = process.env,
): string {
  const { XDG_STATE_HOME: state } = environment
  const base = state !== undefined && isAbsolute(state) ? state : join(homedir(), '.local', 'state')
  return join(base, 'toolshelf', 'tokens')
}

/**
 * Opens the stored login to a server.
 * @internal
 */
export function openCredentials(options: CredentialOptions): CredentialFile {
  const { folder, store, server, url, notify } = options
  if (store) return openStoredCredentials({ ...options, store })
  const path = join(folder, `${credentialName(server, url)}.json`)
  const file = openFile(path)
  return {
    async read() {
      const text = await readText(file)
      if (text === undefined) return undefined
      const found = parseCredentials(text)
      if (found?.server === server && found.url === url) return found
      const broken = `${path}.broken`
      const isAside = await rename(path, broken).then(
        () => true,
        () => false,
      )
      // If it does not exist, another process has already moved it.
      if (isAside) notify(`the stored login of "${server}" could not be read and was set aside as ${broken}`)
      return undefined
    },
    async write(credentials) {
      await makePrivate(folder)
      await file.write(JSON.stringify({ server, url, ...credentials }))
    },
    async remove() {
      await file.remove()
    },
    async alone(work) {
      await makePrivate(folder)
      return file.alone(work)
    },
  }
}

/** Returns the URLs for which a server has logins: more than one if its configuration changed. */
export async function loggedInAddresses(
  folder: string,
  server: string,
  store?: StateStore,
): Promise<string[]> {
  if (store) return storedAddresses(store, server)
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return []
  })
  const own = names.filter((name) => name.startsWith(`${safeFileName(server)}-`) && name.endsWith('.json'))
  const found = await Promise.all(
    own.map(async (name) => parseCredentials((await readText(openFile(join(folder, name)))) ?? '')),
  )
  return found.flatMap((credentials) => (credentials?.server === server ? [credentials.url] : []))
}

/** Milliseconds; longer than a refresh takes. */
const MAX_HOLD_MS = 60_000

function openFile(path: string): JsonFile {
  return new JsonFile(path, { maxHoldMs: MAX_HOLD_MS })
}

async function readText(file: JsonFile): Promise<string | undefined> {
  try {
    return await file.read()
  } catch (error) {
    throw new Error(`the stored login cannot be read: ${(error as Error).message}`)
  }
}

async function makePrivate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
}
