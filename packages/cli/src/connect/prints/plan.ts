// Plans what `toolshelf connect` adds: the servers of the chosen files, compared with our own file.
import { isUtf8 } from 'node:buffer'
import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { readBoundedFile } from '@toolshelf/core/internal/node'
import type { ServerConfig } from '@toolshelf/mcp'
import {
  type ConfigPlace,
  configPlaces,
  createTextRedactor,
  describeTransport,
  existingFiles,
  type LocalMachine,
  serverNames,
} from '@toolshelf/mcp/internal'
import { CommandError, type Terminal } from '../../command.ts'
import { fit, printable } from '../../terminal/pen.ts'
import { table } from '../../terminal/table.ts'
import type { Project } from '../../trust/project.ts'
import {
  type ConnectPlace,
  type ConnectPlan,
  isReportable,
  type PlannedServer,
  planConnect,
} from '../plan.ts'

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

const MAX_LINE_COLUMNS = 200

/**
 * Returns one line for each server that was renamed, that the user has narrowed in our file, or that runs the same as one
 * before it.
 */
function differencesIn(servers: readonly PlannedServer[], ourFile: string): string[] {
  const firsts = new Map<string, PlannedServer>()
  return servers.flatMap((one) => {
    const runs = describeTransport(one.server.transport)
    const first = firsts.get(runs)
    if (!first) firsts.set(runs, one)
    const line = lineAbout(one, first, ourFile)
    return line === undefined ? [] : [fit(line, MAX_LINE_COLUMNS)]
  })
}

function lineAbout(
  { name, state, other, server }: PlannedServer,
  first: PlannedServer | undefined,
  ourFile: string,
): string | undefined {
  if (state === 'kept') {
    if (!other?.server) return undefined
    const parts = differences({ name, server: other.server }, { name: 'the client', server }, true)
    return `${name} stays as it is in ${ourFile}: ${parts}.`
  }
  const beside = other ?? first
  if (!beside) return undefined
  if (!beside.server)
    return `${name} has another name: ${ourFile} has a server ${beside.name} that cannot be used.`
  const besideNamed = { name: beside.name, server: beside.server }
  const isSame = other === undefined && differencesOf({ name, server }, besideNamed, false).length === 0
  if (isSame) return `${name} is the same as ${beside.name} under another name.`
  const parts = differences({ name, server }, besideNamed, other !== undefined)
  return `${name} differs from ${beside.name}${other?.isOurs ? ` in ${ourFile}` : ''}: ${parts}.`
}

type Named = { readonly name: string; readonly server: ServerConfig }

/** `isWhole`: with their other settings too, even if what they run tells them apart. */
function differencesOf(one: Named, other: Named, isWhole: boolean): string[] {
  const programs = programsApart(one, other)
  return isWhole || programs.length === 0
    ? [...programs, ...settingsApart(one.server, other.server)]
    : programs
}

function differences(one: Named, other: Named, isWhole: boolean): string {
  const parts = differencesOf(one, other, isWhole)
  return parts.length > 0 ? parts.join('; ') : 'other settings of the entry'
}

/** Shows the parts of a program only beside those of the same one: alone, an argument may be a secret. */
function programsApart(one: Named, other: Named): string[] {
  const runs = [one, other].map(({ server }) => describeTransport(server.transport))
  if (runs[0] !== runs[1]) return [`runs ${runs[0]} instead of ${runs[1]}`]
  const redact = createTextRedactor([one.server, other.server])
  const [here, there] = [programOf(one.server), programOf(other.server)]
  return [
    ...namesApart(here.named, there.named, one.name, other.name),
    ...wordsApart(here.words, there.words, redact),
    ...(here.place === there.place ? [] : [`${redact(here.place)} instead of ${redact(there.place)}`]),
  ]
}

type Program = {
  /** Environment variables or headers. */
  readonly named: { readonly [name: string]: string }
  readonly words: readonly string[]
  /** The URL, or the command and its folder. */
  readonly place: string
}

function programOf({ transport }: ServerConfig): Program {
  if (transport.kind !== 'stdio') return { named: transport.headers, words: [], place: transport.url }
  const { command, args, cwd, env } = transport
  return { named: env, words: args, place: cwd === undefined ? command : `${command} in ${cwd}` }
}

/** Compares values, and shows only their names. */
function namesApart(
  here: Program['named'],
  there: Program['named'],
  hereName: string,
  thereName: string,
): string[] {
  const only = (some: Program['named'], other: Program['named']) =>
    Object.keys(some).filter((name) => !Object.hasOwn(other, name))
  const changed = Object.keys(here).filter((name) => Object.hasOwn(there, name) && here[name] !== there[name])
  return [
    ...changed.map((name) => `another value of ${name}`),
    ...only(here, there).map((name) => `${name} only in ${hereName}`),
    ...only(there, here).map((name) => `${name} only in ${thereName}`),
  ]
}

function wordsApart(
  here: readonly string[],
  there: readonly string[],
  redact: (text: string) => string,
): string[] {
  if (isDeepStrictEqual(here, there)) return []
  const beyond = (some: readonly string[], other: readonly string[]) =>
    some.filter((word) => !other.includes(word)).map(redact)
  const [added, removed] = [beyond(here, there), beyond(there, here)]
  if (added.length === 0 && removed.length === 0) return ['arguments in another order']
  const counted = (words: readonly string[]) => (words.length === 0 ? 'none' : words.join(' '))
  return [`arguments ${counted(added)} instead of ${counted(removed)}`]
}

/** Compares the settings that decide what a client can do with the server; other keys only by their names. */
function settingsApart(here: ServerConfig, there: ServerConfig): string[] {
  const apart = (key: string, one: string, other: string) =>
    one === other ? [] : [`${key} ${one} instead of ${other}`]
  return [
    ...apart('type', typeOf(here), typeOf(there)),
    ...(here.disabled === there.disabled ? [] : [here.disabled ? 'disabled' : 'not disabled']),
    ...apart('allowed tools', here.allow.join(', ') || 'all', there.allow.join(', ') || 'all'),
    ...apart('denied tools', here.deny.join(', ') || 'none', there.deny.join(', ') || 'none'),
    ...apart('connectTimeout', seconds(here.connectTimeoutMs), seconds(there.connectTimeoutMs)),
    ...apart('callTimeout', seconds(here.callTimeoutMs), seconds(there.callTimeoutMs)),
    ...ownKeys
      .filter((key) => !isDeepStrictEqual(here[key], there[key]))
      .map((key) => `another value of ${key}`),
  ]
}

/** Beside an address, a program shows in what it runs. */
const typeOf = ({ transport: { kind } }: ServerConfig) => (kind === 'sse' ? 'sse' : 'auto')

const ownKeys = [
  'lazy',
  'alwaysLoad',
  'description',
  'tools',
  'elicitation',
  'sampling',
  'maxTools',
  'resultBudget',
] as const

const seconds = (milliseconds: number) => `${milliseconds / 1000} s`
