// The servers that a command starts: which ones, what is said if there are none or if some are late, and their logins.
import { join } from 'node:path'
import type { StateStore } from '@toolshelf/core/internal'
import {
  type LoadedConfig,
  type McpHost,
  readConfig,
  type ServerConfig,
  userConfigFiles,
} from '@toolshelf/mcp'
import {
  type ConfigProblem,
  configPlaces,
  existingFiles,
  keepReferences,
  type LocalMachine,
  ownConfigFile,
  readEntries,
  readServer,
  type ServerEntry,
} from '@toolshelf/mcp/internal'
import { CommandError } from '../command.ts'
import type { UntrustedServer } from '../doctor/report.ts'
import { visible } from '../terminal/table.ts'
import { isTrusted, trustStore } from '../trust/open.ts'
import { type Project, readProject } from '../trust/project.ts'

/** The servers that a command may start, and those that it may not. */
export type ServersToStart = {
  readonly config: LoadedConfig
  readonly untrusted: readonly UntrustedServer[]
  readonly files: readonly string[]
}

type StartOptions = { readonly isTrusting: boolean; readonly notify: (message: string) => void }

/** Reads the configuration. Servers of an untrusted folder are listed, not started. Throws if there is no server at all. */
export async function serversToStart(
  named: readonly string[] | undefined,
  machine: LocalMachine,
  options: StartOptions,
): Promise<ServersToStart> {
  const found = await serversIfAny(named, machine, options)
  const { config, untrusted, files } = found
  if (config.servers.length + untrusted.length > 0) return found
  const moved = named && (await movedServersAdvice(config.problems, machine))
  if (moved !== undefined) throw new CommandError(moved)
  const problems = config.problems.map(
    ({ file, server, message }) => `  ${file}: ${server === undefined ? '' : `${server}: `}${message}`,
  )
  const looked = problems.length > 0 ? problems : files.map((file) => `  ${file}: no servers in it.`)
  throw new CommandError(['no server to start.', ...looked, await whatToDo(machine, named)].join('\n'))
}

/** Does the same for commands that also work without servers. */
export async function serversIfAny(
  named: readonly string[] | undefined,
  machine: LocalMachine,
  { isTrusting, notify }: StartOptions,
): Promise<ServersToStart> {
  const project = await readProject(machine, { ...(named ? { configs: [] } : {}), isForAgent: false })
  const mayUse = isTrusting || (await isTrusted(project, trustStore(machine, notify)))
  const own = await existingFiles(userConfigFiles(machine))
  const none = own.length + project.configs.length + project.problems.length === 0
  const files = named ?? [...(none ? userConfigFiles(machine) : own), ...(mayUse ? project.configs : [])]
  const read = await readConfig(files, machine.environment, machine)
  return {
    config: { ...read, problems: [...read.problems, ...project.problems] },
    untrusted: mayUse ? [] : untrustedIn(project, machine, notify),
    files: files.map((file) => (typeof file === 'string' ? file : file.file)),
  }
}

const MAX_UNTRUSTED = 50

function untrustedIn(
  { items }: Project,
  { folder }: LocalMachine,
  notify: (message: string) => void,
): UntrustedServer[] {
  const servers = items.filter(({ kind }) => kind === 'server')
  if (servers.length > MAX_UNTRUSTED)
    notify(`${servers.length} servers of ${folder} are not trusted; ${MAX_UNTRUSTED} of them are shown.`)
  return servers
    .slice(0, MAX_UNTRUSTED)
    .map(({ title, file, effect }) => ({ name: visible(title), source: join(folder, file), does: effect }))
}

async function whatToDo(machine: LocalMachine, named: readonly string[] | undefined): Promise<string> {
  if (named)
    return `Correct ${named.length === 1 ? 'this file' : 'these files'}, or leave out --config to use your own configuration.`
  const places = configPlaces(machine)
  const existing = new Set(await existingFiles(places.map(({ file }) => file)))
  const clients = new Set(places.filter(({ file }) => existing.has(file)).map(({ client }) => client))
  const found = clients.size > 0 ? ` (there are files of ${[...clients].join(', ')})` : ''
  return `Run \`toolshelf connect\` to take over the servers of your clients${found}, \`toolshelf add\` to add one, or pass a file with --config.`
}

