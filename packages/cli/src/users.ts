// `toolshelf users`: the users of a gateway with their profiles and keys, and what they have for their personal servers.
import { errorMessage, fieldsOf, quote, type StateStore, slugOf, toJson } from '@toolshelf/core/internal'
import type { CredentialStore } from '@toolshelf/mcp/internal/personal'
import type { UserDirectory } from '@toolshelf/server/internal/users'
import {
  type Command,
  CommandError,
  chooseAction,
  type ExitCode,
  type Input,
  type Terminal,
  UsageError,
} from './command.ts'
import { readSettings, storeOption, uidOf, userFileOption, withUsers } from './options.ts'
import { credentialsIn } from './servers/personal-servers.ts'
import { counted, printable } from './terminal/pen.ts'
import { table } from './terminal/table.ts'

type Run = (input: Input, terminal: Terminal, words: readonly string[]) => Promise<ExitCode>

type Call = {
  readonly directory: UserDirectory
  readonly store: StateStore | undefined
  readonly words: readonly string[]
  readonly input: Input
  /** Prints a document with `--json`, and the text without. */
  readonly say: (document: object, text: string) => ExitCode
  readonly terminal: Terminal
}

/** An action on the users that the options name. By default, a file that was not named counts as empty where it is missing. */
function onUsers(work: (call: Call) => Promise<ExitCode>, mayCreate?: boolean): Run {
  return (input, terminal, words) => {
    const say = (document: object, text: string) => {
      terminal.print(input.isSet('json') ? toJson(document) : text)
      return 0
    }
    const options = { mayCreate: mayCreate ?? input.text('users') === undefined }
    return withUsers(input, options, (directory, store) =>
      work({ directory, store, words, input, say, terminal }),
    )
  }
}

type CredentialCall = Call & { readonly credentials: CredentialStore }

function onCredentials(work: (call: CredentialCall) => Promise<ExitCode>): Run {
  return onUsers(async (call) => {
    if (!call.store)
      throw new CommandError('credentials are kept in a store; pass --store, or set TOOLSHELF_STORE.')
    try {
      return await work({ ...call, credentials: credentialsIn(call.store) })
    } catch (error) {
      throw (error as Error).name === 'CredentialError' ? new CommandError(`${errorMessage(error)}.`) : error
    }
  })
}

/** The action that the first word names. */
function oneOf(actions: readonly (readonly [string, Run])[]): Run {
  return async (input, terminal, words) => {
    const { run, words: others } = chooseAction(new Map(actions), words)
    return run(input, terminal, others)
  }
}

const run = oneOf([
  ['list', onUsers(list)],
  ['add', onUsers(add, true)],
  ['set', onUsers(set, false)],
  ['remove', onUsers(remove, false)],
  ['import', onUsers(importFile, true)],
  [
    'key',
    oneOf([
      ['list', onUsers(listKeys)],
      ['revoke', onUsers(revoke, false)],
    ]),
  ],
  [
    'credentials',
    // Owners of tokens may have credentials where nobody has a key.
    oneOf([
      ['list', onCredentials(listCredentials)],
      ['set', onCredentials(setCredential)],
      ['remove', onCredentials(removeCredential)],
      ['rotate', onCredentials(rotate)],
    ]),
  ],
])

export const usersCommand: Command = {
  name: 'users',
  summary:
    "Adds, lists, changes and removes a gateway's users, their keys, and what they have for their personal servers.",
  words:
    '[add <user> [--profile <name>] | set <user> --profile <name> | remove <user> | import <file> | key [revoke <id>] | credentials [set <user> <server> <name> | list [user] | remove <user> <server> [name] | rotate]]',
  options: {
    profile: { value: 'name', about: 'for add and set: the profile of the user' },
    label: { value: 'text', about: 'for add: what the key is for' },
    expires: {
      value: 'time',
      about: 'for add: when the key expires, 12h, 90d, 52w or a date (default: never)',
    },
    ...userFileOption,
    ...storeOption,
    json: {
      about: 'print {"users": […], "profiles": {…}}, {"keys": […]}, {"credentials": […]} or what was done',
    },
  },
  examples: [
    'toolshelf users add ada',
    'toolshelf users',
    'toolshelf users add ben --profile developer --label laptop --expires 90d',
    'toolshelf users key revoke 3f0c9a5be17d2864',
    'toolshelf users set ada --profile developer',
    'toolshelf users remove ada',
    'TOOLSHELF_STORE=redis://127.0.0.1 toolshelf users import users.json',
    'toolshelf users credentials set ada github GITHUB_TOKEN < token.txt',
    'TOOLSHELF_SECRET_KEY=<new>,<old> toolshelf users credentials rotate',
  ],
  run: (input, terminal) => run(input, terminal, input.words),
}

