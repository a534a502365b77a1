// A gateway as its clients have it: on stdio or over HTTP, with its servers behind it and an official client in front.
import { PassThrough } from 'node:stream'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import { type ServerConfig, serveMcpGatewayOnHttp, serveMcpGatewayOnStdio } from '../../doors.ts'
import {
  type ClientOptions,
  connectWith,
  type Desk,
  type Era,
  type Open,
  type OpenOptions,
  openGateway,
  streamTransport,
} from '../../mcp/support/gateway.ts'

export type Front = { readonly serve: 'stdio' | 'http'; readonly mode: 'list' | 'bridge'; readonly era: Era }

/** Each way to serve, each listing and each era. */
export const fronts: readonly Front[] = [
  { serve: 'stdio', mode: 'list', era: 'legacy' },
  { serve: 'http', mode: 'bridge', era: 'modern' },
]

export type Served = Omit<Open, 'connect'> & {
  readonly desk: Desk
  /** Calls a tool by its name in the gateway; the text of its result, with a `!` in front of an error. */
  call(name: string, input?: object, options?: object): Promise<string>
  /** Another client; on stdio there is one. */
  connect(more?: ClientOptions): Promise<Desk>
}

export async function openFront(
  { serve, mode, era }: Front,
  servers: readonly ServerConfig[],
  { client = {}, ...options }: OpenOptions & { readonly client?: ClientOptions } = {},
): Promise<Served> {
  const open = openGateway(servers, { mode, ...options })
  const connect = await servedBy(serve, open)
  const desk = await connect({ era, ...client })
  await desk.names()
  const tool = (name: string, input: object, rest: object) =>
    mode === 'bridge' ? desk.call('CallTool', { name, arguments: input }, rest) : desk.call(name, input, rest)
  return {
    ...open,
    desk,
    connect: (more = {}) => connect({ era, ...client, ...more }),
    async call(name, input = {}, rest = {}) {
      try {
        const { content, isError } = await tool(name, input, rest)
        const text = content.map((block: { text?: string }) => block.text ?? '').join('')
        return isError ? `!${text}` : text
      } catch (error) {
        return `!${(error as Error).message}`
      }
    },
  }
}

async function servedBy(
  serve: Front['serve'],
  { gateway }: Open,
): Promise<(options: ClientOptions) => Promise<Desk>> {
  if (serve === 'stdio') {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const over = serveMcpGatewayOnStdio(gateway, { input, output })
    onTestFinished(() => over)
    return (options) => connectWith(streamTransport(output, input), options)
  }
  const served = await serveMcpGatewayOnHttp(gateway, { port: 0 })
  onTestFinished(() => served.close())
  return (options) => connectWith(new StreamableHTTPClientTransport(new URL(served.url)), options)
}
