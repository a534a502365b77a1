// Runs the gateways of `npm run bench events`, all in one process: compiled code, heap and clock are the same for each, so
// that their CPU differs by the events alone. Sends their addresses to the bench, by name.
import { join } from 'node:path'
import { openAudit } from '../src/cli/events/index.ts'
import type { OpenTrace } from '../src/core/index.ts'
import { createShelf } from '../src/index.ts'
import { createMcpGateway, gatewayShelfOptions } from '../src/mcp/gateway/index.ts'
import { serveMcpGatewayOnHttp } from '../src/mcp/http/index.ts'
import { createMcpHost, type ServerConfig } from '../src/mcp/index.ts'
import {
  createMessagesGateway,
  createMessagesUpstream,
  parseModeSetting,
  serveMessagesGateway,
} from '../src/messages/index.ts'
import { echoCommand } from './mcp-servers.ts'

const [kind, folder = '', upstream = ''] = process.argv.slice(2)

/** The base runs twice: the difference of the two is the noise. */
const WAYS = ['no listener', 'no listener, again', 'inspector (the default)', 'audit file'] as const

type Way = (typeof WAYS)[number]

/** A token is among the secrets, as it is for most users. */
process.env.BENCH_API_TOKEN = 'kX7pQ2mZ9vR4tW8n'

function openTraceOf(way: Way): OpenTrace | undefined {
  if (way.startsWith('no listener')) return undefined
  const isInspected = way.startsWith('inspector')
  const settings = isInspected ? undefined : { file: join(folder, `${kind}.jsonl`), hasContent: false }
  const audit = openAudit(settings, { isInspected, notify: console.error })
  return audit && ((start) => audit.stream.open('serve', start).trace)
}

async function startServe(openTrace: OpenTrace | undefined): Promise<string> {
  const gateway = createMessagesGateway({
    upstream: createMessagesUpstream({ url: new URL(upstream) }),
    openTrace,
  })
  return (await serveMessagesGateway({ gateway, setting: parseModeSetting('shelve'), port: 0 })).url
}

async function startMcp(openTrace: OpenTrace | undefined): Promise<string> {
  const shelf = createShelf({ ...gatewayShelfOptions })
  const gateway = createMcpGateway({
    shelf,
    mode: 'list',
    openTrace,
    makeHost: (questionHandler) => createMcpHost({ shelf, servers: [everything()], questionHandler }),
  })
  const { url } = await serveMcpGatewayOnHttp(gateway, { port: 0 })
  await gateway.host.settled()
  return url
}

function everything(): ServerConfig {
  const { command, args, env } = echoCommand()
  return {
    name: 'everything',
    disabled: false,
    lazy: false,
    alwaysLoad: true,
    description: undefined,
    tools: {},
    allow: [],
    deny: [],
    connectTimeoutMs: 60_000,
    callTimeoutMs: 60_000,
    source: 'bench',
    transport: { kind: 'stdio', command, args, env, cwd: undefined },
  }
}

const urls: Record<string, string> = {}
for (const way of WAYS) urls[way] = await (kind === 'serve' ? startServe : startMcp)(openTraceOf(way))
process.send?.({ url: JSON.stringify(urls) })
process.once('disconnect', () => process.exit())
// An exit of its own, so that `--cpu-prof` in NODE_OPTIONS writes its profile.
process.once('SIGTERM', () => process.exit())
