// The gateway: one MCP server in front of many. Each client gets a desk of its own; the servers behind are shared.
import { ProtocolError, Server } from '@modelcontextprotocol/server'
import type { Shelf } from '../../core/index.ts'
import type { Asker, HostEvent, McpHost } from '../types.ts'
import { createAddresses } from './addresses.ts'
import { modeFor } from './clients.ts'
import { createDesk } from './desk.ts'
import { createExchanges } from './exchanges.ts'
import { joinInstructions } from './instructions.ts'
import { createOffers } from './offers.ts'
import type { Mode } from './own-tools.ts'
import { createRelisting } from './relisting.ts'

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
  serve(client: { readonly isStateless: boolean }): Server
  /** For a stateless client nobody keeps a server to tell: this is told instead. */
  readonly onChange: (listener: (event: HostEvent) => void) => () => void
  /** URIs as clients know them. */
  readonly uriFor: (server: string, uri: string) => string
  /** How many clients are connected. */
  readonly clients: () => number
  close(): Promise<void>
}

type Fields = { readonly [name: string]: unknown }

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

const NEEDED: { readonly [method: string]: string } = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
}

export function createGateway(options: GatewayOptions): Gateway {
  const { shelf, mode: forced = 'auto', version = '0.1.0', instructions: budget = 4096 } = options
  const connected = new Set<Server>()
  const exchanges = createExchanges()
  const host = options.makeHost({ ask: askTheOnly })
  const servers = host.status().flatMap(({ name, state }) => (state === 'disabled' ? [] : [name]))
  const addresses = createAddresses(servers)
  const offers = createOffers(host, addresses)

  /** Outside of a call only a single client can be meant. */
  async function askTheOnly(method: string, params: Fields): Promise<Fields> {
    const [only, ...others] = connected
    if (!only || others.length > 0 || !canAnswer(only, method)) throw new Error(`no client can do ${method}`)
    return (await only.request({ method, params } as never, { timeout: 600_000 })) as Fields
  }

  function canAnswer(server: Server, method: string): boolean {
    const needed = NEEDED[method]
    return (
      needed !== undefined && (server.getClientCapabilities() as Fields | undefined)?.[needed] !== undefined
    )
  }

  /** What the server itself has answered is the client's to read. */
  function own(error: unknown): never {
    const { cause } = error as Error
    throw cause instanceof ProtocolError ? cause : error
  }

  const answerer = (server: Server) => ({
    capabilities: clientCapabilities(server),
    canAnswer: (method: string) => canAnswer(server, method),
  })

  function serve({ isStateless }: { readonly isStateless: boolean }): Server {
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
        instructions: joinInstructions(described(), budget),
        inputRequired: { maxRounds: 100 },
      },
    )
    const relisting = createRelisting(() => server.sendToolListChanged().catch(() => {}))
    const desk = createDesk({
      shelf,
      host,
      addresses,
      servers,
      mode: () => modeFor(server.getClientVersion()?.name, forced, isStateless),
      onLoad: relisting.announce,
    })
    let level = LEVELS.indexOf('info')
    const subscriptions = new Set<string>()

    const begin = () => host.start(clientCapabilities(server))
    server.setRequestHandler('tools/list', async () => {
      begin()
      relisting.listed()
      return { tools: desk.tools() as never[] }
    })
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
      begin()
      await options.ready?.()
      const token = mcpReq._meta?.progressToken
      const onProgress = (progress: Fields) => {
        if (token === undefined) return
        const note = { method: 'notifications/progress', params: { ...progress, progressToken: token } }
        mcpReq.notify(note as never).catch(() => {})
      }
      const output = await exchanges.run(mcpReq, answerer(server), (asker, signal) =>
        desk.call(params.name, params.arguments, { asker, signal, onProgress: onProgress as never }),
      )
      return output as never
    })
    server.setRequestHandler('resources/list', async () => {
      begin()
      return { resources: (await offers.resources()) as never[] }
    })
    server.setRequestHandler('resources/templates/list', async () => {
      begin()
      return { resourceTemplates: (await offers.templates()) as never[] }
    })
    server.setRequestHandler(
      'resources/read',
      async ({ params }, { mcpReq }) =>
        (await exchanges.run(mcpReq, answerer(server), (asker, signal) =>
          offers.readResource(params.uri, { asker, signal }).catch(own),
        )) as never,
    )
    server.setRequestHandler('prompts/list', async () => {
      begin()
      return { prompts: (await offers.prompts()) as never[] }
    })
    server.setRequestHandler(
      'prompts/get',
      async ({ params }, { mcpReq }) =>
        (await exchanges.run(mcpReq, answerer(server), (asker, signal) =>
          offers.getPrompt(params as Fields, { asker, signal }).catch(own),
        )) as never,
    )
    server.setRequestHandler(
      'completion/complete',
      async ({ params }, { mcpReq }) => (await offers.complete(params as Fields, mcpReq.signal)) as never,
    )
    if (isStateless) return server

    server.setRequestHandler('resources/subscribe', async ({ params }) => {
      const owner = await offers.ownerOf(params.uri)
      await host.request(owner.server, 'resources/subscribe', { uri: owner.uri })
      subscriptions.add(addresses.uri(owner.server, owner.uri))
      return {}
    })
    server.setRequestHandler('resources/unsubscribe', async ({ params }) => {
      const owner = await offers.ownerOf(params.uri)
      subscriptions.delete(addresses.uri(owner.server, owner.uri))
      await host.request(owner.server, 'resources/unsubscribe', { uri: owner.uri })
      return {}
    })
    server.setRequestHandler('logging/setLevel', async ({ params }) => {
      level = LEVELS.indexOf(params.level)
      for (const { name, state, capabilities } of host.status()) {
        if (state === 'connected' && capabilities.logging)
          host.request(name, 'logging/setLevel', { level: params.level }).catch(() => {})
      }
      return {}
    })
    server.setNotificationHandler('notifications/roots/list_changed', () =>
      host.notify('notifications/roots/list_changed'),
    )

    let shown = JSON.stringify(desk.tools())
    const stop = host.listen((event) => {
      if (event.type === 'tools') {
        const now = JSON.stringify(desk.tools())
        if (now !== shown) server.sendToolListChanged().catch(() => {})
        shown = now
      }
      if (hasNew('prompts', event)) server.sendPromptListChanged().catch(() => {})
      if (hasNew('resources', event)) server.sendResourceListChanged().catch(() => {})
      if (event.type === 'resource') {
        const uri = addresses.uri(event.server, event.uri)
        if (subscriptions.has(uri)) server.sendResourceUpdated({ uri }).catch(() => {})
      }
      if (event.type === 'log' && LEVELS.indexOf(event.level) >= level) {
        const logger = event.logger ? `${event.server}/${event.logger}` : event.server
        server
          .notification({
            method: 'notifications/message',
            params: { level: event.level, logger, data: event.data },
          } as never)
          .catch(() => {})
      }
    })
    server.oninitialized = begin
    server.onclose = () => {
      stop()
      connected.delete(server)
    }
    connected.add(server)
    return server
  }

  function described() {
    return host
      .status()
      .filter(({ state }) => state !== 'disabled')
      .map(({ name, config, instructions }) => ({ name, description: config.description, instructions }))
  }

  return {
    host,
    serve,
    onChange: host.listen,
    uriFor: addresses.uri,
    clients: () => connected.size,
    async close() {
      offers.close()
      await Promise.all([...connected].map((server) => server.close().catch(() => {})))
      await host.close()
    },
  }
}

/** A server has changed them, or has come with them. */
function hasNew(kind: 'prompts' | 'resources', event: HostEvent): boolean {
  if (event.type === kind) return true
  return (
    event.type === 'state' && event.status.state === 'connected' && Boolean(event.status.capabilities[kind])
  )
}

/** What the servers may ask for: exactly what the client behind the gateway can do. */
function clientCapabilities(server: Server): Fields {
  const { elicitation, sampling, roots } = (server.getClientCapabilities() ?? {}) as Fields
  return {
    ...(elicitation !== undefined ? { elicitation } : {}),
    ...(sampling !== undefined ? { sampling } : {}),
    ...(roots !== undefined ? { roots } : {}),
  }
}
