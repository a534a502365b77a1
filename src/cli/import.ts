// `toolshelf import`: imports the servers of other clients into one file of our own.
import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import {
  clientEntries,
  compareWith,
  type ImportPlace,
  type ImportPlan,
  type ImportState,
  isNews,
  type PlannedServer,
  planImport,
} from '../import/index.ts'
import {
  addServers,
  type ConfigPlace,
  configPlaces,
  describeTransport,
  existingFiles,
  type Machine,
  ownConfigFile,
  readConfig,
  serverNames,
  thisMachine,
  writePrivately,
} from '../mcp/config/index.ts'
import type { ServerConfig } from '../mcp/index.ts'
import { printable, table } from '../terminal/index.ts'
import { type Command, CommandError, type Input, type Terminal, UsageError } from './command.ts'
import { createListingHost, listAll, toStart } from './listing-host.ts'
import type { Project } from './trust/index.ts'
import { openProject, trustOption } from './trust/index.ts'

export const importServers: Command = importCommand(thisMachine)

/** Starts servers once, so that the gateway knows their tools. */
export type WarmUp = (servers: readonly ServerConfig[], terminal: Terminal) => Promise<void>

export function importCommand(machine: () => Machine, warmUp: WarmUp = listOnce): Command {
  return {
    name: 'import',
    summary: 'Takes the MCP servers of other clients into one file.',
    words: '[--from <file>,…] [--to <file>] [--yes]',
    options: {
      from: {
        type: 'string',
        value: 'files',
        about: 'with commas between; if left out, all that clients have',
      },
      to: { type: 'string', value: 'file', about: 'if left out, toolshelf/toolshelf.json in ~/.config' },
      'trust-project': { ...trustOption, about: 'take this folder’s servers too, without asking about them' },
      yes: { type: 'boolean', short: 'y', about: 'write without asking' },
      'no-start': { type: 'boolean', about: 'do not start the new servers once to list their tools' },
      json: { type: 'boolean', about: 'print {"servers": [{"name", "clients", …}]}; writes only with --yes' },
    },
    examples: ['toolshelf import', 'toolshelf import --from ~/.cursor/mcp.json --to ./toolshelf.json --yes'],
    run: (input, terminal) => run(input, terminal, machine(), warmUp),
  }
}

async function run(input: Input, terminal: Terminal, machine: Machine, warmUp: WarmUp): Promise<0 | 1> {
  if (input.words.length > 0) throw new UsageError('files are named by --from.')
  const from = input.text('from')
  const target = await readTarget(resolve(machine.folder, input.text('to') ?? ownConfigFile(machine)))
  const openFolder = (configs: readonly string[]) =>
    openProject(machine, {
      configs,
      isForAgent: false,
      isTrusting: input.isSet('trust-project'),
      terminal,
      notify: (message) => terminal.tell(printable(message)),
    })
  const plan = await makePlan(from, target, machine, openFolder)
  const stateOf = await compareWith(target.file, target.names, machine)
  const added = plan.servers.filter((one) => stateOf(one) === 'new')
  if (!input.isSet('json')) show(plan, target, stateOf, terminal)

  const isWritten = added.length > 0 && (await mayWrite(input, added.length, terminal))
  if (isWritten) await write(target.file, added)

  if (input.isSet('json')) terminal.print(JSON.stringify(asJson(plan, target, stateOf, isWritten)))
  else if (isWritten || (added.length === 0 && plan.servers.length > 0))
    tellNextSteps(plan, target, isWritten, machine, terminal)
  if (isWritten && !input.isSet('no-start')) await warmUp(await startable(target, added, machine), terminal)
  return from !== undefined && plan.servers.length === 0 ? 1 : 0
}

/** The servers just written that can be started, as the gateway will start them. */
async function startable(
  { file }: Target,
  added: readonly PlannedServer[],
  machine: Machine,
): Promise<readonly ServerConfig[]> {
  const names = new Set(added.map(({ name }) => name))
  const { servers } = await readConfig([file], machine.environment, machine)
  return servers.filter(({ name, disabled }) => names.has(name) && !disabled)
}

async function listOnce(servers: readonly ServerConfig[], terminal: Terminal): Promise<void> {
  if (servers.length === 0) return
  const tell = (message: string) => terminal.tell(printable(message))
  tell(`Starting ${counted(servers.length)} once, so that the first search knows the tools; Ctrl-C skips it.`)
  const host = createListingHost(
    servers.map((server) => toStart(server, undefined)),
    { notify: tell },
  )
  try {
    await listAll(host)
    for (const { name, state, tools, reason } of host.status())
      tell(state === 'connected' ? `${name}: ${tools.length} tools` : `${name} failed: ${reason}`)
  } finally {
    await host.close()
  }
}

function counted(count: number): string {
  return count === 1 ? 'this server' : `these ${count} servers`
}

/** The target file as it is now. */
type Target = { readonly file: string; readonly text: string; readonly names: readonly string[] }

async function readTarget(file: string): Promise<Target> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return Buffer.alloc(0)
    throw new CommandError(`${file} cannot be read (${error.code}).`)
  })
  return mendable(file, () => {
    if (!isUtf8(bytes)) throw new Error('it is not written in UTF-8')
    const text = bytes.toString().trim() === '' ? '{}\n' : bytes.toString()
    return { file, text, names: serverNames(text) }
  })
}

