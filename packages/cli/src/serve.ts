// `toolshelf serve`: runs the Messages gateway, which adds tool search in front of any model.
import { oneLine } from '@toolshelf/core/internal'
import { createMessagesGateway, type ModeSetting, parseModeSetting, type Upstream } from '@toolshelf/messages'
import { createReloads, createStoreCheck, meterStore } from '@toolshelf/server/internal'
import { type Audit, openAudit } from './audit.ts'
import {
  type Command,
  type Input,
  numberIn,
  portIn,
  type Terminal,
  UsageError,
  withFlags,
} from './command.ts'
import { type OpenInspectorOptions, openGatewayInspector } from './gateway/inspector.ts'
import { gatewayOptionsIn, messagesOptions, modeIn } from './gateway/messages-options.ts'
import { savedInLog } from './gateway/saved-text.ts'
import { DRAIN_MS, untilSignalled } from './gateway/until-signalled.ts'
import type { ClientKey } from './http/messages/guard.ts'
import { createMessagesMetrics, type MessagesMetrics } from './http/messages/metrics.ts'
import { type RequestRecord, serveMessagesGateway } from './http/messages/server.ts'
import type { HttpService } from './http/service.ts'
import {
  auditIn,
  auditOption,
  drainDelayIn,
  gatewayUsersIn,
  serviceIn,
  serviceOptions,
  serviceRemedies,
  storeIn,
  storeOption,
  usersOption,
} from './options.ts'
import { serveAgent } from './serve-agent.ts'

const PORT = 3388

/** Options for clients that come and go; an agent of its own takes none of them. */
const clientOptions: Command['options'] = {
  memory: { value: 'MB', about: 'most MB of request bodies held at once (default: 512)' },
  port: { value: 'number', about: `port; 0 picks a free one (default: ${PORT})` },
  address: {
    value: 'address',
    about: 'address to listen on; beyond loopback it needs a key or --users (default: 127.0.0.1)',
  },
  allow: { value: 'name', isMultiple: true, about: 'a further host name that clients may use' },
  forward: { value: 'rule', isMultiple: true, about: "further requests to forward, as 'GET /v1/files/*'" },
  key: {
    value: 'secret',
    about: 'key of at least 24 characters that clients must send; better set TOOLSHELF_KEY',
  },
  ...usersOption,
  store: { ...storeOption.store!, about: 'redis://… of users' },
  open: { about: 'listen beyond loopback without a key' },
  'no-inspect': { about: 'do not serve the inspector under /inspect' },
  ...serviceOptions,
  ...auditOption,
  json: { about: 'print a line of JSON per request' },
}

