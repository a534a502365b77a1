// Plans what `toolshelf connect` adds: the servers of the chosen files, compared with our own file.
import { isUtf8 } from 'node:buffer'
import { resolve } from 'node:path'
import { readBoundedFile } from '@toolshelf/core/internal/node'
import {
  type ConfigPlace,
  configPlaces,
  describeTransport,
  existingFiles,
  type LocalMachine,
  serverNames,
} from '@toolshelf/mcp/internal'
import { CommandError, type Terminal } from '../../command.ts'
import { printable } from '../../terminal/pen.ts'
import { table } from '../../terminal/table.ts'
import type { Project } from '../../trust/project.ts'
import { type ConnectPlace, type ConnectPlan, isReportable, planConnect } from '../plan.ts'
import { differencesIn } from './differences.ts'

export type ConnectTarget = {
  readonly file: string
  /** Undefined if there is no such file yet. */
  readonly bytes: Buffer | undefined
  readonly text: string
  readonly names: readonly string[]
}

/** The largest target file that is read. */
const MAX_TARGET_BYTES = 64_000_000

/** Reads the target file; `option` is the flag with which the user can choose another one. */
export async function readTarget(file: string, option = '--to'): Promise<ConnectTarget> {
  const bytes = await readBoundedFile(file, MAX_TARGET_BYTES).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new CommandError(
      error.code === undefined
        ? `${file} ${error.message}. Choose another file with ${option}.`
        : `${file} cannot be read (${error.code}).`,
    )
  })
  const read = () => {
    if (bytes && !isUtf8(bytes)) throw new Error('it is not written in UTF-8')
    const text = bytes?.toString() ?? ''
    const filled = text.trim() === '' ? '{}\n' : text
    return { file, bytes, text: filled, names: serverNames(filled) }
  }
  return mendable(file, read, option)
}

/** Refuses to change a file that we cannot parse, so that nothing is lost. */
export function mendable<Result>(file: string, use: () => Result, option = '--to'): Result {
  try {
    return use()
  } catch (error) {
    if (error instanceof CommandError) throw error
    const { message } = error as Error
    throw new CommandError(
      `${file} cannot be changed: ${message}. Fix it, or choose another file with ${option}.`,
    )
  }
}

/** Plans what is copied. A file named by `--from` is the user's choice; other files of the folder must be trusted first. */
export async function makePlan(
  from: readonly string[] | undefined,
  target: ConnectTarget,
  machine: LocalMachine,
  openFolder: (files: readonly string[]) => Promise<Project>,
): Promise<ConnectPlan> {
  const known = configPlaces(machine)
  if (from !== undefined) return planConnect(namedPlaces(from, known, machine), machine, target, 'copy')
  const existing = await existingFiles(known.map(({ file }) => file))
  const places = known.filter(({ file }) => existing.includes(file) && file !== target.file)
  const ofFolder = places.filter(({ isProject }) => isProject)
  const { configs } = await openFolder(ofFolder.map(({ file }) => file))
  const trusted = ofFolder.flatMap(({ client, file }) => {
    const text = configs.find((config) => config.file === file)
    return text ? [{ client, file, text }] : []
  })
  const plan = await planConnect(
    [...places.filter(({ isProject }) => !isProject), ...trusted],
    machine,
    target,
    'copy',
  )
  return { ...plan, problems: plan.problems.filter(isReportable) }
}

type LookedAt = ConfigPlace & { readonly isThere: boolean }

/** Returns the files of all clients that `connect` looks for. */
export async function lookedAt(target: ConnectTarget, machine: LocalMachine): Promise<readonly LookedAt[]> {
  const known = configPlaces(machine).filter(({ file }) => file !== target.file)
  const existing = await existingFiles(known.map(({ file }) => file))
  return known.map((place) => ({ ...place, isThere: existing.includes(place.file) }))
}

/** Returns the files named by `--from`, with the clients that they belong to. */
export function namedPlaces(
  from: readonly string[],
  known: readonly ConfigPlace[],
  { folder }: LocalMachine,
): ConnectPlace[] {
  return from.map((name) => {
    const file = resolve(folder, name)
    return { client: known.find((place) => place.file === file)?.client ?? name, file }
  })
}

