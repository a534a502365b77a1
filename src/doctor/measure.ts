// Measures the tools of all servers as a request would send them: their names, their token costs, deferred or not.
import { availableList } from '../core/history/index.ts'
import {
  createPureShelf,
  definitionTokens,
  estimateTokens,
  type PoolTool,
  resolveOptions,
  type Shelf,
  type Tool,
} from '../core/index.ts'
import { searchTool } from '../core/wire/index.ts'
import { gatewayCallTool, gatewaySearchTool, joinInstructions, type OwnTool } from '../mcp/greeting/index.ts'
import { refuseMarks, toShelvedTool } from '../mcp/host/index.ts'
import type { ServerStatus } from '../mcp/index.ts'

const settings = resolveOptions({})

/** Characters of a description that the model reads. */
export const { descriptionLimit } = settings

/** A tool with the estimated tokens of its definition as it is sent. */
export type MeasuredTool = {
  readonly server: string
  /** Its own name on that server. */
  readonly tool: string
  /** The name that the model sees. */
  readonly name: string
  readonly tokens: number
  readonly isDeferred: boolean
}

/** All tools with their sizes, and what Toolshelf would send instead of their definitions. */
export type Measured = {
  readonly tools: readonly MeasuredTool[]
  /** What the gateway sends instead of definitions: its own two tools, and the line that names the servers. */
  readonly ownTools: number
  readonly serverNames: number
  /** What the library sends instead: its search tool, and the announced names of all tools. */
  readonly library: number
}

/** Puts the tools of all servers on a new shelf. */
export function shelfOf(statuses: readonly ServerStatus[]): Shelf {
  return createPureShelf({
    tools: toolsOf(statuses),
    servers: Object.fromEntries(
      statuses.map(({ name, config: { alwaysLoad } }) => [
        name,
        alwaysLoad === undefined ? {} : { alwaysLoad },
      ]),
    ),
  })
}

/** Measures the tools of all servers; `window` is the size of the context window in tokens. */
export function measureTools(statuses: readonly ServerStatus[], window: number): Measured {
  const shelf = shelfOf(statuses)
  const partition = shelf.partition()
  const tools = partition.pool.tools.map((entry) => measured(entry, partition.deferredNames.has(entry.name)))
  if (partition.deferred.length === 0) return { tools, ownTools: 0, serverNames: 0, library: 0 }
  const enabled = statuses.filter(({ state }) => state !== 'disabled').map(describe)
  const announced = availableList({
    partition,
    servers: shelf.servers(),
    budget: settings.announceShare * window,
    descriptions: settings.announceDescriptions,
    instructions: 0,
    namePrefix: settings.namePrefix,
    searchName: settings.searchTool,
    step: undefined,
  })
  return {
    tools,
    ownTools:
      tokensOf(
        gatewaySearchTool(
          'bridge',
          enabled.map(({ name }) => name),
        ),
      ) + tokensOf(gatewayCallTool),
    serverNames: estimateTokens(joinInstructions(enabled, Number.POSITIVE_INFINITY)),
    library:
      definitionTokens({ json: JSON.stringify(searchTool(settings)) }) + estimateTokens(announced.text),
  }
}

/** Leaves out a server's instructions, which every client gets anyway. */
function describe({ name, config: { description } }: ServerStatus) {
  return { name, description, instructions: undefined }
}

/** The definition as a client sends it. */
function tokensOf({ name, description, inputSchema }: OwnTool): number {
  return definitionTokens({ json: JSON.stringify({ name, description, input_schema: inputSchema }) })
}

/** The tools as the host puts them on its shelf: all their fields pass through. */
function toolsOf(statuses: readonly ServerStatus[]): Tool[] {
  const refusals = refuseMarks(statuses)
  return statuses.flatMap(({ name, config, tools }) =>
    tools.map((listed) => toShelvedTool(listed, config, refusals.get(name)?.tools.has(listed.name) ?? false)),
  )
}

function measured(entry: PoolTool, isDeferred: boolean): MeasuredTool {
  const { name, server, original } = entry
  return { server: server ?? '', tool: original, name, tokens: definitionTokens(entry), isDeferred }
}
