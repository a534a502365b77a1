// Several gateways in this process that share a store, behind a balancer.
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import { type McpHttpOptions, serveMcpGatewayOnHttp } from '../../packages/cli/src/http/mcp/http.ts'
import type { StateStore } from '../../packages/core/src/store.ts'
import type { ServerConfig } from '../../packages/mcp/src/types.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { type Balancer, startBalancer } from '../../packages/testkit/src/balancer.ts'
import { type ClientOptions, connectWith, type Desk, type Open, openGateway } from '../mcp/support/gateway.ts'

export type Replicas = {
  readonly balancer: Balancer
  readonly gateways: readonly (Open & { readonly url: string; close(): Promise<void> })[]
  connect(options?: ClientOptions): Promise<Desk & { readonly transport: StreamableHTTPClientTransport }>
}

export type ReplicasOptions = {
  readonly store?: StateStore
  readonly count?: number
  readonly http?: Partial<McpHttpOptions>
  /** Options of each replica, in addition. */
  readonly httpOf?: (index: number) => Partial<McpHttpOptions>
  readonly open?: Parameters<typeof openGateway>[1]
  readonly openOf?: (index: number) => Parameters<typeof openGateway>[1]
  /** The store of each replica; the shared one if left out. */
  readonly storeOf?: (index: number) => StateStore
}

/** Starts gateways, each with servers of its own, and waits until they are connected. */
export async function openReplicas(
  servers: (index: number) => readonly ServerConfig[],
  options: ReplicasOptions = {},
): Promise<Replicas> {
  const { count = 2, http = {}, open = {} } = options
  const store = options.store ?? createMemoryStore()
  onTestFinished(() => store.close())
  const gateways = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const own = openGateway(servers(index), {
        ...open,
        ...options.openOf?.(index),
        store: options.storeOf?.(index) ?? store,
      })
      const served = await serveMcpGatewayOnHttp(own.gateway, {
        port: 0,
        ...http,
        ...options.httpOf?.(index),
      })
      onTestFinished(() => served.close())
      await own.host.settled()
      return { ...own, url: served.url, close: served.close }
    }),
  )
  const balancer = await startBalancer(gateways.map(({ url }) => url))
  onTestFinished(() => balancer.close())
  return {
    balancer,
    gateways,
    async connect(client = {}) {
      const transport = new StreamableHTTPClientTransport(new URL(balancer.url))
      return { ...(await connectWith(transport, client)), transport }
    },
  }
}
