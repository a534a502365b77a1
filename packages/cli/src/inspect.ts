// `toolshelf inspect`: shows recorded events, and the user's servers, in a browser.
import { existsSync, rmSync, statSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Shelf } from '@toolshelf/core'
import { createPureShelf } from '@toolshelf/core/pure'
import { createFileFeed, type InspectedServers } from '@toolshelf/inspector'
import { createMcpHost, gatewayShelfOptions, type McpHost, openPins, type ServerConfig } from '@toolshelf/mcp'
import { defaultPinsFolder, type LocalMachine, thisMachine } from '@toolshelf/mcp/internal'
import { answerNode, close, listen } from '@toolshelf/server/internal'
import { createEventRedactor } from './audit.ts'
import {
  type Command,
  CommandError,
  configOption,
  filesIn,
  type Input,
  portIn,
  type Terminal,
  withFlags,
} from './command.ts'
import { inspectedServers } from './gateway/inspected-servers.ts'
import { type OpenedInspector, openInspector } from './gateway/inspector.ts'
import { nextSignal } from './gateway/until-signalled.ts'
import { startBrowser } from './login.ts'
import { eventFile } from './options.ts'
import { describeProblem, watchConfig } from './servers/config-watch.ts'
import { editableFiles } from './servers/own-servers.ts'
import { pinsHint, type ServersToStart, serversIfAny, withStoredLogins } from './servers/start.ts'
import { printable } from './terminal/pen.ts'
import { trustOption } from './trust/open.ts'
import { version } from './version.ts'

/** What the command needs of its process; tests replace it. */
type InspectSurroundings = {
  readonly machine: () => LocalMachine
  readonly ended: () => Promise<void>
  /** Opens a page in a browser; resolves to false if there is none. */
  readonly openBrowser: (url: string, machine: LocalMachine) => Promise<boolean>
}

const ADDRESS = '127.0.0.1'

export function createInspect(surroundings: InspectSurroundings): Command {
  return {
    name: 'inspect',
    summary:
      'Shows in a browser what happened (conversations, searches, costs, what broke the cache), and your MCP servers.',
    words: '[<file> …] [--config <file>…] [--port <number>] [--no-open]',
    options: {
      ...configOption(
        'configuration whose servers to start and show (default: toolshelf.json and .mcp.json)',
      ),
      'trust-project': { ...trustOption, about: 'start this folder’s servers too, without asking' },
      port: { value: 'number', about: 'port (default: any free one)' },
      'no-open': { about: 'print the URL without opening a browser' },
    },
    examples: [
      'toolshelf inspect',
      'toolshelf inspect audit.jsonl --no-open',
      'toolshelf inspect --config ~/.cursor/mcp.json',
    ],
    async run(input, terminal) {
      const machine = surroundings.machine()
      const notify = (message: string) => terminal.report(printable(`toolshelf inspect: ${message}`))
      const files = eventFilesIn(input, machine)
      const port = portIn(input, 0)
      const isTrusting = input.isSet('trust-project')
      const named = filesIn(input)
      const found = await serversIfAny(named, machine, { isTrusting, notify })
      for (const problem of found.config.problems) notify(describeProblem(problem))
      const started = startServers(found, { named, machine, notify })
      const { redact, setServers } = createEventRedactor()
      setServers(found.config.servers)
      const inspector = openInspector({
        source: 'inspect',
        audit: { feed: createFileFeed(files), redact },
        servers: () => started.servers,
        address: ADDRESS,
        path: '/',
      })
      const watch = watchConfig({
        files: found.files,
        config: found.config,
        configure: (servers) => {
          setServers(servers)
          return started.configure(servers)
        },
        notify,
      })
      try {
        await serveUntilEnd(inspector, { port, input, terminal, machine, surroundings })
        return 0
      } finally {
        watch.stop()
        await started.host.close()
      }
    },
  }
}

export const inspectCommand: Command = createInspect({
  machine: thisMachine,
  ended: async () => void (await nextSignal(['SIGINT', 'SIGTERM', 'SIGHUP']).heard),
  openBrowser,
})

function eventFilesIn({ words }: Input, { folder }: LocalMachine): string[] {
  if (words.length === 0) return [eventFile()]
  const files = [...new Set(words.map((word) => resolve(folder, word)))]
  const missing = files.find((file) => !existsSync(file))
  if (missing !== undefined)
    throw new CommandError(
      `there is no file ${missing}. "toolshelf mcp --audit" records events; without a file, inspect shows those.`,
    )
  const other = files.find((file) => !statSync(file).isFile())
  if (other !== undefined) throw new CommandError(`${other} is not a file with events.`)
  return files
}