export const serveCommand: Command = {
  name: 'serve',
  summary:
    'Tool search in front of any model, for clients of the Messages, Chat Completions and Responses APIs. With a command behind "--", for that agent only: starts on a free port, points the agent at it, ends with it and says what was saved.',
  words: '[--upstream <where>] [--mode <mode>] [--port <number>] [-- <agent> [<argument> …]]',
  noArguments: 'pass the upstream with --upstream, a port with --port, an agent after "--"',
  takesProgram: true,
  options: {
    ...messagesOptions,
    ...clientOptions,
    quiet: { short: 'q', about: 'with an agent: do not print what was saved' },
  },
  examples: [
    'toolshelf serve -- claude',
    'toolshelf serve --upstream openai:http://127.0.0.1:11434/v1 -- opencode',
    'toolshelf serve',
    'ANTHROPIC_BASE_URL=http://127.0.0.1:3388 claude  # in another terminal',
    'toolshelf serve --upstream openai:http://127.0.0.1:11434/v1 --mode shelve',
    'OPENAI_BASE_URL=http://127.0.0.1:3388/v1 qwen  # in another terminal',
    'toolshelf serve --upstream script:demo --port 0',
    'TOOLSHELF_KEY=… toolshelf serve --address 0.0.0.0',
  ],
  async run(input, terminal) {
    if (input.program) {
      const other = Object.keys(clientOptions).find(
        (name) => input.isSet(name) || input.text(name) !== undefined,
      )
      if (other === undefined) return serveAgent(input, terminal)
      throw new UsageError(
        `--${other} is for clients of a gateway that stays; leave it out with an agent after "--".`,
      )
    }
    const setting = modeIn(input)
    const port = portIn(input, PORT)
    const keys = readKeys(input, process.env)
    const maxHeldBytes = memoryIn(input)
    const service = serviceIn(input)
    const drainDelay = drainDelayIn(input)
    const settings = [setting, ...keys.map((key) => key.setting)]
    const gatewayOptions = await gatewayOptionsIn(input, input.text('upstream') ?? 'anthropic', settings)
    const { upstream } = gatewayOptions
    const metrics = createMessagesMetrics()
    const notify = (message: string) =>
      terminal.report(`toolshelf serve: ${oneLine(message, MAX_LINE_LENGTH)}`)
    const shared = await openShared(input, metrics, notify)
    const { users, usage, readinessChecks } = shared
    const secrets = keys.map(({ secret }) => secret)
    const address = input.text('address') || '127.0.0.1'
    const hosts = input.texts('allow')
    const isInspected = !input.isSet('no-inspect')
    const audit = openAudit(auditIn(input), { secrets, isInspected, notify })
    const inspector = isInspected ? openServeInspector(audit, { address, hosts, users, usage }) : undefined
    const gateway = createMessagesGateway({
      ...gatewayOptions,
      openTrace: audit && ((start) => audit.stream.open('serve', start).trace),
      notify,
    })
    const isJson = input.isSet('json')
    const served = await serveMessagesGateway({
      ...service,
      gateway,
      setting,
      metrics,
      port,
      keys,
      users,
      usage,
      readinessChecks,
      trace: audit?.stream.trace,
      hosts,
      address,
      forward: input.texts('forward'),
      isOpen: input.isSet('open'),
      notify,
      ...(maxHeldBytes === undefined ? {} : { maxHeldBytes }),
      ...(inspector ? { inspector: inspector.handle } : {}),
      onDone: (done) => terminal.print(isJson ? inJson(done) : oneLine(line(done), MAX_LINE_LENGTH)),
    }).catch(async (error: unknown) => {
      await shared.close()
      throw withFlags(error, {
        port: 'choose another with --port',
        keys: 'pass --users, set TOOLSHELF_KEY, listen on 127.0.0.1, or pass --open if anyone may use it',
        ...serviceRemedies,
      })
    })
    terminal.report(welcome(served.url, upstream, setting, inspector?.place))
    const ending = new AbortController()
    void warnIfUnreachable(upstream, terminal, ending.signal)
    const stop = () => {
      ending.abort()
      inspector?.close()
    }
    await runUntilEnd(served, { drainDelay, notify, stop, reloadUsers: shared.reload })
    await audit?.close()
    await shared.close()
    return 0
  },
}

/** Opens the inspector of the events that `audit` keeps; undefined if it keeps none. */
function openServeInspector(
  audit: Audit | undefined,
  options: Pick<OpenInspectorOptions, 'address' | 'hosts' | 'users' | 'usage'>,
) {
  if (!audit?.feed) return undefined
  return openGatewayInspector({
    ...options,
    source: 'serve',
    audit: { feed: audit.feed, redact: audit.redact },
    trace: audit.stream.trace,
  })
}

/** Opens the users of `--users`, and the store that they and their limits are in. */
async function openShared(input: Input, metrics: MessagesMetrics, notify: (message: string) => void) {
  const unmetered = await storeIn(input)
  const store = unmetered && meterStore(unmetered, metrics)
  const opened = await gatewayUsersIn(input, store, notify).catch(async (error: unknown) => {
    await store?.close()
    throw error
  })
  return {
    users: opened?.users,
    usage: opened?.usage,
    readinessChecks: store ? [createStoreCheck(store)] : [],
    reload: async () => opened?.reload(),
    async close() {
      await opened?.close()
      await store?.close()
    },
  }
}

type EndOptions = {
  readonly drainDelay: number
  readonly notify: (message: string) => void
  /** Stops what runs beside the gateway. */
  readonly stop: () => void
  readonly reloadUsers: () => Promise<void>
}

async function runUntilEnd(served: HttpService, options: EndOptions): Promise<void> {
  const { drainDelay, notify, stop } = options
  const reloads = createReloads(notify)
  reloads.onReload(served.reloadTls)
  reloads.onReload(options.reloadUsers)
  await untilSignalled({
    reload() {
      notify('reading certificates and users again.')
      return reloads.reload()
    },
    async drain(isUrgent) {
      stop()
      if (served.activeRequests() > 0)
        notify(
          `finishing requests (${served.activeRequests()}), for ${DRAIN_MS / 1000} s at most; send another signal to stop now`,
        )
      await served.drain(DRAIN_MS, isUrgent ? 0 : drainDelay)
    },
    close: served.close,
  })
}

