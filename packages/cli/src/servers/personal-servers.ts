// Servers for which each user has credentials of their own: which they are, and what opens them.
import type { StateStore } from '@toolshelf/core/internal'
import type { ServerConfig } from '@toolshelf/mcp'
import {
  type CredentialStore,
  createPersonalHosts,
  openCredentialStore,
  openKeyring,
  type PersonalHosts,
  type PersonalHostsOptions,
} from '@toolshelf/mcp/internal/personal'
import { CommandError } from '../command.ts'

/** What decides whether users can have credentials. */
type Surroundings = {
  readonly store?: StateStore | undefined
  readonly hasUsers?: boolean
  /** All clients act for one person, whose login is used. */
  readonly isOnePerson: boolean
}

/** Sets up personal servers; if they cannot work here, their failure says why. */
export function personalParts(
  { store, hasUsers = false, isOnePerson }: Surroundings,
  environment: { readonly [name: string]: string | undefined } = process.env,
) {
  const reason = isOnePerson ? undefined : whyNone(hasUsers, store, environment)
  const isOpen = !isOnePerson && reason === undefined
  const block = (config: ServerConfig) =>
    reason !== undefined && config.credentials === 'user' ? { ...config, blocked: reason } : config
  const isPersonal = (config: ServerConfig) => isOpen && config.credentials === 'user'
  return {
    /** Splits servers into those that all users share, and personal ones. */
    split: (servers: readonly ServerConfig[]) => ({
      servers: servers.filter((config) => !isPersonal(config)).map(block),
      personal: servers.filter(isPersonal),
    }),
    /** Undefined where users cannot have credentials. */
    open(
      servers: readonly ServerConfig[],
      options: Omit<PersonalHostsOptions, 'servers' | 'credentials'>,
    ): PersonalHosts | undefined {
      if (!isOpen || !store) return undefined
      const credentials = credentialsIn(store, environment)
      return createPersonalHosts({ ...options, servers: servers.filter(isPersonal), credentials })
    },
  }
}

function whyNone(
  hasUsers: boolean,
  store: StateStore | undefined,
  { TOOLSHELF_SECRET_KEY: key }: { readonly [name: string]: string | undefined },
): string | undefined {
  if (!hasUsers) return 'each user has credentials of their own for it; pass --users or --oauth-issuer'
  if (!store) return 'credentials of users are kept in a store; pass --store, or set TOOLSHELF_STORE'
  if (!key) return 'credentials of users are encrypted; set TOOLSHELF_SECRET_KEY'
  return undefined
}

/** Opens the credentials of users in a store, with the key from the environment. */
export function credentialsIn(
  store: StateStore,
  { TOOLSHELF_SECRET_KEY: key }: { readonly [name: string]: string | undefined } = process.env,
): CredentialStore {
  if (!key)
    throw new CommandError(
      'credentials are encrypted with TOOLSHELF_SECRET_KEY, which is not set; create a key with "openssl rand -base64 32" and set it here and for the gateway.',
    )
  try {
    return openCredentialStore(store, openKeyring(key))
  } catch (error) {
    throw new CommandError(`${(error as Error).message}.`)
  }
}