/** Returns whether there are no servers because a file cannot be read. An entry that is left out, such as our own, is no fault. */
export function hasOnlyBroken({ servers, problems }: ConnectPlan): boolean {
  return servers.length === 0 && problems.some((one) => one.server === undefined && isReportable(one))
}

/** Returns whether the files hold no servers because an earlier `connect` moved them: their only entries are Toolshelf itself. */
export function isSetUp({ servers, problems, setUp }: ConnectPlan): boolean {
  return servers.length === 0 && setUp.length > 0 && !problems.some(isReportable)
}

const MAX_COLUMNS = 80

/**
 * Shows the plan. `looked`: the files that were looked for, unless the user named some. `inputs` says whether VS Code's entry
 * passes its inputs to the gateway.
 */
export function printPlan(
  plan: ConnectPlan,
  target: ConnectTarget,
  looked: readonly LookedAt[],
  terminal: Terminal,
  inputs: 'hands over' | 'keeps' = 'keeps',
): void {
  if (isSetUp(plan)) return void printSetUp(plan, target, terminal)
  const { servers, problems, setUp } = plan
  for (const client of new Set(setUp.map((place) => place.client)))
    terminal.report(printable(`${client}: already set up.`))
  for (const { file, server, message } of problems)
    terminal.report(
      printable(`${file}: ${server === undefined ? '' : `${JSON.stringify(server)}: `}${message}`),
    )
  if (servers.length === 0 && problems.length > 0)
    return void terminal.print('No MCP server can be taken over: see the problems above.')
  if (servers.length === 0) return void printNothingFound(looked, terminal)
  const rows = servers.map((one) => [
    printable(one.name),
    printable(one.clients.join(', ')),
    printable(describeTransport(one.server.transport)),
    one.state + (one.server.disabled ? ', disabled' : ''),
  ])
  terminal.print(table(['server', 'client', 'runs', 'state'], rows, MAX_COLUMNS))
  for (const line of differencesIn(servers, target.file)) terminal.print(printable(line))
  for (const { name, unset, boundTo } of servers.filter(({ state }) => state === 'new')) {
    if (boundTo !== undefined)
      terminal.report(printable(`${name} is bound to ${boundTo}, its \${workspaceFolder}.`))
    for (const { variable, input } of unset) {
      const asked = input === undefined ? '' : `, which VS Code asks for as ${JSON.stringify(input)}`
      const state =
        input !== undefined && inputs === 'hands over'
          ? ' and hands over. Set it for other clients.'
          : '; it is not set. Set it where your clients start.'
      terminal.report(printable(`${name} needs the environment variable ${variable}${asked}${state}`))
    }
  }
}

/** Says which files were looked for, and which of them exist. */
function printNothingFound(looked: readonly LookedAt[], terminal: Terminal): void {
  terminal.print('No MCP servers were found. Name a file with --from, or add a server with "toolshelf add".')
  if (looked.length === 0) return
  terminal.print('\nLooked at:')
  const width = Math.max(...looked.map(({ client }) => client.length))
  for (const { client, file, isThere, isProject } of looked) {
    const state = isProject ? ' (belongs to this folder)' : ' (has no servers)'
    terminal.print(printable(`  ${client.padEnd(width)}  ${file}${isThere ? state : ''}`))
  }
}

/** Says which files start Toolshelf already, and what to do next. */
function printSetUp({ setUp }: ConnectPlan, { file, names }: ConnectTarget, terminal: Terminal): void {
  const files = setUp.map((place) => place.file)
  terminal.print(
    printable(
      `Nothing to take over: ${files.join(', ')} already ${files.length === 1 ? 'starts' : 'start'} Toolshelf.`,
    ),
  )
  if (names.length === 0)
    return void terminal.print(
      printable(`There are no servers in ${file} yet; add one with "toolshelf add".`),
    )
  terminal.print(printable(`Your servers are in ${file}: ${names.join(', ')}.`))
  terminal.print('Check them with "toolshelf doctor", or add another with "toolshelf add".')
}
