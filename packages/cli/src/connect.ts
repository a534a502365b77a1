// `toolshelf connect`: puts one entry that starts Toolshelf in place of the MCP servers of your clients.
import { resolve } from 'node:path'
import { toJson } from '@toolshelf/core/internal'
import { JsonFile } from '@toolshelf/core/internal/node'
import { readConfig, type ServerConfig } from '@toolshelf/mcp'
import {
  addServers,
  type ConfigProblem,
  describeTransport,
  type LocalMachine,
  ownConfigFile,
  thisMachine,
} from '@toolshelf/mcp/internal'
import {
  agrees,
  type Command,
  CommandError,
  filesIn,
  type Input,
  type Terminal,
  UsageError,
} from './command.ts'
import { clientEntries } from './connect/apply.ts'
import { deleteLeftovers, openJournal } from './connect/journal.ts'
import type { ConnectPlan, PlannedServer } from './connect/plan.ts'
import { connectClients, journalFolder } from './connect/prints/apply.ts'
import {
  type ConnectTarget,
  hasOnlyBroken,
  isSetUp,
  lookedAt,
  makePlan,
  mendable,
  printPlan,
  readTarget,
} from './connect/prints/plan.ts'
import { undoConnect } from './connect/prints/undo.ts'
import { createListingHost, listAll, toStart } from './servers/listing-host.ts'
import { printable } from './terminal/pen.ts'
import { openProject, trustOption } from './trust/open.ts'

export const connect: Command = connectCommand(thisMachine)

/** Starts servers once, so that the gateway knows their tools. */
type WarmUp = (servers: readonly ServerConfig[], terminal: Terminal) => Promise<void>

/** Creates the command; `machine` is read when it runs. */
export function connectCommand(machine: () => LocalMachine, warmUp: WarmUp = listOnce): Command {
  return {
    name: 'connect',
    summary:
      'With --apply, moves the MCP servers of your clients into one file and puts one entry in their place, which starts Toolshelf. Without it, only copies them and prints that entry.',
    words: '[--apply | --undo] [--from <file>…] [--to <file>] [--yes]',
    noArguments: 'pass files with --from',
    options: {
      apply: { about: 'move them: change the clients’ files, too; shows each change and asks' },
      undo: { about: 'put back what --apply changed' },
      force: { about: 'with --undo: overwrite files that were edited since' },
      from: {
        value: 'file',
        isMultiple: true,
        about: 'file of a client (default: those of all known clients)',
      },
      to: { value: 'file', about: 'your configuration (default: ~/.config/toolshelf/toolshelf.json)' },
      'trust-project': { ...trustOption, about: 'take this folder’s servers too, without asking about them' },
      yes: { short: 'y', about: 'write without asking' },
      'no-start': { about: 'do not start the new servers once to list their tools' },
      json: { about: 'print {"servers": [{"name", "clients", …}]}; writes only with --yes' },
    },
    examples: [
      'toolshelf connect --apply',
      'toolshelf connect --undo',
      'toolshelf connect --from ~/.cursor/mcp.json --to ./toolshelf.json --yes',
    ],
    run: (input, terminal) => run(input, terminal, machine(), warmUp),
  }
}

