// `toolshelf mcp`: runs the MCP gateway, on stdio for the client that started it, or over HTTP for many clients.

import type { StateStore } from '@toolshelf/core/internal'
import { hasCode } from '@toolshelf/core/internal'
import { type LoadedConfig, readConfig, type ServerConfig, userConfigFiles } from '@toolshelf/mcp'
import {
  answerInitialize,
  type DefinitionCache,
  defaultCacheFolder,
  depthOf,
  greetingFor,
  type InitializeRequest,
  type KnownServer,
  openDefinitionCache,
  openStoredDefinitions,
  ownConfigFile,
  readCachedServers,
  rememberReads,
  thisMachine,
} from '@toolshelf/mcp/internal'
import {
  type ClientStreams,
  type Command,
  CommandError,
  choiceIn,
  clientOf,
  configOption,
  filesIn,
  type Input,
  numberIn,
  portIn,
  type Terminal,
  UsageError,
  withFlags,
} from './command.ts'
import type { HostOptions, OpenedHost } from './gateway/mcp-host.ts'
import { DRAIN_MS, untilSignalled } from './gateway/until-signalled.ts'
import type { McpHttpGateway } from './http/mcp/http.ts'
import {
  auditIn,
  auditOptions,
  drainDelayIn,
  type GatewayUsers,
  gatewayUsersIn,
  hostsIn,
  oauthOptions,
  serviceIn,
  serviceOptions,
  serviceRemedies,
  storeIn,
  storeOption,
  usersOption,
} from './options.ts'
import { type ConfigWatch, describeProblem, watchConfig } from './servers/config-watch.ts'
import { movedServersAdvice, noServersHint } from './servers/start.ts'
import { printable } from './terminal/pen.ts'
import { version } from './version.ts'

const MODES = ['auto', 'list', 'bridge'] as const
/** Named here, because loading all rankers would delay the first response. */
const RANKERS = ['hybrid', 'lexical'] as const
const PORT = 3399
const OF_HTTP = [
  ...['port', 'address', 'allow', 'proxies', 'users', 'no-inspect', 'max-sessions'],
  ...Object.keys(oauthOptions),
]
/** A gateway behind a gateway is fine; a longer chain is a mistake. */
const MAX_DEPTH = 2

/** Options that `serve` has too, with the same meaning. */
const optionsOfHttp = Object.fromEntries(
  Object.entries(serviceOptions).map(([name, option]) => [
    name,
    { ...option, about: `with --http: ${option.about}` },
  ]),
)