type StartedServers = {
  readonly host: McpHost
  readonly servers: InspectedServers
  configure(servers: readonly ServerConfig[]): Promise<void>
}

type StartOptions = {
  /** The files of `--config`. */
  readonly named: readonly string[] | undefined
  readonly machine: LocalMachine
  readonly notify: (message: string) => void
}

/** Starts the servers in the background. Those of an untrusted folder are shown, and never started. */
function startServers(
  { config, untrusted }: ServersToStart,
  { named, machine, notify }: StartOptions,
): StartedServers {
  const { settings } = config
  const shelf: Shelf = createPureShelf({ ...gatewayShelfOptions })
  const folder = defaultPinsFolder(machine.environment)
  const pins = folder === undefined ? undefined : openPins({ folder, notify })
  const eager = (servers: readonly ServerConfig[]) => servers.map((server) => ({ ...server, lazy: false }))
  const host = createMcpHost({
    shelf,
    servers: eager(config.servers),
    concurrency: settings.concurrency,
    onChange: settings.onChange,
    acceptHint: pinsHint,
    ...(pins ? { pins: { judge: (server, listed, kind) => pins.judge(server, listed, kind, 'skip') } } : {}),
    ...withStoredLogins(notify),
    notify,
    clientInfo: { name: 'toolshelf', version: version() },
  })
  let configs: readonly ServerConfig[] = config.servers
  host.watchLists()
  host.start()
  return {
    host,
    servers: inspectedServers({
      host,
      shelf,
      onChange: settings.onChange,
      pins,
      untrusted,
      manage: {
        configs: () => configs,
        editable: editableFiles(named, machine),
        login: (server) => logIn(server, machine, notify),
      },
    }),
    configure(servers) {
      configs = servers
      return host.configure(eager(servers))
    },
  }
}

async function logIn(
  config: ServerConfig,
  machine: LocalMachine,
  notify: (message: string) => void,
): Promise<void> {
  const { defaultTokenFolder, login } = await import('@toolshelf/mcp/internal/oauth')
  await login({
    config,
    folder: defaultTokenFolder(machine.environment),
    clientInfo: { name: 'toolshelf', version: version() },
    print: notify,
    notify,
    openBrowser: startBrowser,
  })
}

type Serving = {
  readonly port: number
  readonly input: Input
  readonly terminal: Terminal
  readonly machine: LocalMachine
  readonly surroundings: InspectSurroundings
}

/** Connections at once: pages need two or three each. */
const MAX_CONNECTIONS = 200

async function serveUntilEnd(inspector: OpenedInspector, serving: Serving): Promise<void> {
  const { port, input, terminal, machine, surroundings } = serving
  const server = createServer({ headersTimeout: 20_000, requestTimeout: 60_000 }, (incoming, outgoing) => {
    void answerNode(incoming, outgoing, inspector.handle)
  })
  server.maxConnections = MAX_CONNECTIONS
  const url = await listen(server, port, ADDRESS).catch((error: unknown) => {
    throw withFlags(error, { port: 'choose another with --port' })
  })
  const ended = surroundings.ended()
  const address = `${url}${inspector.place}`
  terminal.print(`The inspector is at ${address}`)
  const isOpened =
    !input.isSet('no-open') && terminal.isInteractive && (await surroundings.openBrowser(address, machine))
  terminal.report(`${isOpened ? 'It opens in your browser.' : 'Open it in a browser.'} Ctrl-C ends it.`)
  await ended
  inspector.close()
  await close(server)
}

/**
 * Opens the page by a private file that leads to it: other users of the machine can read the arguments of a process, and
 * the URL holds the key.
 */
async function openBrowser(url: string, { environment, platform }: LocalMachine): Promise<boolean> {
  const hasDisplay = platform !== 'linux' || Boolean(environment.DISPLAY || environment.WAYLAND_DISPLAY)
  if (!hasDisplay || environment.SSH_CONNECTION) return false
  const folder = await mkdtemp(join(tmpdir(), 'toolshelf-'))
  const file = join(folder, 'inspector.html')
  await writeFile(file, `<!doctype html><meta http-equiv="refresh" content="0;url=${url}">`, { mode: 0o600 })
  setTimeout(() => void rm(folder, { recursive: true, force: true }), FILE_LIFE_MS).unref()
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return startBrowser(pathToFileURL(file).href)
}

/** Browsers that start slowly still find the file. */
const FILE_LIFE_MS = 30_000
