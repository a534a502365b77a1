// Finds the servers that a command may start: of the named files, or of the user and, if it is trusted, of this folder.
import { join } from 'node:path'
import {
  configPlaces,
  existingFiles,
  type LoadedConfig,
  type LocalMachine,
  readConfig,
  userConfigFiles,
} from '../../mcp/config/index.ts'
import { visible } from '../../terminal/index.ts'
import { CommandError } from '../command.ts'
import type { UntrustedServer } from '../doctor/index.ts'
import { isTrusted, type Project, readProject, trustStore } from '../trust/index.ts'
import { movedServersAdvice } from './moved-servers.ts'

/** The servers that a command may start, and those that it may not. */
export type ServersToStart = {
  readonly config: LoadedConfig
  readonly untrusted: readonly UntrustedServer[]
  /** The files that were read. */
  readonly files: readonly string[]
}

type StartOptions = { readonly isTrusting: boolean; readonly notify: (message: string) => void }

/**
 * Reads the configuration. Servers of an untrusted folder are listed, not started. Throws if there is no server at
 * all.
 */
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
