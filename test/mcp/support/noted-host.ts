// A gateway over a host whose servers are only described: a test says what they list, emits their events and answers calls.
import { InMemoryTransport } from '@modelcontextprotocol/client'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { onTestFinished } from 'vitest'
import { createShelf } from '../../../src/index.ts'
import {
  createMcpGateway,
  gatewayShelfOptions,
  type McpGateway,
  type McpGatewayOptions,
} from '../../../src/mcp/gateway/index.ts'
import { toShelvedTool } from '../../../src/mcp/host/index.ts'
import type {
  HostEvent,
  ListedTool,
  QuestionHandler,
  ServerConfig,
  ServerStatus,
} from '../../../src/mcp/index.ts'
import type { Loose } from '../../support/talk.ts'
import { type ClientOptions, connectWith, type Desk } from './gateway.ts'
import { defaults } from './servers.ts'

export type NotedGateway = {
  readonly gateway: McpGateway
  /** Answers questions outside of calls: what the gateway gave its host. */
  readonly questionHandler: QuestionHandler
  /** Sets the statuses that the host returns. */
  describe(...statuses: Partial<ServerStatus>[]): void
  /** Puts tools of a server on the shelf. */
  shelve(
    server: string,
    tools: readonly ListedTool[],
    alwaysLoad?: boolean,
    config?: Partial<ServerConfig>,
  ): void
  emit(event: Loose): void
  listening(): number
  connect(options?: ClientOptions, kind?: Partial<Parameters<McpGateway['serve']>[0]>): Promise<Desk>
}

export const status = (name: string, more: Partial<ServerStatus> = {}): Partial<ServerStatus> => ({
  name,
  state: 'connected',
  config: { ...defaults(name), transport: { kind: 'http', url: 'http://127.0.0.1', headers: {} } },
  ...{ tools: [], pageTools: [], hidden: [], held: [], problems: [], capabilities: {} },
  ...{ isCached: false, isRemembered: true, hasListed: true, stderr: '' },
  ...more,
})

/** `host` replaces methods of the host; `options` are those of the gateway. */
export function notedGateway(host: Loose = {}, options: Partial<McpGatewayOptions> = {}): NotedGateway {
  const listeners = new Set<(event: HostEvent) => void>()
  let statuses: readonly Partial<ServerStatus>[] = [status('a')]
  let questionHandler: QuestionHandler | undefined
  const nothing = async () => {}
  const described = {
    ...{
      readCache: nothing,
      publishCachedTools: nothing,
      settled: nothing,
      refreshStaleLists: nothing,
      close: nothing,
    },
    ...{ start() {}, watchLists() {}, notifyServers() {}, isReadOnly: () => false },
    status: () => statuses,
    call: async () => ({ content: [{ type: 'text', text: 'called' }] }),
    request: async () => ({}),
    listen(listener: (event: HostEvent) => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    ...host,
  }
  const shelf = createShelf({ ...gatewayShelfOptions, rank: 'classic', environment: {}, notify() {} })
  const makeHost: McpGatewayOptions['makeHost'] = (given) => {
    questionHandler = given
    return described as never
  }
  const describe = (...now: readonly Partial<ServerStatus>[]) => {
    for (const { name = '' } of statuses) shelf.setServer(name, { state: 'disabled' })
    for (const { name = '', state = 'connected' } of now)
      shelf.setServer(name, { state: state === 'idle' ? 'connected' : state })
    statuses = now
  }
  describe(...statuses)
  const gateway = createMcpGateway({ shelf, mode: 'list', ...options, makeHost })
  onTestFinished(() => gateway.close())
  return {
    gateway,
    questionHandler: questionHandler as unknown as QuestionHandler,
    describe,
    shelve(server, tools, alwaysLoad = false, given = {}) {
      const { resultBudget } = given
      shelf.setServer(server, {
        ...{ state: 'connected', alwaysLoad },
        ...(resultBudget === undefined ? {} : { resultBudget }),
      })
      const config = { ...defaults(server), transport: { kind: 'stdio' }, ...given } as never
      shelf.replace(
        server,
        tools.map((tool) => toShelvedTool(tool, config)),
      )
    },
    emit(event) {
      for (const listener of [...listeners]) listener(event)
    },
    listening: () => listeners.size,
    async connect(client = {}, kind = {}) {
      const [near, far] = InMemoryTransport.createLinkedPair()
      serveStdio(({ era }) => gateway.serve({ isStateless: era === 'modern', ...kind }), { transport: near })
      return connectWith(far, client)
    },
  }
}
