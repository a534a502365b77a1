// The option `--users`: who may use a gateway, and what they may do. Loaded only if it is given.
import { join } from 'node:path'
import { errorMessage } from '../lib/index.ts'
import { ownConfigFile, thisMachine } from '../mcp/config/index.ts'
import type { StateStore } from '../store/index.ts'
import type { Authenticator, UsageMeter, UserDirectory } from '../users/index.ts'
import { CommandError, type Input, type Option } from './command.ts'

/** Of gateways, where the option turns users on. */
export const usersOption: { readonly users: Option } = {
  users: {
    type: 'string',
    value: 'file',
    isValueOptional: true,
    about: 'keys, rights and limits per user: a file, or --store',
  },
}

/** Of commands that change users. */
export const userFileOption: { readonly users: Option } = {
  users: {
    type: 'string',
    value: 'file',
    about: 'that has the users; --store, or users.json in ~/.config/toolshelf, if left out',
  },
}

/** Opens the users that the options name; the caller closes them, and the store. */
export async function openUsers(
  input: Input,
  store: StateStore | undefined,
  options: { readonly mayCreate?: boolean; readonly notify?: (message: string) => void } = {},
): Promise<UserDirectory> {
  const { openUserFile, openUserStore } = await import('../users/index.ts')
  const file = input.text('users')
  try {
    if (file === undefined && store) return await openUserStore(store)
    return await openUserFile(file ?? defaultUsersFile(), options)
  } catch (error) {
    throw new CommandError(errorMessage(error))
  }
}

/** The user's own file of users. */
export function defaultUsersFile(): string {
  return join(ownConfigFile(thisMachine()), '..', 'users.json')
}

/** What a gateway with users needs. */
export type GatewayUsers = {
  readonly users: Authenticator
  readonly usage: UsageMeter
  close(): Promise<void>
}

/** Opens the users of a gateway; undefined without `--users`. Their use is counted in the store, or in this process. */
export async function gatewayUsersIn(
  input: Input,
  store: StateStore | undefined,
  notify: (message: string) => void,
): Promise<GatewayUsers | undefined> {
  if (input.text('users') === undefined && !input.isSet('users')) return undefined
  const directory = await openUsers(input, store, { notify })
  const { createKeyAuthenticator, createUsageMeter } = await import('../users/index.ts')
  const { createMemoryStore } = await import('../store/index.ts')
  const own = store ? undefined : createMemoryStore()
  const users = createKeyAuthenticator({ directory, notify })
  return {
    users,
    usage: createUsageMeter({ store: store ?? own!, notify }),
    async close() {
      await users.close()
      await directory.close()
      await own?.close()
    },
  }
}
