// `toolshelf mcp`: the gateway, on stdio for the client that started it, or over HTTP for many.
import { setTimeout as sleep } from 'node:timers/promises'
import { createShelf } from '../core/index.ts'
import { type Config, readConfig } from '../mcp/config/config.ts'
import { ownConfigFile, thisMachine, userConfigFiles } from '../mcp/config/places.ts'
import { answerInitialize, greetingFor } from '../mcp/gateway/greeting.ts'
import type { Gateway } from '../mcp/gateway/index.ts'
import { shelfOptions } from '../mcp/gateway/shelf-options.ts'
import { depthOf } from '../mcp/host/depth.ts'
import { createMcpHost } from '../mcp/host/index.ts'
import { defaultPinsFolder, openPins } from '../mcp/safety/pins.ts'
import type { Asker, McpHost, ServerConfig } from '../mcp/types.ts'
import { startTimer } from '../timer.ts'
import {
  type Command,
  CommandError,
  filesIn,
  type Input,
  listIn,
  portIn,
  type Terminal,
  UsageError,
} from './command.ts'
import { describeProblem, watchConfig } from './config-watch.ts'
import { storedLogins } from './logins.ts'
import { tellOfServers } from './notices.ts'
import { printable } from './printable.ts'
import { version } from './version.ts'

const MODES = ['auto', 'list', 'bridge'] as const
const PORT = '3399'
const OF_HTTP = ['port', 'address', 'allow']
/** A gateway behind a gateway is fine, a chain of them is a mistake. */
const MOST_DEPTH = 2

export const mcp: Command = {
  name: 'mcp',
  summary: 'Stands in a client’s configuration in place of all your MCP servers.',
  words: '[--config <files>] [--http] [--mode auto|list|bridge] [--lazy]',
  options: {
    config: {
      type: 'string',
      value: 'files',
      about: 'of any client, comma separated; your toolshelf.json if left out',
    },
    mode: {
      type: 'string',
      value: 'mode',
      values: MODES,
      about: 'how tools are shown: list, bridge, or by what the client can do',
    },
    lazy: { type: 'boolean', about: 'start each server only when one of its tools is called' },
    http: { type: 'boolean', about: 'serve many clients over HTTP instead of one on stdio' },
    port: { type: 'string', value: 'number', about: `of --http; ${PORT} if left out, 0 for any free one` },
    address: {
      type: 'string',
      value: 'address',
      about: 'of --http; beyond loopback TOOLSHELF_KEY must be set',
    },
    allow: {
      type: 'string',
      value: 'names',
      about: 'further host names that clients of --http may use, comma separated',
    },
  },
  examples: [
    'toolshelf mcp',
    'toolshelf mcp --config .mcp.json,~/.cursor/mcp.json --lazy',
    'toolshelf mcp --http --port 3399',
    'TOOLSHELF_KEY=… toolshelf mcp --http --address 0.0.0.0 --allow tools.example.com',
  ],
  async run(input, terminal) {
    if (depthOf(process.env) > MOST_DEPTH)
      throw new CommandError('it is started by itself; take it out of the configuration that it reads.')
    const mode = readMode(input)
    const port = readPort(input)
    const files = filesIn(input) ?? userConfigFiles(thisMachine())
    const config = await readFiles(files, input, terminal)
    const isLazy = input.isSet('lazy')
    const opened = openHost(config, { mode, isLazy }, terminal)
    const stopWatching = watchConfig({
      files,
      config,
      configure: (servers) => opened.host.configure(withLazy(servers, isLazy)),
      tell: (message) => terminal.tell(printable(`toolshelf mcp: ${message}`)),
    })
    try {
      if (input.isSet('http')) await serveOnHttp(opened, port, input, terminal)
      else {
        if (process.stdin.isTTY) terminal.tell(FOR_CLIENTS)
        await serveOnStdio(opened)
      }
      return 0
    } finally {
      stopWatching()
    }
  },
}

const FOR_CLIENTS = `toolshelf mcp: waiting for an MCP client on stdin; Ctrl-C ends it.
It belongs into a client's configuration: { "command": "toolshelf", "args": ["mcp"] }`

function readMode(input: Input): (typeof MODES)[number] | undefined {
  const given = input.text('mode')
  const mode = MODES.find((one) => one === given)
  if (given !== undefined && mode === undefined)
    throw new UsageError(`--mode is "${given}"; use one of ${MODES.join(', ')}.`)
  return mode
}

function readPort(input: Input): number {
  const port = portIn(input, PORT)
  const stray = OF_HTTP.find((option) => input.text(option) !== undefined)
  if (stray && !input.isSet('http')) throw new UsageError(`--${stray} means something only with --http.`)
  return port
}

