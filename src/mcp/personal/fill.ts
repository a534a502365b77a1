// Completes the configuration of a personal server with its user's stored credentials, or says what is missing.
import { CredentialError, type UserCredentials } from '../../users/credentials/index.ts'
import { fillUserValues, userValuesIn } from '../config/index.ts'
import type { ServerConfig } from '../types.ts'

/** A user's credentials for a server; an error if they cannot be read. */
export type FoundCredentials = UserCredentials | Error | undefined

/** Returns the configuration of a user's server, which starts at its first use and stops when idle. */
export function serverForUser(config: ServerConfig, user: string, found: FoundCredentials): ServerConfig {
  const { blocked: _, ...own } = config
  const lazy = { ...own, lazy: true }
  if (found instanceof CredentialError)
    return { ...lazy, blocked: `your credentials cannot be used: ${found.message}` }
  if (found instanceof Error)
    return { ...lazy, blocked: `your credentials cannot be read now: ${found.message}` }
  const missing = userValuesIn(config.transport).filter((name) => !Object.hasOwn(found?.values ?? {}, name))
  if (missing.length > 0) return { ...lazy, blocked: aboutMissing(config.name, user, missing) }
  return fillUserValues(lazy, found?.values ?? {})
}

function aboutMissing(server: string, user: string, names: readonly string[]): string {
  const [first = ''] = names
  const command = ['toolshelf users credentials set', shellWord(user), shellWord(server), first].join(' ')
  return `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} not set for you; the operator of the gateway sets a value with: ${command}`
}

/** Quotes a word for a command line; ids of users may contain any character. */
export function shellWord(text: string): string {
  return /^[\w@.+:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