/** Refuses to change a file that we cannot parse, so that nothing is lost. */
function mendable<Result>(file: string, use: () => Result): Result {
  try {
    return use()
  } catch (error) {
    const { message } = error as Error
    throw new CommandError(`${file} cannot be added to: ${message}. Mend it, or choose another with --to.`)
  }
}

/** A file named by `--from` is the user's choice; other files of the folder must be trusted first. */
async function makePlan(
  from: string | undefined,
  target: Target,
  machine: Machine,
  openFolder: (files: readonly string[]) => Promise<Project>,
): Promise<ImportPlan> {
  const known = configPlaces(machine)
  if (from !== undefined) return planImport(namedPlaces(from, known, machine), machine)
  const existing = await existingFiles(known.map(({ file }) => file))
  const places = known.filter(({ file }) => existing.includes(file) && file !== target.file)
  const ofFolder = places.filter(({ isProject }) => isProject)
  const { configs } = await openFolder(ofFolder.map(({ file }) => file))
  const trusted = ofFolder.flatMap(({ client, file }) => {
    const text = configs.find((config) => config.file === file)
    return text ? [{ client, file, text }] : []
  })
  const { servers, problems } = await planImport(
    [...places.filter(({ isProject }) => !isProject), ...trusted],
    machine,
  )
  return { servers, problems: problems.filter(isNews) }
}

function namedPlaces(from: string, known: readonly ConfigPlace[], { folder }: Machine): ImportPlace[] {
  const files = from.split(',').map((file) => file.trim())
  const named = files.filter((file) => file !== '')
  if (named.length === 0) throw new UsageError('--from names no file.')
  return named.map((name) => {
    const file = resolve(folder, name)
    return { client: known.find((place) => place.file === file)?.client ?? name, file }
  })
}

type StateOf = (server: PlannedServer) => ImportState

const MOST_COLUMNS = 80

function show({ servers, problems }: ImportPlan, target: Target, stateOf: StateOf, terminal: Terminal): void {
  for (const { file, server, message } of problems)
    terminal.tell(
      printable(`${file}: ${server === undefined ? '' : `${JSON.stringify(server)}: `}${message}`),
    )
  if (servers.length === 0) return void terminal.print('No MCP servers were found. Name a file with --from.')
  const rows = servers.map((one) => [
    printable(one.name),
    printable(one.clients.join(', ')),
    printable(describeTransport(one.server.transport)),
    stateOf(one) + (one.server.disabled ? ', disabled' : ''),
  ])
  terminal.print(table(['server', 'client', 'runs', 'state'], rows, MOST_COLUMNS))
  for (const { name } of servers.filter((one) => stateOf(one) === 'differs')) {
    const advice = 'that one stays. Delete it there and import again to take the new one.'
    terminal.tell(printable(`${name} runs something else in ${target.file}: ${advice}`))
  }
  for (const { name, unset, boundTo } of servers.filter((one) => stateOf(one) === 'new')) {
    if (boundTo !== undefined)
      terminal.tell(printable(`${name} is bound to ${boundTo}, its \${workspaceFolder}.`))
    for (const { variable, input } of unset) {
      const asked = input === undefined ? '' : `, which VS Code asks for as ${JSON.stringify(input)}`
      terminal.tell(printable(`${name} needs the environment variable ${variable}${asked}; it is not set.`))
    }
  }
}

async function mayWrite(input: Input, count: number, terminal: Terminal): Promise<boolean> {
  if (input.isSet('yes')) return true
  if (input.isSet('json')) return false
  if (!terminal.ask) {
    terminal.print('Nothing is written yet. Add --yes to write it.')
    return false
  }
  const afterwards = input.isSet('no-start') ? '' : ', and start once to list the tools'
  const answer = await terminal.ask(`Write ${counted(count)}${afterwards}? [y/N] `)
  const isYes = /^y(?:es)?$/i.test(answer.trim())
  if (!isYes) terminal.print('Nothing is written.')
  return isYes
}

/** Reads the file again: it may have changed while the user was deciding. */
async function write(file: string, servers: readonly PlannedServer[]): Promise<void> {
  const { text, names } = await readTarget(file)
  const members = servers
    .filter(({ name }) => !names.includes(name))
    .map(({ name, fields }) => [name, fields] as const)
  const changed = mendable(file, () => addServers(text, members))
  try {
    await writePrivately(file, changed)
  } catch (error) {
    throw new CommandError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code ?? error}).`)
  }
}

function tellNextSteps(
  { servers }: ImportPlan,
  { file }: Target,
  isWritten: boolean,
  machine: Machine,
  terminal: Terminal,
): void {
  const config = file === ownConfigFile(machine) ? [] : ['--config', file]
  const clients = [...new Set(servers.flatMap((one) => one.clients))]
  terminal.print(isWritten ? `Written to ${file}.` : `There is nothing new for ${file}.`)
  terminal.print('Put this into your clients’ configurations, in place of the servers above.')
  for (const entry of clientEntries(clients, ['toolshelf', 'mcp', ...config]))
    terminal.print(`\n${printable(entry.clients.join(', '))}:\n${entry.text}`)
}

function asJson(
  { servers, problems }: ImportPlan,
  target: Target,
  stateOf: StateOf,
  isWritten: boolean,
): object {
  const shown = servers.map((one) => ({
    name: one.name,
    clients: one.clients,
    file: one.file,
    transport: one.server.transport.kind,
    runs: describeTransport(one.server.transport),
    disabled: one.server.disabled,
    unset: one.unset.map(({ variable }) => variable),
    state: stateOf(one),
  }))
  return { to: target.file, isWritten, servers: shown, problems }
}
