// A host on a quiet shelf, closed after its test, and the checks that every neighbour of a bad server must pass.
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import type { Shelf } from '../../../packages/core/src/index.ts'
import { createMcpHost, type McpHostOptions } from '../../../packages/mcp/src/host/host.ts'
import type {
  CallOutput,
  HostEvent,
  McpHost,
  ServerConfig,
  ServerStatus,
} from '../../../packages/mcp/src/types.ts'
import { sizeOf } from '../../../packages/testkit/src/runs.ts'
import { quietShelf } from '../../../packages/testkit/src/talk.ts'
import { makeFolder } from './folder.ts'
import { until } from './processes.ts'

export type Open = {
  readonly host: McpHost
  readonly shelf: Shelf
  readonly events: readonly HostEvent[]
  readonly notices: readonly string[]
}

export type OpenOptions = Partial<Omit<McpHostOptions, 'shelf' | 'servers'>> & {
  /** What the client behind the host can do. */
  readonly capabilities?: { readonly [name: string]: unknown }
}

/** A host that has begun to connect; closed after its test. */
export function openHost(servers: readonly ServerConfig[], options: OpenOptions = {}): Open {
  const { close, ...all } = startHost(servers, options)
  onTestFinished(close)
  return all
}

/**
 * One host for all tests of a group, closed after them: for servers that no test changes. Each is beside all the others, and
 * beside one neighbour.
 */
export function shareHost(
  serversOf: () => readonly ServerConfig[] | Promise<readonly ServerConfig[]>,
  options: OpenOptions = {},
): () => Open {
  let started: ReturnType<typeof startHost>
  beforeAll(async () => {
    started = startHost(await serversOf(), options)
  })
  afterAll(() => started?.close())
  return () => started
}

function startHost(
  servers: readonly ServerConfig[],
  { capabilities = {}, ...options }: OpenOptions,
): Open & { readonly close: () => Promise<void> } {
  const shelf = quietShelf({ pendingWaitMs: 0 })
  const notices: string[] = []
  const events: HostEvent[] = []
  const folder = makeFolder()
  const host = createMcpHost({
    shelf,
    servers,
    cacheFolder: folder.path,
    notify: (message: string) => notices.push(message),
    ...options,
  })
  const close = async () => {
    await host.close()
    folder.remove()
  }
  host.listen((event) => events.push(event))
  host.start(capabilities)
  return { host, shelf, events, notices, close }
}

export function statusOf(host: McpHost, name: string): ServerStatus {
  const found = host.status().find((status) => status.name === name)
  if (!found) throw new Error(`there is no server ${name}`)
  return found
}

export const stateOf = (host: McpHost, name: string) => statusOf(host, name).state
export const toolsOf = (host: McpHost, name: string) => statusOf(host, name).tools.map((tool) => tool.name)

export function untilState(host: McpHost, name: string, state: ServerStatus['state']): Promise<void> {
  const is = () => `${name} is ${state}; it is ${stateOf(host, name)}: ${statusOf(host, name).reason}`
  return until(() => stateOf(host, name) === state, is)
}

/** On a busy machine a time-out may come before the fault that is meant: a later attempt meets it. */
export async function untilFailed({ host }: Open, name: string, reason: RegExp): Promise<void> {
  const told = () => statusOf(host, name)
  await until(
    () => told().state === 'failed' && reason.test(told().reason ?? ''),
    () => `it failed with ${reason}; it is ${told().state}: ${told().reason}`,
  )
}

export const textOf = ({ content }: CallOutput) => content.map(({ text }) => text).join('')

export async function found(shelf: Shelf, query: string): Promise<string[]> {
  return (await shelf.search({ query })).tools.map((tool) => tool.name)
}

/** The healthy server is connected, found and answers, many calls at once. */
export async function expectWholeNeighbour({ host, shelf }: Open, name = 'neighbour'): Promise<void> {
  await untilState(host, name, 'connected')
  expect(await found(shelf, 'adds two numbers')).toContain(`mcp__${name}__add`)
  const numbers = Array.from({ length: sizeOf({ quick: 2, full: 20 }) }, (_, index) => index)
  const outputs = await Promise.all(numbers.map((a) => host.call(name, 'add', { a, b: 1 })))
  expect(outputs.map(textOf)).toEqual(numbers.map((a) => String(a + 1)))
}