/** The only argument of an action. */
function only([word, ...others]: readonly string[], problem: string): string {
  if (word === undefined || others.length > 0) throw new UsageError(problem)
  return word
}

function refuseWords(words: readonly string[], action: string): void {
  if (words.length > 0) throw new UsageError(`${action} takes no arguments.`)
}

/** A table, or a sentence if it has no rows. */
function tableOf(header: readonly string[], rows: Parameters<typeof table>[1], none: string): string {
  return rows.length > 0 ? table(header, rows) : none
}

async function list({ directory, words, say }: Call): Promise<ExitCode> {
  refuseWords(words, 'list')
  const { users, profiles, keys } = await directory.all()
  const shown = [...users].map(([id, { profile }]) => ({
    id,
    profile,
    keys: [...keys.values()].filter(({ user }) => user === id).length,
  }))
  const rows = shown.map(({ id, profile, keys: count }) => [printable(id), printable(profile), count])
  const none = 'No users yet. Create one with: toolshelf users add <user>'
  const text = tableOf(['user', 'profile', 'keys'], rows, none)
  return say({ users: shown, profiles: Object.fromEntries(profiles) }, text)
}

/** Creates a key for a user, and the user if they are new. */
async function add({ directory, words, input, terminal }: Call): Promise<ExitCode> {
  const user = only(words, 'add takes the id of one user.')
  const expires = expiryIn(input)
  const label = input.text('label')
  const profile = await profileFor(user, directory, input.text('profile'))
  const { createKey } = await import('@toolshelf/server/internal/users')
  const { id, token, record } = createKey(user, { expires, label })
  await directory.saveKey(id, record)
  if (input.isSet('json')) {
    const { hash: _, ...shown } = record
    terminal.print(toJson({ id, key: token, profile, ...shown }))
    return 0
  }
  const end = record.expires === undefined ? 'never expires' : `expires at ${record.expires}`
  terminal.report(printable(`Key ${id} of user ${user} (profile ${profile}), ${end}, in ${directory.place}:`))
  terminal.print(token)
  terminal.report('It is shown only now: only its hash is kept. Send it as "Authorization: Bearer <key>".')
  const users = input.text('users')
  const store = input.text('store') === undefined ? '' : ' --store <the same>'
  const option = printable(`--users${users === undefined ? '' : ` ${users}`}${store}`)
  terminal.report(
    `Next: start a gateway that asks for keys: toolshelf mcp --http ${option}, or toolshelf serve ${option}`,
  )
  return 0
}

/** The profile of the first user of all: it sees everything. */
const FIRST_PROFILE = 'default'
const LEAVE_OUT = ` Or leave out --profile: the user gets "${FIRST_PROFILE}".`

/** Returns the profile of a user; creates a user who is new. */
async function profileFor(
  user: string,
  directory: UserDirectory,
  given: string | undefined,
): Promise<string> {
  const { checkId } = await import('@toolshelf/server/internal/users')
  checkId('the user', user)
  const known = (await directory.findUser(user))?.profile
  if (known !== undefined && given !== undefined && known !== given)
    throw new CommandError(
      `user ${quote(user)} has the profile ${quote(known)}; change it with: toolshelf users set ${user} --profile ${given}`,
    )
  if (known !== undefined) return known
  const profile = given ?? FIRST_PROFILE
  const { profiles } = await directory.all()
  if (profiles.size === 0 && profile === FIRST_PROFILE) await directory.saveProfile(seeingEverything(profile))
  else if (!profiles.has(profile)) {
    const mayLeaveOut = profiles.size === 0 || profiles.has(FIRST_PROFILE)
    const names = [...profiles.keys()]
    throw unknownProfile(user, given, names, directory, mayLeaveOut ? LEAVE_OUT : '')
  }
  await directory.saveUser(user, { profile })
  return profile
}

