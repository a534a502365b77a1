// Reads catalogues and queries from files, one JSON object per line. Reports invalid lines with file and line number,
// and skips them.
import type { Tool } from '../../core/index.ts'
import { toShelvedTool } from '../../mcp/host/index.ts'
import type { ServerStatus } from '../../mcp/index.ts'
import { readNamedText, UnreadableFile } from '../../node/index.ts'
import type { EvaluationQuery } from '../../search/index.ts'
import { CommandError, type Terminal } from '../command.ts'

const MAX_REPORTED = 10

/** Reads a catalogue. */
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

/** Writes the servers' tools in the format of `readTools`. */
export function catalogueOf(statuses: readonly ServerStatus[]): string {
  return toolsOf(statuses)
    .map((tool) => `${JSON.stringify(tool)}\n`)
    .join('')
}

/** Returns the servers' tools as those of a catalogue. */
export function toolsOf(statuses: readonly ServerStatus[]): Tool[] {
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
    return { ...query, id: query.id ?? String(line) }
  })
}

/** A hundred times the largest catalogue that we have seen. */
const MAX_BYTES = 256_000_000

async function readText(path: string): Promise<string> {
  return readNamedText(path, MAX_BYTES).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof UnreadableFile) throw new CommandError(`${path} ${error.message}.`)
    throw new CommandError(
      `cannot read ${path} (${error.code ?? error.message}). Pass a file with one JSON object per line.`,
    )
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
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? read(value)
      : 'it is not a JSON object'
  } catch {
    return 'it is not JSON'
  }
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string')
}
