// Options that several commands share, and what they say: events, services, stores, users and tokens of a gateway. What
// they open is loaded only if one of them asks for it.
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import {
  type Authenticator,
  errorMessage,
  hasCode,
  type Profile,
  quote,
  type StateStore,
} from '@toolshelf/core/internal'
import { ownConfigFile, thisMachine } from '@toolshelf/mcp/internal'
import { LOOPBACK } from '@toolshelf/server/internal'
import type { TokenAccess } from '@toolshelf/server/internal/oauth'
import type { People, UserDirectory } from '@toolshelf/server/internal/users'
import { CommandError, type Input, numberIn, type Option, UsageError, urlIn } from './command.ts'

/** The option, with its default in the help. */
export function timeoutOption(defaultSeconds: number): { readonly timeout: Option } {
  const about = `seconds that a server may take (default: ${defaultSeconds})`
  return { timeout: { value: 'seconds', about } }
}

/** Returns the value in milliseconds; undefined without the option. */
export function timeoutIn(input: Input): number | undefined {
  const isInRange = (value: number) => value >= 1 && value <= 600
  const seconds = numberIn(input, 'timeout', isInRange, 'a number of seconds from 1 to 600')
  return seconds === undefined ? undefined : seconds * 1000
}

/** Where events are written, and whether with arguments and results. */
export type AuditSettings = { readonly file: string; readonly hasContent: boolean }

/** Options of commands whose events have no arguments and results. */
export const auditOption: { readonly [name: string]: Option } = {
  audit: {
    value: 'file',
    isValueOptional: true,
    about:
      'append events as JSON lines, without secrets; rotated; without a file, where "toolshelf inspect" looks',
  },
}

/** Options of commands that run tools. */
export const auditOptions: { readonly [name: string]: Option } = {
  ...auditOption,
  'audit-content': { about: 'with --audit: also arguments and results of calls, shortened' },
}

/** Reads the options; returns undefined without `--audit`. */
export function auditIn(input: Input): AuditSettings | undefined {
  const file = input.text('audit') ?? (input.isSet('audit') ? eventFile() : undefined)
  const hasContent = input.isSet('audit-content')
  if (file === undefined && hasContent) throw new UsageError('--audit-content requires --audit.')
  if (file === '') throw new UsageError('--audit needs the name of a file.')
  return file === undefined ? undefined : { file, hasContent }
}

/**
 * Returns the file that `--audit` records to and `toolshelf inspect` shows if none is named:
 * `$XDG_STATE_HOME/toolshelf/events.jsonl`, else in `~/.local/state`. `findHome` is replaceable in tests.
 */
export function eventFile(findHome: () => string = homedir): string {
  const { XDG_STATE_HOME: given } = process.env
  const state =
    given !== undefined && isAbsolute(given) ? given : join(homeFolder(findHome), '.local', 'state')
  return join(state, 'toolshelf', 'events.jsonl')
}

function homeFolder(findHome: () => string): string {
  try {
    return findHome()
  } catch {
    throw new CommandError('there is no home folder; name a file for events.')
  }
}

/** Names and descriptions of the options. */
export const serviceOptions: { readonly [name: string]: Option } = {
  'tls-cert': { value: 'file', about: 'certificate for HTTPS; read again when it changes' },
  'tls-key': { value: 'file', about: 'the private key of --tls-cert' },
  'tls-ca': { value: 'file', about: 'require client certificates signed by this authority' },
  'open-metrics': { about: 'let anyone read /metrics, without a key' },
  'drain-delay': {
    value: 'seconds',
    about: 'seconds between "not ready" and the end at SIGTERM (default: 0)',
  },
}

/** Returns the values of these options, as both gateways take them. */
export function serviceIn(input: Input) {
  const [cert, key, ca] = ['tls-cert', 'tls-key', 'tls-ca'].map((option) => input.text(option))
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError('--tls-cert and --tls-key belong together; pass both.')
  if (ca !== undefined && cert === undefined) throw new UsageError('--tls-ca needs --tls-cert and --tls-key.')
  return {
    ...(cert !== undefined && key !== undefined ? { tls: { cert, key, ca } } : {}),
    hasOpenMetrics: input.isSet('open-metrics'),
  }
}

