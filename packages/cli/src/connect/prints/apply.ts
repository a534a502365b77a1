// `toolshelf connect --apply`: shows how each client's file would change, asks, keeps a copy and writes.
import { realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { toJson } from '@toolshelf/core/internal'
import type { ServerConfig } from '@toolshelf/mcp'
import {
  addServers,
  type ConfigProblem,
  configPlaces,
  existingFiles,
  type LocalMachine,
  ownConfigFile,
} from '@toolshelf/mcp/internal'
import { agrees, CommandError, filesIn, type Input, type Terminal } from '../../command.ts'
import { printable } from '../../terminal/pen.ts'
import { type ApplyPlan, type ClientChange, planApply, type Snapshot, takeSnapshot } from '../apply.ts'
import { commitWrites, type FileWrite, openJournal, type WriteOutcome } from '../journal.ts'
import { type ConnectPlan, isReportable, type PlannedServer, planConnect } from '../plan.ts'
import { changedLines } from './diff.ts'
import {
  type ConnectTarget,
  hasOnlyBroken,
  lookedAt,
  mendable,
  namedPlaces,
  printPlan,
  readTarget,
} from './plan.ts'

/** Starts the servers that were just written once. */
type AfterWriting = (target: ConnectTarget, added: readonly PlannedServer[]) => Promise<void>

/** Runs `connect --apply`; returns the exit code. */
export async function connectClients(
  input: Input,
  terminal: Terminal,
  machine: LocalMachine,
  afterWriting: AfterWriting,
): Promise<0 | 1> {
  const isJson = input.isSet('json')
  const target = await readTarget(resolve(machine.folder, input.text('to') ?? ownConfigFile(machine)))
  const found = await findServers(input, target, machine)
  const config = target.file === ownConfigFile(machine) ? [] : ['--config', target.file]
  const words = [...programOf(machine, terminal), 'mcp', ...config]
  const plan = planApply(found.plan, found.snapshots, words)
  if (!isJson) {
    const looked = filesIn(input, 'from') === undefined ? await lookedAt(target, machine) : []
    printPlan(found.plan, target, looked, terminal, 'hands over')
    for (const file of found.ofFolder)
      terminal.report(
        printable(`${file} belongs to this folder and may be shared; name it with --from to change it.`),
      )
    for (const { name, file, reason } of plan.staying)
      terminal.report(printable(`${name} stays in ${file}: ${reason}.`))
    if (plan.changes.length === 0 && found.plan.servers.length > 0)
      terminal.print('There is nothing to change in your clients’ files.')
    const notice = sharingNotice(plan.changes, target)
    if (notice !== undefined) terminal.print(printable(`\n${notice}`))
  }
  const servers = found.plan.servers.map(({ server }) => server)
  const chosen = await choose(plan, servers, input, terminal)
  const written = chosen.length === 0 ? [] : await write(chosen, target, machine)
  if (isJson) terminal.print(toJson(asJson(plan, target, written)))
  else report(written, chosen, target, terminal)
  if (written.some(({ problem }) => problem === undefined)) await afterWriting(target, newServers(chosen))
  return hasOnlyBroken(found.plan) || written.some(({ problem }) => problem !== undefined) ? 1 : 0
}

/** Returns the folder in which `connect --apply` keeps its records and copies. */
export function journalFolder(machine: LocalMachine): string {
  return join(dirname(ownConfigFile(machine)), 'applied')
}

function programOf({ program }: LocalMachine, terminal: Terminal): readonly string[] {
  if (program === undefined) return ['toolshelf']
  const [, script] = program
  if (script.endsWith('.ts'))
    throw new CommandError(
      `${script} needs a TypeScript loader, which your clients do not have. Run "npm run build" and use packages/cli/dist/main.js.`,
    )
  if (/[\\/]_npx[\\/]/.test(script))
    terminal.report(
      printable(`${script} is in npm's cache, which may be cleaned. "npm install -g" makes it stay.`),
    )
  return program
}

type FoundServers = {
  readonly plan: ConnectPlan
  /** By the path that each file was planned from. */
  readonly snapshots: ReadonlyMap<string, Snapshot>
  /** Files of the current folder, which stay unchanged unless the user names them. */
  readonly ofFolder: readonly string[]
}

/** Plans from a snapshot of each file, which must still be its content when it is written. */
async function findServers(
  input: Input,
  target: ConnectTarget,
  machine: LocalMachine,
): Promise<FoundServers> {
  const known = configPlaces(machine)
  const from = filesIn(input, 'from')
  const existing = await existingFiles(known.map(({ file }) => file))
  const found = known.filter(({ file }) => existing.includes(file) && file !== target.file)
  const places =
    from === undefined ? found.filter(({ isProject }) => !isProject) : namedPlaces(from, known, machine)
  const snapshots = new Map<string, Snapshot>()
  const problems: ConfigProblem[] = []
  const targetFile = await realpath(target.file).catch(() => target.file)
  for (const { file } of places) {
    try {
      const snapshot = await takeSnapshot(file)
      if (snapshot.file === targetFile)
        problems.push({ file, message: 'it is the file that the servers would move to; it is left alone.' })
      else snapshots.set(file, snapshot)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      const why = code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${code ?? message})`
      problems.push({ file, message: `${why}.` })
    }
  }
  const texts = places.flatMap(({ client, file }) => {
    const text = snapshots.get(file)?.bytes.toString()
    return text === undefined ? [] : [{ client, file, text: { file, text } }]
  })
  const plan = await planConnect(texts, machine, target, 'move')
  const all = [...problems, ...plan.problems]
  return {
    plan: { ...plan, problems: from === undefined ? all.filter(isReportable) : all },
    snapshots,
    ofFolder: from === undefined ? found.filter(({ isProject }) => isProject).map(({ file }) => file) : [],
  }
}

/** Shows each change, and returns those that the user wants. */
async function choose(
  { changes }: ApplyPlan,
  servers: readonly ServerConfig[],
  input: Input,
  terminal: Terminal,
): Promise<readonly ClientChange[]> {
  const chosen: ClientChange[] = []
  for (const planned of changes) {
    // A client with two files starts the gateway from one of them.
    const hasEntry = planned.clients.every((client) => chosen.some(({ clients }) => clients.includes(client)))
    const change = hasEntry ? { ...planned, ...planned.bare?.() } : planned
    if (!input.isSet('json')) showChange(change, servers, terminal)
    if (input.isSet('yes')) chosen.push(change)
    else if (!input.isSet('json') && (await agrees(terminal, `Change ${printable(change.before.file)}?`)))
      chosen.push(change)
  }
  if (changes.length === 0 || chosen.length > 0 || input.isSet('json')) return chosen
  if (!terminal.ask)
    throw new CommandError(
      'cannot ask without a terminal, so nothing is written. Run it in a terminal, or add --yes to make all changes above.',
    )
  terminal.print('Nothing is written.')
  return chosen
}

/** `servers`: all that were found, because a line may change beside a server that stays. */
function showChange(
  { clients, before, parts }: ClientChange,
  servers: readonly ServerConfig[],
  terminal: Terminal,
): void {
  terminal.print(printable(`\n${clients.join(', ')}: ${before.file}`))
  for (const line of changedLines(parts, servers)) terminal.print(printable(`  ${line}`))
}

function newServers(chosen: readonly ClientChange[]): PlannedServer[] {
  return [...new Set(chosen.flatMap(({ servers }) => servers))].filter(({ state }) => state === 'new')
}

async function write(
  chosen: readonly ClientChange[],
  target: ConnectTarget,
  machine: LocalMachine,
): Promise<readonly WriteOutcome[]> {
  const added = newServers(chosen)
  const clients = chosen.map(({ clients, before, after, parts }) => ({
    file: before.file,
    clients,
    isOwn: false,
    rights: before.rights,
    parts,
    before: before.bytes,
    after: Buffer.from(after),
  }))
  try {
    const own = added.length > 0 ? await ownWrite(target, added) : undefined
    return await commitWrites(openJournal(journalFolder(machine)), own, clients)
  } catch (error) {
    if (error instanceof CommandError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    throw new CommandError(
      `${target.file} and its copies cannot be written: ${code ?? message}. No client’s file was changed.`,
    )
  }
}

async function ownWrite(
  { file, bytes, text }: ConnectTarget,
  added: readonly PlannedServer[],
): Promise<FileWrite> {
  const members = added.map(({ name, fields }) => [name, fields] as const)
  const after = mendable(file, () => addServers(text, members))
  const real = await realpath(file).catch(() => file)
  const mode = bytes === undefined ? 0o600 : (await stat(real)).mode & 0o7777
  return {
    file: real,
    clients: [],
    isOwn: true,
    rights: { mode },
    parts: [],
    before: bytes,
    after: Buffer.from(after),
  }
}

function report(
  written: readonly WriteOutcome[],
  chosen: readonly ClientChange[],
  target: ConnectTarget,
  terminal: Terminal,
): void {
  for (const { write, problem } of written)
    if (problem !== undefined) terminal.report(printable(`${write.file} is not changed: ${problem}.`))
  const done = written.filter(({ problem }) => problem === undefined)
  if (done.length === 0) return
  const clients = [...new Set(done.flatMap(({ write }) => write.clients))]
  terminal.print('')
  for (const { write } of done) terminal.print(printable(`Changed ${write.file}`))
  terminal.print(printable(`Your servers are in ${target.file}`))
  terminal.print(`Restart ${new Intl.ListFormat('en').format(clients)}.`)
  const remote = chosen
    .flatMap(({ servers }) => servers)
    .filter(
      ({ server: { transport } }) =>
        transport.kind !== 'stdio' && Object.keys(transport.headers).length === 0,
    )
  for (const name of new Set(remote.map((server) => server.name)))
    terminal.print(
      printable(`If ${name} needs a login, run "toolshelf login ${/\s/.test(name) ? `'${name}'` : name}".`),
    )
  terminal.print('"toolshelf connect --undo" puts everything back.')
}

function asJson(
  { changes, staying }: ApplyPlan,
  target: ConnectTarget,
  written: readonly WriteOutcome[],
): object {
  const files = changes.map(({ clients, before: { file }, servers }) => {
    const outcome = written.find(({ write }) => write.file === file)
    return {
      file,
      clients,
      servers: servers.map(({ name }) => name),
      isWritten: outcome !== undefined && outcome.problem === undefined,
      ...(outcome?.problem === undefined ? {} : { problem: outcome.problem }),
    }
  })
  return { to: target.file, files, staying }
}

/** Returns the notice; undefined if a single client moves and sees nothing but its own servers. */
function sharingNotice(changes: readonly ClientChange[], target: ConnectTarget): string | undefined {
  const clients = [...new Set(changes.flatMap((change) => change.clients))]
  const moving = [...new Set(changes.flatMap(({ servers }) => servers))]
  const added = moving.filter(({ state }) => state === 'new')
  const ownNames = new Set(moving.flatMap(({ name, server }) => [name, server.name]))
  const isShared = clients.length > 1 || target.names.some((name) => !ownNames.has(name))
  if (changes.length === 0 || !isShared) return undefined
  const names = [...target.names, ...added.map(shownName)]
  const who = clients.length > 1 ? 'All clients changed here' : (clients[0] ?? 'The client')
  return [
    `${who} will see ${theServers(names.length)} of ${target.file}: ${names.join(', ')}.`,
    'To keep a client apart, give it a file of its own: toolshelf connect --apply --from <its file> --to <another file>',
  ].join('\n')
}

function theServers(servers: number): string {
  if (servers === 1) return 'the server'
  return servers === 2 ? 'both servers' : `all ${servers} servers`
}

function shownName({ name, clients, server }: PlannedServer): string {
  return name === server.name ? name : `${name} (${clients.join(' and ')}'s ${server.name}, renamed)`
}
