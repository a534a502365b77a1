// Describes a pool of tools as events: the names of each server once, so that requests can refer to them by an id.

import type { ToolShare, Trace } from './events.ts'
import { hash } from './lib/objects.ts'
import { allDefinitionTokens, definitionTokens } from './tokens.ts'
import type { Pool, PoolTool } from './types.ts'

type PoolEvent = Extract<Trace, { type: 'pool' }>
type ToolsEvent = Extract<Trace, { type: 'tools' }>

/** The events that describe a pool: its parts, then the pool itself. */
type PoolDescription = { readonly id: string; readonly events: readonly Trace[] }

/** Characters of the names in one part, so that it stays a short line. */
const MAX_PART_LENGTH = 24_000
/** Characters that a name adds besides itself: quotes, a comma and its token count. */
const AROUND_NAME = 9

/** The parts of a tool that a description needs. */
type DescribedTool = Pick<PoolTool, 'name' | 'server' | 'json'>

/** Tools, split as in a request; a `ToolPartition` is one. */
export type DescribedTools = {
  readonly immediate: readonly DescribedTool[]
  readonly deferred: readonly DescribedTool[]
}

const described = new WeakMap<DescribedTools, PoolDescription>()

/** Returns the events of a partition; the same object for the same partition. */
export function describePool(partition: DescribedTools): PoolDescription {
  let known = described.get(partition)
  if (!known) {
    known = describe(partition)
    described.set(partition, known)
  }
  return known
}

function describe({ immediate, deferred }: DescribedTools): PoolDescription {
  const all = [...immediate, ...deferred]
  const isDeferred = new Set(deferred)
  const groups = new Map<string | undefined, DescribedTool[]>()
  for (const tool of all) {
    const group = groups.get(tool.server)
    if (group) group.push(tool)
    else groups.set(tool.server, [tool])
  }
  const parts = [...groups].flatMap(([server, tools]) =>
    inParts(tools).map((part) => partEvent(server, part, isDeferred)),
  )
  const ids = parts.map(({ id }) => id)
  const event: PoolEvent = {
    type: 'pool',
    id: hash(ids.join()),
    parts: ids,
    total: all.length,
    immediate: immediate.length,
    tokens: allDefinitionTokens(all),
  }
  return { id: event.id, events: [...parts, event] }
}

function inParts(tools: readonly DescribedTool[]): DescribedTool[][] {
  const parts: DescribedTool[][] = []
  let room = 0
  for (const tool of tools) {
    const needed = tool.name.length + AROUND_NAME
    const part = parts.at(-1)
    const fits = part !== undefined && needed <= room
    if (fits) part.push(tool)
    else parts.push([tool])
    room = (fits ? room : MAX_PART_LENGTH) - needed
  }
  return parts
}

/** Within a group, immediate tools come first. */
function partEvent(
  server: string | undefined,
  tools: readonly DescribedTool[],
  isDeferred: ReadonlySet<DescribedTool>,
): ToolsEvent {
  const immediate = tools.filter((tool) => !isDeferred.has(tool)).map(({ name }) => name)
  const deferred = tools.filter((tool) => isDeferred.has(tool)).map(({ name }) => name)
  const tokens = tools.map(definitionTokens)
  const id = hash(JSON.stringify([server, immediate, deferred, tokens]))
  return { type: 'tools', id, server, immediate, deferred, tokens }
}

/** Returns the share of a pool that a model sees with these distinct names; ignores names of other tools. */
export function toolShare(pool: Pool, names: readonly string[]): ToolShare {
  let visible = 0
  let tokensWith = 0
  for (const name of names) {
    const entry = pool.byName.get(name)
    if (!entry) continue
    visible++
    tokensWith += definitionTokens(entry)
  }
  return {
    visible,
    total: pool.tools.length,
    tokensWith,
    tokensWithout: tokensOfPool(pool),
  }
}

const poolTokens = new WeakMap<Pool, number>()

function tokensOfPool(pool: Pool): number {
  let sum = poolTokens.get(pool)
  if (sum === undefined) {
    sum = allDefinitionTokens(pool.tools)
    poolTokens.set(pool, sum)
  }
  return sum
}