const MAX_DELAY_SECONDS = 300

/** Returns the value of `--drain-delay` in milliseconds. */
export function drainDelayIn(input: Input): number {
  const isDelay = (value: number, text: string) => /^\d+(\.\d+)?$/.test(text) && value <= MAX_DELAY_SECONDS
  const wanted = `a number of seconds up to ${MAX_DELAY_SECONDS}`
  return 1000 * (numberIn(input, 'drain-delay', isDelay, wanted) ?? 0)
}

/** What to do about invalid options, by the names that the library gives them. */
export const serviceRemedies = {
  tls: 'pass a certificate with --tls-cert and its private key with --tls-key, both as PEM',
}

/** Options of commands that share state with other processes. */
export const storeOption: { readonly [name: string]: Option } = {
  store: {
    value: 'url',
    values: ['redis://', 'rediss://', 'valkey://'],
    about: 'redis://… that replicas share; better in TOOLSHELF_STORE, as it may hold a password',
  },
}

/** Waits for a database that starts at the same time as the gateway. */
const ATTEMPTS = 5
const PAUSE_MS = 1000

/**
 * Opens the store that `--store` or TOOLSHELF_STORE names and waits until it answers; undefined if none is named. The caller
 * closes it.
 */
export async function storeIn(
  input: Input,
  environment: { readonly [name: string]: string | undefined } = process.env,
  pauseMs: number = PAUSE_MS,
): Promise<StateStore | undefined> {
  const url = input.text('store') ?? environment.TOOLSHELF_STORE
  if (url === undefined || url === '') return undefined
  const source = input.text('store') === undefined ? 'TOOLSHELF_STORE' : '--store'
  const { openStateStore } = await import('@toolshelf/server/internal/store')
  const store = await openStateStore(url).catch((error: unknown) => {
    throw new UsageError(`${source}: ${sentenceOf(error)}`)
  })
  for (let attempt = 1; ; attempt++) {
    const problem = await store.ping().then(
      () => undefined,
      (error: unknown) => error,
    )
    if (problem === undefined) return store
    if (attempt === ATTEMPTS) {
      await store.close()
      throw new CommandError(
        `${source}: ${sentenceOf(problem)} Check that the server is up and the URL is right.`,
      )
    }
    await sleep(pauseMs)
  }
}

/** Returns the message with exactly one full stop. */
function sentenceOf(error: unknown): string {
  return `${errorMessage(error).replace(/\.$/, '')}.`
}

/** The option `--users` of gateways, which turns users on. */
export const usersOption: { readonly users: Option } = {
  users: {
    value: 'file',
    isValueOptional: true,
    about: 'serve users with keys, rights and limits, from this file or the store',
  },
}

