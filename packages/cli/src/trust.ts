// `toolshelf trust`: what is trusted: a folder's files, what servers list, and which calls run without asking.
import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { PermissionRule } from '@toolshelf/agent'
import { toJson } from '@toolshelf/core/internal'
import { type LocalMachine, thisMachine } from '@toolshelf/mcp/internal'
import {
  type Command,
  CommandError,
  type ExitCode,
  type Input,
  type Terminal,
  UsageError,
} from './command.ts'
import { storeOption } from './options.ts'
import { printable } from './terminal/pen.ts'
import {
  decideTrust,
  isTrusted,
  questionText,
  screenSize,
  summaryOf,
  trustItemLines,
  trustNow,
  trustStore,
} from './trust/open.ts'
import { type Project, readProject, troublesOf } from './trust/project.ts'
import type { TrustRecord, TrustStore } from './trust/store.ts'
import { printServers, trustServer, withPins } from './trust-servers.ts'
import { openUserRules, PROJECT_RULES } from './user-files/permission-file.ts'

export const trustCommand: Command = createTrust(thisMachine)

export function createTrust(machine: () => LocalMachine): Command {
  return {
    name: 'trust',
    summary: 'What is trusted: folders, what servers list, and which calls run without asking.',
    words: '[show [<folder>] | list | forget [<folder> | <server>] | <server> [<name>…]] [--yes]',
    options: {
      yes: { short: 'y', about: 'trust the folder, or what changed of the server, without asking' },
      rules: { about: 'print which calls of the agent run without asking, and which are denied' },
      ...storeOption,
      json: {
        about:
          'print one JSON document: {"folder", "isTrusted", "items"}, {"folders", "servers"}, {"rules"}, {"server", "changed"} or {"server", "accepted"}',
      },
    },
    examples: [
      'toolshelf trust                     # look at this folder, and decide',
      'toolshelf trust show                # the same in full, without deciding',
      'toolshelf trust list',
      'toolshelf trust github              # what changed of a server, and accept it',
      'toolshelf trust --rules',
      'toolshelf trust forget ~/src/project',
    ],
    async run(input, terminal) {
      const [verb, folder, ...more] = input.words
      const here = machine()
      if (verb !== undefined && !actions[verb])
        return trustServer(input.words, { input, terminal, environment: here.environment })
      if (more.length > 0) throw new UsageError(`unexpected argument "${more[0]}".`)
      const run = input.isSet('rules') ? printRules : verb === undefined ? ask : (actions[verb] ?? ask)
      const place = { ...here, folder: resolve(here.folder, folder ?? '.') }
      const notify = (message: string) => terminal.report(printable(`toolshelf trust: ${message}`))
      return run({ input, terminal, notify, machine: place, store: trustStore(place, notify) })
    },
  }
}

type Call = {
  readonly input: Input
  readonly terminal: Terminal
  readonly notify: (message: string) => void
  readonly machine: LocalMachine
  readonly store: TrustStore
}

const actions: { readonly [verb: string]: (call: Call) => Promise<ExitCode> } = { show, list, forget }

async function ask(call: Call): Promise<ExitCode> {
  const { input, terminal, notify, store } = call
  const isJson = input.isSet('json')
  if (isJson && !input.isSet('yes')) return show(call)
  const project = await read(call)
  const isKnown = await isTrusted(project, store)
  if (project.items.length === 0 || isKnown) return printState(call, project, isKnown)
  const record = await store.read(project.folder)
  if (input.isSet('yes')) {
    if (!isJson) terminal.print(questionText(project, record?.trusted))
    await trustNow(project, store).catch((error: Error) => {
      throw new CommandError(`the answer cannot be saved: ${error.message}.`)
    })
    return printState(call, project, true)
  }
  if (!terminal.ask) {
    terminal.print(questionText(project, record?.trusted))
    throw new CommandError('cannot ask without a terminal; add --yes to trust the folder as it is now.')
  }
  // The explicit command always asks, whatever was answered earlier.
  const asking: TrustStore = { ...store, read: async () => withoutRefusal(record) }
  const used = await decideTrust(project, {
    store: asking,
    isTrusting: false,
    ask: terminal.ask,
    notify,
    show: terminal.report,
    screen: screenSize(),
  })
  return printState(call, project, used === project)
}

function withoutRefusal(record: TrustRecord | undefined): TrustRecord | undefined {
  if (!record) return undefined
  const { refused: _, ...rest } = record
  return rest
}

async function show(call: Call): Promise<ExitCode> {
  const { input, terminal, store, machine } = call
  if (!existsSync(machine.folder))
    throw new CommandError(
      `${printable(machine.folder)} does not exist; pass a folder, or the name of a server without "show".`,
    )
  const project = await read(call)
  if (!input.isSet('json'))
    for (const item of project.items) for (const line of trustItemLines(item)) terminal.print(line)
  return printState(call, project, await isTrusted(project, store))
}

