// `toolshelf keys`: creates, lists and revokes the keys of a gateway's users.
import { quote } from '../lib/index.ts'
import { printable, table } from '../terminal/index.ts'
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

export const keysCommand: Command = {
  name: 'keys',
  summary: "Creates, lists and revokes the keys of a gateway's users.",
  words: '[create <user> [--profile <name>] | revoke <id>] [--users <file>]',
  options: {
    profile: { type: 'string', value: 'name', about: 'for create: the profile of a new user' },
    label: { type: 'string', value: 'text', about: 'for create: what the key is for' },
    expires: {
      type: 'string',
      value: 'time',
      about: 'for create: when the key expires, 12h, 90d, 52w or a date (default: never)',
    },
    ...userFileOption,
    ...storeOption,
    json: { type: 'boolean', about: 'print {"keys": […]}, or {"id", …} of one' },
  },
  examples: [
    'toolshelf keys create ada',
    'toolshelf keys',
    'toolshelf keys create ben --profile developer --label laptop --expires 90d',
    'toolshelf keys revoke 3f0c9a5be17d2864',
    'TOOLSHELF_STORE=redis://127.0.0.1 toolshelf keys create ada',
  ],
  async run(input, terminal) {
    const { action, run, words } = chooseAction(actions, input.words)
    return withUsers(
      input,
      { mayCreate: action === 'create' || isListOfDefault(action, input) },
      (directory) => run({ directory, words, input, terminal }),
    )
  },
}

/**
 * Returns whether a missing file counts as an empty one: it was not named, and nothing is looked for in it.
 */
export function isListOfDefault(action: string, input: Input): boolean {
  return action === 'list' && input.text('users') === undefined
}

type Call = {
  readonly directory: UserDirectory
  readonly words: readonly string[]
  readonly input: Input
  readonly terminal: Terminal
}

const actions: ReadonlyMap<string, (call: Call) => Promise<ExitCode>> = new Map([
  ['list', list],
  ['create', create],
  ['revoke', revoke],
])

async function create({ directory, words, input, terminal }: Call): Promise<ExitCode> {
  const [user, ...others] = words
  if (user === undefined || others.length > 0) throw new UsageError('create takes the id of one user.')
  const expires = expiryIn(input)
  const label = input.text('label')
  const profile = await profileFor(user, directory, input.text('profile'))
  const { createKey } = await import('../users/index.ts')
  const { id, token, record } = createKey(user, { expires, label })
  await directory.saveKey(id, record)
  if (input.isSet('json')) {
    const { hash: _, ...shown } = record
    terminal.print(JSON.stringify({ id, key: token, profile, ...shown }))
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
  const { checkId } = await import('../users/index.ts')
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
export function unknownProfile(
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

async function list({ directory, words, input, terminal }: Call): Promise<ExitCode> {
  if (words.length > 0) throw new UsageError('list takes no arguments.')
  const { keys, users } = await directory.all()
  const uses = await directory.lastUses()
  const { hasExpired } = await import('../users/index.ts')
  const shown = [...keys].map(([id, { hash: _, uid: __, ...record }]) => ({
    id,
    ...record,
    profile: users.get(record.user)?.profile ?? '',
    lastUsed: uses.get(id),
    isExpired: hasExpired(record, Date.now()),
  }))
  shown.sort((a, b) => a.user.localeCompare(b.user) || a.created.localeCompare(b.created))
  if (input.isSet('json')) terminal.print(JSON.stringify({ keys: shown }))
  else if (shown.length === 0) terminal.print('No keys yet. Create one with: toolshelf keys create <user>')
  else {
    const rows = shown.map(({ id, user, profile, label = '', created, lastUsed, expires, isExpired }) => [
      ...[id, printable(user), printable(profile), printable(label), day(created), day(lastUsed)],
      isExpired ? 'expired' : expires === undefined ? 'never' : day(expires),
    ])
    terminal.print(table(['key', 'user', 'profile', 'label', 'created', 'last used', 'expires'], rows))
  }
  return 0
}

function day(time: string | undefined): string {
  return time?.slice(0, 10) ?? 'never'
}

async function revoke({ directory, words, input, terminal }: Call): Promise<ExitCode> {
  const [given, ...others] = words
  if (given === undefined || others.length > 0)
    throw new UsageError('revoke takes the id of one key, as "toolshelf keys" lists it.')
  // Accepts a whole key too, for users who do not know its id.
  const id = /^tsk_([0-9a-f]{16})_/.exec(given)?.[1] ?? given
  if (!(await directory.deleteKey(id)))
    throw new CommandError(`there is no key ${quote(id)} in ${directory.place}; "toolshelf keys" lists them.`)
  if (input.isSet('json')) terminal.print(JSON.stringify({ id, isRevoked: true }))
  else terminal.print(`Revoked ${id}. Gateways that use ${directory.place} refuse it from now on.`)
  return 0
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
