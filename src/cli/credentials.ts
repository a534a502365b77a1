// `toolshelf credentials`: sets, lists and removes what users have for their personal servers, encrypted in the store.
import { errorMessage, quote, slugOf } from '../lib/index.ts'
import { printable, table } from '../terminal/index.ts'
import type { CredentialStore } from '../users/credentials/index.ts'
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
import { storeOption, uidOf, userFileOption, withUsers } from './gateway/index.ts'
import { credentialsIn } from './servers/index.ts'

export const credentialsCommand: Command = {
  name: 'credentials',
  summary: 'Sets, lists and removes what users of a gateway have for their personal servers.',
  words: '[set <user> <server> <name> | list [user] | remove <user> <server> [name] | rotate]',
  options: {
    ...userFileOption,
    ...storeOption,
    json: { type: 'boolean', about: 'print {"credentials": […]}, names only; or what was done' },
  },
  examples: [
    'toolshelf credentials set ada github GITHUB_TOKEN < token.txt',
    'toolshelf credentials list ada',
    'toolshelf credentials remove ada github',
    'TOOLSHELF_SECRET_KEY=<new>,<old> toolshelf credentials rotate',
  ],
  async run(input, terminal) {
    const { run, words } = chooseAction(actions, input.words)
    // Owners of tokens may have credentials where nobody has a key.
    const mayCreate = input.text('users') === undefined
    return withUsers(input, { mayCreate }, async (directory, store) => {
      if (!store)
        throw new CommandError('credentials are kept in a store; pass --store, or set TOOLSHELF_STORE.')
      try {
        return await run({ credentials: credentialsIn(store), directory, words, input, terminal })
      } catch (error) {
        throw (error as Error).name === 'CredentialError'
          ? new CommandError(`${errorMessage(error)}.`)
          : error
      }
    })
  },
}

type Call = {
  readonly credentials: CredentialStore
  readonly directory: UserDirectory
  readonly words: readonly string[]
  readonly input: Input
  readonly terminal: Terminal
}

const actions: ReadonlyMap<string, (call: Call) => Promise<ExitCode>> = new Map([
  ['list', list],
  ['set', set],
  ['remove', remove],
  ['rotate', rotate],
])

/** The form of a name in `${user:NAME}`. */
const NAME = /^[A-Za-z_]\w{0,99}$/
const MAX_CHARACTERS = 50_000

async function set(call: Call): Promise<ExitCode> {
  const { words, input, terminal } = call
  const [user, given, name, ...others] = words
  const server = given && slugOf(given)
  if (!user || !server || !name || others.length > 0)
    throw new UsageError('set takes a user, a server and a name; it reads the value from standard input.')
  if (!NAME.test(name))
    throw new UsageError(
      `the name is ${quote(name)}; use letters, digits and _, as in \${user:GITHUB_TOKEN}.`,
    )
  const value = await readValue(terminal)
  await change(call, user, server, (before) => ({
    ...before,
    values: { ...before?.values, [name]: value },
  }))
  if (input.isSet('json')) terminal.print(JSON.stringify({ user, server, name, isSet: true }))
  else terminal.print(printable(`Set ${name} of ${user} for ${server}; gateways use it from now on.`))
  return 0
}

/** Changes a record; if it cannot be decrypted, says how to remove it. */
async function change(
  { credentials, directory }: Call,
  user: string,
  server: string,
  makeNext: Parameters<CredentialStore['update']>[2],
): Promise<void> {
  const uid = await uidOf(directory, user)
  try {
    await credentials.update(uid, server, makeNext)
  } catch (error) {
    const entries = await credentials.list(uid).catch(() => [])
    if (entries.find((entry) => entry.server === server)?.problem === undefined) throw error
    throw new CommandError(
      printable(`${errorMessage(error)}. To remove it: toolshelf credentials remove ${user} ${server}`),
    )
  }
}

/** Reads the value from a pipe, so that it appears neither in the shell history nor in the list of processes. */
async function readValue({ input }: Terminal): Promise<string> {
  const stream = input?.stream ?? process.stdin
  if (input ? !input.isPiped : process.stdin.isTTY)
    throw new UsageError('pipe the value in, such as: toolshelf credentials set ada github TOKEN < token.txt')
  let text = ''
  for await (const chunk of stream) {
    text += String(chunk)
    if (text.length > MAX_CHARACTERS)
      throw new CommandError(`the value has more than ${MAX_CHARACTERS} characters.`)
  }
  const value = text.replace(/\r?\n$/, '')
  if (value === '') throw new CommandError('the value is empty.')
  if (/[\0\r\n]/.test(value))
    throw new CommandError('the value has several lines, which no header can have; pass one line.')
  return value
}

async function list({ credentials, directory, words, input, terminal }: Call): Promise<ExitCode> {
  const [user, ...others] = words
  if (others.length > 0) throw new UsageError('list takes at most one user.')
  const found = await credentials.list(user === undefined ? undefined : await uidOf(directory, user))
  const ids = new Map([...(await directory.users())].map(([id, { uid }]) => [uid, id]))
  const entries = found.map((entry) => ({ ...entry, user: ids.get(entry.user) ?? entry.user }))
  if (input.isSet('json')) terminal.print(JSON.stringify({ credentials: entries }))
  else if (entries.length === 0)
    terminal.print('No credentials yet. Set one with: toolshelf credentials set <user> <server> <name>')
  else {
    const rows = entries.map(({ user: owner, server, names, hasLogin, problem }) => [
      ...[printable(owner), printable(server), names.join(', '), hasLogin ? 'yes' : 'no'],
      printable(problem ?? ''),
    ])
    terminal.print(table(['user', 'server', 'values', 'login', 'problem'], rows))
  }
  return 0
}

async function remove(call: Call): Promise<ExitCode> {
  const { credentials, directory, words, input, terminal } = call
  const [user, given, name, ...others] = words
  const server = given && slugOf(given)
  if (!user || !server || others.length > 0)
    throw new UsageError('remove takes a user and a server, and the name of a value unless all are meant.')
  const isThere =
    name === undefined ? await credentials.remove(await uidOf(directory, user), server) : await forget()
  if (!isThere)
    throw new CommandError(
      `${user} has no such credential for ${server}; "toolshelf credentials" lists them.`,
    )
  if (input.isSet('json')) terminal.print(JSON.stringify({ user, server, isRemoved: true }))
  else terminal.print(printable(`Removed ${name ?? 'everything'} of ${user} for ${server}.`))
  return 0

  async function forget(): Promise<boolean> {
    let isKnown = false
    await change(call, user ?? '', server ?? '', (before) => {
      isKnown = before !== undefined && Object.hasOwn(before.values, name ?? '')
      const { [name ?? '']: _, ...values } = before?.values ?? {}
      const isEmpty = Object.keys(values).length === 0 && before?.login === undefined
      return isEmpty ? undefined : { ...before, values }
    })
    return isKnown
  }
}

async function rotate({ credentials, words, input, terminal }: Call): Promise<ExitCode> {
  if (words.length > 0) throw new UsageError('rotate takes no arguments.')
  const count = await credentials.reseal()
  if (input.isSet('json')) terminal.print(JSON.stringify({ rotated: count }))
  else
    terminal.print(
      `${count} ${count === 1 ? 'record is' : 'records are'} now encrypted with the first key of TOOLSHELF_SECRET_KEY.`,
    )
  return 0
}