async function readFiles(files: readonly string[], input: Input, terminal: Terminal): Promise<Config> {
  const config = await readConfig(files)
  for (const problem of config.problems)
    terminal.tell(printable(`toolshelf mcp: ${describeProblem(problem)}`))
  if (config.servers.length > 0) return config
  if (config.problems.length > 0 && input.text('config') !== undefined)
    throw new CommandError('no server is left to start; mend what is named above.')
  throw new CommandError(
    `no MCP server is configured in ${files.join(', ')}. Run "toolshelf import" to take over those of your clients into ${ownConfigFile(thisMachine())}, or name a file with --config.`,
  )
}

function withLazy(servers: readonly ServerConfig[], isLazy: boolean): readonly ServerConfig[] {
  return isLazy ? servers.map((server) => ({ ...server, lazy: true })) : servers
}

type OpenedHost = {
  readonly host: McpHost
  readonly greeting: { readonly version: string; readonly instructions: number }
  /** The gateway in front of the host; its modules are loaded now. */
  gateway(): Promise<Gateway>
}

/** Clients wait for the answer to `initialize`, some for 3 s: it comes before the SDK is loaded. */
async function serveOnStdio({ host, greeting, gateway }: OpenedHost): Promise<void> {
  await host.recall()
  const streams = { input: process.stdin, output: process.stdout }
  const answered = await answerInitialize(greetingFor(host, greeting), streams)
  const { runOnStdio } = await import('../mcp/gateway/stdio.ts')
  await runOnStdio(await gateway(), { ...streams, answered })
}

async function serveOnHttp(
  opened: OpenedHost,
  port: number,
  input: Input,
  terminal: Terminal,
): Promise<void> {
  const gateway = await opened.gateway()
  const { runOnHttp } = await import('../mcp/gateway/http.ts')
  const served = await runOnHttp(gateway, {
    port,
    ...(input.text('address') ? { address: input.text('address')! } : {}),
    ...(process.env.TOOLSHELF_KEY ? { key: process.env.TOOLSHELF_KEY } : {}),
    hosts: listIn(input, 'allow'),
    notify: (message) => terminal.tell(`toolshelf mcp: ${message}`),
  }).catch(async (error: unknown) => {
    await gateway.close()
    throw new CommandError((error as Error).message)
  })
  terminal.tell(`toolshelf mcp: ready at ${served.url}`)
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve())
  })
  await served.close()
}

function openHost(
  { servers, settings }: Config,
  { mode = settings.mode, isLazy }: { mode?: (typeof MODES)[number] | undefined; isLazy: boolean },
  terminal: Terminal,
): OpenedHost {
  const tell = (message: string) => terminal.tell(printable(`toolshelf mcp: ${message}`))
  const { shelf, ready, warm } = openShelf(tell)
  const folder = defaultPinsFolder()
  let asker: Asker | undefined
  const host = createMcpHost({
    shelf,
    servers: withLazy(servers, isLazy),
    concurrency: settings.concurrency,
    onChange: settings.onChange,
    ...(folder ? { pins: openPins({ folder, notify: tell }) } : {}),
    authorize: storedLogins(tell),
    asker: {
      get client() {
        return asker?.client
      },
      ask: async (...question) => {
        if (!asker) throw new Error('no client is connected')
        return asker.ask(...question)
      },
    },
    notify: tell,
    clientInfo: { name: 'toolshelf', version: version() },
  })
  tellOfServers(host, tell)
  void host
    .settled()
    .then(() => sleep(FIRST_MOMENTS, undefined, { ref: false }))
    .then(warm)
    .catch((error: Error) => tell(error.message))
  const greeting = { version: version(), instructions: settings.instructions }
  async function gateway(): Promise<Gateway> {
    const { createGateway } = await import('../mcp/gateway/index.ts')
    const makeHost = (given: Asker) => {
      asker = given
      return host
    }
    return createGateway({ shelf, mode, ready, ...greeting, notify: tell, makeHost })
  }
  return { host, greeting, gateway }
}

/** Milliseconds that belong to the client's first requests: lazy servers are settled before it has asked anything. */
const FIRST_MOMENTS = 1000

const searching = () => import('../rankers.ts')
const validating = () => import('../validate/index.ts')

/** As the package's own, but what only searches and calls need is loaded later. */
function openShelf(notify: (message: string) => void) {
  let validator: Awaited<ReturnType<typeof validating>> | undefined
  const shelf = createShelf({
    ...shelfOptions,
    notify,
    timer: startTimer,
    rank: async (tools, query, limit) => (await searching()).rankers.model(tools, query, limit),
    validate: (schema, input) => validator?.validate(schema, input) ?? [],
  })
  const ready = async () => {
    validator ??= await validating()
  }
  /** While nobody waits. The encoder, which is heavy, waits for a search that somebody makes. */
  const warm = async () => {
    await ready()
    await (await searching()).rankers.hybrid(shelf.tools().deferred, 'tools', 1)
  }
  return { shelf, ready, warm }
}
