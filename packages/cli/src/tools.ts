// The tools that commands search, count and list: catalogues and queries in files, the tools of servers that are started
// for it, and the ranker.

import { type Rank, type RankerName, rankers, type Tool } from '@toolshelf/core'
import type { EvaluationQuery } from '@toolshelf/core/internal'
import { isFields, parseJson } from '@toolshelf/core/internal'
import { readNamedText } from '@toolshelf/core/internal/node'
import { createPureShelf } from '@toolshelf/core/pure'
import {
  createMcpHost,
  readConfig,
  type ServerConfig,
  type ServerStatus,
  userConfigFiles,
} from '@toolshelf/mcp'
import { thisMachine, toShelvedTool } from '@toolshelf/mcp/internal'
import { CommandError, type Option, type Terminal, UsageError } from './command.ts'
import { describeProblem } from './servers/config-watch.ts'
import { toStart } from './servers/listing-host.ts'
import { movedServersAdvice, reportWaiting, withStoredLogins } from './servers/start.ts'
import { printable } from './terminal/pen.ts'
import { version } from './version.ts'

export const rankerOption: Option = {
  value: 'name',
  values: Object.keys(rankers),
  about: `one of ${Object.keys(rankers).join(', ')}`,
}

export function readRanker(name: string): Rank {
  if (!Object.hasOwn(rankers, name)) {
    throw new UsageError(`unknown ranker "${name}"; use one of ${Object.keys(rankers).join(', ')}.`)
  }
  return rankers[name as RankerName]
}

const MAX_REPORTED = 10

export async function readTools(path: string, terminal: Terminal): Promise<Tool[]> {
  return parseTools(await readText(path), path, terminal.report)
}

/** Parses a catalogue. Throws if no line is a tool. */
function parseTools(text: string, path: string, notify: (message: string) => void): Tool[] {
  const seen = new Set<string>()
  return parseLines(text, path, notify, (value) => {
    const tool = value as Tool
    if (typeof tool.name !== 'string' || tool.name === '') return 'a tool needs a "name"'
    if (tool.description !== undefined && typeof tool.description !== 'string')
      return '"description" must be text'
    if (tool.server !== undefined && typeof tool.server !== 'string') return '"server" must be text'
    const key = JSON.stringify([tool.server, tool.name])
    if (seen.has(key)) return `"${tool.name}" occurs twice`
    seen.add(key)
    return tool
  })
}

export function catalogueOf(statuses: readonly ServerStatus[]): string {
  return toolsOf(statuses)
    .map((tool) => `${JSON.stringify(tool)}\n`)
    .join('')
}

/** Returns the servers' tools as those of a catalogue. */
function toolsOf(statuses: readonly ServerStatus[]): Tool[] {
  return statuses.flatMap(({ config, tools }) =>
    tools.map((listed) => {
      const { name, server, description, inputSchema, searchHint } = toShelvedTool(listed, config)
      return { name, server, description, input_schema: inputSchema, searchHint } as Tool
    }),
  )
}

/** Reads queries with their expected tools. */
export async function readQueries(path: string, terminal: Terminal): Promise<EvaluationQuery[]> {
  return parseLines(await readText(path), path, terminal.report, (value, line) => {
    const query = value as EvaluationQuery
    if (typeof query.query !== 'string') return 'a query needs a "query"'
    if (!isNames(query.gold) || query.gold.length === 0) return '"gold" must be a list of tool names'
    if (query.acceptable !== undefined && !isNames(query.acceptable))
      return '"acceptable" must be a list of tool names'
    return { ...query, id: `${path}:${line}` }
  })
}

/** A hundred times the largest catalogue that we have seen. */
const MAX_BYTES = 256_000_000

async function readText(path: string): Promise<string> {
  return readNamedText(path, MAX_BYTES).catch((error: NodeJS.ErrnoException) => {
    if (error.code === undefined) throw new CommandError(`${path} ${error.message}.`)
    throw new CommandError(`cannot read ${path} (${error.code}). Pass a file with one JSON object per line.`)
  })
}

function parseLines<Item extends object>(
  text: string,
  path: string,
  notify: (message: string) => void,
  read: (value: object, line: number) => Item | string,
): Item[] {
  const items: Item[] = []
  let broken = 0
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    if (line.trim() === '') continue
    const item = parse(line, (value) => read(value, index + 1))
    if (typeof item !== 'string') items.push(item)
    else if (++broken <= MAX_REPORTED) notify(`${path}:${index + 1}: ${item}; the line is skipped.`)
  }
  if (broken > MAX_REPORTED) notify(`${path}: ${broken - MAX_REPORTED} more lines are invalid and skipped.`)
  if (items.length === 0)
    throw new CommandError(`${path} has no valid line; expected one JSON object per line, not a JSON list.`)
  return items
}

function parse<Item>(line: string, read: (value: object) => Item | string): Item | string {
  const value = parseJson(line)
  if (value === undefined) return 'it is not JSON'
  return isFields(value) ? read(value) : 'it is not a JSON object'
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string')
}

/** How long to wait for the servers if the user passes no timeout. */
export const MAX_WAIT_SECONDS = 60

/** Starts the servers and lists their tools; reports those that fail or take longer than `timeout` milliseconds. */
export async function listServerTools(
  named: readonly string[] | undefined,
  timeout: number | undefined,
  terminal: Terminal,
): Promise<Tool[]> {
  const notify = (message: string) => terminal.report(printable(message))
  const wait = timeout ?? MAX_WAIT_SECONDS * 1000
  const servers = await readServers(named, notify)
  const host = createMcpHost({
    shelf: createPureShelf({}),
    servers: servers.map((server) => toStart(server, timeout)),
    ...withStoredLogins(notify),
    notify,
    clientInfo: { name: 'toolshelf', version: version() },
  })
  try {
    host.start()
    const stop = reportWaiting(host, notify)
    await host.settled({ timeoutMs: wait }).finally(stop)
    const statuses = host.status()
    for (const { name, state, reason } of statuses)
      if (state !== 'connected' && state !== 'disabled')
        notify(
          `Not searched: ${name}: ${reason ?? `no answer within ${wait / 1000} s; --timeout gives it longer`}`,
        )
    const tools = toolsOf(statuses)
    if (tools.length === 0)
      throw new CommandError('no server lists any tools. Run "toolshelf doctor" to see their state.')
    return tools
  } finally {
    await host.close()
  }
}

async function readServers(
  named: readonly string[] | undefined,
  notify: (message: string) => void,
): Promise<readonly ServerConfig[]> {
  const files = named ?? userConfigFiles(thisMachine())
  const { servers, problems } = await readConfig(files)
  const moved = named && servers.length === 0 ? await movedServersAdvice(problems, thisMachine()) : undefined
  if (moved !== undefined) throw new CommandError(moved)
  for (const problem of problems) notify(describeProblem(problem))
  if (servers.length > 0) return servers
  throw new CommandError(
    `no MCP server is configured in ${files.join(', ')}. Pass a configuration with --config or a file of tools with --catalog, or run "toolshelf connect --apply" to take over the servers of your clients, or "toolshelf add" to add one.`,
  )
}
