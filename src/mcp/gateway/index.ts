// The gateway: one MCP server in front of many. Each client gets a desk of its own; the servers behind are shared.
import { Server } from '@modelcontextprotocol/server'
import type { Shelf } from '../../core/index.ts'
import type { Asker, HostEvent, McpHost } from '../types.ts'
import { createAddresses } from './addresses.ts'
import { canAnswer, capabilitiesOf } from './capabilities.ts'
import { modeFor } from './clients.ts'
import { createDesk } from './desk.ts'
import { createExchanges } from './exchanges.ts'
import { joinInstructions } from './instructions.ts'
import { createLogLevels } from './log-levels.ts'
import { createOffers } from './offers.ts'
import type { Mode } from './own-tools.ts'
import { createRelisting } from './relisting.ts'
import { answerRequests } from './requests.ts'
import { sendable } from './sendable.ts'
import { createSubscriptions } from './subscriptions.ts'
import { keepInformed, tellChanges } from './updates.ts'

/** For the shelf of a gateway: clients put a prefix of their own before names, and see tools through MCP alone. */
export const shelfOptions = { namePrefix: '', toolSearch: false } as const

export type GatewayOptions = {
  /** Made with `shelfOptions`. */
  readonly shelf: Shelf
  /** Makes the host; the asker answers servers that ask outside of a call. */
  readonly makeHost: (asker: Asker) => McpHost
  readonly mode?: Mode | 'auto'
  /** Awaited before a call: what the shelf needs for it may be loaded late. */
  readonly ready?: () => Promise<unknown>
  readonly version?: string
  /** Characters of instructions in all. */
  readonly instructions?: number
}

export type Gateway = {
  readonly host: McpHost
  /** A server for one client: of one connection, or of one request where the protocol has no connections. */
  serve(client: ClientKind): Server
  /** For a stateless client nobody keeps a server to tell: this is told instead. */
  readonly onChange: (listener: (event: HostEvent) => void) => () => void
  /** URIs as clients know them. */
  readonly uriFor: (server: string, uri: string) => string
  /** How many clients are connected. */
  readonly clients: () => number
  close(): Promise<void>
}

export type ClientKind = {
  /** It speaks the newer protocol, which knows no sessions. */
  readonly isStateless: boolean
  /** It stays connected all the same, and can be told of changes. */
  readonly isLasting?: boolean
}

type Fields = { readonly [name: string]: unknown }

export function createGateway(options: GatewayOptions): Gateway {
  const { shelf, ready, mode: forced = 'auto', version = '0.1.0', instructions: budget = 4096 } = options
  const connected = new Set<Server>()
  const exchanges = createExchanges()
  let hadStateless = false
  let searchedAt: number | undefined
  const host = options.makeHost({
    ask: askTheOnly,
    get client() {
      return theOnly()
    },
  })
  const servers = host.status().flatMap(({ name, state }) => (state === 'disabled' ? [] : [name]))
  const addresses = createAddresses(servers)
  const offers = createOffers(host, addresses)
  const subscriptions = createSubscriptions(host)
  const logLevels = createLogLevels(host)

  /** Outside of a call only a single client can be meant, and one without a session might be, however long ago it called. */
  function theOnly(): Server | undefined {
    const [only, ...others] = connected
    return others.length === 0 && !hadStateless ? only : undefined
  }

  async function askTheOnly(method: string, params: Fields): Promise<Fields> {
    const only = theOnly()
    if (!only || !canAnswer(capabilitiesOf(only), method)) throw new Error(`no client can do ${method}`)
    return (await only.request(sendable({ method, params }) as never, { timeout: LONGEST_ANSWER })) as Fields
  }

  /** Of a server never seen before nobody knows the tools: a weak match elsewhere must not be all that a search finds. */
  async function patience(): Promise<void> {
    searchedAt ??= performance.now()
    const left = FIRST_PATIENCE - (performance.now() - searchedAt)
    const isNew = host.status().some(({ state, tools }) => state === 'pending' && tools.length === 0)
    if (left > 0 && isNew) await host.settled({ timeout: left })
  }

  function serve({ isStateless, isLasting = false }: ClientKind): Server {
    hadStateless ||= isStateless
    const server = new Server(
      { name: 'toolshelf', title: 'Toolshelf', version },
      {
        capabilities: {
          tools: { listChanged: true },
          resources: { listChanged: true, subscribe: true },
          prompts: { listChanged: true },
          completions: {},
          ...(isStateless ? {} : { logging: {} }),
        },
        instructions: joinInstructions(described(host), budget),
        inputRequired: { maxRounds: 100 },
      },
    )
    const mode = () => modeFor(server.getClientVersion()?.name, forced, isStateless)
    const relisting = createRelisting(
      () => JSON.stringify(desk.tools()),
      () => server.sendToolListChanged().catch(() => {}),
    )
    const desk = createDesk({
      shelf,
      host,
      addresses,
      servers,
      mode,
      patience,
      onLoad: () => relisting.announce(),
    })
    answerRequests({
      server,
      isStateless,
      askOutside: askTheOnly,
      host,
      desk,
      offers,
      exchanges,
      relisting,
      ready,
    })
    if (isStateless && isLasting) server.onclose = tellChanges({ server, host, relisting })
    if (isStateless) return server

    const stop = keepInformed({ server, host, relisting, offers, addresses, subscriptions, logLevels })
    server.oninitialized = () => {
      relisting.listed()
      host.start(capabilitiesOf(server))
    }
    server.onclose = () => {
      stop()
      connected.delete(server)
    }
    connected.add(server)
    return server
  }

  /** All that a client without a session lists besides our own tools. */
  const immediateTools = () =>
    shelf
      .tools()
      .immediate.map(({ json }) => json)
      .join()

  return {
    host,
    serve,
    onChange(listener) {
      let listed = immediateTools()
      return host.listen((event) => {
        const now = immediateTools()
        if (event.type !== 'tools' || now !== listed) listener(event)
        listed = now
      })
    },
    uriFor: addresses.uri,
    clients: () => connected.size,
    async close() {
      offers.close()
      subscriptions.close()
      logLevels.close()
      await Promise.all([...connected].map((server) => server.close().catch(() => {})))
      await host.close()
    },
  }
}

/** Milliseconds from the first search on. */
const FIRST_PATIENCE = 2000

/** A person may have to think. */
const LONGEST_ANSWER = 600_000

function described(host: McpHost) {
  return host
    .status()
    .filter(({ state }) => state !== 'disabled')
    .map(({ name, config, instructions }) => ({ name, description: config.description, instructions }))
}
