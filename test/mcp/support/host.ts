// A host on a quiet shelf, closed after its test, and the checks that every neighbour of a bad server must pass.
import { expect, onTestFinished } from 'vitest'
import type { Shelf } from '../../../src/index.ts'
import { createMcpHost, type McpHostOptions } from '../../../src/mcp/host/index.ts'
import type { CallOutput, HostEvent, McpHost, ServerConfig, ServerStatus } from '../../../src/mcp/index.ts'
import { quietShelf } from '../../support/talk.ts'
import { temporaryFolder } from './folder.ts'
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

/** A host that has begun to connect. */
export function openHost(
  servers: readonly ServerConfig[],
  { capabilities = {}, ...options }: OpenOptions = {},
): Open {
  const shelf = quietShelf({ pendingWait: 0 })
  const notices: string[] = []
  const events: HostEvent[] = []
  const host = createMcpHost({
    shelf,
    servers,
    cacheFolder: temporaryFolder(),
    notify: (message: string) => notices.push(message),
    ...options,
  })
  onTestFinished(() => host.close())
  host.listen((event) => events.push(event))
  host.start(capabilities)
  return { host, shelf, events, notices }
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

export const textOf = ({ content }: CallOutput) => content.map(({ text }) => text).join('')

export async function found(shelf: Shelf, query: string): Promise<string[]> {
  return (await shelf.search({ query })).tools.map((tool) => tool.name)
}

/** The healthy server is connected, found and answers, many calls at once. */
export async function expectWholeNeighbour({ host, shelf }: Open, name = 'neighbour'): Promise<void> {
  await untilState(host, name, 'connected')
  expect(await found(shelf, 'adds two numbers')).toContain(`mcp__${name}__add`)
  const numbers = Array.from({ length: 20 }, (_, index) => index)
  const outputs = await Promise.all(numbers.map((a) => host.call(name, 'add', { a, b: 1 })))
  expect(outputs.map(textOf)).toEqual(numbers.map((a) => String(a + 1)))
}