async function run(input: Input, terminal: Terminal, machine: LocalMachine, warmUp: WarmUp): Promise<0 | 1> {
  if (input.isSet('apply') && input.isSet('undo')) throw new UsageError('use either --apply or --undo.')
  if (input.isSet('force') && !input.isSet('undo')) throw new UsageError('--force requires --undo.')
  if (input.isSet('apply') && input.isSet('trust-project'))
    throw new UsageError('--apply leaves this folder’s files alone; name those to change with --from.')
  const ourFile = resolve(machine.folder, input.text('to') ?? ownConfigFile(machine))
  await deleteLeftovers(openJournal(journalFolder(machine)), ourFile)
  if (input.isSet('undo')) return undoConnect(input, terminal, machine)
  if (input.isSet('apply'))
    return connectClients(input, terminal, machine, async (target, added) => {
      if (!input.isSet('no-start'))
        await warmUp(await startable(target, added, { machine, terminal }), terminal)
    })
  const from = filesIn(input, 'from')
  const target = await readTarget(ourFile)
  const openFolder = (configs: readonly string[]) =>
    openProject(machine, {
      configs,
      isForAgent: false,
      isTrusting: input.isSet('trust-project'),
      terminal,
      notify: (message) => terminal.report(printable(message)),
    })
  const plan = await makePlan(from, target, machine, openFolder)
  const added = plan.servers.filter(({ state }) => state === 'new')
  if (!input.isSet('json'))
    printPlan(plan, target, from === undefined ? await lookedAt(target, machine) : [], terminal)

  const isWritten = added.length > 0 && (await mayWrite(input, added.length, target.file, terminal))
  if (isWritten) await write(target.file, added)

  if (input.isSet('json')) terminal.print(toJson(asJson(plan, target, isWritten)))
  else if (isWritten || (added.length === 0 && plan.servers.length > 0))
    tellNextSteps(plan, target, isWritten, machine, terminal)
  if (isWritten && !input.isSet('no-start'))
    await warmUp(await startable(target, added, { machine, terminal }), terminal)
  const isMissing = from !== undefined && plan.servers.length === 0 && !isSetUp(plan)
  return hasOnlyBroken(plan) || isMissing ? 1 : 0
}

/** Returns the servers just written that can be started, as the gateway will start them, and reports why the others cannot. */
async function startable(
  { file }: Pick<ConnectTarget, 'file'>,
  added: readonly PlannedServer[],
  { machine, terminal }: { readonly machine: LocalMachine; readonly terminal: Terminal },
): Promise<readonly ServerConfig[]> {
  const { servers, problems } = await readConfig([file], machine.environment, machine)
  const started: ServerConfig[] = []
  for (const { name } of added) {
    const server = servers.find((one) => (one.original ?? one.name) === name)
    const problem = problems.findLast((one) => one.server === name)
    const reason = server ? reasonNotToStart(server) : problem ? reasonOf(problem) : 'it cannot be read'
    if (server && reason === undefined) started.push(server)
    else terminal.report(printable(`${name} is not started now: ${reason}.`))
  }
  return started
}

const reasonNotToStart = ({ disabled, blocked }: ServerConfig) => (disabled ? 'it is disabled' : blocked)

function reasonOf({ unset, message }: ConfigProblem): string {
  if (!unset) return message.replace(/\.$/, '')
  return `${new Intl.ListFormat('en').format(unset)} ${unset.length === 1 ? 'is' : 'are'} not set`
}

async function listOnce(servers: readonly ServerConfig[], terminal: Terminal): Promise<void> {
  if (servers.length === 0) return
  const notify = (message: string) => terminal.report(printable(message))
  notify(
    `Starting ${theseServers(servers.length)} once, so that the first search knows the tools; Ctrl-C skips it.`,
  )
  const host = createListingHost(
    servers.map((server) => toStart(server, undefined)),
    { notify },
  )
  try {
    await listAll(host)
    for (const { name, state, tools, reason } of host.status())
      notify(state === 'connected' ? `${name}: ${tools.length} tools` : `${name} failed: ${reason}`)
  } finally {
    await host.close()
  }
}

function theseServers(count: number): string {
  return count === 1 ? 'this server' : `these ${count} servers`
}

async function mayWrite(input: Input, count: number, file: string, terminal: Terminal): Promise<boolean> {
  if (input.isSet('yes')) return true
  if (input.isSet('json')) return false
  if (!terminal.ask) {
    terminal.print(
      printable(
        `Nothing is written yet. Add --yes to write ${theseServers(count)} to ${file}, or --apply to change your clients’ files, too.`,
      ),
    )
    return false
  }
  const afterwards = input.isSet('no-start') ? '' : ', and start once to list the tools'
  const isYes = await agrees(terminal, printable(`Write ${theseServers(count)} to ${file}${afterwards}?`))
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
    await new JsonFile(file).write(changed)
  } catch (error) {
    throw new CommandError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code ?? error}).`)
  }
}

function tellNextSteps(
  { servers }: ConnectPlan,
  { file }: ConnectTarget,
  isWritten: boolean,
  machine: LocalMachine,
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
  { servers, problems, setUp }: ConnectPlan,
  target: ConnectTarget,
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
    state: one.state,
  }))
  return { to: target.file, isWritten, servers: shown, setUp, problems }
}
