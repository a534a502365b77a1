// Builds the page's view of servers (state, costs, what changed, problems) and of tools. All of it is bounded, because servers
// are untrusted.

import type { PoolTool } from '@toolshelf/core'
import {
  cleanText,
  cut,
  definitionTokens,
  type Fields,
  hash,
  spellOutInvisible,
  textOf,
  toJson,
} from '@toolshelf/core/internal'
import type { PinChange, ServerAction, ServerView, ToolView } from '../api.ts'
import {
  type ChangedDefinition,
  type InspectedServer,
  type InspectedServers,
  InspectorFailure,
  MAX_NAME_LENGTH,
  type ShownServer,
} from './types.ts'

const MAX_LINE_LENGTH = 2000
const MAX_LOG_LENGTH = 16_000
const MAX_PROBLEMS = 200
const MAX_CHANGES = 500

/** Returns the views of all servers. */
export async function serverViews(servers: InspectedServers): Promise<ServerView[]> {
  const changes = await changesOf(servers)
  const costs = costsOf(servers)
  return [
    ...servers.host.status().map((status) => viewOf(status, servers, changes, costs)),
    ...(servers.untrusted ?? []).map(untrustedView),
  ]
}

/** Returns the view of one server. Throws for a name that is not configured. */
export async function serverView(servers: InspectedServers, name: string): Promise<ServerView> {
  const status = statusOf(servers, name)
  return viewOf(status, servers, await changesOf(servers), costsOf(servers))
}

/** Returns the status of a server. Throws for a name that is not configured. */
export function statusOf({ host }: InspectedServers, name: string): InspectedServer {
  const status = host.status().find((one) => one.name === name)
  if (!status) throw new InspectorFailure(404, `no server "${cut(name, 100)}" is configured`)
  return status
}

type Costs = ReadonlyMap<string, { tokens: number; alwaysLoaded: number; tools: number }>

function costsOf({ shelf }: InspectedServers): Costs {
  const { pool, deferredNames } = shelf.partition()
  const costs = new Map<string, { tokens: number; alwaysLoaded: number; tools: number }>()
  for (const tool of pool.tools) {
    const { name, server = '' } = tool
    const cost = costs.get(server) ?? { tokens: 0, alwaysLoaded: 0, tools: 0 }
    const tokens = definitionTokens(tool)
    cost.tokens += tokens
    cost.tools++
    if (!deferredNames.has(name)) cost.alwaysLoaded += tokens
    costs.set(server, cost)
  }
  return costs
}

type Changes = ReadonlyMap<string, readonly ChangedDefinition[]>

async function changesOf({ pins }: InspectedServers): Promise<Changes> {
  const pinned = (await pins?.list()) ?? []
  return new Map(pinned.map(({ server, changed }) => [server, changed]))
}

function viewOf(
  status: InspectedServer,
  { isHolding, manage }: InspectedServers,
  changes: Changes,
  costs: Costs,
): ServerView {
  const { name, state, reason, source, info } = status
  const { tokens, alwaysLoaded, tools } = costs.get(name) ?? { tokens: 0, alwaysLoaded: 0, tools: 0 }
  const changed = (changes.get(name) ?? []).slice(0, MAX_CHANGES)
  return {
    name,
    state,
    reason: reason === undefined ? null : shown(reason),
    transport: shown(status.transport),
    source,
    software: info ? shown(`${info.name} ${info.version}`) : null,
    startMilliseconds: status.startMilliseconds ?? null,
    tools,
    tokens,
    alwaysLoadedTokens: alwaysLoaded,
    log: cut(cleanText(status.stderr), MAX_LOG_LENGTH),
    changes: changed.map((change) => pinChange(change, isHolding)),
    problems: status.problems
      .slice(0, MAX_PROBLEMS)
      .map(({ tool, message }) => ({ tool: shown(tool), message: shown(message) })),
    actions: manage ? actionsOf(status, manage.login !== undefined) : [],
  }
}

function untrustedView({ name, source, does }: ShownServer): ServerView {
  return {
    name: shown(name),
    state: 'untrusted',
    reason: shown(does),
    transport: '',
    source,
    software: null,
    startMilliseconds: null,
    tools: 0,
    tokens: 0,
    alwaysLoadedTokens: 0,
    log: '',
    changes: [],
    problems: [],
    actions: [],
  }
}

/** Returns what can be done with a server in its state. */
export function actionsOf({ state, takesLogin }: InspectedServer, canLogin: boolean): ServerAction[] {
  if (state === 'disabled') return []
  const login: ServerAction[] = canLogin && takesLogin ? ['login'] : []
  if (state === 'connected') return ['stop', 'reconnect', 'refresh', ...login]
  return state === 'pending' ? login : ['start', ...login]
}

/** Cleans one line of untrusted text. */
function shown(text: string): string {
  return cut(cleanText(text), MAX_LINE_LENGTH)
}

const MAX_DESCRIPTION_LENGTH = 4000
/** Tools that one piece holds. */
const PIECE = 100

/** Yields the JSON of all tools in pieces. */
export async function* toolPieces(servers: InspectedServers | undefined): AsyncGenerator<string, void> {
  const tools = servers?.shelf.partition().pool.tools ?? []
  yield '['
  for (let from = 0; from < tools.length; from += PIECE) {
    const views = tools.slice(from, from + PIECE).map((tool) => JSON.stringify(toolView(tool, servers!)))
    yield (from > 0 ? ',' : '') + views.join(',')
  }
  yield ']'
}

function toolView(entry: PoolTool, { shelf }: InspectedServers): ToolView {
  const { name, server, original, hint, definition } = entry
  return {
    name,
    server: server ?? null,
    original: shownName(original),
    description: cut(textOf(definition.description), MAX_DESCRIPTION_LENGTH),
    hint: cut(hint, MAX_DESCRIPTION_LENGTH),
    tokens: definitionTokens(entry),
    isAlwaysLoaded: !shelf.partition().deferredNames.has(name),
  }
}

const MAX_TEXT_LENGTH = 40_000

/** Returns the change as the page shows it. */
function pinChange(change: ChangedDefinition, isHolding: boolean): PinChange {
  const { kind, name, before, after, isWhole } = change
  return {
    kind,
    name: shownName(name),
    before: isWhole ? readable(kind, before) : null,
    after: isWhole ? readable(kind, after) : null,
    isHeld: isHolding,
    version: hash(toJson([before, after])),
  }
}

/** A definition line by line; characters that do not show are spelled out. */
function readable(kind: PinChange['kind'], definition: Fields): string {
  const { description = '', inputSchema, name: _, ...rest } = definition
  const parts = [
    String(description),
    ...Object.entries({ ...rest, [kind === 'prompt' ? 'arguments' : 'inputSchema']: inputSchema }).flatMap(
      ([part, value]) => (value === undefined || value === null ? [] : [`${part}: ${printed(value)}`]),
    ),
  ]
  const lines = (kind === 'instructions' ? [String(description)] : parts).join('\n').split(/\r?\n/)
  return cut(lines.map(spellOutInvisible).join('\n'), MAX_TEXT_LENGTH)
}

function printed(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

/** Returns a name as the page shows it and sends it back. */
export function shownName(name: string): string {
  return cut(spellOutInvisible(name), MAX_NAME_LENGTH)
}