function seeingEverything(name: string) {
  const all = { allow: [], deny: [] }
  return { name, servers: all, tools: all, limits: {} }
}

/** Makes the error for a profile that is missing or does not exist. */
function unknownProfile(
  user: string,
  given: string | undefined,
  names: readonly string[],
  { place }: UserDirectory,
  hint = '',
): CommandError {
  const there = names.length > 0 ? `${place} has ${names.join(', ')}` : `${place} has none`
  return new CommandError(
    given === undefined
      ? `user ${quote(user)} is new; name their profile with --profile (${there}).`
      : `there is no profile ${quote(given)} (${there}); write it into "profiles" of the users file first; "toolshelf users import" takes that file into a store.${hint}`,
  )
}

async function set(call: Call): Promise<ExitCode> {
  const { directory, input, terminal } = call
  const user = only(call.words, 'expected the id of one user.')
  const profile = input.text('profile')
  if (profile === undefined) throw new UsageError('set needs --profile <name>.')
  const { profiles, users } = await directory.all()
  if (!users.has(user))
    throw new CommandError(
      `there is no user ${quote(user)} in ${directory.place}; create them with: toolshelf users add ${user} --profile ${profile}`,
    )
  if (!profiles.has(profile)) throw unknownProfile(user, profile, [...profiles.keys()], directory)
  await directory.saveUser(user, { profile })
  terminal.print(printable(`User ${user} has the profile ${profile} from now on.`))
  return 0
}

async function remove(call: Call): Promise<ExitCode> {
  const { directory, store, terminal } = call
  const user = only(call.words, 'expected the id of one user.')
  const { removeUserCredentials } = await import('@toolshelf/mcp/internal/personal')
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
  const file = only(words, 'import takes one file.')
  const { readUserFile } = await import('@toolshelf/server/internal/users')
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
  const { readOAuthSettings } = await import('@toolshelf/server/internal/oauth')
  const { issuer } = fieldsOf(section)
  const fallback = issuer === undefined ? { issuers: ['https://of.an.option.invalid'] } : {}
  readSettings(() => readOAuthSettings(section, fallback))
}

async function listKeys({ directory, words, say }: Call): Promise<ExitCode> {
  refuseWords(words, 'list')
  const { keys, users } = await directory.all()
  const uses = await directory.lastUses()
  const { hasExpired } = await import('@toolshelf/server/internal/users')
  const shown = [...keys].map(([id, { hash: _, uid: __, ...record }]) => ({
    id,
    ...record,
    profile: users.get(record.user)?.profile ?? '',
    lastUsed: uses.get(id),
    isExpired: hasExpired(record, Date.now()),
  }))
  shown.sort((a, b) => a.user.localeCompare(b.user) || a.created.localeCompare(b.created))
  const rows = shown.map(({ id, user, profile, label = '', created, lastUsed, expires, isExpired }) => [
    ...[id, printable(user), printable(profile), printable(label), day(created), day(lastUsed)],
    isExpired ? 'expired' : expires === undefined ? 'never' : day(expires),
  ])
  const header = ['key', 'user', 'profile', 'label', 'created', 'last used', 'expires']
  const none = 'No keys yet. Create one with: toolshelf users add <user>'
  return say({ keys: shown }, tableOf(header, rows, none))
}

function day(time: string | undefined): string {
  return time?.slice(0, 10) ?? 'never'
}

async function revoke({ directory, words, say }: Call): Promise<ExitCode> {
  const given = only(words, 'revoke takes the id of one key, as "toolshelf users key" lists it.')
  // Accepts a whole key too, for users who do not know its id.
  const id = /^tsk_([0-9a-f]{16})_/.exec(given)?.[1] ?? given
  if (!(await directory.deleteKey(id)))
    throw new CommandError(
      `there is no key ${quote(id)} in ${directory.place}; "toolshelf users key" lists them.`,
    )
  const text = `Revoked ${id}. Gateways that use ${directory.place} refuse it from now on.`
  return say({ id, isRevoked: true }, text)
}

const HOURS: { readonly [unit: string]: number } = { h: 1, d: 24, w: 168 }

