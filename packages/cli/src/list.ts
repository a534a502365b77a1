// `toolshelf list`: lists the servers of our own configuration with their state and the cost of their tools.
import { toJson } from '@toolshelf/core/internal'
import {
  type LoadedConfig,
  openPins,
  readConfig,
  type ServerConfig,
  type ServerStatus,
  userConfigFiles,
} from '@toolshelf/mcp'
import {
  type ConfigProblem,
  defaultPinsFolder,
  describeTransport,
  existingFiles,
  type LocalMachine,
  pathArgument,
  thisMachine,
} from '@toolshelf/mcp/internal'
import { type Command, CommandError, configOption, filesIn, type Terminal } from './command.ts'
import { measureTools } from './doctor/report.ts'
import { timeoutIn, timeoutOption } from './options.ts'
import { createListingHost, toStart } from './servers/listing-host.ts'
import { movedServersAdvice } from './servers/start.ts'
import { count, counted, fitMiddle, printable, printableLine } from './terminal/pen.ts'
import { table } from './terminal/table.ts'

const DEFAULT_SECONDS = 10
/** Width if the output is not a terminal. */
const COLUMNS = 80
/** Context window; it limits how many names are announced, so costs hardly depend on it. */
const WINDOW = 200_000

/** A row of the list; a server that was not started has no tools and tokens. */
type Listed = {
  readonly name: string
  readonly runs: string
  readonly state: 'connected' | 'failed' | 'disabled' | 'unset' | 'configured'
  readonly tools?: number
  readonly tokens?: number
  readonly reason?: string
  /** The environment variables that are missing, in state `unset`. */
  readonly unset?: readonly string[]
}

export const list: Command = listCommand(thisMachine)

/** Creates the command; `machine` is read when it runs. */
export function listCommand(machine: () => LocalMachine): Command {
  return {
    name: 'list',
    summary:
      'Lists your MCP servers with their state and the tokens of their tools. Exits with 1 if none of the servers that it starts connects.',
    words: '[--offline] [--json] [--config <file>…]',
    noArguments: 'pass files with --config',
    options: {
      offline: { about: 'list names only, without starting servers' },
      ...timeoutOption(DEFAULT_SECONDS),
      ...configOption('configuration of any client (default: your toolshelf.json)'),
      json: { about: 'print {"servers": [{"name", "state", "tools", "tokens", …}]}' },
    },
    examples: ['toolshelf list', 'toolshelf list --offline', 'toolshelf list --json --timeout 5'],
    async run(input, terminal) {
      const timeout = timeoutIn(input) ?? DEFAULT_SECONDS * 1000
      const here = machine()
      const named = filesIn(input)
      const own = userConfigFiles(here)
      const config = await readConfig(named ?? (await existingFiles(own)), here.environment, here)
      const isFault = ({ unset }: ConfigProblem) => unset === undefined
      const moved =
        named && config.servers.length === 0 ? await movedServersAdvice(config.problems, here) : undefined
      const faults = config.problems.filter(isFault)
      if (moved !== undefined && !input.isSet('json')) {
        terminal.print(printable(moved))
        return 0
      }
      const complaints = faults.map(
        ({ file, server, message }) => `${file}${server === undefined ? '' : `, ${server}`}: ${message}`,
      )
      if (
        named &&
        config.servers.length === 0 &&
        faults.length === config.problems.length &&
        faults.length > 0
      )
        throw new CommandError(
          `no server to list. ${complaints.join(' ')} Correct the file, or leave out --config.`,
        )
      for (const complaint of complaints) terminal.report(printable(complaint))
      const rows = input.isSet('offline')
        ? asConfigured(config.servers)
        : await connect(config.servers, timeout, { terminal, environment: here.environment })
      const listed = [...rows, ...unsetIn(config)]
      if (input.isSet('json')) terminal.print(toJson({ servers: listed }))
      else show(listed, named ?? own, terminal)
      const hasFailed = listed.some(({ state }) => state === 'failed')
      return hasFailed && !listed.some(({ state }) => state === 'connected') ? 1 : 0
    },
  }
}

/** What each server runs; servers that run the same are told apart by the folder or file that they are started with. */
function programsOf(servers: readonly ServerConfig[]): ReadonlyMap<string, string> {
  const texts = servers.map(({ transport }) => describeTransport(transport))
  return new Map(
    servers.map(({ name, transport }, index) => {
      const text = texts[index] ?? ''
      const path = texts.indexOf(text) === texts.lastIndexOf(text) ? undefined : pathArgument(transport)
      return [name, path === undefined ? text : `${text} ${path}`]
    }),
  )
}