export const mcpCommand: Command = {
  name: 'mcp',
  summary: 'Gives a client one MCP server in place of all yours.',
  words: '[--config <file>…] [--http] [--mode auto|list|bridge] [--lazy] [--scripts]',
  noArguments: 'pass files with --config, a port with --port',
  options: {
    ...configOption('configuration of any client (default: your toolshelf.json)'),
    mode: {
      value: 'mode',
      values: MODES,
      about: 'how the client sees tools: list, bridge, or auto, by what it can do (default: auto)',
    },
    ranker: {
      value: 'name',
      values: RANKERS,
      about: 'how searches rank: hybrid or lexical (words alone) (default: hybrid)',
    },
    scripts: { about: 'offer RunScript: the model may combine read-only tools in a sandboxed script' },
    lazy: { about: 'start each server only when one of its tools is called' },
    http: { about: 'serve many clients over HTTP instead of one on stdio' },
    port: { value: 'number', about: `with --http: port; 0 picks a free one (default: ${PORT})` },
    address: {
      value: 'address',
      about:
        'with --http: address to listen on; beyond loopback it needs --users or TOOLSHELF_KEY (default: 127.0.0.1)',
    },
    allow: {
      value: 'name',
      isMultiple: true,
      about: 'with --http: a further host name that clients may use',
    },
    proxies: {
      value: 'subnet',
      isMultiple: true,
      about: 'with --http: addresses of balancers whose X-Forwarded-For is trusted',
    },
    'no-inspect': { about: 'with --http: do not serve the inspector under /inspect' },
    'max-sessions': { value: 'number', about: 'with --http: most sessions at once (default: 1000)' },
    ...optionsOfHttp,
    ...usersOption,
    ...oauthOptions,
    ...storeOption,
    ...auditOptions,
  },
  examples: [
    'toolshelf mcp',
    'toolshelf mcp --audit',
    'toolshelf mcp --config .mcp.json --config ~/.cursor/mcp.json --lazy',
    'toolshelf mcp --http --port 3399',
    'TOOLSHELF_STORE=redis://127.0.0.1 toolshelf mcp --http',
    'toolshelf mcp --http --users users.json --audit',
    'toolshelf mcp --http --public-url https://tools.example.com --oauth-issuer https://id.example.com',
    'TOOLSHELF_KEY=… toolshelf mcp --http --address 0.0.0.0 --allow tools.example.com',
    'toolshelf mcp --http --tls-cert tls.crt --tls-key tls.key --drain-delay 5',
  ],
  async run(input, terminal) {
    if (depthOf(process.env) > MAX_DEPTH)
      throw new CommandError('toolshelf mcp starts itself; remove it from the configuration that it reads.')
    const mode = choiceIn(input, 'mode', MODES)
    const ranker = choiceIn(input, 'ranker', RANKERS) ?? 'hybrid'
    const port = readPort(input)
    const notify = (message: string) => terminal.report(printable(`toolshelf mcp: ${message}`))
    const files = filesIn(input) ?? userConfigFiles(thisMachine())
    const read = await readFiles(files, notify)
    const prepare = (servers: readonly ServerConfig[]) =>
      input.isSet('lazy') ? servers.map((server) => ({ ...server, lazy: true })) : servers
    const config = { ...read, servers: prepare(read.servers) }
    const isOnStdio = !input.isSet('http')
    const { store, metrics } = await openStore(input, !isOnStdio)
    const cache = rememberReads(
      store ? openStoredDefinitions(store, notify) : openDefinitionCache(defaultCacheFolder(), notify),
    )
    const closeStore = async (error: unknown) => {
      await store?.close()
      throw error
    }
    const gatewayUsers = isOnStdio
      ? undefined
      : await gatewayUsersIn(input, store, notify, { acceptsTokens: true }).catch(closeStore)
    const open = openOnce(config, {
      mode: mode ?? config.settings.mode,
      ranker,
      cache,
      store,
      metrics,
      usage: gatewayUsers?.usage,
      hasUsers: gatewayUsers !== undefined,
      isOnePerson: isOnStdio,
      hasScripts: input.isSet('scripts') || config.settings.scripts,
      audit: auditIn(input),
      isInspected: !isOnStdio && !input.isSet('no-inspect'),
      notify,
    })
    const streams = clientOf(terminal)
    if (isOnStdio && streams.input.isTTY) terminal.report(FOR_CLIENTS)
    const answered = isOnStdio ? await greet(config, cache, open, streams).catch(closeStore) : undefined
    const opened = await open().catch(closeStore)
    const configure = (servers: readonly ServerConfig[]) => opened.configure(prepare(servers))
    const watch = watchConfig({ files, config: read, configure, notify })
    try {
      if (isOnStdio) await serveOnStdio(opened, streams, answered)
      else await serveOnHttp(opened, { port, input, terminal, watch, store, gatewayUsers })
      return 0
    } finally {
      watch.stop()
      await opened.closeEvents()
      await gatewayUsers?.close()
      await store?.close()
    }
  },
}

const FOR_CLIENTS = `toolshelf mcp: waiting for an MCP client on stdin; Ctrl-C ends it.
Add it to a client's configuration: { "command": "toolshelf", "args": ["mcp"] }`

function readPort(input: Input): number {
  const port = portIn(input, PORT)
  const stray = [...OF_HTTP, ...Object.keys(serviceOptions)].find(
    (option) => input.text(option) !== undefined || input.isSet(option),
  )
  if (stray && !input.isSet('http')) throw new UsageError(`--${stray} requires --http.`)
  return port
}

/** Reads the configuration. Without a server the gateway starts all the same, and takes up those that are added. */
async function readFiles(files: readonly string[], notify: (message: string) => void): Promise<LoadedConfig> {
  const config = await readConfig(files)
  for (const problem of config.problems) notify(describeProblem(problem))
  if (config.servers.length > 0) return config
  const [file] = files
  const isOwn = file === ownConfigFile(thisMachine())
  const [to, into] = isOwn ? ['', ''] : [` --to ${file}`, ` --config ${file}`]
  const remedy =
    (await movedServersAdvice(config.problems, thisMachine())) ??
    `Run "toolshelf connect --apply${to}" to take over those of your clients, or "toolshelf add${into}" to add one.`
  notify(
    `no MCP server is configured in ${files.join(', ')}. ${remedy} This gateway takes up what is added there.`,
  )
  return config
}

/** Opens the host at first use. */
function openOnce(config: LoadedConfig, options: HostOptions): () => Promise<OpenedHost> {
  let opened: Promise<OpenedHost> | undefined
  return () => {
    opened ??= import('./gateway/mcp-host.ts').then(({ openHost }) => openHost(config, options))
    return opened
  }
}

/**
 * Answers `initialize` if that is the client's first message. Clients wait for it, some only 3 s, so the answer
 * precedes loading the host and the SDK. The host must be asked only if changed instructions are held back.
 */
async function greet(
  { servers, settings }: LoadedConfig,
  cache: DefinitionCache,
  open: () => Promise<OpenedHost>,
  streams: ClientStreams,
): Promise<InitializeRequest | undefined> {
  const { onChange, instructions } = settings
  const known = onChange === 'hold' ? await readHostCache(open) : await readCachedServers(servers, cache)
  return answerInitialize(greetingFor(known, { version: version(), instructions, noServersHint }), streams)
}