function expiryIn(input: Input): Date | undefined {
  const value = input.text('expires')
  if (value === undefined) return undefined
  const [, count, unit = ''] = /^([1-9]\d{0,5})([hdw])$/.exec(value) ?? []
  const isDate = /^\d{4}-\d\d-\d\d(T[\d:.]+Z?)?$/.test(value)
  const time =
    count === undefined
      ? isDate
        ? Date.parse(value)
        : Number.NaN
      : Date.now() + Number(count) * (HOURS[unit] ?? 0) * 3_600_000
  if (Number.isNaN(time) || time <= Date.now() || time > LATEST)
    throw new UsageError(
      `--expires is "${value}"; use a future time such as 12h, 90d or 52w, or a date such as 2030-12-31.`,
    )
  return new Date(time)
}

const LATEST = Date.parse('9999-12-31T23:59:59Z')

/** The form of a name in `${user:NAME}`. */
const NAME = /^[A-Za-z_]\w{0,99}$/
const MAX_CHARACTERS = 50_000

async function setCredential(call: CredentialCall): Promise<ExitCode> {
  const [user, given, name, ...others] = call.words
  const server = given && slugOf(given)
  if (!user || !server || !name || others.length > 0)
    throw new UsageError('set takes a user, a server and a name; it reads the value from standard input.')
  if (!NAME.test(name))
    throw new UsageError(
      `the name is ${quote(name)}; use letters, digits and _, as in \${user:GITHUB_TOKEN}.`,
    )
  const value = await readValue(call.terminal)
  await change(call, user, server, (before) => ({
    ...before,
    values: { ...before?.values, [name]: value },
  }))
  return call.say(
    { user, server, name, isSet: true },
    printable(`Set ${name} of ${user} for ${server}; gateways use it from now on.`),
  )
}

/** Changes a record; if it cannot be decrypted, says how to remove it. */
async function change(
  { credentials, directory }: CredentialCall,
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
      printable(`${errorMessage(error)}. To remove it: toolshelf users credentials remove ${user} ${server}`),
    )
  }
}

/** Reads the value from a pipe, so that it appears neither in the shell history nor in the list of processes. */
async function readValue({ input }: Terminal): Promise<string> {
  const stream = input?.stream ?? process.stdin
  if (input ? !input.isPiped : process.stdin.isTTY)
    throw new UsageError(
      'pipe the value in, such as: toolshelf users credentials set ada github TOKEN < token.txt',
    )
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

async function listCredentials({ credentials, directory, words, say }: CredentialCall): Promise<ExitCode> {
  const [user, ...others] = words
  if (others.length > 0) throw new UsageError('list takes at most one user.')
  const found = await credentials.list(user === undefined ? undefined : await uidOf(directory, user))
  const ids = new Map([...(await directory.users())].map(([id, { uid }]) => [uid, id]))
  const entries = found.map((entry) => ({ ...entry, user: ids.get(entry.user) ?? entry.user }))
  const rows = entries.map(({ user: owner, server, names, hasLogin, problem }) => [
    ...[printable(owner), printable(server), names.join(', '), hasLogin ? 'yes' : 'no'],
    printable(problem ?? ''),
  ])
  const none = 'No credentials yet. Set one with: toolshelf users credentials set <user> <server> <name>'
  return say({ credentials: entries }, tableOf(['user', 'server', 'values', 'login', 'problem'], rows, none))
}

async function removeCredential(call: CredentialCall): Promise<ExitCode> {
  const { credentials, directory, words, say } = call
  const [user, given, name, ...others] = words
  const server = given && slugOf(given)
  if (!user || !server || others.length > 0)
    throw new UsageError('remove takes a user and a server, and the name of a value unless all are meant.')
  const isThere =
    name === undefined ? await credentials.remove(await uidOf(directory, user), server) : await forget()
  if (!isThere)
    throw new CommandError(
      `${user} has no such credential for ${server}; "toolshelf users credentials" lists them.`,
    )
  return say(
    { user, server, isRemoved: true },
    printable(`Removed ${name ?? 'everything'} of ${user} for ${server}.`),
  )

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

async function rotate({ credentials, words, say }: CredentialCall): Promise<ExitCode> {
  refuseWords(words, 'rotate')
  const count = await credentials.reseal()
  const records = count === 1 ? 'record is' : 'records are'
  const text = `${count} ${records} now encrypted with the first key of TOOLSHELF_SECRET_KEY.`
  return say({ rotated: count }, text)
}