function welcome(
  url: string,
  upstream: Upstream,
  setting: ModeSetting,
  inspector: string | undefined,
): string {
  const { wire, why } = upstream.wireFor('')
  const isAuto = setting.mode === 'auto'
  const mode = isAuto
    ? `auto: emulates what clients defer, shelves tools from ${setting.share} % of the window on`
    : setting.mode
  return [
    `toolshelf serve: ready at ${url}`,
    `  upstream  ${upstream.name}`,
    `  wire      ${wire} (${why}); --wire forces another`,
    `  mode      ${mode}`,
    `  try it    ANTHROPIC_BASE_URL=${url} <your agent>`,
    `            OPENAI_BASE_URL=${url}/v1 <your agent>`,
    ...(inspector === undefined ? [] : [`  inspect   ${url}${inspector}`]),
    '  health    /health, /ready, /metrics · Ctrl-C ends it',
  ].join('\n')
}

/** Returns the log line of a request: what was sent, how it was handled and what that saved. */
function line({ method, path, status, milliseconds, model, outcome, error }: RequestRecord): string {
  const time = `${Math.round(milliseconds)} ms`
  const failed = error === undefined ? '' : ` failed: ${oneLine(error, MAX_REASON_LENGTH)}`
  if (!outcome) return `${status} ${method} ${path} ${time}${failed}`
  const tools = outcome.toolsGiven > 0 ? ` tools ${outcome.toolsVisible}/${outcome.toolsGiven}` : ''
  const searches = outcome.searches > 0 ? ` searches ${outcome.searches}` : ''
  const loaded = outcome.loaded.length > 0 ? ` loaded ${outcome.loaded.join(',')}` : ''
  const figures = outcome.figures()
  const saved = figures ? ` ${savedInLog(figures)}` : ''
  const how = outcome.wire ? `${outcome.mode}/${outcome.wire}` : outcome.mode
  const count = path.endsWith('count_tokens') ? ' count' : ''
  return `${status} ${oneLine(model, MAX_NAME_LENGTH)}${count} ${how}${tools}${searches}${loaded}${saved} ${time} (${outcome.why})${failed}`
}

/** Clients choose the names of models and tools: they must neither break a line nor move the cursor. */
const MAX_LINE_LENGTH = 2000
const MAX_NAME_LENGTH = 200
const MAX_REASON_LENGTH = 300

function inJson({ outcome, milliseconds, model, ...rest }: RequestRecord): string {
  const time = new Date().toISOString()
  const words = {
    time,
    ...rest,
    milliseconds: Math.round(milliseconds * 10) / 10,
    ...outcome,
    ...outcome?.figures(),
  }
  const named = model === undefined ? words : { model: model.slice(0, MAX_NAME_LENGTH), ...words }
  return JSON.stringify(named).replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Cf}]/gu, escaped)
}

function escaped(text: string): string {
  const codes = text.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'))
  return codes.map((code) => `\\u${code}`).join('')
}

async function warnIfUnreachable(upstream: Upstream, terminal: Terminal, ended: AbortSignal): Promise<void> {
  if (!upstream.origin && upstream.name.startsWith('script:')) return
  const signal = AbortSignal.any([ended, AbortSignal.timeout(5000)])
  await upstream.models({ headers: {}, signal }).catch((error: Error) => {
    if (ended.aborted) return
    const why = signal.aborted ? 'no answer within 5 s' : error.message
    terminal.report(
      `toolshelf serve: ${upstream.name} does not answer yet: ${why} Requests are sent to it anyway; choose another with --upstream.`,
    )
  })
}

/** One client may use three quarters of it, which must be enough for the largest body. */
const MIN_MEMORY_MB = 43

function memoryIn(input: Input): number | undefined {
  const isEnough = (value: number) => Number.isInteger(value) && value >= MIN_MEMORY_MB
  const wanted = `a number of megabytes, at least ${MIN_MEMORY_MB}`
  const megabytes = numberIn(input, 'memory', isEnough, wanted)
  return megabytes === undefined ? undefined : megabytes * 1_000_000
}

/** Keys for clients: `secret`, `secret=mode` or `secret=mode+header`, separated by commas. */
function readKeys(input: Input, environment: NodeJS.ProcessEnv): ClientKey[] {
  const value = input.text('key') ?? environment.TOOLSHELF_KEY ?? ''
  return value
    .split(',')
    .filter((entry) => entry !== '')
    .map((entry) => {
      // Secrets may end in `=`.
      const [, secret, mode, chooses] = /^([^=].*?)(?:=([^=]+?)(\+header)?)?$/s.exec(entry) ?? []
      const setting = mode === undefined ? undefined : parseModeSetting(mode)
      const mayChoose = chooses !== undefined
      if (secret !== undefined && (mode === undefined || setting)) return { secret, setting, mayChoose }
      throw new UsageError(
        'invalid key: expected secret, secret=mode, or secret=mode+header if requests may choose another mode; separate several with commas. Modes: auto, auto:N, pass, emulate, shelve or off.',
      )
    })
}
