// Validates a server's tool list entry by entry: repairs or drops invalid definitions, and uses the others.
import { cut, definitionTokens, fieldsOf, unsafeKinds, walkJson } from '@toolshelf/core/internal'
import { createYieldBySize } from '@toolshelf/core/internal/node'
import { isAllowed } from '../config/rules.ts'
import { headerFault } from '../protocol/protocol.ts'
import type { ListedTool, ServerConfig, ToolProblem } from '../types.ts'

type ReadOptions = {
  readonly config: Pick<ServerConfig, 'allow' | 'deny' | 'maxTools'>
  /** Hides secrets in an entry. */
  readonly clean: (entry: unknown) => unknown
  /** Whether this connection sends some arguments as headers, too. */
  readonly mirrorsArguments?: boolean | undefined
}

const LARGE_TOKENS = 20_000
/** Longest definition in characters of JSON, because search reads all of it. */
const MAX_DEFINITION_LENGTH = 2_000_000
const MAX_DEPTH = 1000
const MAX_NAME_LENGTH = 200
/** Maximum number of tools per server by default; tools hidden by rules do not count. */
const MAX_TOOLS = 5000
/** Most characters of JSON to store for the next start, so that reading them does not block. */
const MAX_KEPT = 4_000_000
const MAX_PROBLEMS = 200

/**
 * Returns the valid tools of a list, what is wrong with it, and the entries that may be stored on disk. Reads in slices, so
 * that a long list does not block the event loop.
 */
export async function readListedTools(entries: readonly unknown[], options: ReadOptions) {
  const { config, clean, mirrorsArguments = false } = options
  const { maxTools = MAX_TOOLS } = config
  const tools: ListedTool[] = []
  const problems: ToolProblem[] = []
  const listed: unknown[] = []
  const names = new Set<string>()
  const yieldBySize = createYieldBySize()
  const report = (problem: ToolProblem) => {
    if (problems.length < MAX_PROBLEMS) problems.push(problem)
  }
  let [kept, shown, beyond] = [0, 0, 0]
  for (const [index, given] of entries.entries()) {
    const length = lengthOf(given)
    await yieldBySize(length ?? MAX_DEFINITION_LENGTH)
    const fault = faultOf(given, length, names, mirrorsArguments)
    if (length === undefined || fault !== undefined) {
      report({ tool: shownName(clean({ name: fieldsOf(given).name }), index), ...(fault ?? TOO_DEEP) })
      continue
    }
    const entry = clean(given)
    if (kept + length <= MAX_KEPT) {
      kept += length
      listed.push(entry)
    }
    const tool = entry as ListedTool
    names.add(tool.name)
    const isShown = isAllowed(tool.name, config)
    if (isShown && shown >= maxTools) beyond++
    else {
      tools.push(mend(tool, length, report))
      const kinds = hiddenIn(tool)
      if (kinds !== undefined) report({ tool: tool.name, ...kinds })
    }
    if (isShown) shown++
  }
  const limited = beyond > 0 ? [tooMany(shown, maxTools)] : []
  return { tools, problems: [...limited, ...problems], listed }
}

type Fault = Pick<ToolProblem, 'kind' | 'message'>

const dropped = (message: string): Fault => ({ kind: 'dropped', message })
const TOO_DEEP = dropped('its definition is nested too deeply')

/** Returns why an entry cannot be used; undefined if it can. */
function faultOf(
  entry: unknown,
  length: number | undefined,
  names: ReadonlySet<string>,
  mirrorsArguments: boolean,
): Fault | undefined {
  if (length === undefined) return TOO_DEEP
  if (length > MAX_DEFINITION_LENGTH) return dropped('its definition is too large')
  const tool = entry as Partial<ListedTool> | null
  if (typeof tool !== 'object' || tool === null || typeof tool.name !== 'string' || tool.name === '')
    return dropped('it has no name')
  if (names.has(tool.name)) return dropped('it is listed twice; the first one is used')
  if (isTaskOnly(tool)) return { kind: 'unsupported', message: 'it runs only as an MCP task' }
  const fault = mirrorsArguments ? headerFault(tool.inputSchema) : undefined
  return fault === undefined ? undefined : dropped(fault)
}

function shownName(entry: unknown, index: number): string {
  const { name } = (entry ?? {}) as Partial<ListedTool>
  return typeof name === 'string' && name !== '' ? cut(name, MAX_NAME_LENGTH) : `number ${index + 1}`
}

function tooMany(count: number, limit: number): ToolProblem {
  const message = `it lists ${count} tools, and only the first ${limit} are used; choose with "allow", or raise "maxTools" at the server`
  return { tool: 'all', kind: 'limited', message }
}

/**
 * Returns whether a tool runs only as a task. Tasks are an agreement between a client and one server, so they are not
 * passed on.
 */
function isTaskOnly({ execution }: Partial<ListedTool>): boolean {
  return (execution as { taskSupport?: unknown } | undefined)?.taskSupport === 'required'
}

/** Returns the length of the JSON; undefined if it is nested too deeply. */
function lengthOf(entry: unknown): number | undefined {
  return isDeeper(entry, MAX_DEPTH) ? undefined : (JSON.stringify(entry)?.length ?? 0)
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inside) => isDeeper(inside, levels - 1))
}

/** Returns the first text of a definition that contains hidden characters or marks of ours. */
function hiddenIn(tool: ListedTool): Fault | undefined {
  for (const { path, value } of walkJson(tool, 'definition')) {
    const kinds = typeof value === 'string' ? unsafeKinds(value) : []
    if (kinds.length > 0) return hiddenText(cut(path, MAX_NAME_LENGTH), kinds)
  }
  return undefined
}

/** Describes a text that contains characters or marks that people do not see. */
export function hiddenText(where: string, kinds: ReturnType<typeof unsafeKinds>): Fault {
  const shown = kinds.map((kind) => (kind === 'mark' ? 'marks of Toolshelf' : kind))
  return { kind: 'hidden', message: `hidden characters in its ${where}: ${shown.join(', ')}` }
}

/** Repairs a definition; returns the same object if nothing was wrong. */
function mend(tool: ListedTool, length: number, report: (problem: ToolProblem) => void): ListedTool {
  const repaired = (message: string) => report({ tool: tool.name, kind: 'repaired', message })
  let mended = tool
  if (tool.description !== undefined && typeof tool.description !== 'string') {
    repaired('its description is not a string and was left out')
    const { description: _, ...rest } = mended
    mended = rest as ListedTool
  }
  const schema = tool.inputSchema as { readonly type?: unknown } | null | undefined
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    repaired('it has no input schema; it takes any object')
    mended = { ...mended, inputSchema: { type: 'object' } }
  } else if (schema.type !== 'object') {
    repaired(
      `its input schema ${schema.type === undefined ? 'has no type' : `is of type ${JSON.stringify(schema.type)}`}; "object" is used instead`,
    )
    mended = { ...mended, inputSchema: { ...schema, type: 'object' } }
  }
  const output = tool.outputSchema
  if (output !== undefined && (typeof output !== 'object' || output === null)) {
    repaired('its output schema is not a valid schema and was left out')
    const { outputSchema: _, ...rest } = mended
    mended = rest as ListedTool
  }
  if (length < LARGE_TOKENS) return mended
  const { name, description, inputSchema } = mended
  const tokens = definitionTokens({ json: JSON.stringify({ name, description, input_schema: inputSchema }) })
  if (tokens > LARGE_TOKENS) {
    const message = `its definition takes about ${tokens} tokens each time it is loaded`
    report({ tool: tool.name, kind: 'large', message })
  }
  return mended
}
