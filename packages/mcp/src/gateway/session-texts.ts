// Writes the texts of a client session: what searches found, which tools are held back, and why a call failed.
import { mcpName, type PoolTool, type SearchOutcome } from '@toolshelf/core'
import {
  CALL_THESE,
  cut,
  type Fields,
  fieldsOf,
  misnamesArguments,
  parseJson,
  SEARCH_TOOL,
  splitToolName,
} from '@toolshelf/core/internal'
import type { CallOutput, McpHost } from '../types.ts'

type Held = { readonly name: string; readonly server: string; readonly tool: string }

/** Returns the tools held back because their definition has changed. */
export function heldTools(host: McpHost): Held[] {
  return host
    .status()
    .flatMap(({ name: server, held }) =>
      held.map((tool) => ({ name: mcpName(server, tool, ''), server, tool })),
    )
}

const MAX_DROPPED_NAMED = 10

/** Returns the text about tools that were dropped from the list. */
export function aboutDropped(names: readonly string[]): string {
  if (names.length === 0) return ''
  const rest = names.length - MAX_DROPPED_NAMED
  const shown = `${names.slice(0, MAX_DROPPED_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
  return `No longer in your tool list, because they were not used: ${shown}; ${SEARCH_TOOL} brings them back.`
}

/** Reads the input of CallTool, whose arguments models sometimes write as a JSON string. */
export function readWrapped(input: unknown): { name: string; input: Fields } | undefined {
  const call = fieldsOf(input)
  const { name, arguments: given = {} } = call
  if (typeof name !== 'string' || misnamesArguments(call)) return undefined
  const parsed = typeof given === 'string' ? parseJson(given) : given
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined
  return { name, input: parsed as Fields }
}

/** Returns the answer of a search in `bridge` mode. */
export function describeFound({ tools, definitions }: SearchOutcome, remark: string): string {
  const isWhole = tools.every(({ json }, index) => json === definitions[index])
  const about = isWhole ? '' : ` ("?" marks what may be left out; "select:<name>" gives one whole)`
  const head = `${CALL_THESE}, by their full name. Their definitions${about}:`
  return [head, ...definitions, ...(remark ? [remark] : [])].join('\n')
}

/** Returns the answer of a search in `list` mode. */
export function listFound(tools: readonly PoolTool[], remark: string): string {
  const lines = tools.map(({ name, definition }) => `- ${name}: ${firstLine(definition.description)}`)
  return ['In your tool list now; call them by name:', ...lines, ...(remark ? [remark] : [])].join('\n')
}

function firstLine(description: unknown): string {
  const line =
    String(description ?? '')
      .trim()
      .split('\n')[0] ?? ''
  return cut(line, 120)
}

export function textOfBlocks(result: { readonly content: readonly unknown[] } | undefined): string {
  return (result?.content ?? []).map((block) => String((block as Fields).text ?? '')).join('\n')
}

export function sayText(text: string): CallOutput {
  return { content: [{ type: 'text', text }] }
}

export function failWith(text: string): CallOutput {
  return { content: [{ type: 'text', text }], isError: true }
}

/** Returns why the server that a name begins with has no tools; undefined if there is none, or it has some. */
export function aboutFailed(host: McpHost, name: string): string | undefined {
  const named = splitToolName(name)?.server
  const failed = host
    .status()
    .find(({ name: server, state, tools }) => server === named && state === 'failed' && tools.length === 0)
  return failed && `The server "${failed.name}" failed: ${failed.category ?? 'nobody knows why'}`
}
