// The option `--users`: who may use a gateway, and what they may do. Loaded only if it is given.
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { errorMessage, quote } from '../../lib/index.ts'
import { ownConfigFile, thisMachine } from '../../mcp/config/index.ts'
import type { StateStore } from '../../store/index.ts'
import type { Authenticator, UsageMeter, UserDirectory } from '../../users/index.ts'
import type { TokenAccess } from '../../users/oauth/index.ts'
import { CommandError, type Input, type Option } from '../command.ts'
import { openTokens } from './oauth-options.ts'
import { storeIn } from './store-option.ts'

/** The option `--users` of gateways, which turns users on. */
export const usersOption: { readonly users: Option } = {
  users: {
    type: 'string',
    value: 'file',
    isValueOptional: true,
    about: 'serve users with keys, rights and limits, from this file or the store',
  },
}

/** The option `--users` of commands that change users. */
export const userFileOption: { readonly users: Option } = {
  users: {
    type: 'string',
    value: 'file',
    about: 'file with the users (default: the store, or ~/.config/toolshelf/users.json)',
  },
}

/** Runs a command on the users that the options name, closes them, and turns their errors into those of a command. */
export async function withUsers<Value>(
  input: Input,
  options: { readonly mayCreate: boolean },
  work: (directory: UserDirectory, store: StateStore | undefined) => Promise<Value>,
): Promise<Value> {
  const store = await storeIn(input)
  try {
    const directory = await openUsers(input, store, options)
    try {
      return await work(directory, store)
    } finally {
      await directory.close()
    }
  } catch (error) {
    const { name } = error as Error
    throw name === 'UsersError' || name === 'StoreError' ? new CommandError(`${errorMessage(error)}.`) : error
  } finally {
    await store?.close()
  }
}

/**
 * Returns the `uid` of a user as commands name them: by their id, or as `<issuer>|<subject>` if they have tokens and no name.
 * What is left of a user who was removed by hand goes by its `uid`.
 */
export async function uidOf(directory: UserDirectory, user: string): Promise<string> {
  const known = await directory.findUser(user)
  if (known) return known.uid
  if (user.includes('|') || /^[0-9a-f]{32}$/.test(user)) return user
  throw new CommandError(
    `there is no user ${quote(user)} in ${directory.place}; "toolshelf users" lists them. The owner of a token is <issuer>|<subject>.`,
  )
}

/** Opens the users that the options name; the caller closes them, and the store. */
export async function openUsers(
  input: Input,
  store: StateStore | undefined,
  options: { readonly mayCreate?: boolean; readonly notify?: (message: string) => void } = {},
): Promise<UserDirectory> {
  const { openUserFile, openUserStore } = await import('../../users/index.ts')
  const file = input.text('users')
  try {
    if (file === undefined && store) return await openUserStore(store)
    return await openUserFile(file ?? defaultUsersFile(), options)
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
    const remedy = code === 'ENOENT' ? '; create it with "toolshelf users add", or name another file.' : ''
    throw new CommandError(errorMessage(error) + remedy)
  }
}

/** The user's own file of users. */
function defaultUsersFile(): string {
  return join(ownConfigFile(thisMachine()), '..', 'users.json')
}