async function readHostCache(open: () => Promise<OpenedHost>): Promise<readonly KnownServer[]> {
  const { host } = await open()
  await host.readCache()
  return host.status()
}

async function serveOnStdio(
  { gateway }: OpenedHost,
  streams: ClientStreams,
  answered: InitializeRequest | undefined,
): Promise<void> {
  const { serveMcpGatewayOnStdio } = await import('@toolshelf/mcp/internal/stdio')
  await serveMcpGatewayOnStdio(await gateway(), { ...streams, answered }).catch((error: unknown) => {
    throw hasCode(error, 'MESSAGE_TOO_LONG') ? new CommandError(error.message) : error
  })
}

type HttpServing = {
  readonly port: number
  readonly input: Input
  readonly terminal: Terminal
  readonly watch: ConfigWatch
  readonly store: StateStore | undefined
  readonly gatewayUsers: GatewayUsers | undefined
}

async function serveOnHttp(opened: OpenedHost, serving: HttpServing): Promise<void> {
  const { port, input, terminal, watch, store, gatewayUsers } = serving
  const { createReloads, createStoreCheck } = await import('@toolshelf/server/internal')
  const readinessChecks = store ? [createStoreCheck(store)] : []
  const settings = { ...serviceIn(input), ...maxSessionsIn(input), readinessChecks }
  const drainDelay = drainDelayIn(input)
  const gateway = await opened.gateway()
  const { serveMcpGatewayOnHttp } = await import('./http/mcp/http.ts')
  const { TOOLSHELF_KEY: key } = process.env
  const notify = (message: string) => terminal.report(`toolshelf mcp: ${message}`)
  const address = input.text('address') || '127.0.0.1'
  const hosts = hostsIn(input, address)
  const { users, usage, protectedResource } = gatewayUsers ?? {}
  const inspector = await opened.inspector({ gateway, address, hosts, users, usage, named: filesIn(input) })
  const options = {
    ...settings,
    port,
    address,
    hosts,
    proxies: input.texts('proxies'),
    notify,
    ...(key ? { key } : {}),
  }
  const served = await serveMcpGatewayOnHttp(gateway, {
    ...options,
    users,
    protectedResource,
    trace: opened.trace,
    ...(inspector ? { inspector: inspector.handle } : {}),
  }).catch(async (error: unknown) => {
    await gateway.close()
    throw withFlags(error, {
      port: 'choose another with --port',
      key: 'pass --users, set TOOLSHELF_KEY, or listen on 127.0.0.1',
      proxies: 'write addresses of --proxies as 10.0.0.5 or 10.0.0.0/8',
      ...serviceRemedies,
    })
  })
  gatewayUsers?.setServedUrl(served.url)
  const reloads = createReloads(notify)
  reloads.onReload(watch.reload)
  reloads.onReload(served.reloadTls)
  if (gatewayUsers) reloads.onReload(gatewayUsers.reload)
  // Listens for signals before it reports ready: a supervisor may send one at once.
  const ended = untilSignalled({
    async reload() {
      notify('reading the configuration again.')
      await reloads.reload()
    },
    async drain(isUrgent) {
      inspector?.close()
      if (served.activeRequests() + served.sessions() > 0) notify(describeEnd(served))
      await served.drain(DRAIN_MS, isUrgent ? 0 : drainDelay)
    },
    close: served.close,
  })
  terminal.report(`toolshelf mcp: ready at ${served.url}`)
  if (inspector) terminal.report(`toolshelf mcp: inspector at ${new URL(inspector.place, served.url).href}`)
  await ended
}

/** What an operator reads when the gateway ends while it is in use. */
function describeEnd(served: McpHttpGateway): string {
  const calls = `finishing calls (${served.activeRequests()}), for ${DRAIN_MS / 1000} s at most; send another signal to stop now`
  return `${calls}; sessions (${served.sessions()}) end with this process, their clients initialize again.`
}

/** Opens the store; over HTTP its operations are counted. */
async function openStore(input: Input, isMetered: boolean) {
  const store = await storeIn(input)
  if (!store || !isMetered) return { store, metrics: undefined }
  const { meterStore } = await import('@toolshelf/server/internal')
  const { createMcpMetrics } = await import('@toolshelf/mcp/internal/gateway')
  const metrics = createMcpMetrics()
  return { store: meterStore(store, metrics), metrics }
}

function maxSessionsIn(input: Input): { readonly maxSessions?: number } {
  const isWanted = (_: number, text: string) => /^[1-9]\d{0,6}$/.test(text)
  const maxSessions = numberIn(input, 'max-sessions', isWanted, 'a number from 1 to 9999999')
  return maxSessions === undefined ? {} : { maxSessions }
}