/** The option `--users` of commands that change users. */
export const userFileOption: { readonly users: Option } = {
  users: {
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
  const { openUserFile, openUserStore } = await import('@toolshelf/server/internal/users')
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

function defaultUsersFile(): string {
  return join(ownConfigFile(thisMachine()), '..', 'users.json')
}

export type GatewayUsers = NonNullable<Awaited<ReturnType<typeof gatewayUsersIn>>>

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
) {
  const hasDirectory = input.text('users') !== undefined || input.isSet('users')
  const directory = hasDirectory ? await openUsers(input, store, { notify }) : undefined
  const { createKeyAuthenticator } = await import('@toolshelf/server/internal/users')
  const { createPeople } = await import('@toolshelf/server/internal/users')
  const { createUsageMeter } = await import('@toolshelf/server/internal/users')
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
  const { createMemoryStore } = await import('@toolshelf/server/internal/store')
  const own = store ? undefined : createMemoryStore()
  return {
    users: access.users,
    /** Says where clients without a token get one; without metadata while no tokens are accepted. */
    protectedResource: { metadataAt: (path: string) => access.tokens()?.metadataAt(path) },
    /** Sets the URL at which the gateway listens; tokens are for that one, unless a public URL was given. */
    setServedUrl(url: string) {
      servedUrl = url
    },
    usage: createUsageMeter({ store: store ?? own!, notify }),
    /** Reads users, profiles, keys and the OAuth settings again. */
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
  const { createReplaceableAuthenticator } = await import('@toolshelf/server/internal/users')
  const { acceptKeysAndTokens } = await import('@toolshelf/server/internal/oauth')
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

/** Names and descriptions of the options. */
export const oauthOptions: { readonly [name: string]: Option } = {
  'public-url': {
    value: 'url',
    about: 'with --http: URL under which clients reach it, such as https://tools.example.com',
  },
  'oauth-issuer': {
    value: 'url',
    isMultiple: true,
    about: 'with --http: accept access tokens of this identity provider',
  },
  'oauth-audience': {
    value: 'text',
    about: '"aud" that these tokens must have (default: the public URL with /mcp)',
  },
}

/** What else `openTokens` needs. */
type TokenSources = {
  /** The section `oauth` of the users file; undefined if there is none. */
  readonly section: unknown
  readonly profileNamed: (name: string) => Promise<Profile | undefined>
  /** The users whom the operator named as owners of tokens. */
  readonly people: People | undefined
  /** The URL at which the gateway listens, known once it does. */
  readonly servedUrl: () => string
  /** Where the gateway listens. */
  readonly address: string
  readonly notify: (message: string) => void
}

/** Opens the check of access tokens; returns undefined if neither the options nor the users file names an issuer. */
async function openTokens(input: Input, sources: TokenSources): Promise<TokenAccess | undefined> {
  const issuers = input.texts('oauth-issuer')
  const audience = input.text('oauth-audience')
  const publicUrl = publicUrlIn(input)
  if (issuers.length === 0 && sources.section === undefined) {
    if (audience !== undefined) throw new UsageError('--oauth-audience requires --oauth-issuer.')
    return undefined
  }
  if (publicUrl === undefined && !LOOPBACK.has(sources.address))
    throw new UsageError(
      'access tokens are bound to the URL of the gateway; pass the URL that clients use with --public-url.',
    )
  const { createTokenAccess, readOAuthSettings } = await import('@toolshelf/server/internal/oauth')
  const { profileNamed, people, servedUrl, notify } = sources
  const settings = readSettings(() => readOAuthSettings(sources.section, { issuers, audience }))
  const resource = publicUrl === undefined ? servedUrl : endpointAt(publicUrl)
  return createTokenAccess({ ...settings, resource, profileNamed, people, notify })
}

/** A mistake in the settings is the operator's. */
export function readSettings<Settings>(read: () => Settings): Settings {
  try {
    return read()
  } catch (error) {
    throw hasCode(error, 'OPTION') ? new CommandError(`${error.message}.`) : error
  }
}

/** The URL given with `--public-url`, without what could not be part of an endpoint. */
function publicUrlIn(input: Input): string | undefined {
  const value = urlIn(input, 'public-url')
  if (value !== undefined && /[?#]/.test(value))
    throw new UsageError(`--public-url is "${value}"; use a URL without a query.`)
  return value
}

/** Returns the host names that clients may use: those of `--allow`, and that of `--public-url` where only some are accepted. */
export function hostsIn(input: Input, address: string): readonly string[] {
  const hosts = input.texts('allow')
  const publicUrl = publicUrlIn(input)
  const isAnyHost = hosts.length === 0 && !LOOPBACK.has(address)
  return publicUrl === undefined || isAnyHost ? hosts : [...hosts, new URL(publicUrl).hostname]
}

/** The URL of the endpoint: clients are often given it whole. */
function endpointAt(publicUrl: string): string {
  const url = publicUrl.replace(/\/+$/, '')
  return url.endsWith('/mcp') ? url : `${url}/mcp`
}
