// A gateway with real small servers behind it, and the official client in front, of both protocol eras.
import { PassThrough, type Readable, type Writable } from 'node:stream'
import {
  Client,
  type ClientCapabilities,
  InMemoryTransport,
  ReadBuffer,
  type StandardSchemaV1,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { createShelf, type Shelf, type ShelfOptions } from '../../../packages/core/src/index.ts'
import type { User } from '../../../packages/core/src/users.ts'
import {
  createMcpGateway,
  gatewayShelfOptions,
  type McpGateway,
  type McpGatewayOptions,
} from '../../../packages/mcp/src/gateway/gateway.ts'
import { serveMcpGatewayOnStdio } from '../../../packages/mcp/src/gateway/stdio.ts'
import { createMcpHost, type McpHostOptions } from '../../../packages/mcp/src/host/host.ts'
import type { McpHost, ServerConfig } from '../../../packages/mcp/src/types.ts'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { makeFolder } from './folder.ts'
import { until } from './processes.ts'

export type Open = {
  readonly gateway: McpGateway
  readonly host: McpHost
  readonly shelf: Shelf
  /** Told to the person who runs it. */
  readonly notices: readonly string[]
  connect(options?: ClientOptions): Promise<Desk>
}

export type OpenOptions = Partial<Omit<McpHostOptions, 'shelf' | 'servers' | 'questionHandler'>> &
  Pick<
    McpGatewayOptions,
    | 'mode'
    | 'instructions'
    | 'loadedTools'
    | 'openTrace'
    | 'results'
    | 'batches'
    | 'scripts'
    | 'usage'
    | 'store'
  > & {
    readonly on?: ShelfOptions
    /** Collects the messages of the gateway to the person who runs it. */
    readonly told?: (message: string) => void
    /** Takes what is to be done at the end; of the test, unless given. */
    readonly atEnd?: AtEnd
  }

export type AtEnd = (work: () => Promise<void>) => void

export type Era = 'legacy' | 'modern'
export const eras: readonly Era[] = ['legacy', 'modern']

export type Question = { readonly method: string; readonly params: Loose }

export type ClientOptions = {
  readonly era?: Era
  /** How the client calls itself; opencode takes new tools in the middle of a turn. */
  readonly name?: string
  readonly capabilities?: ClientCapabilities
  /** Answers what servers ask. */
  readonly answer?: (question: Question) => Loose
  readonly atEnd?: AtEnd
  /** Who the client acts for; only without a transport of its own. */
  readonly user?: User
}

/** A client at its desk, with the words that tests use. */
export type Desk = {
  readonly client: Client
  /** Every notification, in its order. */
  readonly told: readonly { readonly method: string; readonly params: Loose }[]
  /** What servers asked. */
  readonly asked: readonly Question[]
  names(): Promise<string[]>
  search(query: string, more?: object): Promise<string>
  call(name: string, input?: object, options?: Loose): Promise<Loose>
  /** A call of a server's tool, by the way that the client has. */
  run(name: string, input?: object, options?: Loose): Promise<Loose>
  /** An answer as it was sent: the client drops what it does not know. */
  raw(method: string, params?: Loose): Promise<Loose>
  /** How many times the gateway announced a changed list of tools, once all that was sent has arrived. */
  changes(): Promise<number>
}

export function openGateway(
  servers: readonly ServerConfig[],
  {
    mode = 'auto',
    instructions,
    loadedTools,
    openTrace,
    results,
    batches = false,
    scripts = false,
    usage,
    store,
    on = {},
    told,
    atEnd = onTestFinished,
    ...given
  }: OpenOptions = {},
): Open {
  const notices: string[] = []
  const notify = (message: string) => void notices.push(message)
  const shelf = createShelf({ ...gatewayShelfOptions, rank: 'classic', environment: {}, notify, ...on })
  const folder = makeFolder()
  const cacheFolder = given.cacheFolder ?? folder.path
  const gateway = createMcpGateway({
    shelf,
    mode,
    openTrace,
    results,
    batches,
    scripts,
    usage,
    store,
    ...(told ? { notify: told } : {}),
    ...(instructions === undefined ? {} : { instructions }),
    ...(loadedTools === undefined ? {} : { loadedTools }),
    makeHost: (questionHandler) =>
      createMcpHost({
        times: { refreshMs: 20 },
        ...given,
        shelf,
        servers,
        cacheFolder,
        questionHandler,
        notify,
      }),
  })
  atEnd(async () => {
    await gateway.close()
    folder.remove()
  })
  return { gateway, host: gateway.host, shelf, notices, connect: (options) => connect(gateway, options) }
}

/** A gateway on stdio whose servers have all connected, and its client; `over` when it has ended. */
export async function openDesk(
  servers: readonly ServerConfig[],
  { client = {}, ...options }: OpenOptions & { readonly client?: ClientOptions } = {},
): Promise<Open & Desk & { readonly over: Promise<void> }> {
  const { atEnd = onTestFinished } = options
  const open = openGateway(servers, options)
  const [input, output] = [new PassThrough(), new PassThrough()]
  const over = serveMcpGatewayOnStdio(open.gateway, { input, output })
  atEnd(() => over)
  const desk = await connectWith(streamTransport(output, input), { atEnd, ...client })
  await desk.names()
  await open.host.settled()
  return { ...open, ...desk, over }
}

/** One gateway and its client for all tests of a group, for those that leave both as they were. */
export function shareDesk(
  servers: readonly ServerConfig[],
  options: Parameters<typeof openDesk>[1] = {},
): () => Awaited<ReturnType<typeof openDesk>> {
  const works: (() => Promise<void>)[] = []
  let desk: Awaited<ReturnType<typeof openDesk>>
  beforeAll(async () => {
    desk = await openDesk(servers, { ...options, atEnd: (work) => void works.push(work) })
  })
  afterAll(async () => {
    for (const work of works.reverse()) await work()
  })
  return () => desk
}

/** One of several clients of a gateway, as HTTP has them, without HTTP. */
async function connect(gateway: McpGateway, options: ClientOptions = {}): Promise<Desk> {
  const [near, far] = InMemoryTransport.createLinkedPair()
  const { user } = options
  serveStdio(({ era }) => gateway.serve({ isStateless: era === 'modern', user }), { transport: near })
  return connectWith(far, options)
}

/** A client's end of two pipes. */
export function streamTransport(input: Readable, output: Writable): Transport {
  const buffer = new ReadBuffer()
  const transport: Transport = {
    async start() {
      input.on('data', (chunk: Buffer) => {
        buffer.append(chunk)
        for (let message = buffer.readMessage(); message; message = buffer.readMessage())
          transport.onmessage?.(message)
      })
    },
    async send(message) {
      output.write(serializeMessage(message))
    },
    async close() {
      output.end()
      transport.onclose?.()
    },
  }
  return transport
}

const NOTIFICATIONS = [
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/message',
] as const

const QUESTIONS = {
  elicitation: 'elicitation/create',
  sampling: 'sampling/createMessage',
  roots: 'roots/list',
} as const

export const everyCapability: ClientCapabilities = {
  elicitation: { form: {} },
  sampling: {},
  roots: { listChanged: true },
}

export async function connectWith(
  transport: Transport,
  {
    era = 'legacy',
    name = 'opencode',
    capabilities = {},
    answer = defaultAnswer,
    atEnd = onTestFinished,
  }: ClientOptions = {},
): Promise<Desk> {
  const client = new Client(
    { name, version: '1.0.0' },
    {
      capabilities,
      versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
      // On a slow machine, a burst of questions arrives in many parts, each of them a round.
      inputRequired: { maxRounds: 100 },
    },
  )
  const told: { method: string; params: Loose }[] = []
  const asked: Question[] = []
  for (const method of NOTIFICATIONS) {
    client.setNotificationHandler(method, async ({ params }) => {
      told.push({ method, params })
      if (method === 'notifications/tools/list_changed') await client.listTools()
    })
  }
  for (const [capability, method] of Object.entries(QUESTIONS)) {
    if (!(capability in capabilities)) continue
    client.setRequestHandler(method, async ({ params }) => {
      asked.push({ method, params })
      return answer({ method, params })
    })
  }
  atEnd(() => client.close())
  await client.connect(transport)
  const call = (tool: string, input: object = {}, options: Loose = {}): Promise<Loose> =>
    client.callTool({ name: tool, arguments: input as { [name: string]: unknown } }, options)
  return {
    client,
    told,
    asked,
    call,
    run: (tool, input = {}, options = {}) =>
      era === 'modern'
        ? call('CallTool', { name: tool, arguments: input }, options)
        : call(tool, input, options),
    raw: (method, params) => client.request({ method, ...(params ? { params } : {}) }, anything),
    names: async () => (await client.listTools()).tools.map((tool) => tool.name),
    search: async (query, more = {}) => textOf(await call('ToolSearch', { query, ...more })),
    async changes() {
      await client.listTools()
      return told.filter(({ method }) => method === 'notifications/tools/list_changed').length
    },
  }
}

/** Takes every answer as it is. */
const anything: StandardSchemaV1<Loose, Loose> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) },
}

export function defaultAnswer({ method }: Question): Loose {
  if (method === 'elicitation/create') return { action: 'accept', content: { name: 'Ada' } }
  if (method === 'roots/list') return { roots: [{ uri: 'file:///home', name: 'home' }] }
  return { role: 'assistant', model: 'm', content: { type: 'text', text: 'hello' } }
}

export const textOf = (result: Loose): string =>
  result.content.map(({ text = '' }: Loose) => text as string).join('')

/** Until the gateway has taken over what a server lists. */
export const untilFound = (shelf: Shelf, name: string, isThere = true) =>
  until(() => shelf.partition().pool.byName.has(name) === isThere, `${name} is ${isThere ? 'there' : 'gone'}`)
