// `toolshelf users`: lists a gateway's users, changes their profiles, and takes a file of users into a store.
import { fieldsOf, quote, toJson } from '../lib/index.ts'
import { OptionError } from '../node/index.ts'
import type { StateStore } from '../store/index.ts'
import { counted, printable, table } from '../terminal/index.ts'
import type { UserDirectory } from '../users/index.ts'
import {
  type Command,
  CommandError,
  chooseAction,
  type ExitCode,
  type Input,
  type Terminal,
  UsageError,
} from './command.ts'
import { storeOption, userFileOption, withUsers } from './gateway/index.ts'
import { isListOfDefault, unknownProfile } from './keys.ts'

export const usersCommand: Command = {
  name: 'users',
  summary: "Lists a gateway's users, and changes their profiles.",
  words: '[set <user> --profile <name> | remove <user> | import <file>] [--users <file>]',
  options: {
    profile: { type: 'string', value: 'name', about: 'for set: the new profile of the user' },
    ...userFileOption,
    ...storeOption,
    json: { type: 'boolean', about: 'print {"users": […], "profiles": {…}}' },
  },
  examples: [
    'toolshelf users',
    'toolshelf users set ada --profile developer',
    'toolshelf users remove ada',
    'TOOLSHELF_STORE=redis://127.0.0.1 toolshelf users import users.json',
  ],
  async run(input, terminal) {
    const { action, run, words } = chooseAction(actions, input.words)
    return withUsers(
      input,
      { mayCreate: action === 'import' || isListOfDefault(action, input) },
      (directory, store) => run({ directory, store, words, input, terminal }),
    )
  },
}

type Call = {
  readonly directory: UserDirectory
  readonly store: StateStore | undefined
  readonly words: readonly string[]
  readonly input: Input
  readonly terminal: Terminal
}

const actions: ReadonlyMap<string, (call: Call) => Promise<ExitCode>> = new Map([
  ['list', list],
  ['set', set],
  ['remove', remove],
  ['import', importFile],
])

async function list({ directory, words, input, terminal }: Call): Promise<ExitCode> {
  if (words.length > 0) throw new UsageError('list takes no arguments.')
  const { users, profiles, keys } = await directory.all()
  const shown = [...users].map(([id, { profile }]) => ({
    id,
    profile,
    keys: [...keys.values()].filter(({ user }) => user === id).length,
  }))
  if (input.isSet('json')) terminal.print(toJson({ users: shown, profiles: Object.fromEntries(profiles) }))
  else if (shown.length === 0) terminal.print('No users yet. Create one with: toolshelf keys create <user>')
  else
    terminal.print(
      table(
        ['user', 'profile', 'keys'],
        shown.map(({ id, profile, keys: count }) => [printable(id), printable(profile), count]),
      ),
    )
  return 0
}

async function set(call: Call): Promise<ExitCode> {
  const { directory, input, terminal } = call
  const user = userIn(call)
  const profile = input.text('profile')
  if (profile === undefined) throw new UsageError('set needs --profile <name>.')
  const { profiles, users } = await directory.all()
  if (!users.has(user))
    throw new CommandError(
      `there is no user ${quote(user)} in ${directory.place}; create them with: toolshelf keys create ${user} --profile ${profile}`,
    )
  if (!profiles.has(profile)) throw unknownProfile(user, profile, [...profiles.keys()], directory)
  await directory.saveUser(user, { profile })
  terminal.print(printable(`User ${user} has the profile ${profile} from now on.`))
  return 0
}

async function remove(call: Call): Promise<ExitCode> {
  const { directory, store, terminal } = call
  const user = userIn(call)
  const { removeUserCredentials } = await import('../users/credentials/index.ts')
  const known = await directory.findUser(user)
  const servers = store && known ? await removeUserCredentials(store, known.uid) : 0
  if (!(await directory.deleteUser(user)))
    throw new CommandError(
      `there is no user ${quote(user)} in ${directory.place}; "toolshelf users" lists them.`,
    )
  const credentials = servers > 0 ? `, and their credentials for ${counted(servers, 'server')}` : ''
  terminal.print(printable(`Removed user ${user} and all of their keys${credentials}.`))
  return 0
}

/** Imports profiles, users, keys and the section `oauth` from a file; keeps everything else. */
async function importFile({ directory, words, terminal }: Call): Promise<ExitCode> {
  const [file, ...others] = words
  if (file === undefined || others.length > 0) throw new UsageError('import takes one file.')
  const { readUserFile } = await import('../users/index.ts')
  const before = await directory.users()
  const { profiles, users, keys, oauth } = await readUserFile(file, before)
  const other = [...users].find(([id, { uid }]) => (before.get(id)?.uid ?? uid) !== uid)
  if (other)
    throw new CommandError(
      `the user ${quote(other[0])} of ${file} is another one than that of ${directory.place}; remove that one first ("toolshelf users remove"), or leave every "uid" out of ${file} if they are the same.`,
    )
  if (oauth !== undefined) await checkOAuth(oauth)
  for (const profile of profiles.values()) await directory.saveProfile(profile)
  for (const [id, user] of users) await directory.saveUser(id, user)
  for (const [id, key] of keys) await directory.saveKey(id, key)
  if (oauth !== undefined) await directory.saveOAuth(oauth)
  const parts = [
    counted(profiles.size, 'profile'),
    counted(users.size, 'user'),
    ...(oauth === undefined ? [] : ['the OAuth settings']),
  ]
  terminal.print(
    printable(`Imported ${parts.join(', ')} and ${counted(keys.size, 'key')} into ${directory.place}.`),
  )
  return 0
}

/** A mistake is reported here, not by the gateways that read it later. Gateways may be given their issuers by an option. */
async function checkOAuth(section: unknown): Promise<void> {
  const { readOAuthSettings } = await import('../users/oauth/index.ts')
  const { issuer } = fieldsOf(section)
  const fallback = issuer === undefined ? { issuers: ['https://of.an.option.invalid'] } : {}
  try {
    readOAuthSettings(section, fallback)
  } catch (error) {
    throw error instanceof OptionError ? new CommandError(`${error.message}.`) : error
  }
}

function userIn({ words }: Call): string {
  const [user, ...others] = words
  if (user === undefined || others.length > 0) throw new UsageError('expected the id of one user.')
  return user
}