/** What a gateway with users needs. */
export type GatewayUsers = {
  readonly users: Authenticator
  readonly usage: UsageMeter
  /** Says where clients without a token get one; without metadata while no tokens are accepted. */
  readonly protectedResource: Pick<TokenAccess, 'metadataAt'>
  /** Sets the URL at which the gateway listens; tokens are for that one, unless a public URL was given. */
  setServedUrl(url: string): void
  /** Reads users, profiles, keys and the OAuth settings again. */
  reload(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens the users of a gateway, who have keys or tokens of an identity provider; undefined without `--users` and
 * `--oauth-issuer`. Their use is counted in the store, or in this process.
 *
 * @param acceptsTokens - Whether the gateway takes tokens of identity providers.
 */
export async function gatewayUsersIn(
  input: Input,
  store: StateStore | undefined,
  notify: (message: string) => void,
  { acceptsTokens = false }: { readonly acceptsTokens?: boolean } = {},
): Promise<GatewayUsers | undefined> {
  const hasDirectory = input.text('users') !== undefined || input.isSet('users')
  const directory = hasDirectory ? await openUsers(input, store, { notify }) : undefined
  const { createKeyAuthenticator, createPeople, createUsageMeter } = await import('../../users/index.ts')
  const people = directory && createPeople(directory)
  let servedUrl = ''
  const openWith = (section: unknown) =>
    openTokens(input, {
      section,
      notify,
      servedUrl: () => servedUrl,
      profileNamed: async (name) => directory?.findProfile(name),
      people,
      address: input.text('address') || '127.0.0.1',
    })
  const keys = directory && createKeyAuthenticator({ directory, notify })
  const tokenOptions = acceptsTokens ? { openWith } : {}
  const access = await openAccess({ directory, keys, notify, ...tokenOptions }).catch(
    async (error: unknown) => {
      await directory?.close()
      throw error
    },
  )
  if (!access) return undefined
  if (directory && !access.tokens()) await warnIfEmpty(directory, input, notify)
  const { createMemoryStore } = await import('../../store/index.ts')
  const own = store ? undefined : createMemoryStore()
  return {
    users: access.users,
    protectedResource: { metadataAt: (path) => access.tokens()?.metadataAt(path) },
    setServedUrl(url) {
      servedUrl = url
    },
    usage: createUsageMeter({ store: store ?? own!, notify }),
    async reload() {
      await directory?.reload()
      await access.followed()
    },
    async close() {
      await access.close()
      people?.close()
      await directory?.close()
      await own?.close()
    },
  }
}

/** Warns if there are neither keys nor tokens: every client would be refused. */
async function warnIfEmpty(
  directory: UserDirectory,
  input: Input,
  notify: (message: string) => void,
): Promise<void> {
  const { users, keys } = await directory.all()
  if (keys.size > 0) return
  const file = input.text('users')
  notify(
    `${directory.place} has no ${users.size === 0 ? 'users' : 'keys'} yet, so nobody can connect; create a key with: toolshelf users add <user>${file === undefined ? '' : ` --users ${file}`}`,
  )
}

type AccessOptions = {
  readonly directory: UserDirectory | undefined
  readonly keys: Authenticator | undefined
  /** Opens the check of tokens by a section `oauth`; returns undefined if no issuer is named. Without it, no tokens are accepted. */
  readonly openWith?: (section: unknown) => Promise<TokenAccess | undefined>
  readonly notify: (message: string) => void
}

/** Accepts keys, tokens or both; follows changes of the section `oauth`. Returns undefined if there are neither. */
async function openAccess({ directory, keys, openWith, notify }: AccessOptions) {
  const { createReplaceableAuthenticator } = await import('../../users/index.ts')
  const { acceptKeysAndTokens } = await import('../../users/oauth/index.ts')
  const combine = (accepted: TokenAccess | undefined) =>
    keys && accepted ? acceptKeysAndTokens(keys, accepted) : (keys ?? accepted)
  let section = openWith && (await directory?.findOAuth())
  let tokens = await openWith?.(section)
  const first = combine(tokens)
  if (!first) return undefined
  const users = createReplaceableAuthenticator(first)

  async function follow(): Promise<void> {
    const next = await directory?.findOAuth()
    if (!openWith || isDeepStrictEqual(next, section)) return
    // Wrong settings are reported once, not at every change of a user.
    section = next
    const former = tokens
    tokens = await openWith(next)
    users.replace(combine(tokens) ?? first!)
    await former?.close()
    notify('the OAuth settings have changed; clients with tokens connect again.')
  }

  let following: Promise<void> = Promise.resolve()
  const stop = directory?.onChange(() => {
    following = following
      .then(follow)
      .catch((error: unknown) => notify(`keeping the previous OAuth settings: ${errorMessage(error)}`))
  })
  return {
    users,
    tokens: () => tokens,
    /** Resolves when every change reported so far is applied. */
    followed: () => following,
    async close() {
      stop?.()
      await following
      await users.close()
    },
  }
}