function asConfigured(servers: readonly ServerConfig[]): Listed[] {
  const programs = programsOf(servers)
  return servers.map(({ name, disabled }) => ({
    name,
    runs: programs.get(name) ?? '',
    state: disabled ? 'disabled' : 'configured',
  }))
}

/** Starts every server once, for `timeout` milliseconds at most. */
async function connect(
  servers: readonly ServerConfig[],
  timeoutMs: number,
  { terminal, environment }: { readonly terminal: Terminal; readonly environment: NodeJS.ProcessEnv },
): Promise<Listed[]> {
  if (servers.length === 0) return []
  const notify = (message: string) => terminal.report(printable(printableLine(message)))
  const pins = openPins({ folder: defaultPinsFolder(environment), notify })
  const changed = new Map<string, number>()
  const judge: typeof pins.judge = async (server, listed, kind) => {
    const { length } = await pins.judge(server, listed, kind, 'skip')
    changed.set(server, (changed.get(server) ?? 0) + length)
    return []
  }
  const host = createListingHost(
    servers.map((server) => toStart(server, timeoutMs)),
    { notify, concurrency: servers.length, pins: { judge } },
  )
  try {
    host.start()
    await host.settled({ timeoutMs })
    for (const { name, problems } of host.status()) {
      const hidden = problems.filter(({ kind, tool }) => kind === 'hidden' && tool !== '').length
      if (hidden > 0)
        terminal.report(
          printableLine(`${name}: ${counted(hidden, 'tool')} with hidden characters; see toolshelf doctor.`),
        )
    }
    for (const [name, number] of changed)
      if (number > 0)
        notify(
          `${name}: ${counted(number, 'text')} changed since you accepted them; see toolshelf trust ${name}.`,
        )
    return withCosts(host.status(), timeoutMs)
  } finally {
    await host.close()
  }
}

function withCosts(statuses: readonly ServerStatus[], timeout: number): Listed[] {
  const { tools } = measureTools(statuses, WINDOW)
  const programs = programsOf(statuses.map(({ config }) => config))
  return statuses.map(({ name, state, reason, ...rest }) => {
    const base = { name, runs: programs.get(name) ?? '' }
    if (state === 'disabled') return { ...base, state }
    if (state !== 'connected')
      return { ...base, state: 'failed', reason: reason ?? `no answer within ${timeout / 1000} s` }
    const tokens = tools.filter(({ server }) => server === name).reduce((sum, tool) => sum + tool.tokens, 0)
    return { ...base, state, tools: rest.tools.length, tokens }
  })
}

/** Returns each server whose variables are not set, once. */
function unsetIn({ problems }: LoadedConfig): Listed[] {
  const names = [...new Set(problems.flatMap(({ unset, server }) => (unset && server ? [server] : [])))]
  return names.map((name) => {
    const { unset = [] } = problems.find(({ server, unset }) => server === name && unset) ?? {}
    return {
      name,
      runs: '',
      state: 'unset',
      unset,
      reason: `set ${unset.join(', ')} where your clients start`,
    }
  })
}

function show(listed: readonly Listed[], files: readonly string[], terminal: Terminal): void {
  if (listed.length === 0)
    return void terminal.print(
      `There are no servers in ${files.join(', ')}. "toolshelf add" adds one, "toolshelf connect --apply" takes over those of your clients.`,
    )
  const cost = (value: number | undefined) => (value === undefined ? '' : count(value))
  const rows = listed.map(({ name, state, tools, tokens, runs, unset }) => [
    printable(name),
    state,
    cost(tools),
    cost(tokens),
    unset ? printable(`${unset.join(', ')} not set`) : printable(runs),
  ])
  terminal.print(
    table(['server', 'state', 'tools', 'tokens', 'runs'], rows, process.stdout.columns || COLUMNS, fitMiddle),
  )
  for (const { name, reason } of listed)
    if (reason !== undefined) terminal.report(printable(`${name}: ${printableLine(reason)}`))
  const known = listed.filter(({ tokens }) => tokens !== undefined)
  const tokens = known.reduce((sum, one) => sum + (one.tokens ?? 0), 0)
  if (known.length > 1) terminal.print(`${count(tokens)} tokens altogether. More: toolshelf doctor`)
}