async function list({ input, terminal, machine, store }: Call): Promise<ExitCode> {
  if (input.words.length > 1) throw new UsageError('unexpected argument; list shows everything.')
  const servers = await withPins(input, terminal, machine.environment, (pins) => pins.list())
  const records = await store.list()
  const folders = records.map(({ folder, trusted, refused }) => ({
    folder,
    trusted: trusted?.at ?? null,
    refused: refused?.at ?? null,
    files: Object.keys(trusted?.files ?? {}),
  }))
  if (input.isSet('json')) {
    const counted = servers.map(({ server, tools, changed }) => ({
      server,
      tools: tools.length,
      changed: changed.map(({ name }) => name),
    }))
    terminal.print(toJson({ folders, servers: counted }))
    return 0
  }
  if (folders.length === 0) terminal.print('No folder is trusted.')
  else
    for (const { folder, trusted, refused, files } of folders)
      terminal.print(
        printable(
          trusted
            ? `trusted ${trusted.slice(0, 10)}  ${folder}  (${files.join(', ')})`
            : `refused ${refused?.slice(0, 10)}  ${folder}`,
        ),
      )
  printServers(servers, terminal)
  return 0
}

async function forget({ input, terminal, machine, store }: Call): Promise<ExitCode> {
  const server = input.words[1]
  const isServer =
    server !== undefined &&
    (await withPins(input, terminal, machine.environment, async (pins, troubles) => {
      const wasKnown = await pins.forget(server)
      if (wasKnown && troubles.length > 0) throw new CommandError(`could not forget "${server}".`)
      return wasKnown
    }))
  if (isServer) {
    if (input.isSet('json')) terminal.print(toJson({ server, wasKnown: true }))
    else
      terminal.print(printable(`Forgotten. What "${server}" lists at its next connection is accepted again.`))
    return 0
  }
  // A deleted folder is identified by its former path.
  const folder = await realpath(machine.folder).catch(() => machine.folder)
  const wasKnown = await store.remove(folder).catch((error: Error) => {
    throw new CommandError(`cannot forget it: ${error.message}.`)
  })
  if (!wasKnown)
    throw new CommandError(
      printable(
        `${server === undefined ? 'no' : `no server "${server}" and no`} decision about the folder ${folder} is stored. See "toolshelf trust list".`,
      ),
    )
  if (input.isSet('json')) terminal.print(toJson({ folder, wasKnown }))
  else terminal.print(printable(`Forgotten. You will be asked about ${folder} again.`))
  return 0
}

async function read({ machine, notify }: Call): Promise<Project> {
  const project = await readProject(machine)
  for (const trouble of troublesOf(project)) notify(trouble)
  return project
}

function printState({ input, terminal }: Call, { folder, items }: Project, isKnown: boolean): ExitCode {
  const state = `is ${isKnown ? 'trusted' : 'not trusted'}: ${summaryOf(items)}.`
  if (input.isSet('json')) terminal.print(toJson({ folder, isTrusted: isKnown, items }))
  else
    terminal.print(
      printable(`${folder} ${items.length === 0 ? 'contains nothing that Toolshelf would use.' : state}`),
    )
  return 0
}

type ListedRule = PermissionRule & {
  readonly source: string
  /** False for an allow rule of the folder's own file while the folder is not trusted. */
  readonly counts: boolean
}

/** Prints the user's rules, and those of the folder. */
async function printRules({ input, terminal, machine, store }: Call): Promise<ExitCode> {
  const project = await readProject(machine)
  const isKnown = await isTrusted(project, store)
  const rules = openUserRules(machine)
  const own = await rules.read().catch((error: Error) => {
    throw new CommandError(error.message)
  })
  const all: ListedRule[] = [
    ...own.map((rule) => ({ ...rule, source: rules.file, counts: true })),
    ...project.rules.map((rule) => ({
      ...rule,
      source: resolve(machine.folder, PROJECT_RULES),
      counts: rule.effect !== 'allow' || isKnown,
    })),
  ]
  if (input.isSet('json')) terminal.print(toJson({ rules: all }))
  else if (all.length === 0)
    terminal.print('No rules: reading inside the working folder runs, everything else asks.')
  else for (const line of ruleLines(all)) terminal.print(printable(line))
  return 0
}

function ruleLines(rules: readonly ListedRule[]): string[] {
  const where = {
    session: 'this session',
    project: 'this folder',
    user: 'everywhere',
    folder: 'of this folder',
  }
  return rules.map(
    ({ effect, rule, scope, source, counts }) =>
      `${effect.padEnd(5)}  ${rule}  (${where[scope]}, ${source}${counts ? '' : '; applies once you trust the folder'})`,
  )
}