/** For problems of files that were named by `--config`; undefined if none of them starts Toolshelf. */
export async function movedServersAdvice(
  problems: readonly ConfigProblem[],
  machine: LocalMachine,
): Promise<string | undefined> {
  const file = problems.find(({ kind }) => kind === 'own-entry')?.file
  if (file === undefined) return undefined
  const own = ownConfigFile(machine)
  const entry = await gatewayEntryIn(file, machine)
  const target = (entry && configNamedBy(entry)) ?? own
  const remedy = target === own ? 'Leave out --config.' : `Pass --config ${target} instead.`
  return `${file} starts Toolshelf; its servers are in ${target}. ${remedy}`
}

/** Returns the user's clients whose own configuration starts Toolshelf with the servers of `file`. */
export async function clientsStarting(file: string, machine: LocalMachine): Promise<string[]> {
  const places = configPlaces(machine).filter(({ isProject }) => !isProject)
  const existing = await existingFiles(places.map((place) => place.file))
  const clients = new Set<string>()
  for (const place of places.filter((one) => existing.includes(one.file))) {
    const entry = await gatewayEntryIn(place.file, machine)
    if (entry && (configNamedBy(entry) ?? ownConfigFile(machine)) === file) clients.add(place.client)
  }
  return [...clients]
}

/** Returns the entry that starts Toolshelf. */
async function gatewayEntryIn(file: string, machine: LocalMachine): Promise<ServerEntry | undefined> {
  const { entries } = await readEntries(file, machine)
  return entries.find((one) => readServer(one, file, machine, keepReferences).isOwnEntry === true)
}

/** Returns the file that the gateway's entry names. */
function configNamedBy({ fields }: ServerEntry): string | undefined {
  const args = Array.isArray(fields.args) ? fields.args.map(String) : []
  const at = args.indexOf('--config')
  return at >= 0 ? args[at + 1] : args.find((word) => word.startsWith('--config='))?.slice('--config='.length)
}

/** Returns the sentence about a server's changes that hosts add to their messages. */
export function pinsHint(server: string): string {
  return `Look at it with "toolshelf trust ${server}" and accept it there, or with --yes.`
}

/** What the model reads while no server is configured. */
export const noServersHint =
  'Tell the user to run "toolshelf connect --apply" or "toolshelf add" in a terminal: your next search finds what is added.'

/**
 * Opens the logins in the user's folder, or in the store that replicas share. A server with a key in its configuration
 * needs none.
 */
export function storedLogins(notify: (message: string) => void, store?: StateStore) {
  return async ({ name, transport }: ServerConfig) => {
    if (transport.kind === 'stdio') return undefined
    if (Object.keys(transport.headers).some((header) => header.toLowerCase() === 'authorization'))
      return undefined
    const { createOAuth, defaultTokenFolder } = await import('@toolshelf/mcp/internal/oauth')
    return createOAuth({ folder: defaultTokenFolder(), store, server: name, url: transport.url, notify })
  }
}

/** Returns what to do about a server that needs a login, or more permissions. */
export function loginHint(server: string, scope?: string): string {
  return `run "toolshelf login ${server}${scope === undefined ? '' : ` --scope "${scope}"`}"`
}

/** Returns the options of a host that uses the stored logins of the user. */
export function withStoredLogins(notify: (message: string) => void) {
  return { authorize: storedLogins(notify), loginHint }
}

const SOON_MS = 1500

/** Reports the servers that are still starting after 1.5 seconds; the returned function cancels the report. */
export function reportWaiting(host: McpHost, notify: (message: string) => void): () => void {
  const timer = setTimeout(() => {
    const starting = startingServers(host)
    if (starting) notify(`waiting for ${starting.named} …`)
  }, SOON_MS)
  return () => clearTimeout(timer)
}

/** Returns the servers that are still starting, for a sentence; undefined if there are none. */
export function startingServers(
  host: McpHost,
): { readonly named: string; readonly verb: 'is' | 'are' } | undefined {
  const names = host.status().flatMap(({ name, state }) => (state === 'pending' ? [`"${name}"`] : []))
  if (names.length === 0) return undefined
  if (names.length === 1) return { named: `the server ${names[0]}`, verb: 'is' }
  return { named: `the servers ${names.join(', ')}`, verb: 'are' }
}
