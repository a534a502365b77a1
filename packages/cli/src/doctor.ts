// `toolshelf doctor`: starts the servers and reports their state, what they cost and what deferral saves; with `--check`,
// validates the configuration files and starts nothing.
import { isUtf8 } from 'node:buffer'
import { existsSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { readBoundedFile } from '@toolshelf/core/internal/node'
import {
  type LoadedConfig,
  type McpHost,
  type McpHostOptions,
  openPins,
  readConfig,
  userConfigFiles,
} from '@toolshelf/mcp'
import {
  type ConfigProblem,
  configPlaces,
  defaultPinsFolder,
  type LocalMachine,
  ownConfigFile,
  type Pins,
  projectConfigFiles,
  thisMachine,
} from '@toolshelf/mcp/internal'
import {
  type Command,
  configOption,
  type ExitCode,
  filesIn,
  type Input,
  numberIn,
  type Terminal,
  UsageError,
} from './command.ts'
import { findingsOf } from './doctor/findings.ts'
import { makeReport, type Report } from './doctor/report.ts'
import { arrivalLine, progressLine, terminalView } from './doctor/terminal.ts'
import { toSafeJson, writeTo } from './output.ts'
import { MODEL, pricesIn, pricesOption } from './prices.ts'
import { createListingHost, listAll, toStart } from './servers/listing-host.ts'
import { clientsStarting, serversToStart } from './servers/start.ts'
import { createPen, type Pen, printable, printableLine } from './terminal/pen.ts'
import { catalogueOf } from './tools.ts'
import { trustOption } from './trust/open.ts'

/** What the doctor needs of its process; tests replace it. */
export type DoctorSurroundings = {
  readonly machine: () => LocalMachine
  readonly createHost: (
    config: LoadedConfig,
    options: Required<Pick<McpHostOptions, 'notify'>> & Pick<McpHostOptions, 'pins'>,
  ) => McpHost
  readonly pins: (notify: (message: string) => void) => Pins | undefined
  /** Columns of the output terminal; undefined if it is none. */
  readonly columns: () => number | undefined
  /** Calls back when the user interrupts the wait, until the returned function is called. */
  readonly onInterrupt: (listener: () => void) => () => void
}

const MAX_SECONDS = 3600
/** Exit code after Ctrl-C. */
const INTERRUPTED = 130

export function createDoctor(surroundings: DoctorSurroundings): Command {
  return {
    name: 'doctor',
    summary: 'Starts your MCP servers and shows what their tools cost.',
    words: '[--config <file>…] [--check] [--json] [options]',
    noArguments: 'pass files with --config',
    options: {
      ...configOption('configuration of any client (default: toolshelf.json and .mcp.json)'),
      'trust-project': { ...trustOption, about: 'start this folder’s servers too, without asking' },
      check: {
        about:
          'only say what is wrong in the configuration files, and start nothing; in files of other programs it checks only the servers',
      },
      json: {
        about:
          'print {"servers": [{"name", "state", "tools", "tokens", …}], "total": {…}, "findings": [{"level", "server", "title", …}]}',
      },
      catalog: { value: 'file', about: 'also write all tools, for toolshelf search' },
      model: { value: 'id', about: `model whose prices are used (default: ${MODEL})` },
      ...pricesOption,
      timeout: { value: 'seconds', about: 'seconds that a server may take to start' },
    },
    examples: [
      'toolshelf doctor',
      'toolshelf doctor --config ~/.cursor/mcp.json',
      'toolshelf doctor --json --timeout 10',
      'toolshelf doctor --check --config .mcp.json',
      'toolshelf doctor --catalog tools.jsonl',
    ],
    async run(input, terminal) {
      const { files, timeout } = readWords(input)
      const machine = surroundings.machine()
      if (input.isSet('check')) return checkFiles(files, machine, input.isSet('json'), terminal)
      const prices = await pricesIn(input)
      const notices: string[] = []
      const { config, untrusted } = await serversToStart(files, machine, {
        isTrusting: input.isSet('trust-project'),
        notify: (message) => void notices.push(message),
      })
      const servers = config.servers.map((server) => toStart(server, timeout))
      const notify = (message: string) => void notices.push(message)
      const pins = surroundings.pins(notify)
      const watched = watch(pins)
      const host = surroundings.createHost({ ...config, servers }, { notify, ...watched })
      try {
        const isInterrupted = await settle(host, terminal, surroundings, machine)
        for (const notice of notices) terminal.report(printableLine(notice))
        const report = makeReport(host.status(), {
          configProblems: config.problems,
          untrusted,
          changed: watched.changed,
          onChange: config.settings.onChange,
          model: input.text('model') ?? MODEL,
          prices,
          clients: clientsOf(config, machine),
        })
        await publish(report, { input, terminal, surroundings, config, host })
        return isInterrupted ? INTERRUPTED : Math.min(1, report.total.failed)
      } finally {
        await host.close()
      }
    },
  }
}

export const doctorCommand: Command = createDoctor({
  machine: thisMachine,
  createHost: ({ servers, settings }, { notify, pins }) =>
    createListingHost(servers, {
      concurrency: settings.concurrency,
      notify,
      ...(pins ? { pins } : {}),
    }),
  pins: (notify) => {
    const folder = defaultPinsFolder()
    return folder === undefined ? undefined : openPins({ folder, notify })
  },
  columns: () => (process.stdout.isTTY ? process.stdout.columns : undefined),
  onInterrupt: (listener) => {
    process.once('SIGINT', listener)
    return () => process.off('SIGINT', listener)
  },
})

type Publishing = {
  readonly input: Input
  readonly terminal: Terminal
  readonly surroundings: DoctorSurroundings
  readonly config: LoadedConfig
  readonly host: McpHost
}

/** Prints the report, and writes the files that the user asked for. */
async function publish(report: Report, publishing: Publishing): Promise<void> {
  const { input, terminal, surroundings, config, host } = publishing
  const { catalog, files } = readWords(input)
  const next = await nextStep(config, report, surroundings.machine(), files)
  if (input.isSet('json')) terminal.print(toSafeJson({ ...report, findings: findingsOf(report) }))
  else terminal.print(terminalView(report, { ...look(surroundings, surroundings.machine()), next }))
  if (catalog !== undefined) {
    await writeTo(catalog, catalogueOf(host.status()))
    terminal.report(`The tools are in ${catalog}: toolshelf search "<query>" --catalog ${catalog}`)
  }
}

function readWords(input: Input) {
  const isInRange = (value: number) => value > 0 && value <= MAX_SECONDS
  const wanted = `seconds, more than 0 and at most ${MAX_SECONDS}`
  const seconds = numberIn(input, 'timeout', isInRange, wanted)
  const timeout = seconds === undefined ? undefined : 1000 * seconds
  const files = filesIn(input)
  const catalog = input.text('catalog')
  if (catalog === '') throw new UsageError('--catalog is empty; pass a file.')
  return { files, timeout, catalog }
}

/** Finds pinned tools that have changed. Pinning a server for the first time is left to the gateway. */
function watch(pins: Pins | undefined) {
  const changed = new Map<string, readonly string[]>()
  if (!pins) return { changed }
  const judge: NonNullable<McpHostOptions['pins']>['judge'] = async (server, listed, kind) => {
    const names = (await pins.judge(server, listed, kind, 'skip')).map(({ name }) => name)
    changed.set(server, [...new Set([...(changed.get(server) ?? []), ...names])])
    return []
  }
  return { changed, pins: { judge } }
}

/** Resolves when every server has settled or the user interrupts; returns whether the user did. */
async function settle(
  host: McpHost,
  terminal: Terminal,
  surroundings: DoctorSurroundings,
  machine: LocalMachine,
): Promise<boolean> {
  const canRewrite = terminal.isInteractive && machine.environment.TERM !== 'dumb'
  const stopWatching = canRewrite
    ? drawProgress(host, terminal, createPen(look(surroundings, machine)))
    : tellArrivals(host, terminal)
  let stopListening = () => {}
  const interrupted = new Promise<boolean>((resolve) => {
    stopListening = surroundings.onInterrupt(() => resolve(true))
  })
  let isInterrupted = false
  try {
    isInterrupted = await Promise.race([listAll(host).then(() => false), interrupted])
  } finally {
    stopListening()
    stopWatching()
  }
  if (isInterrupted) terminal.report('interrupted: the report has what was known by then')
  return isInterrupted
}

const REWRITE = '\u001b[1A\u001b[2K'

function drawProgress(host: McpHost, terminal: Terminal, { fit, dim, width }: Pen): () => void {
  const startedAt = performance.now()
  const lineNow = () => dim(fit(progressLine(host.status(), performance.now() - startedAt), width - 1))
  terminal.report(lineNow())
  const draw = () => terminal.report(REWRITE + lineNow())
  const stop = host.listen(draw)
  const timer = setInterval(draw, 1000)
  return () => {
    stop()
    clearInterval(timer)
    terminal.report(REWRITE)
  }
}

function tellArrivals(host: McpHost, terminal: Terminal): () => void {
  const arrived = new Set<string>()
  return host.listen((event) => {
    if (event.type !== 'state' || event.status.state === 'pending' || arrived.has(event.server)) return
    arrived.add(event.server)
    terminal.report(arrivalLine(event.status))
  })
}

function look({ columns }: DoctorSurroundings, { environment }: LocalMachine) {
  const given = columns()
  const isPlain = given === undefined || environment.TERM === 'dumb'
  return {
    isPlain,
    isColoured: !isPlain && !environment.NO_COLOR,
    width: Math.min(100, Math.max(60, given ?? 80)),
  }
}

/** The clients whose files the servers come from. */
function clientsOf({ servers }: LoadedConfig, machine: LocalMachine): string[] {
  const sources = new Set(servers.map(({ source }) => source))
  return configPlaces(machine)
    .filter(({ file }) => sources.has(file))
    .map(({ client }) => client)
}

/**
 * Returns the command to run next: the doctor again if all servers failed, `connect` if servers are configured
 * elsewhere than in our own file, else the gateway, unless a client starts it already.
 */
async function nextStep(
  { servers }: LoadedConfig,
  { projection, total, servers: reported }: Report,
  machine: LocalMachine,
  named: readonly string[] = [],
): Promise<string> {
  if (reported.some(({ state }) => state === 'pending')) return 'toolshelf doctor again, to the end'
  if (total.failed > 0 && total.connected === 0)
    return 'correct the entries above, then toolshelf doctor again'
  if (projection && projection.tokensSaved <= 0) return 'nothing: keep your servers as they are'
  if (servers.length === 0 && reported.some(({ state }) => state === 'untrusted')) return 'toolshelf trust'
  if (!servers.every(({ source }) => basename(source) === 'toolshelf.json'))
    return ['toolshelf connect --apply', ...named.map((file) => `--from ${file}`)].join(' ')
  const own = ownConfigFile(machine)
  const isOwn = servers.length > 0 && servers.every(({ source }) => source === own)
  const clients = isOwn ? await clientsStarting(own, machine) : []
  if (clients.length === 0) return 'toolshelf mcp'
  const names = new Intl.ListFormat('en').format(clients)
  return `nothing: ${names} already ${clients.length === 1 ? 'starts' : 'start'} these servers through Toolshelf`
}

/** Prints what is wrong in configuration files; starts nothing. */
async function checkFiles(
  named: readonly string[] | undefined,
  machine: LocalMachine,
  isJson: boolean,
  terminal: Terminal,
): Promise<ExitCode> {
  const files =
    named?.map((file) => resolve(machine.folder, file)) ??
    [...userConfigFiles(machine), ...projectConfigFiles(machine)].filter((file) => existsSync(file))
  const { servers, problems: found } = await readConfig(files, machine.environment, machine)
  const problems = [...found, ...(await encodingProblems(files))]
  if (isJson) {
    const shown = servers.map(({ name, source, disabled }) => ({ name, source, disabled }))
    terminal.print(toSafeJson({ files, servers: shown, problems }))
  } else if (files.length === 0) {
    terminal.print(
      `No configuration found. "toolshelf connect" creates ${ownConfigFile(machine)} from the configurations of your clients.`,
    )
  } else
    for (const file of files)
      for (const line of checkedLines(file, servers, problems)) terminal.print(printable(line))
  return problems.some(isWrong) ? 1 : 0
}

const MAX_CONFIG_BYTES = 64_000_000

/** Returns a problem for each file with bytes that are not UTF-8; a file that cannot be read is reported already. */
async function encodingProblems(files: readonly string[]): Promise<ConfigProblem[]> {
  const problems: ConfigProblem[] = []
  for (const file of new Set(files)) {
    const bytes = await readBoundedFile(file, MAX_CONFIG_BYTES).catch(() => undefined)
    if (bytes && !isUtf8(bytes))
      problems.push({
        file,
        message: 'it is not written in UTF-8, so some characters are lost. Save it as UTF-8.',
      })
  }
  return problems
}

/** A variable that is not set here may be set where a client starts the gateway. */
const isWrong = ({ unset, kind }: ConfigProblem) => unset === undefined && kind !== 'own-entry'

function checkedLines(
  file: string,
  servers: readonly { readonly name: string; readonly source: string }[],
  problems: readonly ConfigProblem[],
): string[] {
  const own = servers.filter(({ source }) => source === file).map(({ name }) => name)
  const ofFile = problems.filter((problem) => problem.file === file)
  const found = ofFile.filter(({ kind }) => kind !== 'own-entry')
  const none = found.length > 0 ? 'no usable server' : ofFile.length > 0 ? 'starts Toolshelf' : 'no servers'
  const state = found.some(isWrong) ? 'wrong  ' : found.length > 0 ? 'unset  ' : 'ok     '
  const usable = found.length > 0 ? 'usable: ' : ''
  return [
    `${state} ${file}: ${own.length > 0 ? `${usable}${own.join(', ')}` : none}`,
    ...found.map(({ server, message }) => `        ${server ? `server "${server}": ` : ''}${message}`),
  ]
}
